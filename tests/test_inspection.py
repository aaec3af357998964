"""Commits and explanations, by what Apache Hudi's own files say."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from datetime import datetime, timedelta

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from hudi_pyspark import HudiTable, InvalidInstantError, InvalidOptionError, UnsupportedTableError
from hudi_pyspark.inspection import (
    INSPECTION_TABLES,
    Inspection,
    InspectionCall,
    metadata,
)
from hudi_pyspark.inspection.metadata import listed_files
from hudi_pyspark.metadata_table.table import MetadataTable
from tests.conftest import GOLDEN
from tests.damage import unpack
from tests.golden.case import load_case


@pytest.fixture
def table(golden_table):
    return HudiTable(str(golden_table("v9_mor_compaction_inline")))


def test_commits_are_those_of_the_case_in_order(table):
    listed = load_case(GOLDEN / "v9_mor_compaction_inline").facts["timeline"]
    commits = table.inspect.commits().to_pylist()
    found = [f"{c['requested_time']}_{c['completion_time']}.{c['action']}" for c in commits]
    assert found == [name for name in listed if name.endswith("commit")]


def test_commit_has_the_numbers_of_what_it_wrote(table):
    first = table.inspect.commits().to_pylist()[0]
    assert first["operation"] in ("INSERT", "BULK_INSERT", "UPSERT")
    known = load_case(GOLDEN / "v9_mor_compaction_inline").query("as_of_c1")
    assert first["inserts"] == known.facts["rows"]
    assert (first["updates"], first["deletes"]) == (0, 0)


def test_commits_have_durations_and_what_the_writer_added(golden_table, table):
    commits = table.inspect.commits().to_pylist()
    assert all(0 < c["milliseconds"] < 60_000 for c in commits)
    first = commits[0]
    moments = [
        datetime.strptime(f"{first[name]}+0000", "%Y%m%d%H%M%S%f%z")
        for name in ("requested_time", "completion_time")
    ]
    assert timedelta(milliseconds=first["milliseconds"]) == moments[1] - moments[0]
    older = HudiTable(str(golden_table("v6_mor_part_basic"))).inspect.commits()
    assert older.column("milliseconds").null_count == older.num_rows
    written = HudiTable(str(golden_table("v10_mor_cdc_data_before"))).inspect.commits().to_pylist()
    assert dict(written[0]["extra_metadata"]).keys() == {"engine", "hudi.version"}


def test_explanation_names_instants_files_and_merge(table):
    text = table.scan(columns=["id"]).explain()
    assert "MERGE_ON_READ, version 9" in text
    assert f"latest, {table.last_instant}" in text
    assert "EVENT_TIME_ORDERING, by ts" in text
    assert "columns    id" in text


def test_explanation_of_a_range_names_its_bounds(table):
    commits = table.inspect.commits().to_pylist()
    begin, end = commits[0]["completion_time"], commits[2]["completion_time"]
    text = table.scan(begin=begin, end=end).explain()
    assert f"completion times after {begin} up to {end}, inclusive (2 commits)" in text


def test_explanation_of_time_travel_names_the_instant(table):
    instant = table.inspect.commits().to_pylist()[0]["requested_time"]
    assert f"up to {instant}, inclusive" in table.scan(as_of=instant).explain()


def test_begin_makes_the_query_incremental(table):
    begin = table.inspect.commits().to_pylist()[-2]["completion_time"]
    times = set(table.scan(begin=begin).to_arrow().column("_hoodie_commit_time").to_pylist())
    assert times <= {table.last_instant}


def test_begin_contradicts_a_snapshot(table):
    with pytest.raises(InvalidOptionError, match="needs the query type incr"):
        table.scan(begin="earliest", query_type="snapshot")


def test_changes_of_a_table_without_cdc_are_refused(table):
    with pytest.raises(UnsupportedTableError, match="does not log changes"):
        table.changes()


# Columns that Apache Hudi's procedures lack are compared with the files of the case.


def rows(table, name, *args, **kwargs):
    return getattr(table.inspect, name)(*args, **kwargs).to_pylist()


@pytest.fixture
def open_case(golden_table):
    return lambda name: HudiTable(str(golden_table(name)))


def test_files_of_a_rolled_back_write_are_not_committed(open_case):
    table = open_case("v6_mor_failed_rolled_back")
    (rollback,) = rows(table, "rollbacks")
    blocks = rows(table, "log_blocks")
    undone = {b["path"] for b in blocks if b["instant_time"] in rollback["rolled_back"]}
    undone -= {b["path"] for b in blocks if b["type"] == "COMMAND_BLOCK"}
    files = rows(table, "files")
    assert {f["path"] for f in files if not f["is_committed"]} == undone
    written = {f["path"] for f in files if f["committed_by"] == rollback["requested_time"]}
    assert written == {b["path"] for b in blocks if b["type"] == "COMMAND_BLOCK"}


def test_files_of_archived_commits_are_committed(open_case):
    table = open_case("v9_mor_archived")
    first = rows(table, "commits")[0]["requested_time"]
    old = [f for f in rows(table, "files") if f["instant_time"] < first]
    assert old
    assert all(f["is_committed"] and f["committed_by"] == f["instant_time"] for f in old)


def test_files_are_those_on_the_storage_with_their_sizes(golden_table, open_case):
    base = golden_table("v9_mor_clustering")
    stored = {
        str(path.relative_to(base)): path.stat().st_size
        for path in base.rglob("*")
        if path.is_file() and ".hoodie" not in path.parts and "_metadata" not in path.name
    }
    files = rows(open_case("v9_mor_clustering"), "files")
    assert {f["path"]: f["bytes"] for f in files} == stored
    assert sum(f["kind"] == "log" for f in files) == sum("/." in path for path in stored)


def test_rows_of_partitions_are_those_of_the_snapshot(open_case):
    snapshot = load_case(GOLDEN / "v6_cow_archived").queries[0].expected_rows()
    expected = Counter(snapshot.column("_hoodie_partition_path").to_pylist())
    found = rows(open_case("v6_cow_archived"), "partitions")
    assert {p["partition_path"]: p["rows"] for p in found} == expected
    assert all(p["partition"] == {"region": p["partition_path"]} for p in found)


@pytest.mark.parametrize("case", ["v6_mor_nonpart_event_time", "v9_mor_nonpart_commit_time"])
def test_table_without_partition_columns_is_one_partition(case, open_case):
    (partition,) = rows(open_case(case), "partitions")
    assert partition["partition_path"] == ""
    assert "partition" not in partition


def test_values_of_partitions_are_typed_and_rows_unknown_where_logs_lie(open_case):
    table = open_case("v8_mor_keygen_complex_hive")
    found = table.inspect.partitions()
    kinds = {field.name: field.type for field in found.schema.field("partition").type}
    assert kinds == {n: table.schema.field(n).type for n in table.config.partition_fields}
    assert all(p["rows"] is None for p in found.to_pylist() if p["log_files"])


def test_history_of_a_compacted_file_group(open_case):
    table = open_case("v6_mor_compaction_inline")
    (compaction,) = rows(table, "compactions")
    file_id = next(s["file_id"] for s in rows(table, "file_slices") if s["log_count"])
    events = rows(table, "history", file_id)
    assert [e["requested_time"] for e in events] == sorted(e["requested_time"] for e in events)
    bases = [e["requested_time"] for e in events if e["event"] == "base written"]
    assert bases[-1] == compaction["requested_time"]
    paths = {e["path"] for e in events}
    assert {f["path"] for f in rows(table, "files") if f["file_id"] == file_id} <= paths


def test_history_lists_replacement_plans_and_cleans(open_case):
    clustered = open_case("v9_mor_clustering")
    (clustering,) = rows(clustered, "clustering")
    replaced = next(f for f in rows(clustered, "files") if not f["in_latest_slice"])["file_id"]
    last = rows(clustered, "history", replaced)[-1]
    assert (last["event"], last["requested_time"]) == ("replaced", clustering["requested_time"])
    pending = open_case("v6_mor_compaction_pending")
    (planned,) = rows(pending, "compactions")
    file_id = next(s["file_id"] for s in rows(pending, "file_slices") if s["log_count"] > 1)
    events = {(e["event"], e["requested_time"]) for e in rows(pending, "history", file_id)}
    assert ("compaction planned", planned["requested_time"]) in events
    cleaned = open_case("v6_mor_clean_only")
    (clean,) = rows(cleaned, "cleans")
    gone = [
        e
        for s in rows(cleaned, "file_slices")
        for e in rows(cleaned, "history", s["file_id"])
        if e["event"] == "file cleaned"
    ]
    assert len(gone) == clean["deleted_files"]


def test_history_of_an_unknown_file_group_is_refused(table):
    with pytest.raises(InvalidOptionError, match="no instant of the table names"):
        table.inspect.history("nothing")


def test_archived_cleans_are_those_of_the_timeline(open_case):
    for name in ("v6_cow_archived", "v9_mor_archived"):
        table = open_case(name)
        times = [r["requested_time"] for r in rows(table, "timeline") if r["action"] == "clean"]
        cleans = rows(table, "cleans", archived=True)
        assert [c["requested_time"] for c in cleans] == times
        assert any(c["archived"] and c["deleted_files"] for c in cleans)


def test_restores_name_what_they_undo(open_case):
    (restore,) = rows(open_case("v8_mor_savepoint_restore"), "rollbacks")
    (savepoint,) = rows(open_case("v8_mor_savepoint_restore"), "savepoints")
    assert restore["action"] == "restore"
    assert all(time > savepoint["requested_time"] for time in restore["rolled_back"])


def test_schema_history_lists_what_changed(open_case):
    history = rows(open_case("v9_mor_schema_evolution"), "schema_history")
    assert history[0]["added"]
    assert not history[0]["dropped"]
    later = [change for row in history[1:] for change in row["changed"]]
    assert any("int -> bigint" in change for change in later)
    assert [row["columns"] for row in history][-1] == history[0]["columns"] + sum(
        len(row["added"]) - len(row["dropped"]) for row in history[1:]
    )


def test_schema_history_has_versions_of_schema_on_read(open_case):
    history = rows(open_case("v9_mor_schema_on_read"), "schema_history")
    versions = [row["version_id"] for row in history if row["version_id"] is not None]
    assert versions == sorted(set(versions))
    assert len(versions) > 1


def test_file_slices_as_of_an_instant_are_those_of_then(open_case):
    table = open_case("v9_mor_compaction_inline")
    first = rows(table, "commits")[0]["requested_time"]
    then = rows(table, "file_slices", first)
    assert {s["base_instant_time"] for s in then} == {first}
    assert all(not s["log_files"] for s in then)


def test_statistics_add_up(open_case):
    table = open_case("v9_mor_compaction_inline")
    (found,) = rows(table, "statistics")
    slices, files = rows(table, "file_slices"), rows(table, "files")
    assert found["base_bytes"] == sum(s["base_bytes"] for s in slices)
    assert found["log_to_base_ratio"] == found["log_bytes"] / found["base_bytes"]
    assert found["stored_bytes"] == sum(f["bytes"] for f in files)
    kept = found["base_bytes"] + found["log_bytes"]
    assert kept + found["older_bytes"] == found["stored_bytes"]
    assert found["small_files"] == found["base_files"]
    (none,) = rows(table, "statistics", small_file_bytes=1)
    assert none["small_files"] == 0


def test_write_amplification_counts_what_table_services_write(open_case):
    (found,) = rows(open_case("v6_mor_compaction_inline"), "statistics")
    (compaction,) = rows(open_case("v6_mor_compaction_inline"), "compactions")
    assert found["written_records"] == found["changed_records"] + compaction["records"]


def test_statistics_of_columns_are_those_of_the_footers(golden_table, open_case):
    """The metadata table's, where a base file is in both, against what pyarrow reads."""
    base = golden_table("v9_mor_mdt_indexes")
    found = rows(open_case("v9_mor_mdt_indexes"), "column_statistics")
    assert {row["source"] for row in found} == {"metadata_table"}
    for row in found:
        if row["path"].endswith(".parquet"):
            column = pq.read_table(base / row["path"], columns=[row["column"]]).column(0)
            bounds = pc.min_max(column).as_py()
            assert (row["min"], row["max"]) == (str(bounds["min"]), str(bounds["max"]))
            assert (row["values"], row["nulls"]) == (len(column), column.null_count)


def test_statistics_of_columns_without_metadata_table(golden_table, open_case):
    base = golden_table("v6_cow_archived")
    found = rows(open_case("v6_cow_archived"), "column_statistics")
    assert {row["source"] for row in found} == {"parquet_footer"}
    for row in found:
        column = pq.read_table(base / row["path"], columns=[row["column"]]).column(0)
        bounds = pc.min_max(column).as_py()
        assert (row["min"], row["max"]) == (str(bounds["min"]), str(bounds["max"]))


def test_statistics_of_columns_where_the_metadata_table_is_gone(tmp_path):
    table = unpack("v9_mor_mdt_indexes", tmp_path)
    before = rows(HudiTable(str(table)), "column_statistics")
    shutil.rmtree(table / ".hoodie" / "metadata")
    found = rows(HudiTable(str(table)), "column_statistics")
    assert {row["source"] for row in found} == {"parquet_footer"}
    of_base_files = {row["path"] for row in before if row["path"].endswith(".parquet")}
    assert {row["path"] for row in found} == of_base_files


def test_record_index_of_the_metadata_table_has_every_key(open_case):
    table = open_case("v9_mor_mdt_indexes")
    snapshot = load_case(GOLDEN / "v9_mor_mdt_indexes").queries[0].expected_rows()
    index = rows(table, "metadata_records", "record_index")
    assert {r["key"] for r in index} == set(snapshot.column("_hoodie_record_key").to_pylist())
    assert {r["type"] for r in index} == {"RECORD_INDEX"}


def test_unknown_metadata_partition_is_refused(open_case):
    with pytest.raises(InvalidOptionError, match="it has bloom_filters, column_stats, files"):
        open_case("v9_mor_mdt_indexes").inspect.metadata_records("nonsense")


WITH_METADATA = ["v6_mor_mdt_indexes", "v9_mor_mdt_indexes", "x_v9_mor_ix_stats"]


@pytest.mark.parametrize("case", [*WITH_METADATA, "x_v8_mor_ix_secondary", "v6_cow_archived"])
def test_metadata_table_that_hudi_wrote_does_not_differ(case, open_case):
    assert rows(open_case(case), "metadata_validation") == []


@pytest.mark.parametrize("case", WITH_METADATA)
def test_metadata_validation_finds_files_and_sizes_that_differ(case, golden_table, tmp_path):
    base = shutil.copytree(golden_table(case), tmp_path / case)
    gone, longer = sorted(base.glob("*/*.parquet"))[:2]
    size = gone.stat().st_size
    gone.unlink()
    longer.write_bytes(longer.read_bytes() + b"x")
    found = HudiTable(str(base)).inspect.metadata_validation(sample=0).to_pylist()
    whole = longer.stat().st_size
    assert found == [
        {
            "check": "files",
            "subject": str(gone.relative_to(base)),
            "metadata_table": str(size),
            "table": None,
            "problem": "listed in the metadata table, but not on the storage",
        },
        {
            "check": "sizes",
            "subject": str(longer.relative_to(base)),
            "metadata_table": str(whole - 1),
            "table": str(whole),
            "problem": f"{whole} bytes on the storage, {whole - 1} in the metadata table",
        },
    ]


def test_metadata_validation_finds_commits_and_files_that_it_lacks(
    golden_table, tmp_path, monkeypatch
):
    base = shutil.copytree(golden_table(WITH_METADATA[1]), tmp_path / "table")
    timeline = base / ".hoodie/metadata/.hoodie/timeline"
    last = max(timeline.glob("*.deltacommit"))
    for file in timeline.glob(f"{last.name.split('_')[0]}*"):
        file.unlink()
    listed = listed_files

    def without_one(view):
        return dict(sorted(listed(view).items())[1:])

    monkeypatch.setattr(metadata, "listed_files", without_one)
    found = HudiTable(str(base)).inspect.metadata_validation(sample=0).to_pylist()
    assert (found[0]["check"], found[0]["subject"]) == ("commits", last.name.split("_")[0])
    lacking = [row["subject"] for row in found if row["metadata_table"] is None][1:]
    assert min(listed(MetadataTable(HudiTable(str(base))._view))) in lacking


def test_metadata_validation_looks_up_a_sample_of_the_records(open_case, monkeypatch):
    asked = []
    original = MetadataTable.locate

    def watched(metadata, keys):
        asked.extend(keys)
        return original(metadata, keys)

    monkeypatch.setattr(MetadataTable, "locate", watched)
    table = open_case(WITH_METADATA[2])
    assert table.inspect.metadata_validation().num_rows == 0
    keys = table.scan(["_hoodie_record_key"]).to_arrow()["_hoodie_record_key"].to_pylist()
    assert sorted(asked) == sorted(keys)
    asked.clear()
    assert table.inspect.metadata_validation(sample=8).num_rows == 0
    assert len(asked) == 8


WITHOUT_ARGUMENTS = [
    name for name in INSPECTION_TABLES if name not in ("commit_files", "history", "log_records")
]


@pytest.mark.parametrize("case", ["v9_mor_empty_table", "v9_mor_mdt_indexes", "v6_cow_archived"])
@pytest.mark.parametrize("name", WITHOUT_ARGUMENTS)
def test_columns_are_fixed(open_case, case, name):
    table = open_case(case)
    call = InspectionCall.parse({"inspect": name})
    assert call.run(table.inspect).schema.equals(call.schema(table.inspect))


def test_every_column_is_described_by_help(table):
    for name in WITHOUT_ARGUMENTS:
        text = getattr(Inspection, name).__doc__
        for column in InspectionCall.parse({"inspect": name}).schema(table.inspect).names:
            assert re.search(rf"\b{column}\b", text.partition("Returns:")[2]), (
                f"the docstring of Inspection.{name} lacks the column {column}: add it to Returns"
            )


def test_every_table_is_on_the_page():
    page = (GOLDEN.parents[1] / "docs" / "looking-inside.md").read_text(encoding="utf-8")
    described = [
        line.split("`")[1].partition("(")[0]
        for line in page.partition("## The command line")[0].splitlines()
        if "(" in line and line.startswith("| `")
    ]
    for name in INSPECTION_TABLES:
        assert name in described, (
            f"docs/looking-inside.md lacks {name}: add a row that begins with | `{name}(…)` |"
        )
    assert set(described) <= set(INSPECTION_TABLES), "docs/looking-inside.md has others"


def test_call_knows_names_arguments_and_types():
    call = InspectionCall.parse(
        {"inspect": "Log_Records", "inspect.file": "a", "inspect.merge": "TRUE"}
    )
    assert call == InspectionCall("log_records", (("path", "a"), ("merge", True)))
    size = InspectionCall.parse({"inspect": "statistics", "inspect.small_file_bytes": "7"})
    assert size.arguments == (("small_file_bytes", 7),)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"inspect": "timelines"}, "did you mean timeline"),
        ({"inspect": "zzz"}, r"unknown inspection table 'zzz' \(known: timeline, commits"),
        ({"inspect": "timeline", "inspect.instant": "1"}, "accepts inspect.archived"),
        ({"inspect": "properties", "inspect.instant": "1"}, "no argument"),
        ({"inspect": "commit_files"}, "needs the option inspect.instant"),
        ({"inspect": "timeline", "inspect.archived": "maybe"}, "known: true, false"),
        ({"inspect": "statistics", "inspect.small_file_bytes": "-1"}, "whole number"),
        ({"inspect": "timeline", "query_type": "snapshot"}, "cannot be combined with inspect"),
    ],
)
def test_wrong_calls_are_refused(options, message):
    with pytest.raises(InvalidOptionError, match=message):
        InspectionCall.parse(options)


def test_scan_refuses_the_option(table):
    with pytest.raises(InvalidOptionError, match=r"HudiTable\(path\).inspect"):
        table.scan(inspect="timeline")


def test_unknown_instant_is_refused_with_the_nearest(table):
    with pytest.raises(InvalidInstantError, match="did you mean"):
        table.inspect.commit_files("20261121062657911")
