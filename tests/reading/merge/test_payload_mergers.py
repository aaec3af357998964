"""Mergers that users bring: what they get, what they may return, and where they are needed."""

import sys
from collections import Counter
from dataclasses import replace
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import hudi_pyspark
from hudi_pyspark import HudiTable, InvalidOptionError, UnsupportedMergeError
from hudi_pyspark.custom_mergers import find_merger, registered_payloads
from hudi_pyspark.imported_function import ALLOWED
from hudi_pyspark.table.merge_mode import PayloadMerger
from tests.conftest import GOLDEN
from tests.damage import set_property, unpack
from tests.emptied_state import empty
from tests.golden.case import load_case
from tests.golden.compare import differences
from tests.reading.log_records.log_files import KEY, wrapped
from tests.reading.merge.merging import Table, rule_of_table

OWN = "com.acme.MyPayload"
OWN_STRATEGY = "1897ef5f-18bc-4557-939c-9d6a8afd1519"
COLUMNS = {"ts": pa.int64(), "v": pa.string(), "n": pa.int64()}
BASE = [("a", 10, "base", 1), ("b", 10, "base", 1)]


def newest(_older: pa.Table, newer: pa.Table) -> pa.Table:
    return newer


def add_up(older: pa.Table, newer: pa.Table) -> pa.Table:
    """The newer row with the sum of both counts."""
    return newer.set_column(newer.schema.get_field_index("n"), "n", pc.add(older["n"], newer["n"]))


@pytest.fixture(autouse=True)
def nothing_registered(monkeypatch):
    empty(monkeypatch, "mergers")


def custom_rule(payload=OWN, strategy=""):
    return rule_of_table(
        8,
        record__merge__mode="CUSTOM",
        compaction__payload__class=payload,
        record__merge__strategy__id=strategy,
        table__ordering__fields="ts",
    )


def merged_by(function):
    return replace(custom_rule(), merger=PayloadMerger(function, None))


def table(merge) -> Table:
    return Table(COLUMNS, merged_by(merge))


# What the function gets


def test_log_records_merge_oldest_first_and_then_with_the_base_row():
    seen = []

    def merge(older, newer):
        pairs = zip(older["v"].to_pylist(), newer["v"].to_pylist(), strict=True)
        seen.append([f"{one}-{other}" for one, other in pairs])
        return newer

    made = table(merge).upsert(("a", 1, "x", 1)).upsert(("a", 2, "y", 1)).upsert(("a", 3, "z", 1))
    assert made.merged(*BASE) == [("a", 3, "z", 1), BASE[1]]
    assert seen == [["x-y"], ["y-z"], ["base-z"]]


def test_function_gets_the_rows_of_many_keys_at_once_in_equal_tables():
    def merge(older, newer):
        assert older.schema == newer.schema
        assert older[KEY].to_pylist() == newer[KEY].to_pylist() == ["a", "b"]
        return newer

    assert len(table(merge).upsert(("a", 1, "x", 1), ("b", 1, "x", 1)).merged(*BASE)) == 2


def test_outcome_of_each_step_goes_into_the_next():
    made = table(add_up).upsert(("a", 1, "x", 10), ("b", 1, "x", 100)).upsert(("a", 1, "y", 1000))
    assert made.merged(*BASE) == [("a", 1, "y", 1011), ("b", 1, "x", 101)]


def test_keys_with_one_record_need_no_function():
    def merge(_older, _newer):
        raise AssertionError

    assert table(merge).upsert(("c", 1, "x", 1)).merged(BASE[0]) == [BASE[0], ("c", 1, "x", 1)]


@pytest.mark.parametrize("ordering", [None, wrapped("Long", 1)], ids=["plain", "with-ordering"])
def test_deletes_win_over_what_is_older_without_the_function(ordering):
    made = table(add_up).upsert(("a", 20, "x", 1)).delete("a", ordering=ordering)
    assert made.merged(*BASE) == [BASE[1]]


def test_rows_win_over_an_older_delete_without_the_function():
    made = table(add_up).delete("a").upsert(("a", 1, "x", 5))
    assert made.merged() == [("a", 1, "x", 5)]


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        pytest.param([("x", True)], [], id="newer-row"),
        pytest.param([("x", True), ("y", False)], ["base"], id="older-row-in-the-log"),
    ],
)
def test_rows_that_are_flagged_as_deletes_never_meet_the_function(log, expected):
    def keep_older(older, newer):
        assert not pc.any(newer["_hoodie_is_deleted"]).as_py()
        assert older["v"].to_pylist() == ["base"]
        return older

    made = Table({**COLUMNS, "_hoodie_is_deleted": pa.bool_()}, merged_by(keep_older))
    for v, deleted in log:
        made.upsert(("a", 1, v, 5, deleted))
    assert [row[2] for row in made.merged((*BASE[0], False))] == expected


# What it may return


def test_row_that_the_function_flags_is_deleted():
    def merge(older, newer):
        gone = pc.equal(newer["v"], "gone")
        return add_up(older, newer).append_column("_hoodie_is_deleted", gone)

    made = table(merge).upsert(("a", 1, "gone", 1), ("b", 1, "x", 1))
    assert made.merged(*BASE) == [("b", 1, "x", 2)]


def test_null_flags_nothing():
    def merge(_older, newer):
        return newer.append_column("_hoodie_is_deleted", pa.nulls(len(newer), pa.bool_()))

    assert table(merge).upsert(("a", 1, "x", 1)).merged(BASE[0]) == [("a", 1, "x", 1)]


def test_columns_may_come_in_another_order_and_a_type_that_fits():
    def merge(_older, newer):
        return pa.table({"more": newer["n"], **{n: newer[n] for n in newer.schema.names[::-1]}})

    def narrow(_older, newer):
        return newer.set_column(3, "n", newer["n"].cast(pa.int32()))

    for function in (merge, narrow):
        assert table(function).upsert(("a", 1, "x", 7)).merged(BASE[0]) == [("a", 1, "x", 7)]


@pytest.mark.parametrize(
    ("merge", "message"),
    [
        pytest.param(
            lambda _older, newer: newer.slice(1),
            r"must return a pyarrow\.Table of 2 rows, .* it returned 1 rows",
            id="fewer-rows",
        ),
        pytest.param(
            lambda older, newer: pa.concat_tables([older, newer]),
            "it returned 4 rows",
            id="more-rows",
        ),
        pytest.param(lambda _older, newer: newer.to_pylist(), "it returned list", id="not-a-table"),
        pytest.param(lambda _older, _newer: None, "it returned NoneType", id="nothing"),
        pytest.param(
            lambda _older, newer: newer.drop_columns(["ts", "n"]),
            "must return all columns that it gets; missing: ts, n",
            id="missing-columns",
        ),
        pytest.param(
            lambda _older, newer: newer.set_column(3, "n", newer["v"]),
            "must return columns in the types that it gets: .*'x' as a scalar of type int64",
            id="type-that-does-not-fit",
        ),
    ],
)
def test_anything_but_the_outcome_of_each_pair_is_refused(merge, message):
    made = table(merge).upsert(("a", 1, "x", 1), ("b", 1, "x", 1))
    with pytest.raises(InvalidOptionError, match=message):
        made.merged(*BASE)


def test_error_of_the_function_is_the_users_own():
    def merge(_older, _newer):
        raise KeyError("amount")

    with pytest.raises(KeyError, match="amount"):
        table(merge).upsert(("a", 1, "x", 1)).merged(*BASE)


# Which function


def test_registered_by_payload_class_or_merge_strategy():
    hudi_pyspark.register_payload(OWN, newest, columns=["v", "n"])
    hudi_pyspark.register_payload(OWN_STRATEGY, add_up)
    known = registered_payloads()
    assert find_merger(custom_rule(), "", known) == PayloadMerger(newest, ("v", "n"))
    found = find_merger(custom_rule("", OWN_STRATEGY), "", known)
    assert found == PayloadMerger(add_up, None)
    assert find_merger(custom_rule("com.acme.Other"), "", known) is None


def test_registering_again_replaces_the_function():
    hudi_pyspark.register_payload(OWN, newest)
    hudi_pyspark.register_payload(OWN, add_up)
    assert registered_payloads() == {OWN: PayloadMerger(add_up, None)}


@pytest.fixture
def acme_mergers(monkeypatch):
    """The name of a module that can be imported and has these functions."""
    module = ModuleType("acme_mergers")
    vars(module).update(newest=newest, add_up=add_up)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setenv(ALLOWED, module.__name__)
    return module.__name__


def test_option_names_a_function_and_wins_over_what_is_registered(acme_mergers):
    known = {OWN: PayloadMerger(newest, None)}
    found = find_merger(custom_rule(), f"{acme_mergers}:add_up", known)
    assert found == PayloadMerger(add_up, None)


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("acme_nowhere:merge", "No module named 'acme_nowhere'"),
        ("json:merge_rows", "has no attribute 'merge_rows'"),
        ("json", "give module:function"),
        ("json:", "payload_merger is 'json:'"),
        (":merge", "payload_merger is ':merge'"),
        (".merge:merge", "payload_merger is '.merge:merge'"),
        ("json:__name__", "give module:function"),
    ],
)
def test_option_that_names_no_function_is_refused(monkeypatch, reference, message):
    monkeypatch.setenv(ALLOWED, "*")
    with pytest.raises(InvalidOptionError, match=message):
        find_merger(custom_rule(), reference, {})


# Whole tables: Apache Hudi wrote them with OverwriteWithLatestAvroPayload

CASE = "v6_mor_payload_overwrite_with_latest"


def expected(query="snapshot", case=CASE):
    return next(q for q in load_case(GOLDEN / case).queries if q.name == query)


@pytest.fixture
def own_payload(tmp_path):
    """A table of a payload class that Apache Hudi does not have."""
    path = unpack(CASE, tmp_path)
    set_property(path, "hoodie.compaction.payload.class", OWN)
    return HudiTable(str(path))


def problems(answer: pa.Table, query: str = "snapshot") -> list[str]:
    known = expected(query)
    return differences(answer, known.expected_rows(), known.expected_schema())


def test_unknown_payload_is_refused_when_the_scan_is_planned(own_payload):
    with pytest.raises(UnsupportedMergeError, match=f"merged by {OWN}, Java code") as raised:
        own_payload.scan().plan()
    assert "hudi_pyspark.register_payload" in str(raised.value)
    assert "hoodie.datasource.query.type=read_optimized" in str(raised.value)


def test_registered_merger_that_does_what_the_payload_does_answers_as_apache_hudi(own_payload):
    hudi_pyspark.register_payload(OWN, newest)
    assert problems(own_payload.scan().to_arrow()) == []


def test_option_that_does_what_the_payload_does_answers_as_apache_hudi(own_payload, acme_mergers):
    scan = own_payload.scan(payload_merger=f"{acme_mergers}:newest")
    assert problems(scan.to_arrow()) == []


def test_base_files_alone_need_no_merger(own_payload):
    assert (
        problems(own_payload.scan(query_type="read_optimized").to_arrow(), "read_optimized") == []
    )


def test_unmerged_rows_need_no_merger(own_payload, golden_table):
    option: dict[str, Any] = {"hoodie.datasource.merge.type": "skip_merge"}
    unmerged = HudiTable(str(golden_table(CASE))).scan(**option).to_arrow()
    answer = own_payload.scan(**option).to_arrow()
    order = [("_hoodie_commit_seqno", "ascending"), ("_hoodie_record_key", "ascending")]
    assert answer.sort_by(order).equals(unmerged.sort_by(order))


def test_slices_without_log_files_need_no_merger(tmp_path):
    path = unpack("v6_cow_all_types", tmp_path)
    set_property(path, "hoodie.compaction.payload.class", OWN)
    known = expected(case="v6_cow_all_types")
    answer = HudiTable(str(path)).scan().to_arrow()
    assert differences(answer, known.expected_rows(), known.expected_schema()) == []


@pytest.mark.parametrize(
    ("columns", "sees"),
    [
        pytest.param(None, None, id="all-by-default"),
        pytest.param(["b"], {"a", "b", "ts", KEY}, id="named-and-asked-for"),
        pytest.param([], {"a", "ts", KEY}, id="asked-for-and-what-the-merge-needs"),
    ],
)
def test_function_sees_the_columns_it_asked_for(own_payload, columns, sees):
    seen = []

    def merge(_older, newer):
        seen.append(set(newer.schema.names))
        return newer

    hudi_pyspark.register_payload(OWN, merge, columns=columns)
    answer = own_payload.scan(columns=["a"]).to_arrow()
    assert set(map(frozenset, seen)) == {frozenset(sees or own_payload.schema.names)}
    rows = expected().expected_rows()
    assert Counter(answer["a"].to_pylist()) == Counter(rows["a"].to_pylist())


def test_option_is_refused_where_the_table_calls_no_payload(monkeypatch):
    monkeypatch.setenv(ALLOWED, "operator")
    rule = rule_of_table(8, record__merge__mode="EVENT_TIME_ORDERING", table__ordering__fields="ts")
    with pytest.raises(InvalidOptionError, match="merges by EVENT_TIME_ORDERING, which calls no"):
        find_merger(rule, "operator:add", {})


def test_registered_payload_does_not_change_a_table_that_calls_none():
    rule = rule_of_table(
        8,
        record__merge__mode="COMMIT_TIME_ORDERING",
        compaction__payload__class=OWN,
        table__ordering__fields="ts",
    )
    assert find_merger(rule, "", {OWN: PayloadMerger(newest, None)}) is None
