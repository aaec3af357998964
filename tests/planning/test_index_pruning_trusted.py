"""Indexes that may be silent about rows: what they leave out if the caller trusts them.

Rows are those of Apache Hudi; the file groups that are left are those in which they are.
"""

import json
import logging
import shutil
from functools import partial
from typing import Any

import pytest

from hudi_pyspark import CorruptTableError, HudiTable, InvalidOptionError
from hudi_pyspark.metadata_table import table as metadata_table
from hudi_pyspark.metadata_table.own_slices import listed_slices
from hudi_pyspark.table.merge_mode import PayloadMerger
from hudi_pyspark.tasks import ScanTask
from tests.damage import set_property
from tests.planning.indexed import answer_of_hudi, pruned

SECONDARY = ["x_v9_cow_ix_secondary_base", "x_v9_mor_ix_secondary", "x_v8_mor_ix_secondary"]
STATS = ["x_v9_cow_ix_stats_base", "x_v9_mor_ix_stats"]
BY_PARTITION: dict[str, Any] = {
    "trust_indexes": "partition_stats",
    "data_skipping": "partition_stats",
}
ONE_TIME = "20991121063221404_20991121063222110"


@pytest.fixture
def copy_case(golden_table, tmp_path):
    return lambda name: shutil.copytree(golden_table(name), tmp_path / name)


def literal(value):
    return repr(value) if isinstance(value, int) else "'" + value.replace("\\", "\\\\") + "'"


def ids(rows):
    return sorted(row["id"] for row in rows)


def found(scan):
    return sorted(scan.to_arrow()["id"].to_pylist())


def groups(scan):
    return {task.file_slice.file_id for task in scan.plan() if isinstance(task, ScanTask)}


def groups_of(rows):
    """The file groups in which rows are: base files have them in their names."""
    return {row["_hoodie_file_name"].partition("_")[0] for row in rows}


def conditions(rows):
    """Every value of the indexed columns, and some that no row has."""
    for column, missing in (("city", "nobody"), ("n", 99)):
        values = {row[column] for row in rows} - {None}
        for value in [*sorted(values), missing]:
            yield column, value


# Secondary indexes


@pytest.mark.parametrize("name", SECONDARY)
def test_secondary_index_leaves_the_file_groups_of_a_value(golden_table, name):
    table = HudiTable(str(golden_table(name)))
    _, rows = answer_of_hudi(name)
    for column, value in conditions(rows):
        wanted = [row for row in rows if row[column] == value]
        partition = f"secondary_index_{column}_idx"
        scan = table.scan(filter=f"{column} = {literal(value)}", trust_indexes="secondary")
        assert found(scan) == ids(wanted)
        if partition in table.config.metadata_partitions:
            assert groups(scan) == groups_of(wanted), value
            assert f"by {partition}, as trust_indexes says" in pruned(scan)
        else:
            assert "secondary_index" not in pruned(scan)


@pytest.mark.parametrize("name", SECONDARY)
def test_secondary_index_is_not_asked_unless_it_is_trusted(golden_table, name):
    table = HudiTable(str(golden_table(name)))
    text = "city = 'Oslo'"
    for options in (
        {},
        {"unique_keys": True},
        {"trust_indexes": "record,partition_stats"},
        {"trust_indexes": "secondary", "data_skipping": "record_index"},
        {"trust_indexes": "secondary", "data_skipping": "secondary_index"},
        {"trust_indexes": "secondary", "use_metadata_table": False},
        {"trust_indexes": "secondary", "query_type": "read_optimized"},
    ):
        assert "secondary_index" not in pruned(table.scan(filter=text, **options)), options


def test_several_values_and_two_indexes_narrow_together(golden_table):
    name = SECONDARY[0]
    table = HudiTable(str(golden_table(name)))
    _, rows = answer_of_hudi(name)
    chosen = [row for row in rows if row["city"] in ("Oslo", "a$b") and row["n"] is not None]
    first = chosen[0]
    text = f"city IN ('Oslo', 'a$b') AND n = {first['n']}"
    scan = table.scan(filter=text, trust_indexes="secondary")
    assert "by secondary_index_city_idx and secondary_index_n_idx, as" in pruned(scan)
    assert groups(scan) == groups_of([first])
    assert found(scan) == [first["id"]]


@pytest.mark.parametrize(
    "text",
    ["city != 'Oslo'", "city = 'Oslo' OR ts > 0", "city IS NULL", "city LIKE 'Os%'", "city > 'O'"],
)
def test_other_conditions_do_not_ask_a_secondary_index(golden_table, text):
    scan = HudiTable(str(golden_table(SECONDARY[1]))).scan(filter=text, trust_indexes="secondary")
    assert "secondary_index" not in pruned(scan)


def test_partitions_that_the_filter_leaves_out_do_not_contradict_the_index(golden_table):
    """The value has rows in other partitions as well."""
    name = SECONDARY[0]
    _, rows = answer_of_hudi(name)
    wanted = [row for row in rows if row["city"] == "Oslo"]
    here = wanted[0]["region"]
    own = [row for row in wanted if row["region"] == here]
    assert own != wanted
    text = f"city = 'Oslo' AND region = '{here}'"
    scan = HudiTable(str(golden_table(name))).scan(filter=text, trust_indexes="secondary")
    assert groups(scan) == groups_of(own)
    assert found(scan) == ids(own)


@pytest.mark.parametrize("name", SECONDARY)
def test_states_other_than_the_latest_ask_no_trusted_index(golden_table, name):
    table = HudiTable(str(golden_table(name)))
    for query in ("as_of_c1", "incr_all"):
        given, rows = answer_of_hudi(name, query)
        options: dict[str, Any] = {"trust_indexes": True, **given}
        value = next(row["city"] for row in rows if row["city"])
        scan = table.scan(filter=f"city = {literal(value)}", **options)
        assert "trust_indexes" not in scan.explain()
        assert found(scan) == ids(row for row in rows if row["city"] == value)


@pytest.mark.parametrize("name", SECONDARY)
def test_secondary_index_of_a_partition_column_is_not_asked(copy_case, name):
    """Rows show the value in their path, which need not be the one that was written."""
    path = copy_case(name)
    file = path / ".hoodie/.index_defs/index.json"
    content = json.loads(file.read_text())
    content["indexDefinitions"]["secondary_index_city_idx"]["sourceFields"] = ["region"]
    file.write_text(json.dumps(content))
    scan = HudiTable(str(path)).scan(filter="region = 'b'", trust_indexes="secondary")
    _, rows = answer_of_hudi(name)
    assert found(scan) == ids(row for row in rows if row["region"] == "b")


@pytest.mark.parametrize("name", [SECONDARY[1], STATS[1], "x_v9_cow_ix_expression"])
def test_tables_with_a_merger_of_the_user_ask_no_trusted_index(copy_case, name):
    """Rows may have other values than all of their records."""
    path = copy_case(name)
    set_property(path, "hoodie.record.merge.mode", "CUSTOM")
    set_property(path, "hoodie.compaction.payload.class", "com.acme.Newest")
    options = {"filter": "city = 'Oslo' AND n = 5010 AND id = 'k010'", "trust_indexes": True}
    mergers = {"com.acme.Newest": PayloadMerger(lambda _, newer: newer, None)}
    scan = HudiTable(str(path))._scan_with(options, mergers)
    assert "as trust_indexes says" not in pruned(scan)
    assert "since a payload_merger decides what rows are" in pruned(scan)


@pytest.mark.parametrize("on_damage", ["warn", "ignore"])
@pytest.mark.parametrize("name", SECONDARY[1:])
def test_rows_without_a_damaged_block_ask_no_trusted_index(copy_case, name, on_damage):
    """The last block of a slice moved k021 from Oslo, where the row stays without it."""
    path = copy_case(name)
    of_commit, rows = answer_of_hudi(name, "as_of_c1")
    assert of_commit
    assert {row["city"] for row in rows if row["id"] == "k021"} == {"Oslo"}
    _, rows = answer_of_hudi(name)
    assert {row["city"] for row in rows if row["id"] == "k021"} == {"Bodo"}
    (log,) = path.glob(f"d/.*{'20261122065117141' if '_v9_' in name else '20261122065533103'}.log*")
    log.write_bytes(log.read_bytes()[:200])
    scan = HudiTable(str(path)).scan(
        filter="city = 'Oslo'", trust_indexes=True, on_damage=on_damage
    )
    assert found(scan) == sorted([*ids(row for row in rows if row["city"] == "Oslo"), "k021"])
    assert "as trust_indexes says" not in pruned(scan)


@pytest.mark.parametrize(
    "options",
    [
        {"delete_field": "city", "delete_marker": "Oslo"},
        {"schema_on_read": "false"},
        {"merge_type": "skip_merge"},
        {"query_type": "read_optimized"},
    ],
)
def test_options_that_change_rows_ask_no_trusted_index(golden_table, options):
    """The writer knew other rows: it deleted other records, or had other columns."""
    table = HudiTable(str(golden_table(SECONDARY[1])))
    scan = table.scan(filter="city = 'Oslo' AND id = 'k010'", trust_indexes=True, **options)
    assert "as trust_indexes says" not in pruned(scan)
    changed = " and ".join(options)
    assert f"nothing by trusted indexes, since {changed} may change rows" in pruned(scan)


@pytest.mark.parametrize("name", SECONDARY)
@pytest.mark.parametrize(
    ("change", "log"),
    [
        ({"indexName": "secondary_index_n_idx"}, "does not have the name"),
        ({"sourceFields": ["city", "n"]}, "and not one"),
        ({"indexOptions": {"expr": "lower"}}, "and its expression lower"),
        ({"version": "V7"}, "its version is V7"),
        ({"indexFunction": "lower"}, ""),
        ({"indexType": "column_stats"}, "its kind is column_stats"),
    ],
)
def test_definition_that_contradicts_itself_is_not_used(copy_case, name, change, log, caplog):
    path = copy_case(name)
    file = path / ".hoodie/.index_defs/index.json"
    content = json.loads(file.read_text())
    content["indexDefinitions"]["secondary_index_city_idx"].update(change)
    file.write_text(json.dumps(content))
    scan = HudiTable(str(path)).scan(filter="city = 'Oslo'", trust_indexes="secondary")
    _, rows = answer_of_hudi(name)
    with caplog.at_level(logging.WARNING):
        assert found(scan) == ids(row for row in rows if row["city"] == "Oslo")
    assert "secondary_index" not in pruned(scan)
    assert log in "".join(record.message for record in caplog.records)


def test_expression_index_that_is_defined_as_a_secondary_index_is_not_used(copy_case, caplog):
    """It has no key of the values, and its keys lie in its groups as those of version 1 do."""
    path = copy_case(EXPRESSION)
    file = path / ".hoodie/.index_defs/index.json"
    content = json.loads(file.read_text())
    content["indexDefinitions"]["expr_index_year_idx"].update(
        indexType="secondary_index",
        indexFunction="identity",
        sourceFields=["id"],
        indexOptions={},
        version="V1",
    )
    file.write_text(json.dumps(content))
    scan = HudiTable(str(path)).scan(filter="id = 'k010'", trust_indexes="secondary")
    with caplog.at_level(logging.WARNING):
        scan.plan()
    assert not caplog.records  # a secondary index is not among the table's indexes
    scan = HudiTable(str(path)).scan(filter="id = 'k010'", trust_indexes="expression")
    assert found(scan) == ["k010"]
    assert "expr_index_year_idx is not used: its kind is secondary_index" in caplog.text


@pytest.mark.parametrize("version", ["V1", "V2"])
@pytest.mark.parametrize("name", SECONDARY)
def test_secondary_index_of_another_version_than_its_definition_loses_nothing(
    copy_case, name, version
):
    """Its keys are in other groups than the version says."""
    path = copy_case(name)
    file = path / ".hoodie/.index_defs/index.json"
    content = json.loads(file.read_text())
    content["indexDefinitions"]["secondary_index_city_idx"]["version"] = version
    file.write_text(json.dumps(content))
    table = HudiTable(str(path))
    _, rows = answer_of_hudi(name)
    for column, value in conditions(rows):
        if column == "city":
            scan = table.scan(filter=f"city = {literal(value)}", trust_indexes="secondary")
            assert found(scan) == ids(row for row in rows if row["city"] == value), value


@pytest.mark.parametrize("content", [None, "{", "[]", '{"indexDefinitions": 3}', "\udcff"])
def test_definitions_that_cannot_be_read_are_logged(copy_case, content, caplog):
    path = copy_case(SECONDARY[0])
    file = path / ".hoodie/.index_defs/index.json"
    file.unlink()
    if content is not None:
        file.write_bytes(content.encode(errors="surrogateescape"))
    scan = HudiTable(str(path)).scan(filter="city = 'Oslo'", trust_indexes="secondary")
    assert "secondary_index" not in pruned(scan)
    assert "definitions of indexes cannot be read" in caplog.text


@pytest.mark.parametrize("name", SECONDARY)
def test_pending_index_is_not_used(copy_case, name):
    path = copy_case(name)
    partitions = HudiTable(str(path)).config.metadata_partitions
    complete = [each for each in partitions if each != "secondary_index_city_idx"]
    set_property(path, "hoodie.table.metadata.partitions", ",".join(complete))
    set_property(path, "hoodie.table.metadata.partitions.inflight", "secondary_index_city_idx")
    scan = HudiTable(str(path)).scan(filter="city = 'Oslo'", trust_indexes="secondary")
    assert "secondary_index" not in pruned(scan)


@pytest.mark.parametrize("name", SECONDARY)
def test_index_of_a_metadata_table_that_is_ahead_is_not_used(copy_case, name):
    """A commit that the table's state lacks may have moved values to other keys."""
    path = copy_case(name)
    timeline = path / ".hoodie/metadata/.hoodie/timeline"
    (timeline / f"{ONE_TIME}.deltacommit").write_text(
        '{"partitionToWriteStats": {}, "operationType": "UPSERT"}'
    )
    scan = HudiTable(str(path)).scan(filter="city = 'Oslo'", trust_indexes="secondary")
    assert "secondary_index_city_idx has commit 2099" in pruned(scan)
    _, rows = answer_of_hudi(name)
    assert found(scan) == ids(row for row in rows if row["city"] == "Oslo")


@pytest.mark.parametrize("name", SECONDARY)
def test_file_of_a_secondary_index_that_is_gone_keeps_all_slices(copy_case, name):
    path = copy_case(name)
    files = sorted((path / ".hoodie/metadata/secondary_index_city_idx").glob("*-0001-0_*"))
    files[-1].unlink()
    table = HudiTable(str(path))
    _, rows = answer_of_hudi(name)
    for column, value in conditions(rows):
        scan = table.scan(filter=f"{column} = {literal(value)}", trust_indexes="secondary")
        assert found(scan) == ids(row for row in rows if row[column] == value)


@pytest.mark.parametrize("name", SECONDARY)
def test_record_index_without_a_key_of_the_secondary_index_keeps_all_slices(
    golden_table, name, monkeypatch
):
    table = HudiTable(str(golden_table(name)))
    _, rows = answer_of_hudi(name)
    wanted = [row for row in rows if row["city"] == "Oslo"]
    target = "hudi_pyspark.metadata_table.table.MetadataTable.locate"
    monkeypatch.setattr(target, lambda *_: {})
    scan = table.scan(filter="city = 'Oslo'", trust_indexes="secondary")
    assert "secondary_index" not in pruned(scan)
    assert found(scan) == ids(wanted)


# Record index


@pytest.mark.parametrize("name", ["x_v9_cow_ix_stats_base", "v9_mor_mdt_indexes"])
def test_trusted_record_index_rules_out_keys_that_it_lacks(golden_table, name):
    table = HudiTable(str(golden_table(name)))
    key = table.scan(["_hoodie_record_key"]).to_arrow()[0][0].as_py()
    nobody = table.scan(filter="_hoodie_record_key = 'nobody'", trust_indexes="record")
    assert "by the record index, as trust_indexes says" in pruned(nobody)
    assert nobody.plan() == []
    text = f"_hoodie_record_key IN ('{key}', 'nobody')"
    both = table.scan(filter=text, trust_indexes="record")
    assert len(both.plan()) == 1
    assert both.to_arrow()["_hoodie_record_key"].to_pylist() == [key]
    assert len(table.scan(filter=text, unique_keys=True, data_skipping="record_index").plan()) > 1


@pytest.mark.parametrize("name", ["x_v9_cow_ix_stats_base", "v9_mor_mdt_indexes"])
def test_lookup_of_a_key_that_a_trusted_record_index_lacks_opens_no_data_file(copy_case, name):
    path = copy_case(name)
    keys = HudiTable(str(path)).scan(["_hoodie_record_key"]).to_arrow()[0].to_pylist()
    lacking = f"{min(keys)}~"  # within the bounds of the files
    for file in path.rglob("*"):
        if file.is_file() and ".hoodie" not in file.relative_to(path).parts:
            file.write_bytes(b"must not be read")
    table = HudiTable(str(path))
    with pytest.raises(CorruptTableError):
        table.lookup(lacking, unique_keys=True)
    for trusted in ("record", True):
        assert table.lookup(lacking, trust_indexes=trusted).num_rows == 0
    with pytest.raises(InvalidOptionError, match="trust_indexes"):
        table.lookup(lacking, trust_indexes="records")


@pytest.mark.parametrize("name", SECONDARY)
@pytest.mark.parametrize("index", ["record_index", "secondary_index_city_idx"])
def test_last_file_groups_that_nothing_names_are_missed_by_the_keys_of_others(
    copy_case, name, index, monkeypatch
):
    """Keys are then sought in groups in which they never were."""
    path = copy_case(name)
    folder = path / ".hoodie/metadata" / index
    last = max(file.name.lstrip(".").partition("_")[0] for file in folder.glob("*-index-*"))
    assert not last.endswith("-0000-0")
    for file in folder.glob(f"*{last}*"):
        file.unlink()
    as_listed = partial(listed_slices, committed={})  # as if no commit named them
    monkeypatch.setattr(metadata_table, "complete_slices", as_listed)
    table = HudiTable(str(path))
    _, rows = answer_of_hudi(name)
    for row in rows:
        scan = table.scan(filter=f"id = '{row['id']}'", trust_indexes="record")
        assert found(scan) == [row["id"]]
    for column, value in conditions(rows):
        if column == "city":
            scan = table.scan(filter=f"city = {literal(value)}", trust_indexes="secondary")
            assert found(scan) == ids(row for row in rows if row["city"] == value), value


# Partition statistics


@pytest.mark.parametrize("name", STATS)
def test_partition_statistics_leave_out_whole_partitions(golden_table, name):
    table = HudiTable(str(golden_table(name)))
    _, rows = answer_of_hudi(name)
    left_out = 0
    for column in ("n", "ts", "city"):
        for value in sorted({row[column] for row in rows} - {None})[::4]:
            for sign, keep in (("=", value.__eq__), ("<", value.__gt__), (">=", value.__le__)):
                wanted = [row for row in rows if row[column] is not None and keep(row[column])]
                scan = table.scan(filter=f"{column} {sign} {literal(value)}", **BY_PARTITION)
                assert found(scan) == ids(wanted), (column, sign, value)
                assert "by partition statistics, as trust_indexes says" in pruned(scan)
                left_out += "0 of" not in pruned(scan)
    assert left_out > 5


@pytest.mark.parametrize("name", [*STATS, "x_v9_cow_ix_added_column"])
def test_partition_statistics_rule_out_no_nulls(golden_table, name):
    """They count no nulls of files that lack the column."""
    column = "more" if name.endswith("column") else "d"
    _, rows = answer_of_hudi(name)
    scan = HudiTable(str(golden_table(name))).scan(filter=f"{column} IS NULL", **BY_PARTITION)
    assert " 0 of " in f" {pruned(scan)}"
    assert found(scan) == ids(row for row in rows if row[column] is None)


@pytest.mark.parametrize(
    "text", ["x = 5.5e0", "x > 5", "region > 'zz'", "_hoodie_commit_time > 'z'"]
)
def test_partition_statistics_say_nothing_of_some_columns(golden_table, text):
    """Of floating-point numbers, of partition columns and of columns that a writer fills in."""
    scan = HudiTable(str(golden_table(STATS[1]))).scan(filter=text, **BY_PARTITION)
    assert "0 of" in pruned(scan) or "partition statistics" not in pruned(scan)


@pytest.mark.parametrize("query", [{"query_type": "read_optimized"}, {"merge_type": "skip_merge"}])
@pytest.mark.parametrize("name", STATS)
def test_queries_of_other_versions_of_rows_ask_no_statistics_of_partitions(
    golden_table, name, query
):
    scan = HudiTable(str(golden_table(name))).scan(filter="n = 5010", **query, **BY_PARTITION)
    assert "partition statistics" not in pruned(scan)


@pytest.mark.parametrize("name", STATS)
def test_partitions_are_left_out_by_their_bounds(golden_table, name):
    """By the writer's rows: regions c and d have numbers up to 230, a and b some beyond 5,000."""
    scan = HudiTable(str(golden_table(name))).scan(filter="n = 5010", **BY_PARTITION)
    paths = {task.file_slice.partition_path for task in scan.plan() if isinstance(task, ScanTask)}
    left = {path.removeprefix("region=") for path in paths}
    assert left == {"a", "b"}


@pytest.mark.parametrize("trusted", ["secondary", "record", "partition_stats"])
def test_trust_is_in_a_name(golden_table, trusted):
    table = HudiTable(str(golden_table(STATS[0])))
    scan = table.scan(filter="id = 'k010' AND n = 100", trust_indexes=trusted)
    line = pruned(scan)
    assert ("record index, as" in line) is (trusted == "record")
    assert ("partition statistics, as" in line) is (trusted == "partition_stats")


# Expression indexes: of the day and the year of a timestamp, and of the lower-case form of the key

EXPRESSION = "x_v9_cow_ix_expression"


def test_bloom_filter_of_an_expression_leaves_the_files_of_a_value(golden_table):
    table = HudiTable(str(golden_table(EXPRESSION)))
    _, rows = answer_of_hudi(EXPRESSION)
    options: dict[str, Any] = {"trust_indexes": "expression", "data_skipping": "expr_index"}
    for row in rows:
        scan = table.scan(filter=f"id = '{row['id']}'", **options)
        assert "by expr_index_lower_idx, as trust_indexes says" in pruned(scan)
        assert groups(scan) == groups_of([row])
        assert found(scan) == [row["id"]]
    assert table.scan(filter="id = 'nobody'", **options).plan() == []
    assert len(table.scan(filter="id = 'K010'", **options).plan()) == 1  # K010 has the same bits


@pytest.mark.parametrize("day", ["2023-12-31", "2024-01-01", "2030-01-01"])
@pytest.mark.parametrize("zone", ["+00:00", "+09:00", "-11:00"])
def test_expressions_of_a_zone_that_no_index_names_leave_nothing_out(golden_table, day, zone):
    table = HudiTable(str(golden_table(EXPRESSION)))
    options: dict[str, Any] = {"trust_indexes": "expression", "data_skipping": "expr_index"}
    for condition in ("=", "<", ">="):
        scan = table.scan(filter=f"t {condition} TIMESTAMP '{day} 00:00:00{zone}'", **options)
        assert "expr_index" not in pruned(scan)
        assert len(scan.plan()) == len(table.scan().plan())


def test_file_that_an_expression_index_lacks_is_kept(golden_table, monkeypatch):
    table = HudiTable(str(golden_table(EXPRESSION)))
    options: dict[str, Any] = {"trust_indexes": "expression", "data_skipping": "expr_index"}
    target = "hudi_pyspark.metadata_table.table.MetadataTable.find"
    monkeypatch.setattr(target, lambda *_: iter(()))
    scan = table.scan(filter="id = 'nobody'", **options)
    assert "0 of 7 file slices by expr_index_lower_idx" in pruned(scan)
