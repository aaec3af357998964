"""What differs between two snapshots: literals, and golden tables by Apache Hudi's own rows."""

import pyarrow as pa
import pytest

from hudi_pyspark import (
    HudiTable,
    InvalidOptionError,
    SchemaEvolutionError,
    TimeTravelError,
    UnsupportedQueryError,
)
from hudi_pyspark.inspection.snapshot_diff import diff_snapshots
from tests.conftest import GOLDEN
from tests.damage import set_property, unpack
from tests.golden.case import load_case


def rows(*pairs, kind=None):
    keys, values = zip(*pairs, strict=True) if pairs else ((), ())
    return pa.table({"k": pa.array(keys, pa.string()), "v": pa.array(values, kind or pa.int64())})


def changes(before, after, compared=("v",)):
    found = diff_snapshots(before, after, ["k"], list(compared)).to_pylist()
    return [
        (r["change"], r["k"], r["before"] and r["before"]["v"], r["after"] and r["after"]["v"])
        for r in found
    ]


def test_rows_are_inserted_updated_and_deleted():
    before, after = rows(("a", 1), ("b", 2), ("c", 3)), rows(("d", 4), ("c", 3), ("b", 5))
    assert changes(before, after) == [
        ("update", "b", 2, 5),
        ("insert", "d", None, 4),
        ("delete", "a", 1, None),
    ]


@pytest.mark.parametrize(
    ("old", "new", "kind", "is_change"),
    [
        pytest.param(None, None, pa.int64(), False, id="null stays null"),
        pytest.param(None, 0, pa.int64(), True, id="null to zero"),
        pytest.param("null", None, pa.string(), True, id="the text null to null"),
        pytest.param("", None, pa.string(), True, id="empty to null"),
        pytest.param(float("nan"), float("nan"), pa.float64(), False, id="nan"),
        pytest.param(float("nan"), None, pa.float64(), True, id="nan to null"),
        pytest.param(0.1, 0.1 + 2**-55, pa.float64(), True, id="last bit of a double"),
        pytest.param(b"\x00\xff", b"\x00\xfe", pa.binary(), True, id="binary"),
        pytest.param([1, None], [1, None], pa.list_(pa.int32()), False, id="same list"),
        pytest.param([1, 2], [2, 1], pa.list_(pa.int32()), True, id="order of a list"),
        pytest.param(
            {"a": "1"}, {"a": "2"}, pa.struct([("a", pa.string())]), True, id="within a struct"
        ),
    ],
)
def test_values_are_compared_with_their_nulls(old, new, kind, is_change):
    found = changes(rows(("a", old), kind=kind), rows(("a", new), kind=kind))
    assert len(found) == is_change


def test_changed_columns_are_named():
    before = pa.table({"k": ["a"], "x": [1], "y": [2], "z": [3]})
    after = pa.table({"k": ["a"], "x": [1], "y": [5], "z": pa.array([None], pa.int64())})
    (row,) = diff_snapshots(before, after, ["k"], ["x", "y", "z"]).to_pylist()
    assert row["changed_columns"] == ["y", "z"]
    assert row["before"] == {"x": 1, "y": 2, "z": 3}
    assert row["after"] == {"x": 1, "y": 5, "z": None}


def test_keys_of_several_columns_do_not_run_into_each_other():
    before = pa.table({"p": ["a", "a,"], "k": [",b", "b"], "v": [1, 2]})
    after = pa.table({"p": ["a,", "a"], "k": ["b", ",b"], "v": [2, 1]})
    assert diff_snapshots(before, after, ["p", "k"], ["v"]).num_rows == 0


def test_null_is_a_key_of_its_own():
    assert changes(rows((None, 1)), rows(("null", 1))) == [
        ("insert", "null", None, 1),
        ("delete", None, 1, None),
    ]


def test_rows_that_share_a_key_are_matched_by_their_values():
    before = rows(("a", 1), ("a", 1), ("a", 2))
    after = rows(("a", 1), ("a", 3))
    assert changes(before, after) == [
        ("insert", "a", None, 3),
        ("delete", "a", 1, None),
        ("delete", "a", 2, None),
    ]


def test_key_that_was_repeated_and_is_gone():
    assert changes(rows(("a", 1), ("a", 2)), rows()) == [
        ("delete", "a", 1, None),
        ("delete", "a", 2, None),
    ]


def test_key_that_is_repeated_now():
    assert changes(rows(("a", 1)), rows(("a", 1), ("a", 2))) == [("insert", "a", None, 2)]


def test_empty_snapshots():
    assert changes(rows(), rows()) == []
    assert changes(rows(), rows(("a", 1))) == [("insert", "a", None, 1)]


def test_new_column_counts_as_null_before():
    before = pa.table({"k": ["a", "b"]})
    after = pa.table({"k": ["a", "b"], "v": [None, 1]})
    (row,) = diff_snapshots(before, after, ["k"], ["v"]).to_pylist()
    assert (row["k"], row["before"], row["after"]) == ("b", {"v": None}, {"v": 1})


def test_wider_type_with_the_same_value_is_no_change():
    before, after = rows(("a", 1), kind=pa.int32()), rows(("a", 1), kind=pa.int64())
    assert changes(before, after) == []


def test_values_that_do_not_fit_the_new_type_are_refused():
    before = rows(("a", "x"), kind=pa.string())
    after = rows(("a", 1))
    with pytest.raises(SchemaEvolutionError, match="'v' was string and is int64 now"):
        diff_snapshots(before, after, ["k"], ["v"])


META = {
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
}
SPANS = [
    ("v9_mor_clustering", "as_of_c1", "as_of_c4"),
    ("v9_mor_clustering", "as_of_c4", "snapshot"),
    ("v6_mor_part_basic", "as_of_c1", "as_of_c6"),
    ("v6_mor_part_basic", "as_of_c4", "as_of_c6"),
    ("v6_mor_part_basic", "as_of_c6", "as_of_c1"),
]
INSTANTS = {
    ("v9_mor_clustering", "as_of_c1"): "20261121062949338",
    ("v9_mor_clustering", "as_of_c4"): "20261121062950559",
    ("v9_mor_clustering", "snapshot"): "20261121062951305",
    ("v6_mor_part_basic", "as_of_c1"): "20261121061710377",
    ("v6_mor_part_basic", "as_of_c4"): "20261121061720064",
    ("v6_mor_part_basic", "as_of_c6"): "20261121061723385",
}


def hudis_rows(case, query):
    """Data columns of the rows that Apache Hudi read, by partition path and record key."""
    read = load_case(GOLDEN / case).query(query).expected_rows().to_pylist()
    return {
        (row["_hoodie_partition_path"], row["_hoodie_record_key"]): {
            name: value for name, value in row.items() if name not in META
        }
        for row in read
    }


@pytest.mark.parametrize(("case", "earlier", "later"), SPANS)
def test_golden_tables_change_as_hudis_rows_do(golden_table, case, earlier, later):
    old, new = hudis_rows(case, earlier), hudis_rows(case, later)
    table = HudiTable(str(golden_table(case)))
    found = table.diff(INSTANTS[case, earlier], INSTANTS[case, later]).to_pylist()
    reported = {
        (r["_hoodie_partition_path"], r["_hoodie_record_key"]): (
            r["change"],
            r["before"],
            r["after"],
        )
        for r in found
    }
    expected = {
        key: (
            "insert" if key not in old else "delete" if key not in new else "update",
            old.get(key),
            new.get(key),
        )
        for key in old.keys() | new.keys()
        if old.get(key) != new.get(key)
    }
    assert expected
    assert reported == expected
    assert len(found) == len(expected)


def test_only_the_columns_that_are_asked_for_are_compared(golden_table):
    table = HudiTable(str(golden_table("v9_mor_clustering")))
    found = table.diff("20261121062949338", "20261121062950559", columns=["qty"])
    assert found.schema.field("after").type.names == ["qty"]
    old, new = (hudis_rows("v9_mor_clustering", q) for q in ("as_of_c1", "as_of_c4"))
    changed = {k for k in old.keys() & new.keys() if old[k]["qty"] != new[k]["qty"]}
    assert found.column("change").to_pylist().count("update") == len(changed)


def test_unknown_column_is_refused(golden_table):
    table = HudiTable(str(golden_table("v9_mor_clustering")))
    with pytest.raises(InvalidOptionError, match="no column 'zip'"):
        table.diff("20261121062949338", "20261121062950559", columns=["zip"])


def test_instant_that_was_cleaned_away_is_refused(golden_table):
    with pytest.raises(TimeTravelError):
        HudiTable(str(golden_table("v6_cow_archived"))).diff("2000-01-01", "2000-01-02")


def test_table_without_meta_columns_is_compared_by_its_key_fields(golden_table):
    table = HudiTable(str(golden_table("v9_mor_no_meta_fields_complex")))
    last = table.last_instant
    first = table._view.history.commits[0].requested_time
    found = table.diff(first, last)
    names = found.column_names[1:-3]
    assert set(table.config.record_key_fields) <= set(names)
    assert not META & set(names)


def test_key_fields_may_have_another_case_in_the_properties(tmp_path):
    base = unpack("v9_mor_no_meta_fields_complex", tmp_path)
    table = HudiTable(str(base))
    first = table._view.history.commits[0].requested_time
    expected = table.diff(first, table.last_instant)
    fields = ",".join(table.config.record_key_fields).upper()
    set_property(base, "hoodie.table.recordkey.fields", fields)
    assert HudiTable(str(base)).diff(first, table.last_instant).equals(expected)


def test_table_without_any_key_is_refused(tmp_path):
    base = unpack("v9_mor_no_meta_fields_complex", tmp_path)
    set_property(base, "hoodie.table.recordkey.fields", None)
    table = HudiTable(str(base))
    time = table._view.history.commits[0].requested_time
    with pytest.raises(UnsupportedQueryError):
        table.diff(time, time)
