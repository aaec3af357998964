"""The engines to compare, and the environments, files and tables that they need."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.merge_switch import ENDINGS, SWITCH
from benchmarks.queries import Kind

if TYPE_CHECKING:
    from benchmarks.queries import Query

PROJECT = Path(__file__).resolve().parents[1]
TPCH = "tpch"  # the folder of tables that `benchmarks.tpch` writes
HUDI_VERSION = "1.2.0"
BUNDLE = "hudi-spark3.5-bundle_2.12"
COORDINATES = f"org.apache.hudi:{BUNDLE}:{HUDI_VERSION}"
SPARK_ONLY = frozenset({"three_columns", "join"})  # what Spark makes of columns and joins
SQL_ONLY: frozenset[str] = frozenset()
PYSPARK = "pyspark==3.5.*"
S3A = ("org.apache.hadoop:hadoop-aws:3.3.4", "com.amazonaws:aws-java-sdk-bundle:1.12.262")


@dataclass(frozen=True, slots=True)
class Peer:
    """An engine and the command of its process."""

    name: str
    title: str
    command: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)
    only: frozenset[str] | None = None  # names of the queries that it can answer; None: all
    without: frozenset[str] = frozenset()  # names of those that it cannot answer
    has_sql: bool = False
    is_floor: bool = False  # reads only base files, so not all of its answers are right

    def answers(self, query: Query) -> bool:
        if query.kind is Kind.SQL:
            return self.has_sql
        return query.name not in self.without and (self.only is None or query.name in self.only)


class Missing(Exception):
    """An engine lacks something; the text says how to get it."""


class Workshop:
    """Finds Java, the bundle and the libraries; creates the environment of Spark 3.5.

    Args:
        data: folder for the tables and that environment.
        on_s3: whether Spark 3.5 reads an object store.
    """

    def __init__(self, data: Path, *, on_s3: bool = False) -> None:
        self.data = data
        self._on_s3 = on_s3

    def peer(self, name: str) -> Peer:
        """Return the engine with a name.

        Raises:
            Missing: it cannot run here.
        """
        make = {
            "hudi-jvm": self._hudi_jvm,
            "spark-parquet": self._spark_parquet,
            "spark35-parquet": self._spark35_parquet,
            "hudi-py-spark": self._hudi_py_spark,
            "hudi-py-user": self._hudi_py_user,
            "hudi-py-connect": self._hudi_py_connect,
            "hudi-rs": self._hudi_rs,
            "hudi-py": self._hudi_py,
            "pyarrow": self._pyarrow,
            "hudi-py-duckdb": self._hudi_py_duckdb,
            "hudi-py-polars": self._hudi_py_polars,
            "base-files-duckdb": self._base_files_duckdb,
            "hudi-rs-datafusion": self._hudi_rs_datafusion,
        }
        ending = next((ending for ending in ENDINGS if name.endswith(ending)), "")
        peer = make[name.removesuffix(ending)]()
        if not ending:
            return peer
        title = f"{peer.title}, {ENDINGS[ending]}"
        return replace(peer, name=name, title=title, env=peer.env | {SWITCH: ending})

    def _hudi_jvm(self) -> Peer:
        title = f"Apache Hudi {HUDI_VERSION}, Spark 3.5"
        jars = [self.jar, *(_from_maven(name) for name in S3A if self._on_s3)]
        arguments = ("hudi-jvm", ",".join(map(str, jars)))
        command = self._command(self.old_spark, *arguments)
        return Peer("hudi-jvm", title, command, self.spark_env, has_sql=True)

    def _spark_parquet(self) -> Peer:
        return self._parquet_by_spark("spark-parquet", 4, self._own_python("pyspark"))

    def _spark35_parquet(self) -> Peer:
        return self._parquet_by_spark("spark35-parquet", 3.5, self.old_spark)

    def _parquet_by_spark(self, name: str, version: float, python: str) -> Peer:
        return Peer(
            name,
            f"base files, Spark {version}",
            self._command(python, "spark-parquet"),
            self.spark_env,
            without=frozenset({"incremental"}),  # base files do not record changes
            has_sql=True,
            is_floor=True,
        )

    def _hudi_py_spark(self) -> Peer:
        command = self._command(self._own_python("pyspark"), "hudi-py-spark")
        return Peer("hudi-py-spark", "hudi-py in Spark 4", command, self.spark_env)

    def _hudi_py_user(self) -> Peer:
        command = self._command(self._own_python("pyspark"), "hudi-py-user")
        title = "hudi-py in Spark 4, nothing named"
        return Peer("hudi-py-user", title, command, self.spark_env, has_sql=True)

    def _hudi_py_connect(self) -> Peer:
        command = self._command(self._own_python("pyspark"), "hudi-py-connect", "local[2]")
        title = "hudi-py over Spark Connect, nothing named"
        return Peer("hudi-py-connect", title, command, self.spark_env, has_sql=True)

    def _hudi_rs(self) -> Peer:
        command = self._command(self._own_python("hudi"), "hudi-rs")
        return Peer("hudi-rs", "hudi-rs", command, without=SPARK_ONLY)

    def _hudi_py(self) -> Peer:
        command = self._command(sys.executable, "hudi-py")
        return Peer("hudi-py", "hudi-py alone", command, without=SPARK_ONLY)

    def _pyarrow(self) -> Peer:
        command = self._command(sys.executable, "pyarrow")
        without = SPARK_ONLY | {"incremental", "first"}  # base files do not record changes
        return Peer("pyarrow", "base files, pyarrow", command, without=without, is_floor=True)

    def _hudi_py_duckdb(self) -> Peer:
        command = self._command(self._own_python("duckdb"), "hudi-py-duckdb")
        return Peer("hudi-py-duckdb", "hudi-py in DuckDB", command, only=SQL_ONLY, has_sql=True)

    def _hudi_py_polars(self) -> Peer:
        command = self._command(self._own_python("polars"), "hudi-py-polars")
        return Peer("hudi-py-polars", "hudi-py in polars", command, only=SQL_ONLY, has_sql=True)

    def _base_files_duckdb(self) -> Peer:
        command = self._command(self._own_python("duckdb"), "base-files-duckdb")
        title = "base files, DuckDB"
        return Peer("base-files-duckdb", title, command, only=SQL_ONLY, has_sql=True, is_floor=True)

    def _hudi_rs_datafusion(self) -> Peer:
        command = self._command(self._own_python("datafusion"), "hudi-rs-datafusion")
        title = "hudi-rs in DataFusion"
        return Peer("hudi-rs-datafusion", title, command, only=SQL_ONLY, has_sql=True)

    @staticmethod
    def _command(python: str, *arguments: str) -> tuple[str, ...]:
        return (python, "-m", "benchmarks.engine", *arguments)

    @staticmethod
    def _own_python(package: str) -> str:
        if find_spec(package) is None:
            raise Missing(f"the package {package} is not installed. Run: pip install --group bench")
        return sys.executable

    @cached_property
    def spark_env(self) -> dict[str, str]:
        """Environment variables of a process that runs Spark."""
        done = subprocess.run(
            [sys.executable, str(PROJECT / ".ci" / "java.py")],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise Missing(done.stderr.strip())
        return {
            "JAVA_HOME": done.stdout.strip(),
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": str(PROJECT),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "TZ": "UTC",
        }

    @cached_property
    def jar(self) -> Path:
        """Apache Hudi's bundle, from Maven's cache or from Maven Central."""
        given = os.environ.get("HUDI_JAR")
        return Path(given) if given else _from_maven(COORDINATES)

    @cached_property
    def old_spark(self) -> str:
        """Python of the environment with the bundle's version of Spark; created if missing."""
        python = self.data / "spark35" / "bin" / "python"
        if not self._has_pyspark(python):
            print(f"Installing {PYSPARK} into {self.data / 'spark35'} ...", flush=True)
            pip = [str(python), "-m", "pip", "install", "--quiet", PYSPARK]
            try:
                subprocess.run(
                    [sys.executable, "-m", "venv", "--clear", str(self.data / "spark35")],
                    check=True,
                )
                subprocess.run(pip, check=True)
            except subprocess.CalledProcessError as error:
                raise Missing(f"{PYSPARK} could not be installed ({error})") from error
        return str(python)

    @staticmethod
    def _has_pyspark(python: Path) -> bool:
        if not python.exists():
            return False
        return subprocess.run([python, "-c", "import pyspark"], check=False).returncode == 0

    def table(self, letter: str, scale: float) -> Path:
        """Return the folder of a table, with ``table`` and ``facts.json``; write it if missing.

        Raises:
            Missing: the table does not exist and cannot be written.
        """
        folder = self.data / "tables" / f"{letter}-{scale:g}"
        if (folder / "facts.json").exists():
            return folder
        print(f"Writing table ({letter}) at scale {scale:g} into {folder} ...", flush=True)
        if letter == TPCH:
            arguments = ["benchmarks.tpch.write", str(self._tpch_rows(scale))]
        else:
            arguments = ["benchmarks.write_tables", letter, f"{scale:g}"]
        log = self.data / "logs" / f"write-{letter}-{scale:g}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("w") as errors:
            done = subprocess.run(
                [self.old_spark, "-m", *arguments, str(folder), str(self.jar)],
                cwd=PROJECT,
                env={**os.environ, **self.spark_env},
                stderr=errors,
                check=False,
            )
        if done.returncode:
            raise Missing(f"table ({letter}) could not be written; see {log}")
        return folder

    def _tpch_rows(self, scale: float) -> Path:
        """Return the folder of the Parquet files that the generator of TPC-H makes."""
        folder = self.data / f"tpch-{scale:g}"
        generator = shutil.which("tpchgen-cli", path=str(Path(sys.executable).parent))
        if not folder.exists():
            if generator is None:
                raise Missing("tpchgen-cli is not installed. Run: pip install --group bench")
            command = [generator, "parquet", "-s", f"{scale:g}", "--output-dir", str(folder)]
            subprocess.run(command, check=True)
        return folder


def _from_maven(coordinates: str) -> Path:
    """Return a jar from Maven's cache, where Maven puts it if it is not there."""
    group, name, version = coordinates.split(":")
    folder = Path.home() / ".m2/repository" / group.replace(".", "/") / name / version
    jar = folder / f"{name}-{version}.jar"
    get = ["dependency:get", f"-Dartifact={coordinates}", "-Dtransitive=false", "-q"]
    maven = shutil.which("mvn")
    if not jar.exists() and maven:
        print(f"Getting {coordinates} with Maven ...", flush=True)
        subprocess.run([maven, *get], check=False)
    if not jar.exists():
        raise Missing(
            f"{jar} is missing. Run: mvn {' '.join(get)}   (or copy it from Maven Central; "
            f"HUDI_JAR names a copy of {BUNDLE}-{HUDI_VERSION}.jar)"
        )
    return jar
