"""Payload classes and partial updates against an oracle, over real log blocks."""

from collections import Counter
from collections.abc import Set
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_pyspark.format.log.log_block import HeaderKey
from hudi_pyspark.table.merge_mode import MergeRule, RecordMergeMode
from tests.property import payload_oracle as oracle
from tests.property.payload_oracle import FLAG, META, TOASTED, Delete, Record, Row, Rules
from tests.reading.log_records.log_files import (
    COMMIT_TIME,
    ENOUGH_MEMORY,
    EVENT_TIME,
    KEY,
    avro_record,
    data_block,
    delete_block,
    log_decoder,
    merged_slice,
    nullable,
    rule_of,
    wrapped,
)

pytestmark = pytest.mark.property

STRUCT = {
    "type": "record",
    "name": "s",
    "fields": [{"name": name, "type": nullable("long")} for name in ("x", "y")],
}
AVRO: dict[str, object] = {
    META: nullable("string"),
    "ts": nullable("long"),
    "a": nullable("string"),
    "b": nullable("bytes"),
    "n": nullable("long"),
    "s": nullable(STRUCT),
    "_hoodie_is_deleted": nullable("boolean"),
    "Op": nullable("string"),
    "_change_operation_type": nullable("string"),
    "_event_seq": nullable("string"),
    "_event_lsn": nullable("long"),
}
ARROW = pa.schema(
    {
        KEY: pa.string(),
        META: pa.string(),
        "ts": pa.int64(),
        "a": pa.string(),
        "b": pa.binary(),
        "n": pa.int64(),
        "s": pa.struct({"x": pa.int64(), "y": pa.int64()}),
        "_hoodie_is_deleted": pa.bool_(),
        "Op": pa.string(),
        "_change_operation_type": pa.string(),
        "_event_seq": pa.string(),
        "_event_lsn": pa.int64(),
    }.items()
)
COLUMNS = tuple(ARROW.names)
# Few values, so that records tie; the commit of a merged row shows whose it is.
SMALL = st.sampled_from([0, 1, 1, 2, 2, 3, None])
OPERATIONS = st.sampled_from([None, "c", "u", "u", "u", "d", "D"])
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "ts": SMALL,
    "a": st.sampled_from([None, "x", "y", TOASTED]),
    "b": st.sampled_from([None, b"x", TOASTED.encode()]),
    "n": SMALL,
    "s": st.one_of(st.none(), *[st.builds(lambda x, y: {"x": x, "y": y}, SMALL, SMALL)] * 2),
    "_hoodie_is_deleted": st.sampled_from([None, False, False, False, False, True]),
    "Op": OPERATIONS,
    "_change_operation_type": OPERATIONS,
    "_event_seq": st.sampled_from(["000009.5", "000009.50", "000009.150", "000010.5", "10.50"]),
    "_event_lsn": st.integers(0, 3),
}
# A column of every update; the others are there or not.
ALWAYS = (KEY, META, "ts")
UPDATES = st.sets(st.sampled_from(["a", "b", "n", "s", "_hoodie_is_deleted"])).map(
    lambda names: tuple(name for name in COLUMNS if name in {*ALWAYS, *names})
)


@dataclass(frozen=True)
class Slice:
    """A base file, the records of its log files in log order, and how they are merged."""

    rules: Rules
    rule: MergeRule
    base: list[Row]
    log: list[Record]

    def expected(self) -> Counter[str]:
        return Counter(map(str, oracle.merge(self.base, self.log, self.rules)))


def slice_of(draw: st.DrawFn, rules: Rules, rule: MergeRule, *, partial: bool = False) -> Slice:
    keys = st.sampled_from("aab")
    base = [
        _base_row(draw, _row(draw, key, rules, rule, commit=f"base {n}"), rules)
        for n, key in enumerate(draw(st.lists(keys, max_size=3)))
    ]
    log: list[Record] = []
    for number in range(draw(st.integers(0, 8))):
        if draw(st.integers(0, 5)) == 0:
            ordering = draw(VALUES[rules.ordering]) if rules.ordering else None
            log.append(Delete(draw(keys), ordering))
            continue
        columns = draw(st.just(COLUMNS) | UPDATES) if partial else COLUMNS
        log.append(_row(draw, draw(keys), rules, rule, commit=f"log {number}", columns=columns))
    return Slice(rules, rule, base, log)


def _base_row(draw: st.DrawFn, row: Row, rules: Rules) -> Row:
    """A row of a bulk insert: often flagged, or written before the columns of Debezium existed."""
    values = row.values | {FLAG: draw(st.booleans())}
    if draw(st.integers(0, 3)) == 0:
        values |= {"_event_seq": None, "_event_lsn": None}
    ordering = values[rules.ordering] if rules.ordering else None
    return Row(row.key, values, ordering)


def _row(
    draw: st.DrawFn,
    key: str,
    rules: Rules,
    rule: MergeRule,
    *,
    commit: str,
    columns: tuple[str, ...] = COLUMNS,
) -> Row:
    drawn = {name: draw(values) for name, values in VALUES.items() if name in columns}
    values = {KEY: key, META: commit, **drawn}
    marked = bool(rule.delete_field) and values.get(rule.delete_field) == rule.delete_marker
    deletes = bool(values.get("_hoodie_is_deleted")) or marked
    return Row(key, values, values[rules.ordering] if rules.ordering else None, deletes)


# The ordering field that Hudi's writers set for a payload class, and the delete marker it implies.
ORDERING = {
    "MySqlDebeziumAvroPayload": "_event_seq",
    "PostgresDebeziumAvroPayload": "_event_lsn",
}
MARKERS = {
    "AWSDmsAvroPayload": ("Op", "D"),
    "MySqlDebeziumAvroPayload": ("_change_operation_type", "d"),
    "PostgresDebeziumAvroPayload": ("_change_operation_type", "d"),
}


@st.composite
def payload_slices(draw: st.DrawFn, payload: str) -> Slice:
    """A table of version 6 or 8 whose records are merged by a payload class."""
    ordering = ORDERING.get(payload, "ts")
    defaults = draw(st.sampled_from([{}, {"n": 0, "a": "x"}]))
    rules = Rules(
        oracle.custom(oracle.PAYLOADS[payload]),
        COLUMNS,
        ordering,
        is_int=ordering == "ts" and draw(st.booleans()),
        defaults=defaults,
    )
    field, marker = MARKERS.get(payload, ("", ""))
    ordered = rule_of(EVENT_TIME, [ordering], delete_field=field, delete_marker=marker)
    rule = replace(
        ordered,
        mode=RecordMergeMode.CUSTOM,
        payload_class=f"org.apache.hudi.common.model.{payload}",
        column_defaults=tuple((k, pa.scalar(v, ARROW.field(k).type)) for k, v in defaults.items()),
    )
    return slice_of(draw, rules, rule)


def ordered_rules(draw: st.DrawFn, fill: oracle.Fill) -> tuple[Rules, MergeRule]:
    """A table that is merged by commit time or event time, in which `D` in Op deletes."""
    mode = draw(st.sampled_from([COMMIT_TIME, EVENT_TIME]))
    by_event_time = mode is EVENT_TIME
    newer = oracle.newer_by_event_time if by_event_time else oracle.newer_by_commit_time
    rules = Rules(
        oracle.ordered(newer, fill),
        COLUMNS,
        "ts" if by_event_time else "",
        is_int=by_event_time and draw(st.booleans()),
        marker=draw(st.sampled_from([TOASTED, "y"])),
    )
    return rules, rule_of(mode, ["ts"], delete_field="Op", delete_marker="D")


@st.composite
def partial_mode_slices(draw: st.DrawFn, mode: str, fill: oracle.Fill) -> Slice:
    """A table of version 9 with ``hoodie.table.partial.update.mode``."""
    rules, rule = ordered_rules(draw, fill)
    marker = (("hoodie.write.partial.update.unavailable.value", rules.marker),)
    properties = () if rules.marker == TOASTED else marker
    return slice_of(
        draw, rules, replace(rule, partial_update_mode=mode, merge_properties=properties)
    )


@st.composite
def partial_block_slices(draw: st.DrawFn) -> Slice:
    """Blocks of partial updates among blocks of whole rows and deletes."""
    rules, rule = ordered_rules(draw, oracle.missing_columns)
    return slice_of(draw, rules, rule, partial=True)


# From the slice to files, and what a read makes of them


def arrow_schema(rules: Rules) -> pa.Schema:
    kind = pa.int32() if rules.is_int else pa.int64()
    return pa.schema([f.with_type(kind) if f.name == "ts" else f for f in ARROW])


def log_file(case: Slice, cuts: Set[int]) -> bytes:
    """The blocks of the log records; a new one starts wherever it must, and at the cuts."""
    starts = [0] + [
        later
        for earlier, later in pairwise(range(len(case.log)))
        if later in cuts or _shape(case.log[earlier]) != _shape(case.log[later])
    ]
    spans = pairwise([*starts, len(case.log)])
    return b"".join(
        _block(case, case.log[start:end], f"{number + 2:03}")
        for number, (start, end) in enumerate(spans)
    )


def _shape(record: Record) -> tuple[str, ...]:
    return tuple(record.values) if isinstance(record, Row) else ()


def _block(case: Slice, records: list[Record], instant: str) -> bytes:
    if not records:
        return b""
    if isinstance(records[0], Delete):
        return delete_block(
            [(record.key, _wrapped(case, record.ordering)) for record in records], instant=instant
        )
    names = [name for name in _shape(records[0]) if name != KEY]
    kinds = {**AVRO, "ts": nullable("int")} if case.rules.is_int else AVRO
    return data_block(
        avro_record(**{name: kinds[name] for name in names}),
        [record.values for record in records if isinstance(record, Row)],
        instant=instant,
        more={HeaderKey.IS_PARTIAL: "true"} if len(names) + 1 < len(COLUMNS) else None,
    )


def _wrapped(case: Slice, value: Any) -> object:
    if value is None:
        return None
    wrapper = "String" if isinstance(value, str) else "Int" if case.rules.is_int else "Long"
    return wrapped(wrapper, value)


def merged(
    case: Slice,
    *,
    base_cuts: Set[int] = frozenset(),
    log_cuts: Set[int] = frozenset(),
    memory: int = ENOUGH_MEMORY,
):
    schema = arrow_schema(case.rules)
    decoder = log_decoder(schema, case.rule)
    table = pa.Table.from_pylist([row.values for row in case.base], schema=schema)
    ends = sorted({0, table.num_rows, *(cut for cut in base_cuts if cut < table.num_rows)})
    base = [table.slice(start, end - start) for start, end in pairwise(ends)]
    log = log_file(case, log_cuts)
    tables = merged_slice(log, base, decoder, memory=memory, batch_rows=3)
    return Counter(str(row) for result in tables for row in result.to_pylist())


PARTIAL_MODES = {
    "IGNORE_DEFAULTS": oracle.ignore_defaults,
    "FILL_UNAVAILABLE": oracle.fill_unavailable,
}
every_slice = st.one_of(
    *(payload_slices(payload) for payload in oracle.PAYLOADS),
    *(partial_mode_slices(mode, fill) for mode, fill in PARTIAL_MODES.items()),
    partial_block_slices(),
)
cut_sets = st.sets(st.integers(1, 7), max_size=4)


@pytest.mark.parametrize("payload", oracle.PAYLOADS)
@given(data=st.data())
def test_payload_class_agrees_with_row_at_a_time_oracle(payload, data):
    case = data.draw(payload_slices(payload))
    assert merged(case) == case.expected()


@pytest.mark.parametrize(("mode", "fill"), PARTIAL_MODES.items(), ids=PARTIAL_MODES)
@given(data=st.data())
def test_partial_update_mode_agrees_with_row_at_a_time_oracle(mode, fill, data):
    case = data.draw(partial_mode_slices(mode, fill))
    assert merged(case) == case.expected()


@given(partial_block_slices())
def test_partial_update_blocks_agree_with_row_at_a_time_oracle(case):
    assert merged(case) == case.expected()


@given(every_slice, cut_sets)
def test_result_does_not_depend_on_how_the_base_is_batched(case, cuts):
    assert merged(case, base_cuts=cuts) == merged(case)


@given(every_slice, cut_sets)
def test_result_does_not_depend_on_where_log_blocks_are_split(case, cuts):
    assert merged(case, log_cuts=cuts) == merged(case)


@given(every_slice, cut_sets, st.sampled_from([1, 4_000, 16_000]))
def test_merge_in_passes_agrees_with_row_at_a_time_oracle(case, cuts, memory):
    assert merged(case, base_cuts=cuts, log_cuts=cuts, memory=memory) == case.expected()
