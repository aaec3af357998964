"""A Spark job that takes five minutes, with tokens that expire every thirty seconds."""

import subprocess
import sys
import threading
import time

import pyarrow.parquet as pq
import pytest

from hudi_pyspark.imported_function import ALLOWED
from tests import copied_partitions
from tests.conftest import GOLDEN, PROJECT
from tests.golden.case import load_case
from tests.golden.compare import differences
from tests.storage import short_lived
from tests.storage.s3_server import serve

COPIES = 20
SECONDS = 300
LIFETIME = 30
JOB = f"""
import sys
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
import hudi_pyspark

endpoint, answer = sys.argv[1:]
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
hudi_pyspark.register(spark)
options = {{
    "storage.endpoint_override": endpoint,
    "storage.region": "eu-north-1",
    "storage.request_timeout": "60",  # the server lets one request through at a time
    "credentials_provider": "{short_lived.PROVIDER}",
    "task_bytes": "1",
    **{copied_partitions.OPTIONS!r},
}}
frame = spark.read.format("hudi-py").options(**options).load("s3://lake/{copied_partitions.CASE}")
pq.write_table(frame.toArrow(), answer)
spark.stop()
"""


def run(folder, s3):
    """Run the job, and return its rows."""
    script = folder / "job.py"
    answer = folder / "rows.parquet"
    script.write_text(JOB)
    command = [sys.executable, str(script), s3.endpoint, str(answer)]
    done = subprocess.run(
        command, cwd=PROJECT, capture_output=True, text=True, timeout=1800, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return pq.read_table(answer)


class Pace:
    """Lets one request for a data file through at a time, each after a pause."""

    def __init__(self, pause):
        self.pause = pause
        self.lock = threading.Lock()
        self.passed = []

    def __call__(self, key):
        if "/.hoodie/" not in key:
            with self.lock:
                time.sleep(self.pause)
                self.passed.append(time.monotonic())


@pytest.mark.cluster
@pytest.mark.usefixtures("spark_environment")
def test_job_of_five_minutes_outlives_its_tokens(tmp_path, monkeypatch):
    copied_partitions.write(tmp_path, COPIES)
    monkeypatch.setenv(short_lived.CALLS, str(tmp_path / "calls"))
    monkeypatch.setenv(short_lived.LIFETIME, str(LIFETIME))
    monkeypatch.setenv(ALLOWED, short_lived.__name__)
    golden = load_case(GOLDEN / copied_partitions.CASE)
    schema = next(q for q in golden.queries if q.name == "snapshot").expected_schema()
    with serve(tmp_path) as s3:
        s3.accepts = short_lived.is_valid
        s3.before_read = at_once = Pace(0)
        run(tmp_path, s3)
        s3.tokens.clear()
        s3.before_read = paced = Pace(SECONDS / len(at_once.passed))
        rows = run(tmp_path, s3)
    assert differences(rows, copied_partitions.expected(COPIES), schema) == []
    assert paced.passed[-1] - paced.passed[0] > 0.9 * SECONDS
    assert len(s3.tokens) > SECONDS / LIFETIME
