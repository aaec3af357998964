"""Each index of the metadata table on tables that Apache Hudi wrote: what it leaves out, and when
it must not be used."""

import json
import math
import shutil
from datetime import datetime, timezone

import pytest

from hudi_pyspark import HudiTable
from hudi_pyspark.errors import CorruptTableError
from hudi_pyspark.planning.metadata_table.secondary_index import secondary_indexes
from tests.planning.metadata_table.indexed import answer_of_hudi, pruned

STATS = "x_v9_cow_ix_stats_base"
STATS_AND_LOGS = "x_v9_mor_ix_stats"
SECONDARY = "x_v9_cow_ix_secondary_base"
SECONDARY_AND_LOGS = "x_v9_mor_ix_secondary"


def ids(rows):
    return sorted(row["id"] for row in rows)


def found(scan):
    return sorted(scan.to_arrow()["id"].to_pylist())


@pytest.fixture
def open_case(golden_table):
    return lambda name: HudiTable(str(golden_table(name)))


@pytest.fixture
def copy_case(golden_table, tmp_path):
    return lambda name: shutil.copytree(golden_table(name), tmp_path / name)


@pytest.mark.parametrize("name", [STATS, STATS_AND_LOGS])
def test_partition_statistics_leave_out_partitions_before_their_files_are_listed(name, open_case):
    _, rows = answer_of_hudi(name)
    scan = open_case(name).scan(filter="n = 5010", data_skipping="partition_stats")
    assert pruned(scan).startswith("3 of 5 partitions by partition statistics")
    assert {task.file_slice.partition_path for task in scan.plan()} == {"a", "b"}
    assert found(scan) == ids(row for row in rows if row["n"] == 5010) == ["k001"]


@pytest.mark.parametrize("name", [STATS, STATS_AND_LOGS])
def test_time_travel_asks_no_partition_statistics(name, open_case):
    """The statistics are those of newer values: by them the row's partition would be left out."""
    options, rows = answer_of_hudi(name, "as_of_c1")
    wanted = [row for row in rows if row["n"] == 10]
    assert wanted
    scan = open_case(name).scan_with({**options, "filter": "n = 10"})
    assert "by partition statistics" not in pruned(scan)
    assert found(scan) == ids(wanted)


def test_ranges_ask_no_partition_statistics(open_case):
    scan = open_case(STATS).scan(filter="n = 123456", begin="earliest")
    assert "by partition statistics" not in pruned(scan)


@pytest.mark.parametrize("name", [STATS, STATS_AND_LOGS])
@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("d IS NULL", lambda row: row["d"] is None),
        ("d IS NOT NULL", lambda row: row["d"] is not None),
        ("n < 0", lambda row: row["n"] is not None and row["n"] < 0),
        ("NOT (n > 100)", lambda row: row["n"] is not None and row["n"] <= 100),
        ("d IS NULL AND n >= 5000", lambda row: row["d"] is None and (row["n"] or 0) >= 5000),
    ],
)
def test_statistics_with_nulls_lose_no_row(name, text, holds, open_case):
    _, rows = answer_of_hudi(name)
    scan = open_case(name).scan(filter=text)
    assert "partitions by partition statistics" in pruned(scan)
    assert found(scan) == ids(row for row in rows if holds(row))


def test_partition_whose_older_files_lack_a_column_is_kept_for_its_nulls(open_case):
    _, rows = answer_of_hudi("x_v9_cow_ix_added_column")
    scan = open_case("x_v9_cow_ix_added_column").scan(filter="more IS NULL")
    assert pruned(scan).startswith("0 of 3 partitions by partition statistics")
    expected = [row for row in rows if row["more"] is None]
    assert len(expected) == 9
    assert found(scan) == ids(expected)


@pytest.mark.parametrize("text", ["x = 5.5e0", "x > 5", "x <= 4.5", "x IN (5.5e0, 5.75e0)"])
def test_bounds_that_a_nan_keeps_out_of_the_footer_rule_out_nothing(open_case, text):
    _, rows = answer_of_hudi(STATS)
    keep = {
        "x = 5.5e0": lambda x: x == 5.5,
        "x > 5": lambda x: x > 5 or math.isnan(x),  # NaN is the greatest number
        "x <= 4.5": lambda x: x <= 4.5,
        "x IN (5.5e0, 5.75e0)": lambda x: x in (5.5, 5.75),
    }[text]
    expected = ids(row for row in rows if keep(row["x"]))
    assert expected
    assert found(open_case(STATS).scan(filter=text)) == expected


@pytest.mark.parametrize("name", [STATS, SECONDARY])
def test_pending_commit_turns_off_what_it_may_have_changed(name, copy_case):
    path = copy_case(name)
    (path / ".hoodie/timeline/99990101000000000.commit.requested").touch()
    text = "n = 5010" if name == STATS else "city = 'Bergen'"
    line = pruned(HudiTable(str(path)).scan(filter=text))
    index = "partition statistics" if name == STATS else "the secondary index of city"
    assert f"not {index}: commit 99990101000000000 is pending" in line


def test_bloom_filters_leave_out_base_files_by_record_key(open_case):
    for name in (STATS, "x_v9_cow_ix_dynamic_bloom"):
        scan = open_case(name).scan(filter="id = 'k010'", data_skipping="bloom_filters")
        assert " file slices by Bloom filters" in pruned(scan)
        assert len(scan.plan()) == 1
        assert found(scan) == ["k010"]


def test_bloom_filters_keep_slices_whose_log_files_may_have_the_key(open_case):
    scan = open_case(STATS_AND_LOGS).scan(filter="id = 'nobody'", data_skipping="bloom_filters")
    assert scan.plan()
    assert all(task.file_slice.log_files for task in scan.plan())


@pytest.mark.parametrize("name", [SECONDARY, SECONDARY_AND_LOGS])
@pytest.mark.parametrize("city", ["Oslo", "a$b", "back\\slash", "Zürich", "", "Bergen", "late"])
def test_secondary_index_finds_the_rows_of_a_value(name, city, open_case):
    _, rows = answer_of_hudi(name)
    literal = city.replace("\\", "\\\\")
    scan = open_case(name).scan(filter=f"city = '{literal}'")
    assert " file slices by the secondary index of city" in pruned(scan)
    assert not pruned(scan).startswith("0 of")
    assert found(scan) == ids(row for row in rows if row["city"] == city)


def test_secondary_index_of_numbers_takes_lists(open_case):
    _, rows = answer_of_hudi(SECONDARY)
    scan = open_case(SECONDARY).scan(filter="n IN (30, 5010, 220)")
    assert "file slices by the secondary index of n" in pruned(scan)
    assert found(scan) == ids(row for row in rows if row["n"] in (30, 5010, 220))


def test_secondary_index_has_no_answer_for_null(open_case):
    _, rows = answer_of_hudi(SECONDARY)
    scan = open_case(SECONDARY).scan(filter="city IS NULL")
    assert "secondary index" not in pruned(scan)
    assert found(scan) == ids(row for row in rows if row["city"] is None)


@pytest.mark.parametrize("query", ["as_of_c1", "incr_all"])
def test_secondary_index_is_asked_by_snapshots_only(query, open_case):
    """It has the latest values; the row had another city before."""
    options, rows = answer_of_hudi(SECONDARY, query)
    scan = open_case(SECONDARY).scan_with({**options, "filter": "city = 'Oslo'"})
    assert "secondary index" not in pruned(scan)
    assert found(scan) == ids(row for row in rows if row["city"] == "Oslo")


@pytest.mark.parametrize("name", [SECONDARY_AND_LOGS, "x_v9_mor_ix_stats"])
def test_indexes_do_not_decide_before_the_merge(name, open_case):
    """The base row passes the filter, and a record of the log replaces it by one that does not."""
    base, merged = answer_of_hudi(name, "read_optimized")[1], answer_of_hudi(name)[1]
    before = {row["id"]: row["city"] for row in base}
    changed = [r for r in merged if r["id"] in before and before[r["id"]] != r["city"]]
    assert changed
    for row in changed:
        for city in {before[row["id"]], row["city"]} - {None}:
            literal = city.replace("\\", "\\\\")
            scan = open_case(name).scan(filter=f"city = '{literal}'")
            assert found(scan) == ids(r for r in merged if r["city"] == city)


@pytest.mark.parametrize("text", ["", "{}", '{"indexDefinitions": {"x": 1}}', None])
def test_damaged_definitions_turn_the_secondary_index_off(text, copy_case):
    path = copy_case(SECONDARY)
    _, rows = answer_of_hudi(SECONDARY)
    definitions = path / ".hoodie/.index_defs/index.json"
    if text is None:
        definitions.unlink()
    else:
        name = "secondary_index_city_idx"
        definitions.write_text(text.replace('"x"', f'"{name}"'))
    table = HudiTable(str(path))
    with pytest.raises(CorruptTableError, match=r"index\.json"):
        secondary_indexes(table.view)
    scan = table.scan(filter="city = 'Oslo'")
    assert "not the metadata table's indexes: " in pruned(scan)
    assert found(scan) == ids(row for row in rows if row["city"] == "Oslo")


def test_index_that_the_definitions_lack_is_not_used(copy_case):
    path = copy_case(SECONDARY)
    definitions = path / ".hoodie/.index_defs/index.json"
    known = json.loads(definitions.read_text())
    del known["indexDefinitions"]["secondary_index_city_idx"]
    definitions.write_text(json.dumps(known))
    table = HudiTable(str(path))
    assert list(secondary_indexes(table.view)) == ["n"]
    assert "secondary index" not in pruned(table.scan(filter="city = 'Oslo'"))


@pytest.mark.parametrize("name", [STATS, SECONDARY])
def test_each_index_has_its_own_switch(name, open_case):
    table = open_case(name)
    by_index = {
        "partition_stats": ("n = 5010", "partitions by partition statistics"),
        "column_stats": ("n = 5010", "file slices by column statistics"),
        "bloom_filters": ("id = 'k010'", "file slices by Bloom filters"),
        "record_index": ("id = 'k010'", "file slices by the record index"),
        "secondary_index,record_index": ("city = 'Oslo'", "by the secondary index"),
    }
    has = {index.partition("_index_")[0] for index in table.config.metadata_partitions}
    for names, (text, note) in by_index.items():
        is_there = names.partition(",")[0] in {*has, "secondary_index" * (name == SECONDARY)}
        assert (note in pruned(table.scan(filter=text, data_skipping=names))) is is_there
        assert note not in pruned(table.scan(filter=text, data_skipping=False))


@pytest.mark.parametrize("text", ["t < TIMESTAMP '2024-01-01 00:00:00+00:00'", "id = 'k010'"])
def test_expression_indexes_leave_nothing_out(text, open_case):
    """What they hold depends on the session that wrote them, which the index does not record."""
    name = "x_v9_cow_ix_expression"
    _, rows = answer_of_hudi(name)
    table = open_case(name)
    assert sum(n.startswith("expr_index_") for n in table.config.metadata_partitions) == 3
    scan = table.scan(filter=text, data_skipping="partition_stats,column_stats,bloom_filters")
    assert "file slices by" not in pruned(scan)
    new_year = datetime(2024, 1, 1, tzinfo=timezone.utc)
    wanted = [r for r in rows if (r["id"] == "k010" if "id" in text else r["t"] < new_year)]
    assert wanted
    assert found(scan) == ids(wanted)
