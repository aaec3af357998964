"""Run a harness in a process of its own."""

import subprocess
import sys

from tests.conftest import PROJECT


def run_over_connect(harness: str, *arguments: str, port: str) -> str:
    """Run a harness with a server of Spark Connect; return what it printed."""
    command = [sys.executable, "-m", f"verification.{harness}", "--mode", "connect"]
    command += ["--port", port, *arguments]
    done = subprocess.run(
        command, cwd=PROJECT, capture_output=True, text=True, timeout=1_200, check=False
    )
    assert done.returncode == 0, done.stdout[-5_000:] + done.stderr[-2_000:]
    return done.stdout
