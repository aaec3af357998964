"""Batches and streams where the package is sent along, and Python itself lacks it.

Standalone clusters read a table on S3. `make test-cluster-offline` runs their tests in a network
that has nothing but the loopback interface.
"""

import subprocess

import pyarrow.fs as pafs
import pytest

from tests.spark.deployment import (
    SPARK_HOME,
    client,
    connect_server,
    environment,
    expected_keys,
    packed_environment,
    python_without_package,
    standalone_cluster,
    submit,
)
from tests.storage import servers
from verification.common.archives import files_of

CASE = "v9_mor_compaction_inline"  # five file slices, so five tasks
_VARIABLES = {
    "AWS_ENDPOINT_URL": "endpoint_override",
    "AWS_REGION": "region",
    "AWS_ACCESS_KEY_ID": "access_key",
    "AWS_SECRET_ACCESS_KEY": "secret_key",
}
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
# The last task kills its executor, or the worker of a cluster with it, once another task has
# finished there: what that one wrote for the shuffle is lost with it, and must be read again.
JOB = f"""
import json, os, signal, subprocess, sys, time
from pathlib import Path
from pyspark import TaskContext
from pyspark.sql import SparkSession
import hudi_pyspark

path, folder, victim = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
spark = SparkSession.builder.getOrCreate()
hudi_pyspark.register(spark)
{KEYS}

def parent_of(process):
    return int(subprocess.check_output(["ps", "-o", "ppid=", "-p", str(process)]))


def kill_an_executor(rows):
    task = TaskContext.get()
    yield from rows
    executor = parent_of(os.getppid())  # of the daemon
    mine = f"{{executor}}-"
    if task.partitionId() == 4 and task.attemptNumber() == 0:
        while not list(folder.glob(f"{{mine}}*")):
            time.sleep(0.1)
        time.sleep(1)  # until Spark knows that the task is finished
        if victim == "worker":
            os.kill(parent_of(executor), signal.SIGKILL)
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


def answers_over_connect(master, bare_python, path, spark_zip, folder):
    with connect_server(master, bare_python, folder) as port:
        return client(CONNECT_CLIENT, port, path, str(spark_zip), str(folder))


def answers_of_job(master, python, path, folder, *options, victim="executor"):
    script = folder / "job.py"
    script.write_text(JOB)
    return submit(master, python, script, path, str(folder), victim, options=options)


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
    path = str(golden_table(CASE))
    answers = answers_over_connect("local[2]", bare_python, path, spark_zip, tmp_path)
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
    path = str(golden_table(CASE))
    check_job(answers_of_job(IN_THIS_PROCESS, bare_python, path, tmp_path, *sent), ".zip/")


@pytest.fixture(scope="module")
def path_on_s3():
    """The table on a server of S3, which all processes find by the environment."""
    with servers.moto() as s3, pytest.MonkeyPatch.context() as patch:
        for variable, option in _VARIABLES.items():
            patch.setenv(variable, str(s3.options[option]))
        pafs.S3FileSystem(allow_bucket_creation=True, **s3.options).create_dir("lake")
        yield s3.write(files_of(CASE))


@pytest.fixture(scope="module")
def cluster(spark_environment, path_on_s3, tmp_path_factory):  # noqa: ARG001
    with standalone_cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.mark.cluster
def test_cluster_runs_a_job_with_py_files(cluster, bare_python, path_on_s3, spark_zip, tmp_path):
    sent = ("--py-files", str(spark_zip))
    check_job(answers_of_job(cluster.url, bare_python, path_on_s3, tmp_path, *sent), ".zip/")


@pytest.mark.cluster
def test_cluster_runs_a_job_with_a_packed_environment(cluster, path_on_s3, wheel, tmp_path):
    archive = packed_environment(wheel, tmp_path)
    python = "./environment/bin/python"
    sent = ("--archives", f"{archive}#environment")
    answers = answers_of_job(cluster.url, python, path_on_s3, tmp_path, *sent)
    check_job(answers, "environment/lib/")
    by_executors = answers["packages"][1:]
    assert not any(str(tmp_path) in package for package in by_executors), "not from the archive"


@pytest.mark.cluster
def test_cluster_runs_a_connect_server(cluster, bare_python, path_on_s3, spark_zip, tmp_path):
    answers = answers_over_connect(cluster.url, bare_python, path_on_s3, spark_zip, tmp_path)
    assert answers["batch"] == answers["stream"] == expected_keys(CASE)


@pytest.mark.cluster
def test_cluster_survives_the_loss_of_a_worker(
    bare_python, path_on_s3, spark_zip, tmp_path, tmp_path_factory
):
    sent = ("--py-files", str(spark_zip))
    with standalone_cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        answers = answers_of_job(
            cluster.url, bare_python, path_on_s3, tmp_path, *sent, victim="worker"
        )
        assert any(worker.poll() is not None for worker in cluster.workers)
    check_job(answers, ".zip/")


@pytest.mark.cluster
def test_cluster_runs_no_python_driver(cluster, bare_python, spark_zip):
    command = [str(SPARK_HOME / "bin" / "spark-submit"), "--master", cluster.url]
    command += ["--deploy-mode", "cluster", "--py-files", str(spark_zip), "job.py"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment(bare_python)
    )
    assert done.returncode
    assert "Cluster deploy mode is currently not supported for python" in done.stderr
