"""Python workers that are forked from a process which has loaded this package."""

import subprocess
import sys

import pytest

from tests.conftest import GOLDEN
from tests.damage import unpack
from tests.golden.case import load_case

CASE = "v9_mor_compaction_inline"
SCRIPT = """
import sys
from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
spark = builder.config("spark.python.daemon.module", "hudi_pyspark.spark.daemon").getOrCreate()
once = spark.sparkContext.parallelize([0], 1)
print("loaded", once.map(lambda _: "hudi_pyspark.spark.reader" in sys.modules).collect())
table = spark.read.format("hudi-py").load(sys.argv[1])
print("limited", len(table.limit(1).collect()), len(table.limit(1).collect()))
print("rows", table.count())
spark.stop()
"""


@pytest.mark.spark
@pytest.mark.cluster
@pytest.mark.usefixtures("spark_environment")
def test_workers_have_loaded_the_package_and_read(tmp_path):
    queries = load_case(GOLDEN / CASE).queries
    rows = next(q for q in queries if q.name == "snapshot").expected_rows().num_rows
    script = tmp_path / "job.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, str(script), str(unpack(CASE, tmp_path))],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["loaded [True]", "limited 1 1", f"rows {rows}"]
