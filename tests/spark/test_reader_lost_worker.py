"""A worker of a standalone cluster is lost in the middle of a job of 2,000 file slices."""

import json
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pyarrow.parquet as pq
import pytest

from tests import copied_partitions
from tests.conftest import GOLDEN
from tests.golden.case import load_case
from tests.golden.compare import differences
from tests.spark.deployment import python_without_package, standalone_cluster, submit

COPIES = 400
TASKS = 500  # at least, of about four file slices each
BEFORE = 50  # tasks that the worker has finished when it is killed
# Each task leaves a mark in the folder of its executor, and its rows are shuffled: those that were
# written by an executor that is gone must be read again.
JOB = f"""
import json, sys
from pathlib import Path
import pyarrow.parquet as pq
from pyspark import TaskContext
from pyspark.sql import SparkSession
import hudi_pyspark

path, answer = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
hudi_pyspark.register(spark)


def mark(batches):
    yield from batches
    Path(f"task-{{TaskContext.get().partitionId()}}").touch()


source = spark.read.format("hudi-py").options(**{copied_partitions.OPTIONS!r}, task_bytes={4 << 20})
frame = source.load(path)
pq.write_table(frame.mapInArrow(mark, frame.schema).repartition(2).toArrow(), answer)
print("ANSWERS", json.dumps({{"tasks": frame.rdd.getNumPartitions()}}))
spark.stop()
"""
EVENTS = ("eventLog.enabled=true", "eventLog.rolling.enabled=false", "eventLog.compress=false")


@pytest.mark.cluster
@pytest.mark.usefixtures("spark_environment")
def test_rows_are_right_although_a_worker_is_killed_among_two_thousand_file_slices(
    spark_zip, tmp_path
):
    folders = {name: tmp_path / name for name in ("python", "cluster", "job", "events", "table")}
    for folder in folders.values():
        folder.mkdir()
    table = copied_partitions.write(folders["table"], COPIES)
    python = python_without_package(folders["python"])
    script = folders["job"] / "job.py"
    script.write_text(JOB)
    answer = folders["job"] / "rows.parquet"
    options = ["--py-files", str(spark_zip)]
    for setting in (*EVENTS, f"eventLog.dir={folders['events'].as_uri()}"):
        options += ["--conf", f"spark.{setting}"]

    with standalone_cluster(folders["cluster"]) as cluster, ThreadPoolExecutor(1) as pool:
        arguments = (str(table), str(answer))
        job = pool.submit(submit, cluster.url, python, script, *arguments, options=options)
        while not job.done() and len(list(cluster.folders[1].glob("app-*/*/task-*"))) < BEFORE:
            time.sleep(0.1)
        assert not job.done(), job.result()
        cluster.kill(1)
        answers = job.result()

    assert COPIES * copied_partitions.SLICES == 2_000
    assert answers["tasks"] >= TASKS
    golden = load_case(GOLDEN / copied_partitions.CASE)
    schema = next(q for q in golden.queries if q.name == "snapshot").expected_schema()
    assert differences(pq.read_table(answer), copied_partitions.expected(COPIES), schema) == []
    lost = ends_of_tasks(folders["events"])
    assert lost["ExecutorLostFailure"] > 0, "no task ran on the worker that was killed"
    assert lost["Resubmitted"] > 0, "no finished task was run again"


def ends_of_tasks(folder):
    """How often Spark reports which end of a task, by its log of events."""
    (log,) = folder.glob("app-*")
    events = map(json.loads, log.read_text().splitlines())
    return Counter(
        event["Task End Reason"]["Reason"]
        for event in events
        if event["Event"] == "SparkListenerTaskEnd"
    )
