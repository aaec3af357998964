"""A separate process for Spark with an Apache Hudi bundle: it may crash, and is replaced."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from tests.golden.compare import CHANGE_COLUMNS, spark_type_name
from verification.common.data import load_data
from verification.histories.bundles import JAVA_CLIENT, bundle
from verification.histories.compare import CRASH, Answer, Failure, spark_cell
from verification.histories.history import History
from verification.histories.queries import Query
from verification.histories.writer import execute, settings_of

LOG = "spark.log"
SECONDS_TO_START = 900  # machines are busy; a step takes seconds where they are not
SECONDS_TO_ANSWER = 1200
_HADOOP_FILES = tuple(
    f"{part}-{kind}.xml"
    for part in ("core", "hdfs", "mapred", "yarn")
    for kind in ("default", "site")
)


_SETTINGS = load_data(__file__, "session.toml")
COMPILED = _SETTINGS["compiled"]
_MICROS = {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}


class CrashError(Exception):
    """The worker's JVM died, or did not answer in time."""


@dataclass(frozen=True)
class SavedAnswer:
    """The rows of an answer, and their schema as Spark writes it in JSON."""

    rows: pa.Table
    schema: dict[str, Any]


@dataclass
class Worker:
    """The parent's side of it; starts when it is first needed."""

    hudi: str
    folder: Path  # for the JVM's own files, error reports included
    has_java_client: bool = False  # beside the bundle
    is_other: bool = False  # of another worker, for which it does steps
    settings: Mapping[str, str] = field(default_factory=dict)  # further ones of the session
    _others: dict[tuple[str, bool], Worker] = field(default_factory=dict)
    _process: BaseProcess | None = None
    _connection: Connection | None = None
    _sent: float = field(default=0.0, repr=False)

    def execute(self, history: History, number: int, path: Path) -> Failure | None:
        """Do one step of a history; the failure if Apache Hudi refused it.

        A step of another release, or one that is done elsewhere, has a process of its own.
        """
        step = history.steps[number]
        place = (step.hudi or self.hudi, step.is_elsewhere)
        if not self.is_other and place != (self.hudi, False):
            return self._other(*place).execute(history, number, path)
        found: Failure | None = self._ask("execute", history, number, path)
        return found

    def _other(self, release: str, is_elsewhere: bool) -> Worker:  # noqa: FBT001
        place = (release, is_elsewhere)
        if place not in self._others:
            folder = self.folder / release / ("elsewhere" if is_elsewhere else "")
            self._others[place] = Worker(
                release, folder, has_java_client=self.has_java_client, is_other=True
            )
        return self._others[place]

    def read(self, path: Path, query: Query) -> Answer | Failure:
        """Apache Hudi's answer. A JVM that dies of the query is a failure like others."""
        try:
            found: Answer | Failure = self._ask("read", path, query)
        except CrashError as error:
            return Failure(CRASH, str(error))
        return found

    def save(self, path: Path, query: Query) -> SavedAnswer | Failure:
        """Apache Hudi's answer, with types and schema as its Spark has them."""
        folder = self.folder / "answer"
        schema: str | Failure = self._ask("save", path, query, folder)
        if isinstance(schema, Failure):
            return schema
        return SavedAnswer(pq.read_table(folder), json.loads(schema))

    def stop(self) -> None:
        for other in self._others.values():
            other.stop()
        if self._process is not None:
            self._process.terminate()
            self._process.join(10)
            if self._process.is_alive():
                self._process.kill()
                self._process.join()
        self._process = self._connection = None

    def _ask(self, *request: Any) -> Any:
        if self._process is None:
            self._start()
        assert self._connection is not None
        try:
            self._connection.send(request)
            return self._receive(SECONDS_TO_ANSWER)
        except (EOFError, OSError) as error:
            self.stop()
            raise CrashError(f"the JVM died: {type(error).__name__} {error}") from error

    def _receive(self, seconds: int) -> Any:
        assert self._connection is not None
        if not self._connection.poll(seconds):
            raise TimeoutError(f"no answer in {seconds} s")
        return self._connection.recv()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, other = context.Pipe()
        jars = [bundle(self.hudi)]
        if self.has_java_client:
            jars.append(bundle(self.hudi, JAVA_CLIENT))
        self.folder.mkdir(parents=True, exist_ok=True)
        of_release = _SETTINGS["0.12"] if self.hudi.startswith("0.12.") else {}
        settings = {**of_release, **self.settings}
        arguments = (other, ",".join(map(str, jars)), str(self.folder), settings)
        self._process = context.Process(target=serve, args=arguments, daemon=True)
        self._process.start()
        other.close()
        try:
            self._receive(SECONDS_TO_START)
        except (EOFError, TimeoutError) as error:
            raise SystemExit(f"Spark does not start: see {self.folder / LOG}") from error


def serve(
    connection: Connection, jars: str, folder: str, settings: Mapping[str, str] | None = None
) -> None:
    """The child's side: answers requests until its JVM dies or the parent goes."""
    answers: dict[str, Callable[..., Any]] = {
        "execute": execute,
        "read": _read,
        "save": _save,
    }
    log = os.open(f"{folder}/{LOG}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):  # the JVM's too
        os.dup2(log, stream)
    spark = start_session(jars, folder, settings)
    connection.send("ready")
    while True:
        try:
            name, *arguments = connection.recv()
        except EOFError:
            os._exit(0)
        try:
            found: Any = answers[name](spark, *arguments)
        except Exception as error:  # noqa: BLE001  (whatever it is, the report names it)
            if _has_died(spark):
                os._exit(3)
            found = _failure(error)
        connection.send(found)


def _read(spark: SparkSession, path: Path, query: Query) -> Answer:
    with _frame(spark, path, query) as frame:
        columns = [(f.name, spark_type_name(f.dataType.jsonValue())) for f in frame.schema.fields]
        rows = [tuple(spark_cell(value) for value in row) for row in frame.collect()]
    return Answer(tuple(columns), tuple(rows))


def _save(spark: SparkSession, path: Path, query: Query, folder: Path) -> str:
    """Write the rows of an answer as Parquet, and return their schema in JSON."""
    with _frame(spark, path, query) as frame:
        kept = frame
        if frame.columns == CHANGE_COLUMNS:  # 1.0.2 loses file groups of them in one partition
            kept = spark.createDataFrame(frame.collect(), frame.schema)
        kept.coalesce(1).write.mode("overwrite").parquet(str(folder))
        return str(frame.schema.json())


@contextmanager
def _frame(spark: SparkSession, path: Path, query: Query) -> Iterator[DataFrame]:
    """Open the answer to a query, with its settings of the session."""
    spark.catalog.clearCache()
    options = {k: v for k, v in query.options.items() if not k.startswith("spark.")}
    settings = {k: v for k, v in query.options.items() if k not in options}
    with settings_of(spark, {**_MICROS, **settings}):
        frame = spark.read.format("hudi").options(**options).load(str(path))
        yield frame.where(query.filter) if query.filter else frame


def cause_of(error: Exception) -> str:
    """What the innermost Java error says; "" of an error of Python alone."""
    cause = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    while cause is not None and cause.getCause() is not None:
        cause = cause.getCause()
    return "" if cause is None else str(cause.toString())


def _failure(error: Exception) -> Failure:
    java = getattr(error, "java_exception", None)
    text = str(java.toString() if java is not None else error)
    if java is None and hasattr(error, "desc"):  # Spark's own form of a known Java exception
        text = f"{error.desc}\n{getattr(error, 'stackTrace', '') or ''}"
    if java is not None:
        text = f"{text}\nCaused by: {cause_of(error)}"
    # Causes on executors are in the text only.
    named = re.findall(r"(?:Caused by: |: )([\w.$]+(?:Exception|Error))\b", text)
    kind = named[-1] if named else type(error).__name__
    return Failure(kind.rsplit(".", 1)[-1], " ".join(text.split())[:600])


def _has_died(spark: SparkSession) -> bool:
    time.sleep(0.2)  # a JVM that crashes closes its socket before it is gone
    with suppress(Exception):
        spark.sparkContext._jvm.System.nanoTime()  # type: ignore[union-attr]
        return False
    return True


def _hadoop_settings(folder: str) -> str:
    """Make a folder for the class path that replaces Hadoop's 900 defaults by no settings.

    They are parsed for every configuration and serialised for every task; code has them, too.
    """
    found = Path(folder) / "hadoop"
    found.mkdir(exist_ok=True)
    for name in _HADOOP_FILES:
        (found / name).write_text("<configuration/>")
    return str(found)


def start_session(jars: str, folder: str, more: Mapping[str, str] | None = None) -> SparkSession:
    """Start Spark with jars of Apache Hudi, commas between, and with more settings.

    The process works in the folder from then on.
    """
    os.environ["TZ"] = "UTC"
    time.tzset()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.chdir(folder)
    java = (
        f"-Duser.timezone=UTC -XX:ErrorFile={folder}/hs_err_%p.log "
        "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xms1g -Xmn500m"
    )
    settings = {
        **_SETTINGS["all"],
        "spark.jars": jars,
        "spark.driver.extraJavaOptions": java,
        "spark.driver.extraClassPath": _hadoop_settings(folder),
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        **(more or {}),
    }
    builder = SparkSession.builder.master("local[2]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark: SparkSession = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark
