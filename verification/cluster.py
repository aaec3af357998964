"""A standalone cluster reads a table on S3, with the package sent along (`make cluster-demo`).

A master, two workers, a server of Spark Connect and a server of S3 run as processes of one machine,
in a network that has nothing but the loopback interface, where Linux permits this. The Python of
the executors lacks the package. Each way to send it is tried, a worker is killed, and the
rows are compared with those of Apache Hudi. The exit code is 1 where a way does not work.
"""

from __future__ import annotations

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
from functools import partial
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
    expected_keys,
    packed_environment,
    python_without_package,
    standalone_cluster,
    submit,
)
from tests.storage import servers
from verification.common.runs import Outcome, Run, parser_of

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


def ask_every_way(folder: Path, package: Path, run: Run) -> None:
    """Try every way in a cluster.

    Args:
        folder: has the packed environment; everything else is written there.
        package: the zip that is sent along.
        run: gets the outcomes.
    """
    with ExitStack() as stack:
        s3 = stack.enter_context(servers.moto())
        upload(folder, s3)
        set_variables(s3)
        cluster = stack.enter_context(standalone_cluster(folder))
        print(f"Master {cluster.url}, two workers, S3 at {s3.options['endpoint_override']}")
        bare = python_without_package(folder / "bare")
        packed = ("--archives", f"{folder / 'environment.tar.gz'}#environment")
        sent = ("--py-files", str(package))
        by_archive = partial(job, cluster, folder, "./environment/bin/python", *packed)
        by_file = partial(job, cluster, folder, bare, *sent)
        by_artifact = partial(over_connect, cluster, folder, bare, package)
        with_a_loss = partial(killed, cluster, folder, bare, *sent)
        ways = (
            ("spark-submit --py-files hudi_pyspark.zip", by_file, "hudi_pyspark.zip/"),
            ("spark-submit --archives environment.tar.gz", by_archive, "environment/lib/"),
            ("Spark Connect, addArtifacts(hudi_pyspark.zip)", by_artifact, ""),
            ("a worker that is killed, with its executor, after its first task", with_a_loss, ""),
        )
        for title, ask, expects in ways:
            run.add(outcome_of(title, ask, expects))
        is_refused = refuses_cluster_mode(cluster, bare, package)
        verdict = "refused by Spark" if is_refused else "not refused by Spark"
        mode = "spark-submit --deploy-mode cluster"
        run.add(Outcome(mode, verdict, is_finding=not is_refused))


def outcome_of(title: str, ask: Callable[[], Mapping[str, Any]], expects: str) -> Outcome:
    """Ask in one way, and compare the rows with those of Apache Hudi.

    Args:
        title: of the way.
        ask: returns the answers.
        expects: is in the answers.
    """
    print(f"\n== {title}", flush=True)
    begin = time.monotonic()
    found = ask()
    seconds = time.monotonic() - begin
    marks: Sequence[Mapping[str, Any]] = found.get("marks", ())
    for name in ("package", "network"):
        for value in sorted({str(mark[name]) for mark in marks}):
            print(f"   {name} of executors: {value}")
    if marks:
        executors = len({mark["executor"] for mark in marks})
        print(f"   {executors} executors, {len(marks)} runs of {TASKS} tasks")
    is_right = found.get("keys") == expected_keys(CASE) and expects in str(found)
    verdict = "the rows of Apache Hudi" if is_right else "WRONG"
    print(f"   {len(found.get('keys', ()))} rows: {verdict} ({seconds:.0f} s)", flush=True)
    return Outcome(title, verdict, text=str(found), is_finding=not is_right)


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


def over_connect(cluster: Cluster, folder: Path, python: str, package: Path) -> dict[str, Any]:
    """Ask a server of Spark Connect that runs in the cluster."""
    with connect_server(cluster.url, python, folder) as port:
        return client(CONNECT, port, str(package))


def refuses_cluster_mode(cluster: Cluster, python: str, package: Path) -> bool:
    """Show Spark's answer: a standalone cluster runs no Python driver."""
    print("\n== spark-submit --deploy-mode cluster")
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
    inner = "ip link set lo up && "
    program = [sys.executable, "-m", "verification.cluster", *arguments]
    enter = ["unshare", "--map-root-user", "--net", "sh", "-c"]
    is_there = shutil.which("unshare") is not None
    if is_there and not subprocess.run([*enter, f"{inner}true"], check=False).returncode:
        return [*enter, f"{inner}exec {shlex.join(program)}"]
    print("This machine permits no network of its own (unshare --net): the usual one is used.")
    return program


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--dist", type=Path, default=PROJECT / "dist", help="of the wheel and zip")
    parser.add_argument("--prepared", type=Path, help="folder of the first run of this program")
    given = parser.parse_args()
    package = given.dist.resolve() / "hudi_pyspark.zip"
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"  # a host name that does not resolve stops Spark
    if given.prepared:
        run = Run()
        ask_every_way(given.prepared, package, run)
        return run.finish()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (wheel,) = package.parent.glob("hudi_pyspark-*.whl")
        print("Packing an environment for --archives ...", flush=True)
        packed_environment(wheel, folder)
        command = isolated(["--dist", str(package.parent), "--prepared", str(folder)])
        return subprocess.run(command, cwd=PROJECT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
