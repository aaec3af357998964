"""A standalone cluster reads a table on S3, with the package sent along (`make cluster-demo`).

A master, two workers, a server of Spark Connect and a server of S3 run as processes of one machine,
in a network that has nothing but the loopback interface, where Linux permits this. The Python of
the executors lacks the package. Each way to send it is tried, a worker is killed, and the
rows are compared with those of Apache Hudi. The exit code is 1 where a way does not work.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.conftest import GOLDEN, PROJECT
from tests.golden.case import load_case
from tests.spark.deployment import (
    SPARK_HOME,
    Cluster,
    client,
    connect_server,
    environment,
    packed_environment,
    python_without_package,
    standalone_cluster,
    submit,
)
from tests.storage import servers

CASE = "v9_mor_compaction_inline"  # five file slices, so five tasks
TASKS = 5
LOCATION = "s3://lake/orders"
# Every task leaves a mark, and so does each that is run again.
JOB = f"""
import json, os, sys, time
from pathlib import Path
from pyspark import TaskContext
from pyspark.sql import SparkSession
import hudi_pyspark

folder, seconds = Path(sys.argv[1]), float(sys.argv[2])
spark = SparkSession.builder.getOrCreate()
hudi_pyspark.register(spark)


def network():
    table = Path("/proc/net/route")  # of Linux; the loopback interface has no line there
    lines = table.read_text().splitlines()[1:] if table.exists() else ["not known"]
    return ", ".join(sorted({{line.split()[0] for line in lines}})) or "loopback alone"


def leave_a_mark(rows):
    yield from rows
    time.sleep(seconds)
    task = TaskContext.get()
    seen = {{
        "package": hudi_pyspark.__file__,
        "network": network(),
        "executor": os.getcwd(),
    }}
    name = f"{{task.partitionId()}}-{{task.attemptNumber()}}-{{os.getpid()}}"
    (folder / name).write_text(json.dumps(seen))
    Path("finished").touch()


frame = spark.read.format("hudi-py").option("task_bytes", "1").load("{LOCATION}")
rows = frame.rdd.mapPartitions(leave_a_mark).repartition(1).collect()
marks = [json.loads(mark.read_text()) for mark in folder.iterdir()]
keys = sorted(row._hoodie_record_key for row in rows)
print("ANSWERS", json.dumps({{"keys": keys, "marks": marks}}))
spark.stop()
"""
CONNECT = f"""
import json, sys
from pyspark.sql import SparkSession
import hudi_pyspark

spark = SparkSession.builder.remote(f"sc://127.0.0.1:{{sys.argv[1]}}").getOrCreate()
spark.addArtifacts(sys.argv[2], pyfile=True)
hudi_pyspark.register(spark)
rows = spark.read.format("hudi-py").load("{LOCATION}").select("_hoodie_record_key").collect()
print("ANSWERS", json.dumps({{"keys": sorted(row._hoodie_record_key for row in rows)}}))
spark.stop()
"""


def expected_keys() -> list[str]:
    """Return the record keys that Apache Hudi reads."""
    queries = load_case(GOLDEN / CASE).queries
    rows = next(q for q in queries if q.name == "snapshot").expected_rows()
    keys: list[str] = sorted(rows["_hoodie_record_key"].to_pylist())
    return keys


def run(folder: Path, package: Path) -> bool:
    """Try every way in a cluster; whether all of them work.

    Args:
        folder: has the packed environment; everything else is written there.
        package: the zip that is sent along.
    """
    expected = expected_keys()
    results = []

    def way(title: str, ask: Callable[[], Mapping[str, Any]], expects: str = "") -> None:
        print(f"\n== {title}", flush=True)
        begin = time.monotonic()
        found = ask()
        is_right = found.get("keys") == expected and expects in str(found)
        results.append(is_right)
        marks: Sequence[Mapping[str, Any]] = found.get("marks", ())
        for name in ("package", "network"):
            for value in sorted({str(mark[name]) for mark in marks}):
                print(f"   {name} of executors: {value}")
        if marks:
            executors = len({mark["executor"] for mark in marks})
            print(f"   {executors} executors, {len(marks)} runs of {TASKS} tasks")
        seconds = time.monotonic() - begin
        verdict = "the rows of Apache Hudi" if is_right else f"WRONG: {found}"
        print(f"   {len(found.get('keys', ()))} rows: {verdict} ({seconds:.0f} s)", flush=True)

    with ExitStack() as stack:
        s3 = stack.enter_context(servers.moto())
        upload(folder, s3)
        set_variables(s3)
        cluster = stack.enter_context(standalone_cluster(folder))
        bare = python_without_package(folder / "bare")
        sent = ("--py-files", str(package))
        packed = ("--archives", f"{folder / 'environment.tar.gz'}#environment")
        print(f"Master {cluster.url}, two workers, S3 at {s3.options['endpoint_override']}")
        way(
            "spark-submit --py-files hudi_pyspark.zip",
            lambda: job(cluster, folder, bare, *sent),
            "hudi_pyspark.zip/",
        )
        way(
            "spark-submit --archives environment.tar.gz#environment",
            lambda: job(cluster, folder, "./environment/bin/python", *packed),
            "environment/lib/",
        )
        with connect_server(cluster.url, bare, folder) as port:
            way(
                "Spark Connect, addArtifacts(hudi_pyspark.zip)",
                lambda: client(CONNECT, port, str(package)),
            )
        way(
            "a worker that is killed, with its executor, after its first task",
            lambda: killed(cluster, folder, bare, *sent),
        )
        print("\n== spark-submit --deploy-mode cluster")
        results.append(refuses_cluster_mode(cluster, bare, package))
    return all(results)


def upload(folder: Path, s3: servers.Server) -> None:
    """Copy the table into a bucket."""
    import pyarrow.fs as pafs

    table = load_case(GOLDEN / CASE).extract(folder)
    target = pafs.S3FileSystem(allow_bucket_creation=True, **s3.options)
    target.create_dir("lake")
    pafs.copy_files(str(table), "lake/orders", destination_filesystem=target)


def set_variables(s3: servers.Server) -> None:
    """Give processes that start from now on the environment that machines of a cluster have."""
    os.environ.update(
        AWS_ENDPOINT_URL=str(s3.options["endpoint_override"]),
        AWS_REGION=str(s3.options["region"]),
        AWS_ACCESS_KEY_ID=str(s3.options["access_key"]),
        AWS_SECRET_ACCESS_KEY=str(s3.options["secret_key"]),
    )


def job(
    cluster: Cluster, folder: Path, python: str, *options: str, seconds: float = 0
) -> dict[str, Any]:
    """Submit the job; a task takes some seconds more if it has to wait."""
    script, marks = folder / "job.py", folder / "marks"
    script.write_text(JOB)
    shutil.rmtree(marks, ignore_errors=True)
    marks.mkdir()
    return submit(cluster.url, python, script, str(marks), str(seconds), options=options)


def killed(cluster: Cluster, folder: Path, python: str, *options: str) -> dict[str, Any]:
    """Submit the job and kill a worker whose executor has finished a task."""
    before = set(cluster.folders[1].glob("app-*/*/finished"))
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(job, cluster, folder, python, *options, seconds=3)
        while not found.done() and set(cluster.folders[1].glob("app-*/*/finished")) == before:
            time.sleep(0.1)
        if found.done():
            return {"error": "the worker had no task"}
        cluster.kill(1)
        answers = found.result()
    if len(answers["marks"]) <= TASKS:
        return {"error": "no task was run again"}
    return answers


def refuses_cluster_mode(cluster: Cluster, python: str, package: Path) -> bool:
    """Show Spark's answer: a standalone cluster runs no Python driver."""
    command = [str(SPARK_HOME / "bin" / "spark-submit"), "--master", cluster.url]
    command += ["--deploy-mode", "cluster", "--py-files", str(package), "job.py"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment(python)
    )
    (line,) = [line for line in done.stderr.splitlines() if "luster deploy mode" in line]
    print(f"   refused by Spark: {line.rpartition(': ')[2]}")
    print("   what works: client mode, as above, or a server of Spark Connect in the cluster")
    return done.returncode != 0


def isolated(arguments: Sequence[str]) -> list[str]:
    """Return a command that runs this program with the loopback interface alone, if it may."""
    enter = ["unshare", "--map-root-user", "--net"]
    inner = "ip link set lo up && "
    try:
        tried = subprocess.run([*enter, "sh", "-c", f"{inner}true"], check=False)
    except FileNotFoundError:
        tried = None
    program = [sys.executable, "-m", "verification.cluster", *arguments]
    if tried is None or tried.returncode:
        print("This machine permits no network of its own (unshare --net): the usual one is used.")
        return program
    return [*enter, "sh", "-c", f"{inner}exec {shlex.join(program)}"]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m verification.cluster", description=__doc__)
    parser.add_argument("--dist", type=Path, default=PROJECT / "dist", help="of the wheel and zip")
    parser.add_argument("--prepared", type=Path, help="folder of the first run of this program")
    given = parser.parse_args(arguments)
    package = given.dist.resolve() / "hudi_pyspark.zip"
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"  # a host name that does not resolve stops Spark
    if given.prepared:
        return 0 if run(given.prepared, package) else 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (wheel,) = package.parent.glob("hudi_pyspark-*.whl")
        print("Packing an environment for --archives ...", flush=True)
        packed_environment(wheel, folder)
        command = isolated(["--dist", str(package.parent), "--prepared", str(folder)])
        return subprocess.run(command, cwd=PROJECT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
