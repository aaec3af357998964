"""Tables that Apache Hudi is to write, as values: `tables/` has them, and here is their form.

A folder of `tables/` has `options.json`, which its cases share, and files of cases. A case has a
table, steps and queries. Each target of a case, a release and a table version, makes a history of
it, which the workers of random histories execute:

| Field of a case | What it is |
|---|---|
| `targets` | `release:table version`; a writer other than Spark stands before its release |
| `folder` | of the table; by default its name follows from the target and the name of the case |
| `columns`, `key`, `partition`, `ordering` | of the table; a step may have other columns |
| `merge` | a record merge mode; before version 8 the payload class that does the same |
| `options` | of all writes and statements; null takes an option of the folder away |
| `of_targets` | further options by target |
| `settings` | of the session that writes and reads |
| `steps` | fields of `Step`, with `rows` as JSON has them; `targets`, if not all do the step; \
`may_fail`, if Apache Hudi may refuse it |
| `queries` | with `as_of`, `begin`, `end` as numbers of commits; or one of `SERIES` |
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from verification.histories.history import Column, History, Step, StepKind, version_options
from verification.histories.instants import Instant
from verification.histories.queries import QUERY_TYPE, as_of, incremental

TABLES = Path(__file__).parent / "tables"
NATIVE_VERSIONS = {"0.12.2": 5, "0.15.0": 6, "1.0.2": 8, "1.2.0": 9}  # that releases write
_MODEL = "org.apache.hudi.common.model."
_PAYLOAD = "hoodie.datasource.write.payload.class"
_PAYLOADS = {
    "EVENT_TIME_ORDERING": "DefaultHoodieRecordPayload",
    "COMMIT_TIME_ORDERING": "OverwriteWithLatestAvroPayload",
}
_KEY_GENERATOR = "hoodie.datasource.write.keygenerator.class"
_WITHOUT_PARTITIONS = {_KEY_GENERATOR: "org.apache.hudi.keygen.NonpartitionedKeyGenerator"}
_BY_SQL = (_PAYLOAD, _KEY_GENERATOR)  # which a statement takes from the table
# Of these, tables of other writers have fewer queries.
_ASKED_THOROUGHLY = ("1.2.0:9", "0.15.0:6", "0.12.2:5")


@dataclass(frozen=True)
class TableCase:
    """A table that is to be written, once for each target."""

    name: str
    description: str
    type: str
    targets: Sequence[str]
    folder: str = ""
    features: Sequence[str] = ()
    notes: Sequence[str] = ()
    columns: str = ""
    key: str = "id"
    partition: str = ""
    ordering: str = "ts"
    merge: str = ""
    options: Mapping[str, str | None] = field(default_factory=dict)
    of_targets: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    steps: Sequence[Mapping[str, Any]] = ()
    queries: Sequence[Mapping[str, Any]] = ()
    conditions: Sequence[str] = ()  # of queries by indexes that may be trusted
    write_options: Mapping[str, str] = field(default_factory=dict)  # of all cases of the folder
    sql_options: Mapping[str, str] = field(default_factory=dict)  # likewise, of statements

    def steps_of(self, target: Target) -> list[Mapping[str, Any]]:
        return [e for e in self.steps if str(target) in e.get("targets", self.targets)]

    def folder_of(self, target: Target) -> str:
        """Return the name of the folder, and of the table."""
        if self.folder:
            return self.folder
        kind = "mor" if self.type == "MERGE_ON_READ" else "cow"
        writer = "" if target.is_native else f"w{target.release.replace('.', '')}"
        return f"x_v{target.version}{writer}_{kind}_{self.name}"


@dataclass(frozen=True)
class Target:
    """Who writes a table, in which version."""

    writer: str
    version: int

    @classmethod
    def parse(cls, text: str) -> Target:
        writer, _, version = text.rpartition(":")
        return cls(writer, int(version))

    @property
    def release(self) -> str:
        """Of Apache Hudi; "" for another project."""
        name, _, number = self.writer.rpartition("-")
        return number if name in ("", "avro", "java") else ""

    @property
    def is_other_writer(self) -> bool:
        """Whether the table is not written on Spark."""
        return self.writer not in (self.release, f"avro-{self.release}")

    @property
    def is_native(self) -> bool:
        return NATIVE_VERSIONS.get(self.release, self.version) == self.version

    def __str__(self) -> str:
        return f"{self.writer}:{self.version}"


def load_cases(folder: str) -> list[TableCase]:
    """Load the cases of a folder of `tables/`."""
    found = {
        file.stem: json.loads(file.read_text(encoding="utf-8"))
        for file in sorted((TABLES / folder).glob("*.json"))
    }
    shared = found.pop("options")
    return [TableCase(**shared, **case) for cases in found.values() for case in cases]


def history_of(case: TableCase, target: Target) -> History:
    """Return the history that makes the table of a target."""
    options = _present({**_table_options(case, target), **_own_options(case, target)})
    steps = tuple(_step(case, target, entry, options) for entry in case.steps_of(target))
    return History(case.folder_of(target), target.writer, options, steps)


def _table_options(case: TableCase, target: Target) -> dict[str, str]:
    write = "hoodie.datasource.write"
    found = {
        **case.write_options,
        "hoodie.table.name": case.folder_of(target).replace("-", "_"),
        f"{write}.table.type": case.type,
        f"{write}.recordkey.field": case.key,
        f"{write}.partitionpath.field": case.partition,
        f"{write}.precombine.field": case.ordering,
        **({} if case.partition else _WITHOUT_PARTITIONS),
    }
    return {key: value for key, value in found.items() if value or key.endswith("path.field")}


def _own_options(case: TableCase, target: Target) -> dict[str, str | None]:
    """Return what statements are given, like writes."""
    found = {} if target.is_native else version_options(target.version)
    more = case.of_targets.get(str(target), {})
    return {**found, **_merge_options(case, target), **case.options, **more}


def _merge_options(case: TableCase, target: Target) -> dict[str, str]:
    if not case.merge:
        return {}
    if target.version >= 8:
        return {"hoodie.write.record.merge.mode": case.merge}
    found = {_PAYLOAD: _MODEL + _PAYLOADS[case.merge]}
    if case.merge == "EVENT_TIME_ORDERING":
        first = case.ordering.partition(",")[0]
        found["hoodie.payload.ordering.field"] = first
        found["hoodie.payload.event.time.field"] = first
    return found


def _step(
    case: TableCase, target: Target, entry: Mapping[str, Any], options: Mapping[str, str]
) -> Step:
    kind = StepKind(entry["kind"])
    if kind is StepKind.EDIT_PROPERTIES:
        return Step(kind, options=entry["options"])
    given: Mapping[str, str | None] = options
    if kind is StepKind.SQL:
        own = _own_options(case, target)
        given = {**case.sql_options, **{k: v for k, v in own.items() if k not in _BY_SQL}}
    return Step(
        kind,
        columns_of(entry.get("columns", case.columns)) if "rows" in entry else (),
        tuple(tuple(row) for row in entry.get("rows", ())),
        _present({**given, **case.settings, **entry.get("options", {})}),
        entry.get("files", 0),
        entry.get("text", ""),
        entry.get("hudi", target.release),
    )


def _present(options: Mapping[str, str | None]) -> dict[str, str]:
    return {key: value for key, value in options.items() if value is not None}


def columns_of(text: str) -> tuple[Column, ...]:
    """Parse columns as SQL declares them: names and types, commas between."""
    found = []
    depth = 0
    start = 0
    for place, letter in enumerate(f"{text},"):
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and not depth:
            name, _, kind = text[start:place].strip().partition(" ")
            found.append(Column(name, kind))
            start = place + 1
    return tuple(found)


@dataclass(frozen=True)
class WrittenTable:
    """A table whose queries are asked."""

    case: TableCase
    target: Target
    commits: Sequence[Instant]  # of its active timeline, which the numbers of a series count
    seen: Sequence[Instant]  # all that it ever had, which the numbers of a query count

    @property
    def is_asked_thoroughly(self) -> bool:
        return f"{self.target.release}:{self.target.version}" in _ASKED_THOROUGHLY


def queries_of(table: WrittenTable) -> Iterator[dict[str, Any]]:
    """Yield the queries of a table: their names, options and notes."""
    for entry in table.case.queries:
        if str(table.target) in entry.get("targets", table.case.targets):
            name, settings = next(iter(entry.items()))
            series = SERIES.get(name)
            yield from series(table, **settings) if series else [_query(entry, table.seen)]


def _query(entry: Mapping[str, Any], seen: Sequence[Instant]) -> dict[str, Any]:
    options = dict(entry.get("options", {}))
    if "as_of" in entry:
        options |= as_of(seen[_place(entry["as_of"], seen)].requested).options
    if "begin" in entry:
        options = {**_incremental(entry["begin"], entry.get("end"), seen), **options}
    return {"name": entry["name"], "options": options, "note": entry.get("note", "")}


def _incremental(begin: int, end: int | None, commits: Sequence[Instant]) -> Mapping[str, str]:
    """Return the options of a range that begins after a commit; after 0, before all."""
    since = commits[_place(begin, commits)].completion if begin else "000"
    until = "" if end is None else commits[_place(end, commits)].completion
    return incremental(since, until).options


def _place(number: int, commits: Sequence[Instant]) -> int:
    """Return the place of a number, which counts from 1, or from the end with -1."""
    return number - 1 if number > 0 else len(commits) + number


def _standard(
    table: WrittenTable,
    *,
    travels: str | Sequence[int] = "some",
    ranges: bool = True,
    closed: bool = True,
    unmerged: bool = True,
    options: Mapping[str, str] | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield queries of every kind.

    Args:
        table: that is asked.
        travels: instants of time travel: numbers, or ``some`` or ``all``.
        ranges: whether there are incremental queries.
        closed: whether one of them has an end.
        unmerged: whether log records are asked for without a merge.
        options: of each query.
    """
    more = options or {}
    commits = table.commits
    is_thorough = table.is_asked_thoroughly
    count = len(commits)
    snapshot = {QUERY_TYPE: "snapshot", **more}
    yield _named("snapshot", snapshot)
    if table.case.type == "MERGE_ON_READ":
        yield _named("read_optimized", {QUERY_TYPE: "read_optimized", **more})
        if unmerged and is_thorough:
            skip = {"hoodie.datasource.merge.type": "skip_merge"}
            yield _named("snapshot_skip_merge", {**snapshot, **skip})
    middle = count // 2
    places = {middle, count - 2} if is_thorough else {middle}
    if travels == "all":
        places = set(range(count))
    elif travels != "some":
        places = {_place(int(number), commits) for number in travels}
    for place in sorted(places & set(range(count))):
        note = f"requested time of instant {place + 1} ({commits[place].action})"
        travel = as_of(commits[place].requested).options
        yield _named(f"as_of_c{place + 1}", {**travel, **more}, note)
    if ranges:
        yield _named("incr_all", {**_incremental(0, None, ()), **more}, "begin before everything")
    if ranges and closed and is_thorough and count >= 3:
        times = "" if table.target.version < 8 else " (completion times)"
        note = f"begin = instant 1, end = instant {middle + 1}{times}"
        yield _named("incr_mid", {**_incremental(1, middle + 1, commits), **more}, note)


def _windows(table: WrittenTable) -> Iterator[dict[str, Any]]:
    """Yield ranges from before every instant, from each on, and between any two that are apart."""
    yield _named("incr_all", _incremental(0, None, ()))
    commits = table.commits
    count = len(commits)
    for begin in range(1, count):
        note = f"begin = instant {begin}"
        yield _named(f"incr_c{begin}", _incremental(begin, None, commits), note)
        for end in range(begin + 2, count):
            options = _incremental(begin, end, commits)
            yield _named(f"incr_c{begin}_c{end}", options, f"{note}, end = instant {end}")


def _each(table: WrittenTable, *, name: str, note: str = "") -> Iterator[dict[str, Any]]:
    """Yield a range from each instant on but the last."""
    for begin in range(1, len(table.commits)):
        options = _incremental(begin, None, table.commits)
        yield _named(f"{name}{begin}", options, f"{note}{begin}")


def _named(name: str, options: Mapping[str, str], note: str = "") -> dict[str, Any]:
    return {"name": name, "options": dict(options), "note": note}


SERIES: Mapping[str, Callable[..., Iterator[dict[str, Any]]]] = {
    "standard": _standard,
    "windows": _windows,
    "each": _each,
}
