"""Servers and clusters of Spark in child processes, with a Python of their own.

All of them listen on the loopback interface, on ports that the system chooses.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import time
import venv
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyspark

if TYPE_CHECKING:
    from collections.abc import Iterator

SPARK_HOME = Path(pyspark.__file__).resolve().parent
# JVMs that live for seconds: less compilation, less memory.
_QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
# Ends when its standard input does, so also when the tests are killed.
CONNECT_SERVER = """
import sys
from pyspark.sql import SparkSession

spark = (
    SparkSession.builder.master(sys.argv[1])
    .config("spark.plugins", "org.apache.spark.sql.connect.SparkConnectPlugin")
    .config("spark.connect.grpc.binding.address", "127.0.0.1")
    .config("spark.connect.grpc.binding.port", "0")
    .config("spark.executor.memory", "512m")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.session.timeZone", "UTC")
    .getOrCreate()
)
service = getattr(spark._jvm, "org.apache.spark.sql.connect.service.SparkConnectService$")
print("PORT", getattr(service, "MODULE$").localPort(), flush=True)
sys.stdin.read()
spark.stop()
"""


def python_without_package(folder: Path) -> str:
    """Make a Python with all packages of this one, except the one that is tested."""
    venv.EnvBuilder(symlinks=True, with_pip=False).create(folder)
    (packages,) = folder.glob("lib/python3*/site-packages")
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if "hudi_pyspark" not in entry.name and entry.suffix != ".pth":
            (packages / entry.name).symlink_to(entry)
    python = str(folder / "bin" / "python")
    finds = "import sys, importlib.util as u; sys.exit(u.find_spec('hudi_pyspark') is not None)"
    subprocess.run([python, "-c", finds], env=environment(python), cwd=folder, check=True)
    return python


def environment(python: str) -> dict[str, str]:
    """Return the variables of a Spark whose driver and workers run a Python; see `spark` too."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return {
        **kept,
        "PYSPARK_PYTHON": python,
        "PYSPARK_DRIVER_PYTHON": python,
        "SPARK_HOME": str(SPARK_HOME),
        "JDK_JAVA_OPTIONS": _QUICK_JVM,
    }


@contextmanager
def connect_server(
    master: str = "local[2]", python: str | None = None, cwd: Path | None = None
) -> Iterator[str]:
    """Run a Connect server and yield its port.

    Args:
        master: of its Spark.
        python: of its driver and workers; this one by default.
        cwd: its folder; this one by default.
    """
    command = [python or sys.executable, "-c", CONNECT_SERVER, master]
    variables = environment(python) if python else None
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, text=True, env=variables, cwd=cwd
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        yield next(line.split()[1] for line in server.stdout if line.startswith("PORT "))
        server.stdin.close()
        server.wait(timeout=60)


@contextmanager
def standalone_cluster(folder: Path) -> Iterator[str]:
    """Run a master and two workers, and yield the URL of the master."""
    place = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
    worker = ["--cores", "1", "--memory", "1g", "--work-dir", str(folder)]
    with ExitStack() as stack:

        def start(log: str, name: str, *arguments: str, until: str) -> str:
            command = [str(SPARK_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}"]
            with (folder / log).open("w") as file:
                process = subprocess.Popen(
                    [*command, *place, *arguments], env=environment(sys.executable), stderr=file
                )
            stack.callback(process.wait, timeout=60)
            stack.callback(process.terminate)
            return _line(folder / log, until)

        line = start("master", "master.Master", until="Starting Spark master at ")
        url = line.rpartition(" at ")[2]
        for log in ("worker-1", "worker-2"):
            start(log, "worker.Worker", *worker, url, until="Successfully registered with master")
        yield url


def _line(log: Path, text: str) -> str:
    """Wait for the first line of a log with a text."""
    for _ in range(600):
        for line in log.read_text().splitlines():
            if text in line:
                return line
        time.sleep(0.1)
    raise TimeoutError(f"no {text!r} in {log.read_text()}")


def client(script: str, *arguments: str, timeout: int = 200) -> dict[str, Any]:
    """Run a script in a process of its own and return the answers that it printed."""
    command = [sys.executable, "-c", script, *arguments]
    return _answers(command, None, timeout)


def submit(master: str, python: str, zipped: Path, script: Path, *arguments: str) -> dict[str, Any]:
    """Run a script with spark-submit and return the answers that it printed."""
    command = [str(SPARK_HOME / "bin" / "spark-submit"), "--master", master]
    command += ["--conf", "spark.executor.memory=512m", "--conf", "spark.ui.enabled=false"]
    command += ["--py-files", str(zipped), str(script), *arguments]
    variables = {**environment(python), "SPARK_WORKER_DIR": str(script.parent)}
    return _answers(command, variables, 300)


def _answers(command: list[str], variables: dict[str, str] | None, timeout: int) -> dict[str, Any]:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=timeout, env=variables
    )
    found = [line for line in done.stdout.splitlines() if line.startswith("ANSWERS ")]
    assert found, done.stderr
    answers: dict[str, Any] = json.loads(found[0].removeprefix("ANSWERS "))
    return answers
