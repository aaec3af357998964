"""What happened to a record: replayed up to an instant, it gives the row that Hudi gives then."""

import json

import pytest

from hudi_pyspark import HudiTable, UnsupportedQueryError
from tests.conftest import GOLDEN
from tests.golden.case import load_case

CASES = ["v6_mor_compaction_inline", "v8_cow_schema_evolution", "hudirs_v8_mor_boundary_windows"]
KEYS = 3  # of each table


def plain(row):
    """The values that JSON and Python write alike."""
    return {
        name: value
        for name, value in row.items()
        if isinstance(value, (str, int)) and not name.startswith("_hoodie_")
    }


def states(case):
    """Apache Hudi's rows by record key, as of each instant of a commit that the case asks for."""
    folder = GOLDEN / case
    for query in load_case(folder).queries:
        instant = query.options.get("as.of.instant", "")
        if len(instant) == 17 and set(query.options) <= {
            "as.of.instant",
            "hoodie.datasource.query.type",
        }:
            rows = query.expected_rows().to_pylist()
            yield instant, {row["_hoodie_record_key"]: plain(row) for row in rows}


@pytest.mark.parametrize("case", CASES)
def test_replayed_history_gives_the_rows_of_hudi_at_each_instant(golden_table, case):
    table = HudiTable(golden_table(case))
    expected = dict(states(case))
    keys = sorted({key for rows in expected.values() for key in rows})[:KEYS]
    changes = 0
    for key in keys:
        events = table.history(key).to_pylist()
        assert {event["problem"] for event in events} <= {None}
        for instant, rows in expected.items():
            past = [event for event in events if event["requested_time"] <= instant]
            after = past[-1]["after"] if past else None
            found = plain(json.loads(after)) if after is not None else None
            wanted = rows.get(key)
            assert (found is None) is (wanted is None), (key, instant)
            if found is not None and wanted is not None:
                both = set(wanted) & set(found)  # columns may change their type
                assert both
                assert all(found[name] == wanted[name] for name in both), (key, instant)
        changes += len(events)
    assert changes > len(keys)  # records were changed, not only inserted


def test_changed_columns_are_those_whose_values_differ(golden_table):
    table = HudiTable(golden_table("v6_mor_part_basic"))
    kinds = set()
    rows = table.scan().to_arrow().sort_by([("_hoodie_commit_time", "descending")])
    for key in rows["_hoodie_record_key"].to_pylist()[: 2 * KEYS]:
        for event in table.history(key).to_pylist():
            kinds.add(event["change"])
            before, after = (json.loads(event[side] or "null") for side in ("before", "after"))
            if event["change"] == "update" and event["changed_columns"]:
                assert event["changed_columns"] == [n for n in after if before[n] != after[n]]
            else:
                assert (before is None) is (event["change"] == "insert")
    assert {"insert", "update"} <= kinds


def test_deleted_record_ends_with_its_last_values(golden_table):
    table = HudiTable(golden_table("v9_mor_compaction_inline"))
    gone = table.diff("20261121062707028", "20261121062710569").to_pylist()
    key = next(row["_hoodie_record_key"] for row in gone if row["change"] == "delete")
    *_, last = table.history(key).to_pylist()
    assert (last["change"], last["after"], last["operation"]) == ("delete", None, "DELETE")
    assert json.loads(last["before"])["id"] == key


def test_history_begins_with_what_can_still_be_read(golden_table):
    """The cleaner kept files from 20261121063326238 on: the case's timeline has the clean."""
    table = HudiTable(golden_table("v9_mor_archived"))
    key = table.scan().to_arrow()["_hoodie_record_key"][0].as_py()
    first, *later = table.history(key).to_pylist()
    assert (first["change"], first["before"]) == ("present", None)
    assert (
        "is before 20261121063326238, the earliest commit that the cleaner kept" in first["problem"]
    )
    assert {event["problem"] for event in later} <= {None}
    (nobody,) = table.history("nobody").to_pylist()
    assert (nobody["change"], nobody["after"]) == ("absent", None)


def test_unknown_key_of_a_whole_timeline_has_no_history(golden_table):
    assert HudiTable(golden_table("v6_mor_part_basic")).history("nobody").num_rows == 0


def test_table_without_record_keys_has_no_history(golden_table):
    table = HudiTable(golden_table("v9_mor_no_meta_fields_complex"))
    with pytest.raises(UnsupportedQueryError, match="filter on its key fields instead"):
        table.history("k1")
