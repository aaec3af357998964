"""The queries that are asked about a table, each a value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from random import Random
from typing import Any

import pyarrow as pa

from hudi_pyspark.columns.text import spark_value_text
from hudi_pyspark.table.merge_mode import DELETE_FIELD, DELETE_MARKER
from tests.golden.questions import RECORD_POSITIONS, random_options
from verification.histories.column_types import TYPES
from verification.histories.history import History
from verification.histories.instants import Instant

QUERY_TYPE = "hoodie.datasource.query.type"
BEGIN = "hoodie.datasource.read.begin.instanttime"
END = "hoodie.datasource.read.end.instanttime"
FORMAT = "hoodie.datasource.query.incremental.format"
METADATA = "hoodie.metadata.enable"
SKIPPING = "hoodie.enable.data.skipping"
PARTIAL_PAYLOADS = ("PartialUpdateAvroPayload", "OverwriteNonDefaultsWithLatestAvroPayload")


class QueryKind(str, Enum):
    """What is asked for."""

    SNAPSHOT = "snapshot"
    READ_OPTIMIZED = "read_optimized"
    AS_OF = "as_of"
    INCREMENTAL = "incremental"
    CDC = "cdc"
    SKIP_MERGE = "skip_merge"


@dataclass(frozen=True, slots=True)
class Query:
    """One read: Apache Hudi's options, and a condition that holds for the rows wanted."""

    kind: QueryKind
    options: Mapping[str, Any]
    filter: str = ""
    own: Mapping[str, Any] = field(default_factory=dict)  # options for the reader under test alone

    @property
    def is_incremental(self) -> bool:
        return self.kind in (QueryKind.INCREMENTAL, QueryKind.CDC)

    @property
    def begin(self) -> str:
        return str(self.options.get(BEGIN, ""))

    @property
    def end(self) -> str:
        return str(self.options.get(END, ""))

    def with_options(self, **options: str) -> Query:
        return replace(self, options={**self.options, **options})

    def with_filter(self, text: str) -> Query:
        return replace(self, filter=text)

    def __str__(self) -> str:
        short = {k.rsplit(".", 2)[-2]: v for k, v in self.options.items() if k not in _IMPLIED}
        settings = " ".join(f"{name}={value}" for name, value in short.items())
        where = f" where {self.filter}" if self.filter else ""
        own = "".join(f" {name}={value}" for name, value in self.own.items())
        return f"{self.kind.value} {settings}".strip() + where + (own and f" ours with{own}")


_MERGE_TYPE = "hoodie.datasource.merge.type"
_IMPLIED = (QUERY_TYPE, FORMAT, _MERGE_TYPE)
_READ_OPTIMIZED = Query(QueryKind.READ_OPTIMIZED, {QUERY_TYPE: "read_optimized"})
_SKIP_MERGE = Query(QueryKind.SKIP_MERGE, {_MERGE_TYPE: "skip_merge"})


def random_queries(
    history: History, instants: Sequence[Instant], random: Random
) -> Iterator[Query]:
    """Some queries of every kind that the table can answer.

    The instants are all commits that it ever had, archived and rolled back ones included.
    """
    for query in _chosen(history, instants, random):
        drawn = {key: random.choice(("true", "false")) for key in (METADATA, RECORD_POSITIONS)}
        asked = query.with_options(**drawn)
        yield replace(asked, own=random_options(random))


def _chosen(history: History, instants: Sequence[Instant], random: Random) -> Iterator[Query]:
    yield Query(QueryKind.SNAPSHOT, {})
    yield _READ_OPTIMIZED
    if history.is_merge_on_read:
        yield _SKIP_MERGE
        yield from _marked(history, random)
    for instant in random.sample(instants, min(2, len(instants))):
        yield as_of(instant.requested)
    yield incremental("000")
    ranges = [r for r in all_ranges(instants) if r != ("000", "")]
    for begin, end in random.sample(ranges, min(3, len(ranges))):
        yield incremental(begin, end)
    if history.has_cdc:
        yield changes("000")
        for begin, end in random.sample(ranges, min(1, len(ranges))):
            yield changes(begin, end)


def _marked(history: History, random: Random) -> Iterator[Query]:
    """A snapshot in which a value of some row marks deletes, of any type that has a text in Java.

    Not by payload classes that fill columns: Apache Hudi merges such a record as a row (D33).
    """
    payload = history.options.get("hoodie.datasource.write.payload.class", "")
    written = [step for step in history.steps if step.rows]
    if not written or payload.endswith(PARTIAL_PAYLOADS):
        return
    step = random.choice(written)
    number = random.randrange(len(step.columns))
    row = random.choice(step.rows)
    name = step.columns[number].name
    kind = TYPES.get(step.columns[number].type)
    if kind is None or row[number] is None:  # a type of the Java client, or no value
        return
    value = kind.to_python(row[number])
    if isinstance(value, list | dict | tuple | bytes | bytearray):
        return
    values = pa.array([value])
    if kind.declared == "float":
        values = values.cast(pa.float32())
    text = spark_value_text(values)[0].as_py()
    if text:
        yield Query(QueryKind.SNAPSHOT, {DELETE_FIELD: name, DELETE_MARKER: text})


def every_query(kind: QueryKind, instants: Sequence[Instant], most: int = 40) -> Iterator[Query]:
    """All queries of a kind, the likeliest to differ first, and no more than `most`."""
    if kind is QueryKind.AS_OF:
        yield from [as_of(instant.requested) for instant in instants][:most]
    elif kind in (QueryKind.INCREMENTAL, QueryKind.CDC):
        make = incremental if kind is QueryKind.INCREMENTAL else changes
        yield from [make(begin, end) for begin, end in all_ranges(instants)][:most]
    else:
        whole = (Query(QueryKind.SNAPSHOT, {}), _READ_OPTIMIZED, _SKIP_MERGE)
        yield next(query for query in whole if query.kind is kind)


def all_ranges(instants: Sequence[Instant]) -> list[tuple[str, str]]:
    """Begins and ends, open ranges first: requested and completion times of the commits."""
    times = sorted({time for i in instants for time in (i.requested, i.completion)})
    open_ended = [(begin, "") for begin in ("000", *times)]
    closed = [(b, e) for n, b in enumerate(("000", *times)) for e in times[n:] if b < e]
    return open_ended + closed


def as_of(instant: str) -> Query:
    return Query(QueryKind.AS_OF, {"as.of.instant": instant})


def incremental(begin: str, end: str = "") -> Query:
    options = {QUERY_TYPE: "incremental", BEGIN: begin}
    return Query(QueryKind.INCREMENTAL, {**options, END: end} if end else options)


def changes(begin: str, end: str = "") -> Query:
    ranged = incremental(begin, end)
    return Query(QueryKind.CDC, {**ranged.options, FORMAT: "cdc"})
