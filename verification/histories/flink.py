"""Apache Flink as the writer of histories, by Apache Hudi's bundle for it.

The steps of a history are jobs. A Java process takes them as lines of JSON.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from verification.common.data import load_data
from verification.histories.answers import Failure
from verification.histories.column_types import TYPES, ColumnType
from verification.histories.generation import PARTITION_FIELDS, Draft, Maker
from verification.histories.history import CHANGE, COMMIT, FAILS, History, Step, StepKind
from verification.histories.session import run_maven
from verification.histories.worker import CrashError, Worker

FLINK = "flink-0.14.0"

SOURCE = Path(__file__).parent / "flink"
BUILD = Path(__file__).parents[2] / "build" / "flink-writer"
SECONDS_PER_JOB = 600
_JOBS = load_data(__file__, "flink_jobs.toml")
FLINK_TYPES: Mapping[str, ColumnType] = {
    **{name: replace(TYPES[name], declared=ddl) for name, ddl in _JOBS["types"].items()},
    "tiny": replace(TYPES["int"], declared="TINYINT"),
    "small": replace(TYPES["int"], declared="SMALLINT"),
    "millis": replace(TYPES["timestamp"], declared="TIMESTAMP(3)"),
    "local_millis": replace(TYPES["timestamp"], declared="TIMESTAMP_LTZ(3)"),
    "local_micros": replace(TYPES["timestamp"], declared="TIMESTAMP_LTZ(6)"),
}


@dataclass
class FlinkMaker(Maker):
    """Makes a history whose steps are jobs, with one commit or several."""

    is_append: bool = False
    has_changelog: bool = False

    def options(self) -> dict[str, str]:
        """Draw settings of the table and of every job, in the names of Spark where it has one."""
        found = super().options()
        self.is_append = found.get("write.operation") == "insert"
        self.has_changelog = "changelog.enabled" in found
        self.is_global = found.get("index.global.enabled") == "true"
        if self.is_append and self.random.random() < 0.5:  # a table without keys
            found["hoodie.datasource.write.recordkey.field"] = ""
        return found

    def version_options(self) -> dict[str, str]:
        """Flink's release knows no other version than its own."""
        return {}

    def weights(self) -> dict[str, float]:
        if self.is_append:
            return {"upsert": 6, "cluster": 2, "add_column": 0.6}
        return super().weights()

    def step_of(self, draft: Draft) -> Step:
        """Make a job, which appends if the table has no keys to find.

        Jobs other than upserts have one commit of inserts.
        """
        columns = self.all_columns()
        if draft.kind != "upsert" and not self.is_append:
            return Step(StepKind(draft.kind), columns, self.rows(draft, columns))
        changes = tuple(
            (commit, *change)
            for commit in range(draft.commits or self.random.randint(1, 3))
            for row in self.rows(draft, columns)
            for change in self.changes(row, 0.0 if self.is_append else draft.deletes)
        )
        kind = StepKind.INSERT if self.is_append else StepKind.UPSERT
        return Step(kind, (COMMIT, CHANGE, *columns), changes, draft.options, text=draft.text)

    def changes(self, row: tuple[Any, ...], deletes: float) -> list[tuple[Any, ...]]:
        """Return the row with its kind, after the row that it replaces in a changelog."""
        r = self.random
        if r.random() < deletes:
            return [("-D", *row)]
        if not self.has_changelog or r.random() < 0.5:
            return [(r.choice(["+I", "+U"]), *row)]
        after = ("+U", *row)
        return [("-U", *row), after] if r.random() < 0.8 else [("-U", *row)]

    def job_that_compacts(self) -> Step:
        options = {
            "compaction.schedule.enabled": "true",
            "compaction.async.enabled": "true",
            "compaction.delta_commits": str(self.random.randint(1, 2)),
        }
        return self.write(options=options)

    def insert_overwrite(self) -> Step:
        """Make a step that overwrites one partition, whose value all rows have."""
        fields = PARTITION_FIELDS[self.partitioning]
        if len(fields) != 1:
            return self.write("insert_overwrite_table")
        step = self.write("insert_overwrite")
        place = [column.name for column in step.columns].index(fields[0])
        value = step.rows[0][place]
        rows = tuple((*row[:place], value, *row[place + 1 :]) for row in step.rows)
        return replace(step, rows=rows, text=fields[0])


@dataclass
class FlinkWorker(Worker):
    """Writes with Flink and reads with Spark; each process starts when it is first needed."""

    _flink: subprocess.Popen[bytes] | None = None

    def execute(self, history: History, number: int, path: Path) -> Failure | None:
        """Run the job of a step; the failure if Flink refused it."""
        step = history.steps[number]
        answer = self._run(job(history, step, path))
        is_planned = step.text == FAILS and "failed on purpose" in answer["message"]
        if is_planned or not answer["error"]:
            return None
        return Failure(answer["error"], " ".join(answer["message"].split())[:600])

    def stop(self) -> None:
        super().stop()
        self._stop_flink()

    def _stop_flink(self) -> None:
        if self._flink is not None:
            self._flink.kill()
            self._flink.communicate()
        self._flink = None

    def _run(self, request: Mapping[str, Any]) -> dict[str, str]:
        if self._flink is None:
            self._flink = _start(self.folder)
            self._answer()
        assert self._flink.stdin is not None
        try:
            self._flink.stdin.write(json.dumps(request).encode() + b"\n")
            self._flink.stdin.flush()
        except OSError as error:
            self._stop_flink()
            raise CrashError(f"Flink's JVM died: {error}") from error
        return self._answer()

    def _answer(self) -> dict[str, str]:
        assert self._flink is not None
        assert self._flink.stdout is not None
        ready, _, _ = select.select([self._flink.stdout], [], [], SECONDS_PER_JOB)
        line = self._flink.stdout.readline() if ready else b""
        if not line:
            self._stop_flink()
            raise CrashError(f"no answer of Flink: see {self.folder / 'flink.log'}")
        found: dict[str, str] = json.loads(line)
        return found


def job(history: History, step: Step, path: Path) -> dict[str, Any]:
    """Return the job of a step, as `flink/Writer.java` describes it."""
    if step.kind in (StepKind.COMPACT, StepKind.CLUSTER):
        return _service(step, path)
    is_batch = step.kind not in (StepKind.UPSERT, StepKind.INSERT)
    return {
        "ddl": _ddl(history, step, path),
        "insert": _insert(step),
        "mode": "batch" if is_batch else "fail" if step.text == FAILS else "stream",
        "commits": list(_commits(step)),
    }


def _service(step: Step, path: Path) -> dict[str, Any]:
    service = _JOBS["services"][step.kind.value]
    arguments = ["--path", path.as_uri(), *service["arguments"]]
    if step.text or step.kind is StepKind.CLUSTER:
        arguments.append("--schedule")
    return {"main": service["main"], "arguments": arguments}


def _ddl(history: History, step: Step, path: Path) -> str:
    fields = [f"`{c.name}` {FLINK_TYPES[c.type].declared}" for c in _data_columns(step)]
    if history.record_keys:
        fields.append(f"PRIMARY KEY ({_quoted(history.record_keys)}) NOT ENFORCED")
    partitions = _quoted(history.partition_fields)
    by = f"PARTITIONED BY ({partitions}) " if partitions else ""
    options = {_JOBS["names"].get(k, k): v for k, v in history.options.items() if v}
    options |= {"path": path.as_uri()} | dict(step.options)
    if not history.ordering_fields:
        options["precombine.field"] = "no_precombine"
    if step.kind is StepKind.BULK_INSERT:
        options["write.operation"] = "bulk_insert"
    pairs = ", ".join(f"'{k}' = '{v}'" for k, v in {**_JOBS["options"], **options}.items())
    return f"CREATE TABLE t ({', '.join(fields)}) {by}WITH ({pairs})"


def _data_columns(step: Step) -> list[Any]:
    return [column for column in step.columns if column not in (COMMIT, CHANGE)]


def _quoted(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _insert(step: Step) -> str:
    names = tuple(column.name for column in _data_columns(step))
    if step.kind is StepKind.INSERT_OVERWRITE_TABLE:
        return f"INSERT OVERWRITE t SELECT {_quoted(names)} FROM changes"
    if step.kind is StepKind.INSERT_OVERWRITE:
        place = names.index(step.text)
        literal = {"int": "{}", "date": "DATE '{}'"}.get(step.columns[place].type, "'{}'")
        others = _quoted(tuple(name for name in names if name != step.text))
        value = literal.format(step.rows[0][place])
        return (
            f"INSERT OVERWRITE t PARTITION (`{step.text}` = {value}) SELECT {others} FROM changes"
        )
    return f"INSERT INTO t SELECT {_quoted(names)} FROM changes"


def _commits(step: Step) -> Iterator[list[list[Any]]]:
    """Yield the rows of each commit, with their kinds first; all in one if they name none."""
    places = {column.name: place for place, column in enumerate(step.columns)}
    commit, change = places.get(COMMIT.name), places.get(CHANGE.name)

    def number(row: tuple[Any, ...]) -> int:
        return 0 if commit is None else row[commit]

    for _, rows in groupby(sorted(step.rows, key=number), number):
        yield [
            [
                "+I" if change is None else row[change],
                *(value for n, value in enumerate(row) if n not in (commit, change)),
            ]
            for row in rows
        ]


def _start(folder: Path) -> subprocess.Popen[bytes]:
    folder.mkdir(parents=True, exist_ok=True)
    opens = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in _JOBS["opened"]]
    java = ["-Xmx1500m", "-Duser.timezone=UTC", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    java.append("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
    with (folder / "flink.log").open("ab") as log:
        return subprocess.Popen(
            [_java("java"), *java, *opens, "-cp", _classpath(), "Writer"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env={**os.environ, "TZ": "UTC"},
        )


def _classpath() -> str:
    """Return the classpath of the writer, made anew where its sources are newer."""
    jars = BUILD / "classpath"
    classes = BUILD / "classes"
    pom = SOURCE / "pom.xml"
    source = SOURCE / "Writer.java"
    if _is_older(jars, pom):
        print(
            f"Getting Apache Hudi's bundle for Flink ({FLINK}) from Maven Central ...", flush=True
        )
        run_maven("build-classpath", "-f", str(pom), f"-Dmdep.outputFile={jars}")
    found = f"{classes}{os.pathsep}{jars.read_text()}"
    if _is_older(classes / "Writer.class", source):
        command = [_java("javac"), "-encoding", "UTF-8", "-cp", found, "-d", str(classes)]
        subprocess.run([*command, str(source)], check=True)
    return found


def _is_older(made: Path, source: Path) -> bool:
    return not made.exists() or made.stat().st_mtime < source.stat().st_mtime


def _java(name: str) -> str:
    home = os.environ.get("JAVA_HOME")
    return f"{home}/bin/{name}" if home else name
