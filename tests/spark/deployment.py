"""Servers and clusters of Spark in child processes, with a Python of their own.

All of them listen on the loopback interface, on ports that the system chooses.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import sysconfig
import time
import venv
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyspark

from tests.conftest import GOLDEN, PATIENCE
from tests.golden.case import load_case
from tests.spark.class_archive import QUICK_JVM

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SPARK_HOME = Path(pyspark.__file__).resolve().parent
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
    .config("spark.sql.shuffle.partitions", "2")
    .config("spark.python.daemon.module", sys.argv[2])
    .getOrCreate()
)
service = getattr(spark._jvm, "org.apache.spark.sql.connect.service.SparkConnectService$")
print("PORT", getattr(service, "MODULE$").localPort(), flush=True)
sys.stdin.read()
spark.stop()
"""

# A server of Hive Metastore, made of the classes that come with PySpark, as HiveMetaStore.main
# makes it; but it listens on the loopback interface. It ends when its standard input does.
METASTORE_SERVER = """
import sys
from threading import Thread
from pyspark.java_gateway import launch_gateway

folder = sys.argv[1]
gateway = launch_gateway()
hive = gateway.jvm.org.apache.hadoop.hive
thrift = gateway.jvm.org.apache.thrift
settings = hive.conf.HiveConf()
for name, value in {
    "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder}/entries;create=true",
    "hive.metastore.warehouse.dir": f"file:{folder}/w",
    "datanucleus.schema.autoCreateAll": "true",
    "hive.metastore.schema.verification": "false",
}.items():
    settings.set(name, value)
handler = getattr(hive.metastore, "HiveMetaStore$HMSHandler")("server", settings, False)
handler = hive.metastore.HiveMetaStore.newRetryingHMSHandler(handler, settings)
address = gateway.jvm.java.net.InetSocketAddress("127.0.0.1", 0)
socket = thrift.transport.TServerSocket(address)
arguments = getattr(thrift.server, "TThreadPoolServer$Args")(socket)
arguments.processor(hive.metastore.TSetIpAddressProcessor(handler))
server = thrift.server.TThreadPoolServer(arguments)
Thread(target=server.serve, daemon=True).start()
print("PORT", socket.getServerSocket().getLocalPort(), flush=True)
sys.stdin.read()
gateway.shutdown()
"""


def expected_keys(case: str) -> list[str]:
    """Return the record keys that Apache Hudi reads from a golden table."""
    queries = load_case(GOLDEN / case).queries
    rows = next(q for q in queries if q.name == "snapshot").expected_rows()
    keys: list[str] = sorted(rows["_hoodie_record_key"].to_pylist())
    return keys


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


def packed_environment(wheel: Path, folder: Path) -> Path:
    """Make `environment` in a folder, with the package, and pack it, as docs/platforms.md says.

    It is installed from the package index; the path of its Python is relative to the folder, and
    the same for the driver, which runs there, and for the executors, which unpack the archive.
    """
    subprocess.run([sys.executable, "-m", "venv", "environment"], cwd=folder, check=True)
    tools = ["environment/bin/pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*tools, str(wheel), "venv-pack"], cwd=folder, check=True)
    archive = folder / "environment.tar.gz"
    pack = ["environment/bin/venv-pack", "--quiet", "--prefix", "environment", "-o", archive.name]
    subprocess.run(pack, cwd=folder, check=True)
    return archive


def environment(python: str) -> dict[str, str]:
    """Return the variables of a Spark whose driver and workers run a Python; see `spark` too."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return {
        **kept,
        "PYSPARK_PYTHON": python,
        "PYSPARK_DRIVER_PYTHON": python,
        "SPARK_HOME": str(SPARK_HOME),
        "JDK_JAVA_OPTIONS": QUICK_JVM,
    }


@contextmanager
def connect_server(
    master: str = "local[2]", python: str | None = None, cwd: Path | None = None
) -> Iterator[str]:
    """Run a Connect server and yield its port.

    Args:
        master: of its Spark.
        python: of its driver and workers; this one by default, with the package's daemon.
        cwd: its folder; this one by default.
    """
    daemon = "pyspark.daemon" if python else "hudi_pyspark.spark.daemon"
    command = [python or sys.executable, "-c", CONNECT_SERVER, master, daemon]
    with _server(command, environment(python) if python else None, cwd) as port:
        yield port


@contextmanager
def metastore_server(folder: Path) -> Iterator[str]:
    """Run a server of Hive Metastore without entries, and yield its address.

    Args:
        folder: where Derby keeps the entries; its folder `w` is the warehouse.
    """
    with _server([sys.executable, "-c", METASTORE_SERVER, str(folder)], None, folder) as port:
        yield f"thrift://127.0.0.1:{port}"


@contextmanager
def _server(
    command: list[str], variables: dict[str, str] | None, cwd: Path | None
) -> Iterator[str]:
    """Run a server that prints its port, and that ends with its standard input."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, text=True, env=variables, cwd=cwd
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        yield next(line.split()[1] for line in server.stdout if line.startswith("PORT "))
        server.stdin.close()
        server.wait(timeout=PATIENCE)


@dataclass(frozen=True)
class Cluster:
    """A master and two workers, with one executor each for an application."""

    url: str  # of the master
    folders: tuple[Path, ...]  # of each worker, where its executors run
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def kill(self, number: int) -> None:
        """End a worker and its executors at once, as the loss of its machine does."""
        worker = self.workers[number].pid
        found = subprocess.run(
            ["pgrep", "-P", str(worker)], capture_output=True, text=True, check=True
        )
        for process in (worker, *map(int, found.stdout.split())):
            os.kill(process, signal.SIGKILL)


@contextmanager
def standalone_cluster(folder: Path) -> Iterator[Cluster]:
    """Run a master and two workers."""
    place = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
    with ExitStack() as stack:

        def start(
            log: str, name: str, *arguments: str, until: str
        ) -> tuple[subprocess.Popen[bytes], str]:
            command = [str(SPARK_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}"]
            with (folder / log).open("w") as file:
                process = subprocess.Popen(
                    [*command, *place, *arguments], env=environment(sys.executable), stderr=file
                )
            stack.callback(process.wait, timeout=PATIENCE)
            stack.callback(process.terminate)
            return process, _line(folder / log, until)

        _, line = start("master.log", "master.Master", until="Starting Spark master at ")
        cluster = Cluster(line.rpartition(" at ")[2], (folder / "worker-1", folder / "worker-2"))
        for where in cluster.folders:
            worker, _ = start(
                f"{where.name}.log", "worker.Worker", "--cores", "1", "--memory", "1g",
                "--work-dir", str(where), cluster.url, until="Successfully registered with master",
            )  # fmt: skip
            cluster.workers.append(worker)
        yield cluster


def _line(log: Path, text: str) -> str:
    """Wait for the first line of a log with a text."""
    for _ in range(3_000):
        for line in log.read_text().splitlines():
            if text in line:
                return line
        time.sleep(0.1)
    raise TimeoutError(f"no {text!r} in {log.read_text()}")


def client(
    script: str, *arguments: str, timeout: int = 900, cwd: Path | None = None
) -> dict[str, Any]:
    """Run a script in a separate process and return the answers that it printed."""
    command = [sys.executable, "-c", script, *arguments]
    return _answers(command, None, timeout, cwd)


def submit(
    master: str, python: str, script: Path, *arguments: str, options: Sequence[str]
) -> dict[str, Any]:
    """Run a script with spark-submit in its folder and return the answers that it printed.

    Args:
        master: URL.
        python: of the driver and its executors.
        script: the job.
        arguments: of the script.
        options: of spark-submit, with the package.
    """
    command = [str(SPARK_HOME / "bin" / "spark-submit"), "--master", master]
    command += ["--conf", "spark.executor.memory=512m", "--conf", "spark.ui.enabled=false"]
    command += [*options, str(script), *arguments]
    variables = {**environment(python), "SPARK_WORKER_DIR": str(script.parent)}
    return _answers(command, variables, 1_800, script.parent)


def _answers(
    command: list[str], variables: dict[str, str] | None, timeout: int, cwd: Path | None
) -> dict[str, Any]:
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
        env=variables,
        cwd=cwd,
    )
    found = [line for line in done.stdout.splitlines() if line.startswith("ANSWERS ")]
    assert found, done.stdout + done.stderr  # spark-submit puts the errors of Python into stdout
    answers: dict[str, Any] = json.loads(found[0].removeprefix("ANSWERS "))
    return answers
