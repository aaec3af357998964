"""A separate process for Spark with an Apache Hudi bundle: it may crash, and is replaced.

`Worker` is the parent's side: it writes tables step by step, and reads them. Each request to the
child is the name of a function and its arguments; the reply is what that returns, or a `Failure`.
A writer that is no Spark has a worker of its own, which inherits how Spark reads.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_type

from verification.histories.answers import CRASH, Failure, HudiAnswer
from verification.histories.history import History
from verification.histories.queries import Query
from verification.histories.session import LOG, jars_of, settings_of, start_session
from verification.histories.spark_writer import execute

SECONDS_TO_START = 900  # machines are busy; a step takes seconds where they are not
SECONDS_TO_ANSWER = 1200


class CrashError(Exception):
    """The worker's JVM died, or did not answer in time."""


@dataclass
class Worker:
    """The parent's side of it; starts when it is first needed."""

    hudi: str
    folder: Path  # for the JVM's own files, error reports included
    libraries: str = ""  # beside the bundle: names of artifacts, commas between
    settings: Mapping[str, str] = field(default_factory=dict)  # further ones of the session
    _others: dict[tuple[str, bool], Worker] = field(default_factory=dict)
    _process: BaseProcess | None = None
    _connection: Connection | None = None

    def execute(self, history: History, number: int, path: Path) -> Failure | None:
        """Do one step of a history; the failure if Apache Hudi refused it.

        A step of another release, or one that is done elsewhere, has a process of its own.
        """
        step = history.steps[number]
        place = (step.hudi or self.hudi, step.is_elsewhere)
        worker = self if place == (self.hudi, False) else self._other(*place)
        found: Failure | None = worker._ask("execute", history, number, path)
        return found

    def _other(self, release: str, is_elsewhere: bool) -> Worker:  # noqa: FBT001
        place = (release, is_elsewhere)
        if place not in self._others:
            folder = self.folder / release / ("elsewhere" if is_elsewhere else "")
            self._others[place] = Worker(release, folder, self.libraries, self.settings)
        return self._others[place]

    def read(self, path: Path, query: Query) -> HudiAnswer | Failure:
        """Apache Hudi's answer. A JVM that dies of the query is a failure like others."""
        try:
            found: HudiAnswer | Failure = self._ask("read", path, query)
        except CrashError as error:
            return Failure(CRASH, str(error))
        return found

    def stop(self) -> None:
        """End the process, and those of other releases."""
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
        jars_of(self.hudi, self.libraries)  # this process says what Maven gets
        self.folder.mkdir(parents=True, exist_ok=True)
        arguments = (other, self.hudi, str(self.folder), self.settings, self.libraries)
        self._process = context.Process(target=serve, args=arguments, daemon=True)
        self._process.start()
        other.close()
        try:
            self._receive(SECONDS_TO_START)
        except (EOFError, TimeoutError) as error:
            raise SystemExit(f"Spark does not start: see {self.folder / LOG}") from error


def serve(
    connection: Connection, hudi: str, folder: str, settings: Mapping[str, str], libraries: str
) -> None:
    """The child's side: answers requests until its JVM dies or the parent goes."""
    answers: dict[str, Callable[..., Any]] = {"execute": execute, "read": _read}
    log = os.open(f"{folder}/{LOG}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):  # the JVM's too
        os.dup2(log, stream)
    spark = start_session(hudi, folder, settings, libraries=libraries)
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


def _read(spark: SparkSession, path: Path, query: Query) -> HudiAnswer:
    """Answer a query, with its settings of the session."""
    spark.catalog.clearCache()
    options = {k: v for k, v in query.options.items() if not k.startswith("spark.")}
    settings = {k: v for k, v in query.options.items() if k not in options}
    with settings_of(spark, settings):
        frame = spark.read.format("hudi").options(**options).load(str(path))
        if query.filter:
            frame = frame.where(query.filter)
        return HudiAnswer(_collected(frame), json.loads(frame.schema.json()))


def _collected(frame: DataFrame) -> pa.Table:
    """Collect rows as users do: in plans that end otherwise, 0.15 and 1.0 lose changes (CDC)."""
    try:
        rows = frame.collect()
    except (OverflowError, ValueError):  # Python has no such time
        return pa.Table.from_batches(frame._collect_as_arrow())  # type: ignore[operator]
    arrays = [
        pa.array([row[place] for row in rows], to_arrow_type(field.dataType))
        for place, field in enumerate(frame.schema.fields)
    ]
    return pa.Table.from_arrays(arrays, frame.columns)


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
