"""Random queries over Spark Connect answer as on copies of the rows."""

import subprocess
import sys

import pytest

from tests.conftest import PROJECT


@pytest.mark.spark
def test_narrowed_queries_answer_like_plain_ones(connect_port):
    command = [sys.executable, "-m", "verification.random_plans", "--count", "60"]
    command += ["--port", connect_port]
    done = subprocess.run(
        command, cwd=PROJECT, capture_output=True, text=True, timeout=1_200, check=False
    )
    assert done.returncode == 0, done.stdout[-5_000:] + done.stderr[-2_000:]
