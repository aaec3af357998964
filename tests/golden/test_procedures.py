"""Tables about a table compared with what Apache Hudi's own procedures answer.

The answers, `procedures.json` of a case, are those of CALL show_... and table functions of Apache
Hudi 1.2.0; see verification/generate/procedures.py. Compared are the columns that both have.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hudi_pyspark import HudiTable, InvalidOptionError
from tests.golden.procedures import ASKED, answer, answers, calls, picked, relative

if TYPE_CHECKING:
    from collections.abc import Callable

    Row = dict[str, Any]

CASES = list(ASKED)

each_case = pytest.mark.parametrize("case", CASES)


def failures(case: str, procedure: str) -> list[tuple[Row, str]]:
    return [
        (call["args"], call["error"])
        for call in calls(case)
        if call["procedure"] == procedure and "error" in call
    ]


@pytest.fixture
def table(golden_table: Callable[[str], Path], case: str) -> HudiTable:
    return HudiTable(str(golden_table(case)))


def rows_of(table: HudiTable, name: str, *args: object, **kwargs: object) -> list[Row]:
    return list(getattr(table.inspect, name)(*args, **kwargs).to_pylist())


def completion(table: HudiTable, row: Row) -> str | None:
    """Up to table version 7 Apache Hudi shows the modification time of the instant's file."""
    return row["state_transition_time"] if table.config.layout > 1 else None


@each_case
def test_timeline(case, table):
    found = [
        (row["requested_time"], row["action"], row["state"].upper(), row["archived"])
        for row in rows_of(table, "timeline")
    ]
    hudi = [
        (r["instant_time"], r["action"], r["state"], r["timeline_type"] == "ARCHIVED")
        for r in answer(case, "show_timeline")
    ]
    assert sorted(found) == sorted(hudi)


COMMIT_COLUMNS = {
    "commit_time": "requested_time",
    "total_bytes_written": "written_bytes",
    "total_files_added": "new_files",
    "total_partitions_written": "partitions",
    "total_records_written": "records",
    "total_update_records_written": "updates",
    "total_errors": "errors",
}


def compare_commits(table: HudiTable, found: list[Row], hudi: list[Row]) -> None:
    assert picked(found, list(COMMIT_COLUMNS.values())) == picked(hudi, list(COMMIT_COLUMNS))
    updated = {r["requested_time"]: r["files"] - r["new_files"] for r in found}
    assert updated == {r["commit_time"]: r["total_files_updated"] for r in hudi}
    completed = {r["requested_time"]: r["completion_time"] for r in found}
    assert completed == {r["commit_time"]: completion(table, r) for r in hudi}


@each_case
def test_commits(case, table):
    found, hudi = rows_of(table, "commits"), answer(case, "show_commits")
    compare_commits(table, found, hudi)
    assert {r["requested_time"]: r["action"] for r in found} == {
        r["commit_time"]: r["action"] for r in hudi
    }


@each_case
def test_archived_commits(case, table):
    found = [row for row in rows_of(table, "commits", archived=True) if row["archived"]]
    compare_commits(table, found, answer(case, "show_archived_commits"))


@each_case
def test_commit_files(case, table):
    names = {
        "action": "action",
        "partition_path": "partition_path",
        "file_id": "file_id",
        "total_records_updated": "updates",
        "total_records_written": "records",
        "total_bytes_written": "written_bytes",
        "total_errors": "errors",
        "file_size": "bytes",
    }
    asked = list(answers(case, "show_commit_files"))
    assert asked
    for given, hudi in asked:
        found = rows_of(table, "commit_files", given["instant_time"])
        assert picked(found, list(names.values())) == picked(hudi, list(names))
        previous = [{**r, "previous_commit": r["previous_commit"] or "null"} for r in found]
        key = ["file_id", "previous_commit"]
        assert picked(previous, key) == picked(hudi, key)


@each_case
def test_commit_files_have_the_counts_of_commits_metadata(case, table):
    hudi = answer(case, "show_commits_metadata")
    found = [
        row
        for commit in rows_of(table, "commits")
        for row in rows_of(table, "commit_files", commit["requested_time"])
    ]
    ours = ["requested_time", "partition_path", "file_id", "records", "inserts", "deletes"]
    theirs = ["commit_time", "partition", "file_id", "num_writes", "num_inserts", "num_deletes"]
    assert picked(found, [*ours, "updates"]) == picked(hudi, [*theirs, "num_update_writes"])


@each_case
def test_commit_files_sum_up_to_commit_partitions(case, table):
    for given, hudi in answers(case, "show_commit_partitions"):
        found: dict[str, list[int]] = {}
        for row in rows_of(table, "commit_files", given["instant_time"]):
            sums = found.setdefault(row["partition_path"], [0] * 5)
            is_new = row["previous_commit"] is None
            add = (is_new, not is_new, row["inserts"], row["updates"], row["written_bytes"])
            found[row["partition_path"]] = [a + int(b) for a, b in zip(sums, add, strict=True)]
        assert found == {
            r["partition_path"]: [
                r["total_files_added"],
                r["total_files_updated"],
                r["total_records_inserted"],
                r["total_records_updated"],
                r["total_bytes_written"],
            ]
            for r in hudi
        }


def hudi_slice(row: Row) -> tuple[Any, ...]:
    # It counts files of changes as log files of a slice, which no merge does.
    deltas = "".join(str(text) for name, text in row.items() if name.startswith("delta_files"))
    has_changes = ".cdc," in deltas
    return (
        row["partition"],
        row["file_id"],
        row["base_instant"],
        relative(row["data_file"]) or None,
        max(row["data_file_size"], 0),
        row["num_delta_files"] - deltas.count(".cdc,"),
        0 if has_changes else row["total_delta_file_size"],
    )


def our_slice(row: Row) -> tuple[Any, ...]:
    return (
        row["partition_path"],
        row["file_id"],
        row["base_instant_time"],
        row["base_file"],
        row["base_bytes"] or 0,
        row["log_count"],
        row["log_bytes"],
    )


def without_planned(table: HudiTable, rows: list[Row]) -> list[tuple[Any, ...]]:
    """Slices as the procedures see them: they leave out what was written since a compaction was
    planned, although every snapshot has it (deviation of Apache Hudi's procedures)."""
    planned = {i.requested_time for i in table._view.timeline.pending_compactions}
    return sorted(
        (our_slice(row) for row in rows if row["base_instant_time"] not in planned), key=repr
    )


@each_case
def test_file_slices(case, table):
    rows = rows_of(table, "file_slices")
    if table._view.timeline.pending_compactions:
        rows = [r for r in rows_of(table, "file_slices", older=True) if r["is_latest"]]
    found = without_planned(table, rows)
    assert found == sorted(map(hudi_slice, answer(case, "show_fsview_latest")), key=repr)


@each_case
def test_older_file_slices(case, table):
    found = without_planned(table, rows_of(table, "file_slices", older=True))
    assert found == sorted(map(hudi_slice, answer(case, "show_fsview_all")), key=repr)


def test_log_files_since_a_planned_compaction_belong_to_the_latest_slice(golden_table):
    table = HudiTable(str(golden_table("v6_mor_compaction_pending")))
    (planned,) = table._view.timeline.pending_compactions
    logs = [path for row in rows_of(table, "file_slices") for path in row["log_files"]]
    assert sum(planned.requested_time in path for path in logs) == 3


def is_corrupt(row: Row) -> bool:
    return bool(row["block_type"] == "CORRUPT_BLOCK")


@each_case
def test_log_blocks(case, table):
    for given, hudi in answers(case, "show_logfile_metadata"):
        found = rows_of(table, "log_blocks", relative(given["log_file_path_pattern"]))
        assert picked(
            [{**r, "header": sorted(dict(r["header"]).items())} for r in found],
            ["instant_time", "records", "type", "header"],
        ) == picked(
            [
                {**r, "header": sorted(json.loads(r["header_metadata"]).items())}
                # It names corrupt blocks and counts none of their records.
                | ({"instant_time": None, "record_count": None} if is_corrupt(r) else {})
                for r in hudi
            ],
            ["instant_time", "record_count", "block_type", "header"],
        )


@each_case
def test_metadata_table_partitions_and_files(case, table):
    partitions = list(answers(case, "show_metadata_table_partitions"))
    records = {
        r["key"]: json.loads(r["value"])
        for r in rows_of(table, "metadata_records")
        if r["metadata_partition"] == "files"
    }
    if not partitions:
        ((_, error),) = failures(case, "show_metadata_table_partitions")
        assert "Metadata Table not enabled" in error
        return
    listed = records.pop("__all_partitions__")
    assert sorted(listed) == sorted(r["partition"] or "." for r in partitions[0][1])
    for given, hudi in answers(case, "show_metadata_table_files"):
        found = records[given["partition"] or "."]
        assert sorted(n for n, file in found.items() if not file["isDeleted"]) == sorted(
            r["file_path"] for r in hudi
        )


@each_case
def test_column_statistics(case, table):
    base = {r["base_file"] for r in rows_of(table, "file_slices")}
    for _, hudi in answers(case, "show_metadata_table_column_stats"):
        found = [
            (r["path"].rpartition("/")[2], r["column"], r["min"], r["max"], r["nulls"])
            for r in rows_of(table, "column_statistics")
            if r["path"] in base
        ]
        assert sorted(found) == picked(
            hudi, ["file_name", "column_name", "min_value", "max_value", "null_number"]
        )


@each_case
def test_compactions(case, table):
    for _, hudi in answers(case, "show_compaction"):
        found = [{**r, "state": r["state"].upper()} for r in rows_of(table, "compactions")]
        ours, theirs = (
            ["requested_time", "slices", "state"],
            ["timestamp", "operation_size", "state"],
        )
        assert picked(found, ours) == picked(hudi, theirs)


@each_case
def test_clustering(case, table):
    found = [
        (r["requested_time"], r["input_groups"], r["state"].upper(), r["partition_paths"])
        for r in rows_of(table, "clustering")
    ]
    assert found == [
        (
            r["timestamp"],
            r["input_group_size"],
            r["state"],
            sorted(set(r["involved_partitions"].split(","))),
        )
        for r in answer(case, "show_clustering")
    ]


@each_case
def test_cleans(case, table):
    names = {
        "clean_time": "requested_time",
        "time_taken_in_millis": "milliseconds",
        "total_files_deleted": "deleted_files",
        "earliest_commit_to_retain": "earliest_commit_to_retain",
        "last_completed_commit_timestamp": "last_completed_commit",
    }
    found = rows_of(table, "cleans")
    hudi = answer(case, "show_cleans", showArchived=False)
    assert picked(found, list(names.values())) == picked(hudi, list(names))
    of_partitions = [
        (r["requested_time"], r["policy"], p) for r in found for p in r["partition_paths"]
    ]
    theirs = answer(case, "show_cleans_metadata", showArchived=False)
    assert sorted(of_partitions) == picked(theirs, ["clean_time", "policy", "partition_path"])


@each_case
def test_rollbacks(case, table):
    rows = [r for r in rows_of(table, "rollbacks") if r["action"] == "rollback"]
    found = [
        (
            r["requested_time"],
            time,
            r["deleted_files"],
            r["milliseconds"],
            len(r["partition_paths"]),
        )
        for r in rows
        for time in r["rolled_back"]
    ]
    assert sorted(found) == picked(
        answer(case, "show_rollbacks"),
        [
            "instant",
            "rollback_instant",
            "total_files_deleted",
            "time_taken_in_millis",
            "total_partitions",
        ],
    )


@each_case
def test_savepoints(case, table):
    found = [(r["requested_time"],) for r in rows_of(table, "savepoints")]
    assert found == picked(answer(case, "show_savepoints"), ["savepoint_time"])


@each_case
def test_properties(case, table):
    found = {r["key"]: r["value"] for r in rows_of(table, "properties")}
    assert found == {r["key"]: r["value"] for r in answer(case, "show_table_properties")}


@each_case
def test_latest_schema(case, table):
    (extra,) = answer(case, "show_commit_extra_metadata")
    latest = json.loads(rows_of(table, "schema_history")[-1]["avro_schema"])
    columns = [(f["name"], f["type"]) for f in json.loads(extra["metadata_value"])["fields"]]
    assert [(f["name"], f["type"]) for f in latest["fields"]] == columns


@each_case
def test_log_records(case, table):
    for given, hudi in answers(case, "show_logfile_records", merge=False):
        pattern = relative(given["log_file_path_pattern"])
        found = [r["record"] for r in rows_of(table, "log_records", pattern) if r["kind"] == "data"]
        theirs = [json.loads(row["records"]) for row in hudi]
        columns = {name for record in theirs for name in record}
        ours = [{name: record[name] for name in columns} for record in found]
        assert sorted(map(str_of, ours)) == sorted(map(str_of, theirs))


def str_of(record: Row) -> str:
    return json.dumps(record, sort_keys=True)


@each_case
def test_log_files_on_which_the_procedures_fail_hold_deletes_or_damage(case, table):
    """They know neither delete blocks without schema nor corrupt blocks; here both are rows."""
    for given, _ in failures(case, "show_logfile_records"):
        pattern = relative(given["log_file_path_pattern"])
        if not given.get("merge"):
            kinds = {row["kind"] for row in rows_of(table, "log_records", pattern)}
            assert kinds & {"delete", "damage"}


@each_case
def test_merged_log_records(case, table):
    """Apache Hudi merges blocks up to the last commit action that is no delta commit.

    So it misses all that was written since the last compaction or clustering, and fails where there
    was none. What a merge gives in the end is compared with snapshots in test_inspection_of_logs.
    """
    services = [
        row["requested_time"]
        for row in rows_of(table, "commits", archived=True)
        if row["action"] != "deltacommit"
    ]
    for given, hudi in answers(case, "show_logfile_records", merge=True):
        start = relative(given["log_file_path_pattern"]).removesuffix("*")
        slices = rows_of(table, "file_slices", older=True)
        (logs,) = [
            s["log_files"] for s in slices if any(p.startswith(start) for p in s["log_files"])
        ]
        theirs = {str_of(json.loads(row["records"])) for row in hudi}
        raw = [row for path in logs for row in rows_of(table, "log_records", path)]
        if all(row["instant_time"] <= max(services) for row in raw):
            merged = rows_of(table, "log_records", logs[0], merge=True)
            assert {str_of(row["record"]) for row in merged if not row["is_delete"]} == theirs
        else:
            seen = [row for row in raw if row["instant_time"] <= max(services) and row["record"]]
            assert theirs == {str_of(row["record"]) for row in seen}


@each_case
def test_write_amplification(case, table):
    found = {r["requested_time"]: (r["updates"], r["records"]) for r in rows_of(table, "commits")}
    for row in answer(case, "stats_wa"):
        if row["commit_time"] != "Total":
            assert found[row["commit_time"]] == (row["total_upserted"], row["total_written"])


@each_case
def test_file_sizes(case, table):
    sizes: dict[str, list[int]] = {}
    for row in rows_of(table, "files"):
        sizes.setdefault(row["instant_time"], []).append(row["bytes"])
    for row in answer(case, "stats_file_sizes"):
        if row["commit_time"] == "ALL":
            continue
        found = sizes[row["commit_time"]]
        assert (min(found), max(found), len(found)) == (row["min"], row["max"], row["num_files"])


@each_case
def test_rollback_details(case, table):
    for given, hudi in answers(case, "show_rollback_detail"):
        (rollback,) = (
            r for r in rows_of(table, "rollbacks") if r["requested_time"] == given["instant_time"]
        )
        assert rollback["deleted_files"] == sum(row["succeeded"] for row in hudi)


@each_case
def test_timeline_of_the_table_function(case, table):
    for given, hudi in answers(case, "hudi_query_timeline"):
        is_archived = given["archived"] == "true"
        found = rows_of(table, "hudi_query_timeline", archived=is_archived)
        expected = sorted(hudi, key=lambda row: (row["Timestamp"], row["Action"]))
        if table.config.layout == 1:
            # Apache Hudi shows when files were last modified, and each state of archived instants.
            active = {row["File_Name"] for row in rows_of(table, "hudi_query_timeline")}
            expected = [
                {**row, "Completion_Time": None}
                for row in expected
                if row["State"] == "COMPLETED" or row["File_Name"] in active
            ]
        assert found == expected


@each_case
def test_file_slices_of_the_table_function(case, table):
    base = table._view.storage.describe("")
    has_changes = "cdc" in case
    for given, hudi in answers(case, "hudi_filesystem_view"):
        found = rows_of(table, "hudi_filesystem_view", **given)
        for row in found:
            row["Base_File_Path"] = row["Base_File_Path"].replace(f"file:{base}", "<table>")
        # Apache Hudi counts files of changes as log files, which no merge reads.
        names = [name for name in found[0] if not (has_changes and "Log" in name)] if found else []
        assert picked(found, names) == picked(hudi, names)


def test_slice_without_base_file_is_in_the_view(golden_table):
    """Apache Hudi 1.2.0 fails on it: it takes the integer -1 for a long."""
    table = HudiTable(str(golden_table("v6_mor_compaction_pending")))
    sizes = {row["Base_File_Size"] for row in rows_of(table, "hudi_filesystem_view", "*")}
    assert -1 in sizes
    ((_, error), *_) = failures("v6_mor_compaction_pending", "hudi_filesystem_view")
    assert "Integer cannot be cast" in error


@pytest.mark.parametrize("folders", ["{a", "a}", "[b-a]", "[", "[]", "a[b"])
def test_wrong_glob_is_refused(golden_table, folders):
    table = HudiTable(str(golden_table("v9_mor_clustering")))
    with pytest.raises(InvalidOptionError, match="is not a glob"):
        table.inspect.hudi_filesystem_view(folders)
