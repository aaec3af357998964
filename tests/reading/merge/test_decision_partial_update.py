"""Partial updates by examples: blocks with some of the columns, and modes of version 9."""

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from hudi_pyspark.errors import UnsupportedMergeError
from hudi_pyspark.reading.merge.decision import equals_marker
from hudi_pyspark.table.merge_mode import RecordMergeMode
from tests.reading.log_records.log_files import COMMIT_TIME, EVENT_TIME, KEY, rule_of, wrapped
from tests.reading.merge.merging import Table

TOASTED = "__debezium_unavailable_value"
XY = pa.struct({"x": pa.int64(), "y": pa.int64()})
COLUMNS = {"ts": pa.int64(), "a": pa.string(), "b": pa.binary(), "s": XY}
BASE = ("k", 10, "base", b"base", {"x": 1, "y": 2})


def table(mode=EVENT_TIME, **changes: Any) -> Table:
    return Table(COLUMNS, replace(rule_of(mode), **changes))


def updates(mode, *rows: dict[str, Any] | tuple[Any, ...]) -> Table:
    """A log of partial rows (dicts), whole rows (tuples) and deletes (a wrapped value or None)."""
    made = table(mode)
    for row in rows:
        if isinstance(row, dict):
            made.update({KEY: "k", **row})
        else:
            made.upsert(("k", *row))
    return made


# Blocks of MERGE INTO and UPDATE


@pytest.mark.parametrize(
    ("mode", "rows", "expected"),
    [
        pytest.param(
            EVENT_TIME,
            [{"ts": 11, "a": "x"}],
            (11, "x", b"base", {"x": 1, "y": 2}),
            id="other-columns-stay",
        ),
        pytest.param(
            EVENT_TIME,
            [{"ts": 11, "a": None}],
            (11, None, b"base", {"x": 1, "y": 2}),
            id="null-is-set",
        ),
        pytest.param(
            EVENT_TIME,
            [{"ts": 11, "s": {"x": 5, "y": None}}],
            (11, "base", b"base", {"x": 5, "y": None}),
            id="struct-is-one-value",
        ),
        pytest.param(
            EVENT_TIME, [{"ts": 11, "s": None}], (11, "base", b"base", None), id="struct-to-null"
        ),
        pytest.param(EVENT_TIME, [{"ts": 9, "a": "x"}], BASE[1:], id="late-update-is-ignored"),
        pytest.param(
            EVENT_TIME,
            [{"ts": 10, "a": "x"}],
            (10, "x", b"base", {"x": 1, "y": 2}),
            id="tie-goes-to-the-log",
        ),
        pytest.param(
            EVENT_TIME,
            [{"ts": 11, "a": "x"}, {"ts": 12, "b": b"y"}, {"ts": 13, "a": "z"}],
            (13, "z", b"y", {"x": 1, "y": 2}),
            id="several-on-top-of-each-other",
        ),
        pytest.param(
            EVENT_TIME,
            [{"ts": 12, "a": "x"}, {"ts": 11, "a": "late", "b": b"gap"}],
            (12, "x", b"gap", {"x": 1, "y": 2}),
            id="late-update-fills-what-the-winner-lacks",
        ),
        pytest.param(
            EVENT_TIME,
            [(11, "full", b"full", None), {"ts": 12, "a": "x"}],
            (12, "x", b"full", None),
            id="on-top-of-a-whole-row",
        ),
        pytest.param(
            EVENT_TIME,
            [{"ts": 11, "a": "x"}, (12, "full", None, None)],
            (12, "full", None, None),
            id="whole-row-on-top",
        ),
        pytest.param(
            EVENT_TIME,
            [{"ts": 12, "a": "x"}, (11, "full", b"full", None)],
            (12, "x", b"full", None),
            id="late-whole-row-fills",
        ),
        pytest.param(
            COMMIT_TIME,
            [{"ts": 12, "a": "x"}, {"ts": 1, "b": b"y"}],
            (1, "x", b"y", {"x": 1, "y": 2}),
            id="by-commit-time-whatever-the-ordering",
        ),
        pytest.param(
            COMMIT_TIME,
            [{"a": "x"}],
            (10, "x", b"base", {"x": 1, "y": 2}),
            id="by-commit-time-without-the-ordering-column",
        ),
    ],
)
def test_partial_block_over_a_base_row(mode, rows, expected):
    assert updates(mode, *rows).merged(BASE) == [("k", *expected)]


def test_columns_that_no_block_has_are_null_without_a_base_row():
    made = updates(EVENT_TIME, {"ts": 1, "a": "x"}, {"ts": 2, "b": b"y"})
    assert made.merged() == [("k", 2, "x", b"y", None)]


def test_partial_row_after_a_delete_takes_nothing_from_before_it():
    made = updates(COMMIT_TIME, {"ts": 1, "a": "x"})
    made.delete("k").update({KEY: "k", "ts": 2, "b": b"y"})
    assert made.merged() == [("k", 2, None, b"y", None)]


def test_partial_row_after_a_delete_is_completed_by_the_base_row():
    made = table().delete("k").update({KEY: "k", "ts": 11, "a": "x"})
    assert made.merged(BASE) == [("k", 11, "x", b"base", {"x": 1, "y": 2})]


@pytest.mark.parametrize(
    ("ordering", "expected"),
    [(None, []), (wrapped("Long", 12), []), (wrapped("Long", 5), ["x"])],
    ids=["delete-without-ordering", "later-delete", "late-delete"],
)
def test_delete_after_a_partial_row(ordering, expected):
    made = table().update({KEY: "k", "ts": 11, "a": "x"}).delete("k", ordering=ordering)
    assert [row[2] for row in made.merged(BASE)] == expected


def test_one_partial_block_leaves_the_rows_of_other_keys_alone():
    made = table().update({KEY: "k", "ts": 11, "a": "x"}).upsert(("m", 11, None, None, None))
    others = [("l", 1, "l", b"l", None), ("m", 1, "m", b"m", {"x": 1, "y": 1})]
    assert made.merged(BASE, *others)[1:] == [others[0], ("m", 11, None, None, None)]


def test_partial_rows_of_one_block_are_folded_too():
    made = table().update({KEY: "k", "ts": 11, "a": "x"}, {KEY: "k", "ts": 11, "a": "y"})
    assert made.merged(BASE)[0][1:3] == (11, "y")


@pytest.mark.parametrize(
    ("property_name", "value"),
    [
        ("payload_class", "org.apache.hudi.common.model.PartialUpdateAvroPayload"),
        ("merge_strategy_id", "7d0b"),
    ],
)
def test_custom_rule_with_partial_blocks_is_refused(property_name, value):
    made = table(mode=EVENT_TIME)
    made.rule = replace(made.rule, mode=RecordMergeMode.CUSTOM, **{property_name: value})
    message = f"partial updates .*merges by {value}: .*Run a compaction"
    with pytest.raises(UnsupportedMergeError, match=message):
        made.update({KEY: "k", "ts": 11, "a": "x"}).merged(BASE)


# Modes of version 9


@pytest.mark.parametrize(
    ("mode", "log", "expected"),
    [
        pytest.param(EVENT_TIME, (11, None, b"x", None), (11, "base", b"x"), id="nulls-are-filled"),
        pytest.param(EVENT_TIME, (9, "x", None, None), (10, "base", b"base"), id="late-no-gap"),
        pytest.param(COMMIT_TIME, (9, None, b"x", None), (9, "base", b"x"), id="by-commit-time"),
        pytest.param(COMMIT_TIME, (None, "", b"", None), (10, "", b""), id="empty-is-no-null"),
    ],
)
def test_ignore_defaults(mode, log, expected):
    made = table(mode, partial_update_mode="IGNORE_DEFAULTS").upsert(("k", *log))
    assert made.merged(BASE) == [("k", *expected, {"x": 1, "y": 2})]


def test_ignore_defaults_fills_the_base_row_from_a_late_record():
    made = table(partial_update_mode="IGNORE_DEFAULTS").upsert(("k", 5, "x", b"x", None))
    assert made.merged(("k", 10, None, b"base", None)) == [("k", 10, "x", b"base", None)]


def test_ignore_defaults_looks_at_top_level_columns_only():
    made = table(partial_update_mode="IGNORE_DEFAULTS")
    made.upsert(("k", 11, "x", b"x", {"x": None, "y": 5}))
    assert made.merged(BASE)[0][-1] == {"x": None, "y": 5}


def test_partial_update_mode_with_partial_blocks_is_refused():
    made = table(COMMIT_TIME, partial_update_mode="IGNORE_DEFAULTS")
    with pytest.raises(UnsupportedMergeError, match=r"merges by IGNORE_DEFAULTS: .*Run a compact"):
        made.update({KEY: "k", "ts": 11, "a": "x"}).merged(BASE)


def test_ignore_defaults_takes_nothing_from_a_deleted_record():
    made = table(COMMIT_TIME, partial_update_mode="IGNORE_DEFAULTS")
    made.upsert(("k", 1, "x", b"x", None)).delete("k").upsert(("k", 2, None, None, None))
    assert made.merged() == [("k", 2, None, None, None)]


def test_late_delete_after_one_without_ordering_value_is_void():
    made = table(partial_update_mode="IGNORE_DEFAULTS")
    assert made.delete("k").delete("k", ordering=wrapped("Long", 5)).merged(BASE) == []


@pytest.mark.parametrize(
    ("properties", "log", "expected"),
    [
        pytest.param((), (TOASTED, b"x"), ("base", b"x"), id="text"),
        pytest.param((), ("x", TOASTED.encode()), ("x", TOASTED.encode()), id="bytes-stay"),
        pytest.param((), (f"{TOASTED} ", None), (f"{TOASTED} ", None), id="exactly-the-marker"),
        pytest.param(
            (("hoodie.write.partial.update.unavailable.value", "N/A"),),
            ("N/A", None),
            ("base", None),
            id="own-marker",
        ),
        pytest.param(
            (("hoodie.write.partial.update.unavailable.value", "N/A"),),
            (TOASTED, None),
            (TOASTED, None),
            id="own-marker-replaces-the-default",
        ),
    ],
)
def test_fill_unavailable(properties, log, expected):
    made = table(partial_update_mode="FILL_UNAVAILABLE", merge_properties=properties)
    made.upsert(("k", 11, *log, None))
    assert made.merged(BASE) == [("k", 11, *expected, None)]


def test_fill_unavailable_through_several_records():
    made = table(partial_update_mode="FILL_UNAVAILABLE")
    made.upsert(("k", 11, TOASTED, None, None)).upsert(("k", 12, TOASTED, b"x", None))
    assert made.merged(BASE) == [("k", 12, "base", b"x", None)]


def test_marker_is_in_no_column_of_another_type():
    column = pa.chunked_array([[1, 2]])
    assert equals_marker(column, "1").tolist() == [False, False]
