"""Batches and streams where the package is sent as a zip, and Python itself lacks it."""

import shutil

import pytest

from tests.conftest import GOLDEN
from tests.golden.case import load_case
from tests.spark.deployment import (
    client,
    connect_server,
    python_without_package,
    standalone_cluster,
    submit,
)

CASE = "v9_mor_compaction_inline"  # five file slices, so five tasks
IN_THIS_PROCESS = "local-cluster[2,1,1024]"  # master and workers; the executors are processes
KEYS = """
def keys(frame):
    return sorted(row._hoodie_record_key for row in frame.select("_hoodie_record_key").collect())


def stream():
    source = spark.readStream.format("hudi-py").load(path)
    writer = source.writeStream.format("parquet").option("checkpointLocation", f"{folder}/offsets")
    query = writer.trigger(availableNow=True).start(f"{folder}/rows")
    assert query.awaitTermination(120), "the stream has not ended"
    return keys(spark.read.parquet(f"{folder}/rows"))
"""
CONNECT_CLIENT = f"""
import json, sys
from pyspark.sql import SparkSession
import hudi_pyspark

port, path, zipped, folder = sys.argv[1:]
spark = SparkSession.builder.remote(f"sc://127.0.0.1:{{port}}").getOrCreate()
answers = {{}}
{KEYS}

def answer(name, ask):
    try:
        answers[name] = ask()
    except Exception as error:
        answers[name] = f"{{type(error).__name__}}: {{error}}"


def load(where):
    hudi_pyspark.register(spark)
    return keys(spark.read.format("hudi-py").load(where))


answer("too early", lambda: load(path))
spark.addArtifacts(zipped, pyfile=True)
answer("batch", lambda: load(path))
answer("stream", stream)
answer("relative", lambda: load("orders"))
print("ANSWERS", json.dumps(answers))
spark.stop()
"""
# The last task kills its executor, once another task has finished there: what that one wrote for
# the shuffle is lost with it, and must be read again.
JOB = f"""
import json, os, signal, subprocess, sys, time
from pathlib import Path
from pyspark import TaskContext
from pyspark.sql import SparkSession
import hudi_pyspark

path, folder = sys.argv[1], Path(sys.argv[2])
spark = SparkSession.builder.getOrCreate()
hudi_pyspark.register(spark)
{KEYS}

def kill_an_executor(batches):
    task = TaskContext.get()
    yield from batches
    daemon = os.getppid()
    executor = int(subprocess.check_output(["ps", "-o", "ppid=", "-p", str(daemon)]))
    mine = f"{{executor}}-"
    if task.partitionId() == 4 and task.attemptNumber() == 0:
        while not list(folder.glob(f"{{mine}}*")):
            time.sleep(0.1)
        time.sleep(1)  # until Spark knows that the task is finished
        os.kill(executor, signal.SIGKILL)
    (folder / f"{{mine}}{{task.partitionId()}}").touch()


frame = spark.read.format("hudi-py").option("task_bytes", "1").load(path)
batch = keys(frame.mapInArrow(kill_an_executor, frame.schema).repartition(1))
tasks = sorted(int(mark.name.partition("-")[2]) for mark in folder.glob("*-*"))
from_zip = ".zip" in hudi_pyspark.__file__
answers = {{"batch": batch, "tasks": tasks, "stream": stream(), "from zip": from_zip}}
print("ANSWERS", json.dumps(answers))
spark.stop()
"""


@pytest.fixture(scope="module")
def bare_python(spark_environment, tmp_path_factory):  # noqa: ARG001
    return python_without_package(tmp_path_factory.mktemp("python"))


@pytest.fixture(scope="module")
def zipped(wheel, tmp_path_factory):
    """What `make zip` builds."""
    return shutil.copy(wheel, tmp_path_factory.mktemp("zip") / "hudi_pyspark.zip")


def expected_keys():
    """The record keys that Apache Hudi reads."""
    queries = load_case(GOLDEN / CASE).queries
    rows = next(q for q in queries if q.name == "snapshot").expected_rows()
    return sorted(rows["_hoodie_record_key"].to_pylist())


def answers_over_connect(master, bare_python, golden_table, zipped, folder):
    with connect_server(master, bare_python, folder) as port:
        return client(CONNECT_CLIENT, port, str(golden_table(CASE)), str(zipped), str(folder))


def answers_of_job(master, bare_python, golden_table, zipped, folder):
    script = folder / "job.py"
    script.write_text(JOB)
    return submit(master, bare_python, zipped, script, str(golden_table(CASE)), str(folder))


def check_job(answers):
    assert answers["batch"] == answers["stream"] == expected_keys()
    assert answers["from zip"]
    assert set(answers["tasks"]) == set(range(5))
    assert len(answers["tasks"]) > 5, "no finished task was lost"


@pytest.mark.spark
def test_connect_server_reads_batches_and_streams_with_a_package_that_was_sent(
    bare_python, golden_table, zipped, tmp_path
):
    answers = answers_over_connect("local[2]", bare_python, golden_table, zipped, tmp_path)
    assert "No module named 'hudi_pyspark'" in answers["too early"]
    assert answers["batch"] == answers["stream"] == expected_keys()
    assert "[HUDI_PATH_NOT_FOUND]" in answers["relative"]
    assert "'orders' is a relative path" in answers["relative"]
    assert "Give an absolute path or a URI" in answers["relative"]


@pytest.mark.spark
def test_job_with_py_files_survives_the_loss_of_an_executor_and_streams(
    bare_python, golden_table, zipped, tmp_path
):
    check_job(answers_of_job(IN_THIS_PROCESS, bare_python, golden_table, zipped, tmp_path))


@pytest.mark.cluster
def test_standalone_cluster_runs_jobs_and_a_connect_server(
    bare_python, golden_table, zipped, tmp_path
):
    folders = [tmp_path / name for name in ("cluster", "job", "connect")]
    for folder in folders:
        folder.mkdir()
    with standalone_cluster(folders[0]) as master:
        check_job(answers_of_job(master, bare_python, golden_table, zipped, folders[1]))
        answers = answers_over_connect(master, bare_python, golden_table, zipped, folders[2])
    assert answers["batch"] == answers["stream"] == expected_keys()
