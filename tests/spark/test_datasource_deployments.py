"""Batches and streams where the package is sent along, and Python itself lacks it."""

import pytest

from tests.spark.deployment import (
    client,
    connect_server,
    expected_keys,
    packed_environment,
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

port, path, spark_zip, folder = sys.argv[1:]
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
spark.addArtifacts(spark_zip, pyfile=True)
answer("batch", lambda: load(path))
answer("stream", stream)
spark.sql(f"CREATE TEMPORARY VIEW orders USING `hudi-py` OPTIONS (path '{{path}}')")
spark.sql(
    f"CREATE TEMPORARY VIEW instants USING `hudi-py` OPTIONS (path '{{path}}', inspect 'timeline')"
)
timeline = "SELECT DISTINCT state FROM instants"
answer("timeline", lambda: [row.state for row in spark.sql(timeline).collect()])
answer("relative", lambda: load("orders"))
table = spark.read.format("hudi-py").load(path)
answer("narrow", lambda: hudi_pyspark.explain(table.select("id").where("ts > 100")))
answer("sql", lambda: keys(spark.sql("SELECT _hoodie_record_key FROM orders WHERE ts > 0")))
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

def kill_an_executor(rows):
    task = TaskContext.get()
    yield from rows
    daemon = os.getppid()
    executor = int(subprocess.check_output(["ps", "-o", "ppid=", "-p", str(daemon)]))
    mine = f"{{executor}}-"
    if task.partitionId() == 4 and task.attemptNumber() == 0:
        while not list(folder.glob(f"{{mine}}*")):
            time.sleep(0.1)
        time.sleep(1)  # until Spark knows that the task is finished
        os.kill(executor, signal.SIGKILL)
    (folder / f"{{mine}}{{task.partitionId()}}").write_text(hudi_pyspark.__file__)


frame = spark.read.format("hudi-py").option("task_bytes", "1").load(path)
rows = frame.rdd.mapPartitions(kill_an_executor).repartition(1)  # mapInArrow would need pandas
batch = sorted(row._hoodie_record_key for row in rows.collect())
tasks = sorted(int(mark.name.partition("-")[2]) for mark in folder.glob("*-*"))
packages = [hudi_pyspark.__file__, *(mark.read_text() for mark in folder.glob("*-*"))]
answers = {{"batch": batch, "tasks": tasks, "stream": stream(), "packages": packages}}
print("ANSWERS", json.dumps(answers))
spark.stop()
"""


@pytest.fixture(scope="module")
def bare_python(spark_environment, tmp_path_factory):  # noqa: ARG001
    return python_without_package(tmp_path_factory.mktemp("python"))


def answers_over_connect(master, bare_python, golden_table, spark_zip, folder):
    with connect_server(master, bare_python, folder) as port:
        return client(CONNECT_CLIENT, port, str(golden_table(CASE)), str(spark_zip), str(folder))


def answers_of_job(master, python, golden_table, folder, *options):
    script = folder / "job.py"
    script.write_text(JOB)
    arguments = (str(golden_table(CASE)), str(folder))
    return submit(master, python, script, *arguments, options=options)


def check_job(answers, package):
    """Check the answers, and that driver and executors took the package from where it was sent."""
    assert answers["batch"] == answers["stream"] == expected_keys(CASE)
    assert all(package in found for found in answers["packages"]), answers["packages"]
    assert set(answers["tasks"]) == set(range(5))
    assert len(answers["tasks"]) > 5, "no finished task was lost"


@pytest.mark.spark
@pytest.mark.cluster
def test_connect_server_reads_batches_and_streams_with_a_package_that_was_sent(
    bare_python, golden_table, spark_zip, tmp_path
):
    answers = answers_over_connect("local[2]", bare_python, golden_table, spark_zip, tmp_path)
    assert "No module named 'hudi_pyspark'" in answers["too early"]
    assert answers["batch"] == answers["stream"] == answers["sql"] == expected_keys(CASE)
    assert "  columns: id, ts\n  condition: ts > 100\n" in answers["narrow"]
    assert answers["timeline"] == ["completed"]
    assert "[HUDI_PATH_NOT_FOUND]" in answers["relative"]
    assert "'orders' is a relative path" in answers["relative"]
    assert "Give an absolute path or a URI" in answers["relative"]


@pytest.mark.spark
@pytest.mark.cluster
def test_job_with_py_files_survives_the_loss_of_an_executor_and_streams(
    bare_python, golden_table, spark_zip, tmp_path
):
    sent = ("--py-files", str(spark_zip))
    answers = answers_of_job(IN_THIS_PROCESS, bare_python, golden_table, tmp_path, *sent)
    check_job(answers, ".zip/")


@pytest.fixture(scope="module")
def cluster(spark_environment, tmp_path_factory):  # noqa: ARG001
    with standalone_cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.mark.cluster
def test_cluster_runs_a_job_with_py_files(cluster, bare_python, golden_table, spark_zip, tmp_path):
    sent = ("--py-files", str(spark_zip))
    check_job(answers_of_job(cluster.url, bare_python, golden_table, tmp_path, *sent), ".zip/")


@pytest.mark.cluster
def test_cluster_runs_a_job_with_a_packed_environment(cluster, golden_table, wheel, tmp_path):
    archive = packed_environment(wheel, tmp_path)
    python = "./environment/bin/python"
    sent = ("--archives", f"{archive}#environment")
    answers = answers_of_job(cluster.url, python, golden_table, tmp_path, *sent)
    check_job(answers, "environment/lib/")
    by_executors = answers["packages"][1:]
    assert not any(str(tmp_path) in package for package in by_executors), "not from the archive"


@pytest.mark.cluster
def test_cluster_runs_a_connect_server(cluster, bare_python, golden_table, spark_zip, tmp_path):
    answers = answers_over_connect(cluster.url, bare_python, golden_table, spark_zip, tmp_path)
    assert answers["batch"] == answers["stream"] == expected_keys(CASE)
