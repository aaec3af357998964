"""Random base files and log records, and the files and rules that are made of them."""

import datetime as dt
import decimal
import math
from collections import Counter
from collections.abc import Callable, Set
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from hudi_pyspark.table.merge_mode import MergeRule
from tests.property import oracle
from tests.property.oracle import Delete, Row
from tests.reading.log_records.log_files import (
    COMMIT_TIME,
    EVENT_TIME,
    KEY,
    array_of,
    avro_record,
    data_block,
    delete_block,
    nullable,
    rule_of,
    wrapped,
)

UTC = dt.timezone.utc
EPOCH = dt.datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Ordering:
    """A type of ordering fields: as Avro, as Arrow, some values, and how deletes carry them."""

    avro: object
    arrow: pa.DataType
    values: st.SearchStrategy[Any]
    wrapper: str
    other_wrapper: str = ""  # of another Java class, with a number in it; "" not to try
    unwrapped: Callable[[Any], Any] | None = None  # to what is in the wrapper; None for the value


NUMBERS = st.integers(-2, 3)
FLOATS = st.sampled_from([-math.inf, -1.5, -0.0, 0.0, 1.5, math.inf, math.nan])
ORDERINGS = {
    "int": Ordering("int", pa.int32(), NUMBERS, "Int", other_wrapper="Long"),
    "long": Ordering("long", pa.int64(), NUMBERS, "Long", other_wrapper="Int"),
    "float": Ordering("float", pa.float32(), FLOATS, "Float", other_wrapper="Int"),
    "double": Ordering("double", pa.float64(), FLOATS, "Double", other_wrapper="Long"),
    "string": Ordering(
        "string", pa.string(), st.sampled_from(["", "10", "9", "b", "é", "𝄞", "\uffee"]), "String"
    ),
    "boolean": Ordering("boolean", pa.bool_(), st.booleans(), "Boolean"),
    "date": Ordering(
        {"type": "int", "logicalType": "date"},
        pa.date32(),
        st.sampled_from([dt.date(1969, 12, 30), dt.date(1970, 1, 1), dt.date(2024, 2, 29)]),
        "Date",
        unwrapped=lambda day: (day - EPOCH.date()).days,
    ),
    "timestamp": Ordering(
        {"type": "long", "logicalType": "timestamp-micros"},
        pa.timestamp("us", "UTC"),
        st.integers(-1, 2).map(lambda micros: EPOCH + dt.timedelta(microseconds=micros)),
        "TimestampMicros",
        unwrapped=lambda moment: (moment - EPOCH) // dt.timedelta(microseconds=1),
    ),
    "decimal": Ordering(
        {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 3},
        pa.decimal128(9, 3),
        st.sampled_from([decimal.Decimal(text) for text in ("-0.001", "0.000", "9.5", "10.000")]),
        "Decimal",
    ),
}
# How a row of a data block says that it deletes its key, and near misses that do not.
DELETING = [
    {"_hoodie_is_deleted": True},
    {"_hoodie_operation": "D"},
    {"_hoodie_operation": "-U"},
    {"op": "gone"},
]
KEEPING: list[dict[str, Any]] = [
    {},
    {"_hoodie_is_deleted": False},
    {"_hoodie_operation": "I"},
    {"_hoodie_operation": "+U"},
    {"op": "GONE"},
]
KINDS = st.sampled_from(["int", "int", *sorted(ORDERINGS)])  # int has its own rules
KEYS = st.sampled_from(["a", "b", "c", "ä"])
OTHER_CLASS_VALUE = 3  # always the same: deletes of two such values would not compare in Hudi
MARKS: dict[str, object] = {
    "_hoodie_is_deleted": nullable("boolean"),
    "_hoodie_operation": nullable("string"),
    "op": nullable("string"),
}


@dataclass(frozen=True)
class Slice:
    """A base file and the records of its log files, in log order."""

    kinds: tuple[str, ...]
    by_event_time: bool
    by_position: bool
    base: list[Row]
    log: list[Row | Delete]
    marks: list[dict[str, Any]]  # for each log record, the columns that flag it
    left_out: frozenset[int] = frozenset()  # positions of base rows that take no part
    folds_base: bool = False  # the storage layout lsm_tree

    def expected(self) -> Counter[tuple[str, int]]:
        if self.folds_base:
            return self.expected_of_lsm_tree()
        # A position of a row that takes no part identifies records, and meets no base row.
        taken = [position for position in range(len(self.base)) if position not in self.left_out]
        moved = {position: number for number, position in enumerate(taken)}
        rows = oracle.merge(
            [self.base[position] for position in taken],
            [replace(r, position=moved.get(r.position, 100 + r.position)) for r in self.log],
            self.kinds,
            by_event_time=self.by_event_time,
            by_position=self.by_position,
        )
        return Counter((row.key, row.value) for row in rows)

    def expected_of_lsm_tree(self) -> Counter[tuple[str, int]]:
        """Base rows are the oldest records of the log, unless no record has their key."""
        base = [row for n, row in enumerate(self.base) if n not in self.left_out]
        keys = {record.key for record in self.log}
        oldest: list[Row | Delete] = [row for row in base if row.key in keys]
        log = [*oldest, *self.log]
        rows = oracle.merge([], log, self.kinds, by_event_time=self.by_event_time)
        rows += [row for row in base if row.key not in keys]
        return Counter((row.key, row.value) for row in rows)


@st.composite
def slices(draw: st.DrawFn, *, by_position: bool = False) -> Slice:
    kinds = tuple(draw(st.lists(KINDS, max_size=2)))
    ordering = st.tuples(*(ORDERINGS[kind].values | st.none() for kind in kinds))
    base = draw(st.lists(st.builds(Row, KEYS, ordering, st.just(0)), max_size=7))
    base = [replace(row, value=-1 - number) for number, row in enumerate(base)]
    log: list[Row | Delete] = []
    marks = []
    for number in range(draw(st.integers(0, 12))):
        position = draw(st.integers(0, len(base))) if by_position else -1
        key = base[position].key if 0 <= position < len(base) else draw(KEYS)
        place = Row(key, (), number, position=position)
        record, mark = draw(_log_records(place, kinds, ordering))
        log.append(record)
        marks.append(mark)
    left_out = draw(st.frozensets(st.integers(0, 6), max_size=3))
    return Slice(kinds, draw(st.booleans()), by_position, base, log, marks, left_out)


@st.composite
def _log_records(
    draw: st.DrawFn,
    place: Row,
    kinds: tuple[str, ...],
    ordering: st.SearchStrategy[tuple[Any, ...]],
) -> tuple[Row | Delete, dict[str, Any]]:
    """A record in place of another one, and the columns that flag it."""
    form = draw(st.sampled_from(["row", "row", "flagged", "delete", "plain delete", "other class"]))
    values = draw(ordering)
    if form == "row":
        keeping: dict[str, Any] = draw(st.sampled_from(KEEPING))
        return replace(place, ordering=values), keeping
    if form == "flagged":
        deleting: dict[str, Any] = draw(st.sampled_from(DELETING))
        return replace(place, ordering=values, deletes=True), deleting
    delete = Delete(place.key, None, position=place.position)
    if form == "other class" and len(kinds) == 1 and ORDERINGS[kinds[0]].other_wrapper:
        return replace(delete, ordering=(OTHER_CLASS_VALUE,), has_other_class=True), {}
    if form == "delete" and kinds and (len(kinds) > 1 or values[0] is not None):
        return replace(delete, ordering=values), {}
    return delete, {"zero": draw(st.booleans())}


def wrapped_ordering(delete: Delete, kinds: tuple[str, ...], mark: dict[str, Any]):
    """The ordering value of a delete-block record as Hudi writes it."""
    if delete.ordering is None:
        return wrapped("Int", 0) if mark.get("zero") else None
    if delete.has_other_class:
        return wrapped(ORDERINGS[kinds[0]].other_wrapper, OTHER_CLASS_VALUE)
    items = [
        None
        if value is None
        else wrapped(ORDERINGS[kind].wrapper, (ORDERINGS[kind].unwrapped or (lambda v: v))(value))
        for kind, value in zip(kinds, delete.ordering, strict=True)
    ]
    return array_of(*items) if len(kinds) > 1 else items[0]


def arrow_schema(kinds: tuple[str, ...]) -> pa.Schema:
    fields = [(f"ts{number}", ORDERINGS[kind].arrow) for number, kind in enumerate(kinds)]
    marks = [("_hoodie_is_deleted", pa.bool_()), ("_hoodie_operation", pa.string())]
    return pa.schema([(KEY, pa.string()), ("v", pa.int64()), *fields, *marks, ("op", pa.string())])


def log_file(case: Slice, *, cuts: Set[int]) -> bytes:
    """The blocks of the log records; a new one starts wherever it must, and at the cuts."""
    avro = avro_record(
        v="long",
        **{f"ts{n}": nullable(ORDERINGS[kind].avro) for n, kind in enumerate(case.kinds)},
        **MARKS,
    )
    starts = [0] + [
        later
        for earlier, later in pairwise(range(len(case.log)))
        if later in cuts
        or type(case.log[earlier]) is not type(case.log[later])
        or (case.by_position and case.log[later].position <= case.log[earlier].position)
    ]
    file = b""
    for number, (start, end) in enumerate(pairwise([*starts, len(case.log)])):
        records = list(zip(case.log[start:end], case.marks[start:end], strict=True))
        positions = [record.position for record, _ in records] if case.by_position else None
        instant = f"{number + 2:03}"
        rows = [_avro_row(record, mark) for record, mark in records if isinstance(record, Row)]
        keys = [
            (record.key, wrapped_ordering(record, case.kinds, mark))
            for record, mark in records
            if isinstance(record, Delete)
        ]
        if rows:
            file += data_block(avro, rows, instant=instant, positions=positions)
        if keys:
            file += delete_block(keys, instant=instant, positions=positions)
    return file


def _avro_row(row: Row, mark: dict[str, Any]) -> dict[str, Any]:
    orderings = {f"ts{number}": value for number, value in enumerate(row.ordering)}
    return {KEY: row.key, "v": row.value, **dict.fromkeys(MARKS), **mark, **orderings}


def base_table(case: Slice) -> pa.Table:
    # Base rows are never tested for deletes: these would all be gone otherwise.
    rows = [_avro_row(row, {"_hoodie_is_deleted": True}) for row in case.base]
    return pa.Table.from_pylist(rows, schema=arrow_schema(case.kinds))


def rule_of_slice(case: Slice) -> MergeRule:
    rule = rule_of(
        EVENT_TIME if case.by_event_time else COMMIT_TIME,
        [f"ts{number}" for number in range(len(case.kinds))],
        delete_field="op",
        delete_marker="gone",
    )
    return replace(rule, folds_base_rows=case.folds_base)


cut_sets = st.sets(st.integers(1, 11), max_size=5)
