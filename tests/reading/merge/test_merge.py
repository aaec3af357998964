"""Each rule of the merge by an example; tests/property has the random ones."""

from dataclasses import replace

import pyarrow as pa
import pytest

from hudi_pyspark.errors import CorruptTableError, UnsupportedTableError
from hudi_pyspark.reading.merge.merge import MergePass
from tests.reading.log_records.log_files import (
    BASE_INSTANT,
    COMMIT_TIME,
    EVENT_TIME,
    KEY,
    avro_record,
    data_block,
    delete_block,
    log_records,
    merge,
    nullable,
    rule_of,
    wrapped,
)

SCHEMA = pa.schema(
    [(KEY, pa.string()), ("ts", pa.int64()), ("v", pa.string()), ("_hoodie_is_deleted", pa.bool_())]
)
AVRO = avro_record(
    ts=nullable("long"), v=nullable("string"), _hoodie_is_deleted=nullable("boolean")
)
BY_EVENT_TIME = rule_of(EVENT_TIME)
BY_COMMIT_TIME = rule_of(COMMIT_TIME)


def row(key, ts, v, *, deleted=None):
    return {KEY: key, "ts": ts, "v": v, "_hoodie_is_deleted": deleted}


def upsert(key, ts, v="log"):
    return data_block(AVRO, [row(key, ts, v)])


def flagged(key, ts):
    """A row of a data block that deletes its key, as Flink writes them."""
    return data_block(AVRO, [row(key, ts, "flagged", deleted=True)])


def late_delete(key, ts):
    """What an upsert of a row with _hoodie_is_deleted leaves in the log of a Spark writer."""
    return delete_block([(key, wrapped("Long", ts))])


def delete(key):
    """What operation ``delete`` and SQL DELETE leave: no ordering value."""
    return delete_block([(key, None)])


def merged(base, *blocks, rule=BY_EVENT_TIME, batch_rows=10, positions_of=None):
    log = log_records(b"".join(blocks), schema=SCHEMA, rule=rule, positions_of=positions_of)
    tables = [pa.Table.from_pylist(rows, schema=SCHEMA) for rows in base]
    return list(merge(tables, log, rule, batch_rows=batch_rows))


def values(base, *blocks, **options):
    tables = merged([base], *blocks, **options)
    return sorted((row[KEY], row["v"]) for table in tables for row in table.to_pylist())


BASE = [row("k", 10, "base")]


# Observed with Apache Hudi 1.1.1 on table versions 6, 8 and 9.
@pytest.mark.parametrize(
    ("log", "expected"),
    [
        pytest.param([late_delete("k", 5)], "base", id="older-delete-is-ignored"),
        pytest.param([late_delete("k", 10)], None, id="delete-of-equal-ordering-wins"),
        pytest.param(
            [late_delete("k", 20), upsert("k", 15)], None, id="delete-beats-a-later-older-row"
        ),
        pytest.param(
            [late_delete("k", 20), upsert("k", 20)], "log", id="later-row-of-equal-ordering-wins"
        ),
        pytest.param([delete("k")], None, id="delete-without-ordering-wins"),
        pytest.param([delete("k"), upsert("k", 20)], "log", id="row-revives-the-key"),
        pytest.param(
            [delete("k"), upsert("k", 7)], "base", id="older-row-after-a-delete-brings-base-back"
        ),
        pytest.param(
            [upsert("k", 30, "lost"), delete("k"), upsert("k", 7)],
            "base",
            id="intermediate-update-is-lost-with-the-delete",
        ),
        pytest.param([upsert("k", 10)], "log", id="tie-goes-to-the-log"),
        pytest.param([upsert("k", 9)], "base", id="late-update-is-ignored"),
        pytest.param(
            [upsert("k", 12, "first"), upsert("k", 12, "second")], "second", id="tie-goes-to-later"
        ),
        pytest.param(
            [upsert("k", 12, "first"), upsert("k", 11, "second")], "first", id="greater-stays"
        ),
    ],
)
def test_event_time_ordering(log, expected):
    assert values(BASE, *log) == ([("k", expected)] if expected else [])


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        pytest.param([flagged("k", 5)], "base", id="older-flag-is-ignored"),
        pytest.param([flagged("k", 10)], None, id="flag-of-equal-ordering-wins"),
        pytest.param([flagged("k", None)], None, id="flag-without-ordering-wins"),
        pytest.param([upsert("k", 30), flagged("k", 20)], "log", id="flag-loses-in-the-log"),
        pytest.param([upsert("k", 30), flagged("k", None)], None, id="null-flag-wins-in-the-log"),
        pytest.param([delete("k"), flagged("k", 5)], "base", id="flag-replaces-a-delete"),
        pytest.param([delete("k"), late_delete("k", 5)], None, id="delete-record-does-not"),
        pytest.param([flagged("k", None), upsert("k", 3)], "base", id="row-replaces-a-null-flag"),
    ],
)
def test_rows_that_are_flagged_as_deletes(log, expected):
    assert values(BASE, *log) == ([("k", expected)] if expected else [])


@pytest.mark.parametrize(
    ("wrapper", "expected"),
    [
        pytest.param(wrapped("Long", 5), "log", id="same-class-compares"),
        pytest.param(wrapped("Int", 12), None, id="other-class-wins-whatever-its-value"),
        pytest.param(wrapped("Int", 0), None, id="int-zero-means-no-ordering"),
        pytest.param(wrapped("Long", 0), "log", id="long-zero-is-a-value"),
        pytest.param(None, None, id="no-ordering"),
    ],
)
def test_delete_record_after_a_row_of_the_log(wrapper, expected):
    found = values(BASE, upsert("k", 30), delete_block([("k", wrapper)]))
    assert found == ([("k", expected)] if expected else [])


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        pytest.param([upsert("k", 1)], "log", id="later-wins-whatever-its-ordering"),
        pytest.param([upsert("k", 9, "a"), upsert("k", 1, "b")], "b", id="last-of-the-log"),
        pytest.param([upsert("k", 99), late_delete("k", 1)], None, id="delete-after-row"),
        pytest.param([late_delete("k", 99), upsert("k", 1)], "log", id="row-after-delete"),
        pytest.param([flagged("k", 1)], None, id="flagged-row"),
    ],
)
def test_commit_time_ordering(log, expected):
    found = values(BASE, *log, rule=BY_COMMIT_TIME)
    assert found == ([("k", expected)] if expected else [])


def test_event_time_without_ordering_fields_is_commit_time():
    rule = rule_of(EVENT_TIME, ())
    assert values(BASE, upsert("k", 1), rule=rule) == [("k", "log")]
    assert values(BASE, delete("k"), rule=rule) == []
    with pytest.raises(CorruptTableError, match="names no ordering field"):
        values(BASE, late_delete("k", 1), rule=rule)


def test_log_alone_is_a_slice():
    log = [upsert("a", 1), upsert("b", 1), late_delete("b", 1), flagged("c", 5), delete("d")]
    assert [table.column(KEY).to_pylist() for table in merged([], *log)] == [["a"]]


def test_base_rows_are_never_tested_for_deletes():
    base = [row("untouched", 1, "base", deleted=True), row("k", 10, "base", deleted=True)]
    assert values(base, upsert("k", 5)) == [("k", "base"), ("untouched", "base")]


def test_base_stays_as_it_is_without_log_records():
    table = pa.Table.from_pylist([row("a", 1, "x"), row("a", 2, "y")], schema=SCHEMA)
    log = log_records(b"", schema=SCHEMA, rule=BY_EVENT_TIME)
    (result,) = merge([table], log, BY_EVENT_TIME, batch_rows=5)
    assert result.equals(table)


def test_columns_of_the_winner_are_never_mixed():
    (gone, result) = merged([BASE], data_block(AVRO, [row("k", 11, None)]))
    assert gone.num_rows == 0
    assert result.to_pylist() == [row("k", 11, None)]


DUPLICATES = [row("a", 1, "a1"), row("b", 1, "b"), row("a", 1, "a2")]


def test_by_key_only_the_first_duplicate_of_the_base_is_updated():
    assert values(DUPLICATES, upsert("a", 5)) == [("a", "a2"), ("a", "log"), ("b", "b")]


def test_by_key_only_the_first_duplicate_of_the_base_is_deleted():
    assert values(DUPLICATES, delete("a")) == [("a", "a2"), ("b", "b")]


def test_duplicate_in_a_later_base_table_is_no_first_one():
    tables = merged([DUPLICATES[:1], DUPLICATES[1:]], delete("a"))
    assert [table.column("v").to_pylist() for table in tables] == [[], ["b", "a2"]]


def test_first_duplicate_counts_as_met_even_if_it_wins():
    base = [row("a", 9, "a1"), row("a", 1, "a2")]
    assert values(base, upsert("a", 5)) == [("a", "a1"), ("a", "a2")]


def test_few_base_rows_and_many_log_records_match_as_well():
    log = [upsert(f"k{number}", 5) for number in range(9)]
    found = values([row("k3", 1, "x"), row("a", 1, "a"), row("k3", 1, "y")], *log)
    assert found == sorted([("a", "a"), ("k3", "y"), *((f"k{n}", "log") for n in range(9))])


def test_by_position_every_duplicate_of_the_base_is_updated():
    rows = [row("a", 5, "first"), row("a", 5, "third")]
    block = data_block(AVRO, rows, positions=[0, 2])
    found = values(DUPLICATES, block, positions_of=BASE_INSTANT)
    assert found == [("a", "first"), ("a", "third"), ("b", "b")]


def test_by_position_every_duplicate_of_the_base_is_deleted():
    block = delete_block([("a", None), ("a", None)], positions=[0, 2])
    assert values(DUPLICATES, block, positions_of=BASE_INSTANT) == [("b", "b")]


def test_positions_count_from_the_start_of_the_file_over_all_base_tables():
    block = delete_block([("b", None), ("a", None)], positions=[1, 2])
    tables = merged([DUPLICATES[:1], DUPLICATES[1:]], block, positions_of=BASE_INSTANT)
    assert [table.column("v").to_pylist() for table in tables] == [["a1"], []]


def test_positions_of_later_blocks_may_lie_before_those_of_earlier_ones():
    blocks = delete_block([("a", None)], positions=[2]), delete_block([("a", None)], positions=[0])
    for base in ([DUPLICATES], [DUPLICATES[:1], DUPLICATES[1:]]):
        tables = merged(base, *blocks, positions_of=BASE_INSTANT)
        assert [v for table in tables for v in table["v"].to_pylist()] == ["b"]


def test_base_rows_keep_their_order_and_log_rows_come_after_them():
    base = [row("c", 1, "c"), row("a", 1, "a"), row("b", 1, "b")]
    log = [upsert("z", 1), upsert("a", 2), upsert("y", 1)]
    tables = merged([base], *log)
    assert [table.column(KEY).to_pylist() for table in tables] == [["c", "b"], ["z", "a", "y"]]


def test_tables_of_log_rows_have_no_more_rows_than_asked_for():
    rows = [row(f"k{number}", 1, "log") for number in range(7)]
    tables = merged([], data_block(AVRO, rows[:2]), data_block(AVRO, rows[2:]), batch_rows=3)
    assert [table.num_rows for table in tables] == [3, 3, 1]
    assert {chunks for table in tables for chunks in (table.column("v").num_chunks,)} == {1}


def test_base_tables_are_consumed_one_at_a_time():
    taken = []

    def base():
        for number in range(3):
            taken.append(number)
            yield pa.Table.from_pylist([row(f"b{number}", 1, "x")], schema=SCHEMA)

    log = log_records(upsert("k", 1), schema=SCHEMA, rule=BY_EVENT_TIME)
    tables = merge(base(), log, BY_EVENT_TIME, batch_rows=5)
    assert taken == []
    next(tables)
    assert taken == [0]


def test_base_row_without_record_key_is_corrupt():
    with pytest.raises(CorruptTableError, match="a base file has a record without record key"):
        merged([[row(None, 1, "x")]], upsert("k", 1))


def test_base_row_without_record_key_is_no_problem_by_position():
    block = delete_block([("k", None)], positions=[1])
    base = [row(None, 1, "x"), row("k", 1, "y")]
    assert values(base, block, positions_of=BASE_INSTANT) == [(None, "x")]


@pytest.mark.parametrize(
    ("base", "log", "expected"),
    [
        pytest.param(None, -2, "base", id="null-base-is-zero"),
        pytest.param(-3, None, "log", id="null-log-is-zero"),
        pytest.param(1, None, "base", id="null-log-is-below-one"),
        pytest.param(None, None, "log", id="both-null-tie"),
    ],
)
def test_null_of_an_int_column_is_zero(base, log, expected):
    assert null_winner(base, log, "int", pa.int32()) == expected


def test_row_with_a_negative_int_replaces_a_delete_whose_ordering_reads_as_zero():
    schema = pa.schema([(KEY, pa.string()), ("ts", pa.int32())])
    row_block = data_block(avro_record(ts="int"), [{KEY: "k", "ts": -5}])
    records = log_records(delete("k") + row_block, schema=schema, rule=BY_EVENT_TIME)
    (table,) = merge([], records, BY_EVENT_TIME, batch_rows=5)
    assert table.column("ts").to_pylist() == [-5]


@pytest.mark.parametrize(
    ("base", "log", "expected"),
    [
        pytest.param(None, -2, "log", id="null-base"),
        pytest.param(-3, None, "base", id="null-log"),
        pytest.param(None, None, "log", id="both-null-tie"),
    ],
)
def test_null_of_other_columns_is_below_every_value(base, log, expected):
    assert null_winner(base, log, "long", pa.int64()) == expected


def null_winner(base, log, avro_type, arrow_type):
    schema = pa.schema([(KEY, pa.string()), ("ts", arrow_type), ("v", pa.string())])
    avro = avro_record(ts=nullable(avro_type), v="string")
    block = data_block(avro, [{KEY: "k", "ts": log, "v": "log"}])
    table = pa.Table.from_pylist([{KEY: "k", "ts": base, "v": "base"}], schema=schema)
    records = log_records(block, schema=schema, rule=BY_EVENT_TIME)
    tables = merge([table], records, BY_EVENT_TIME, batch_rows=5)
    return pa.concat_tables(tables).column("v")[0].as_py()


def test_ordering_type_without_an_order_is_refused():
    schema = pa.schema([(KEY, pa.string()), ("ts", pa.binary())])
    block = data_block(avro_record(ts="bytes"), [{KEY: "k", "ts": b"1"}])
    with pytest.raises(
        UnsupportedTableError, match="'ts' is of type binary, which Apache Hudi cannot order"
    ):
        log_records(block, schema=schema, rule=BY_EVENT_TIME)


def test_decision_says_what_became_of_base_rows_and_log_rows():
    log = log_records(
        upsert("new", 20) + upsert("late", 5) + upsert("insert", 1) + delete("gone"),
        schema=SCHEMA,
        rule=BY_EVENT_TIME,
    )
    merge_pass = MergePass(log, BY_EVENT_TIME)
    names = ["stays", "new", "late", "gone"]
    base = pa.Table.from_pylist([row(key, 10, "base") for key in names], schema=SCHEMA)
    tables = list(merge_pass.rows([base.slice(0, 2), base.slice(2)], 10))
    dropped, kept = merge_pass.decision()
    assert kept is not None
    assert base.filter(pa.array(dropped))[KEY].to_pylist() == ["new", "gone"]
    assert log.rows.filter(pa.array(kept))[KEY].to_pylist() == ["new", "insert"]
    of_base = [key for table in tables if table.is_of_base for key in table.rows[KEY].to_pylist()]
    assert of_base == ["stays", "late"]


def test_decision_keeps_no_log_rows_as_they_are_if_base_rows_are_folded():
    rule = replace(BY_EVENT_TIME, folds_base_rows=True)
    log = log_records(upsert("k", 20), schema=SCHEMA, rule=rule)
    merge_pass = MergePass(log, rule)
    list(merge_pass.rows([pa.Table.from_pylist(BASE, schema=SCHEMA)], 10))
    dropped, kept = merge_pass.decision()
    assert dropped.tolist() == [True]
    assert kept is None
