"""What a scan says of its cost and its listing, against the files of golden tables."""

import logging
from collections import defaultdict

import pytest

from hudi_pyspark import HudiTable

MOR = "v9_mor_compaction_inline"


def fact(text, label):
    lines = dict(line.split(maxsplit=1) for line in text.splitlines())
    return lines[label]


@pytest.fixture
def path(golden_table):
    return golden_table(MOR)


def size_of(path, *patterns):
    return sum(file.stat().st_size for pattern in patterns for file in path.glob(pattern))


def test_cost_is_what_the_slices_hold(path):
    # Three groups were compacted at …03875, and two began with base files at …01516; log files
    # of commits after the compaction lie on top.
    base = size_of(path, "*/*_20261121062703875.parquet", "*/*_20261121062701516.parquet")
    logs = size_of(path, "*/.*_20261121062707028.log.*", "*/.*_20261121062710569.log.*")
    assert fact(HudiTable(str(path)).scan().explain(), "cost") == (
        f"1 Spark task; at most {base:,} bytes of base files, {logs:,} of log files"
    )


def test_cost_is_that_of_the_partitions_that_a_filter_leaves(path):
    base = size_of(path, "amer/*_20261121062703875.parquet", "amer/*_20261121062701516.parquet")
    logs = size_of(path, "amer/.*_20261121062707028.log.*", "amer/.*_20261121062710569.log.*")
    text = HudiTable(str(path)).scan(filter="region = 'amer'").explain()
    assert fact(text, "files").startswith("2 file slices in 1 partition")
    assert fact(text, "cost") == (
        f"1 Spark task; at most {base:,} bytes of base files, {logs:,} of log files"
    )


def test_tasks_are_those_of_spark(path):
    text = HudiTable(str(path)).scan(task_bytes=100_000).explain()
    assert fact(text, "cost").startswith("5 Spark tasks; ")


def test_read_optimized_opens_no_log_file(path):
    text = HudiTable(str(path)).scan(query_type="read_optimized").explain()
    assert fact(text, "cost").endswith(" bytes of base files, 0 of log files")


def test_changes_count_their_own_files(golden_table):
    path = golden_table("v9_cow_cdc_data_before")
    changes = size_of(path, "**/.*.cdc")
    text = HudiTable(str(path)).changes().explain()
    assert changes > 0
    assert f"{changes:,} of change files" in fact(text, "cost")


def test_source_of_files_is_named(path):
    table = HudiTable(str(path))
    assert fact(table.scan().explain(), "listing") == "metadata table, 3 partitions"
    listing = fact(table.scan(use_metadata_table=False).explain(), "listing")
    assert listing == (
        "folders of the storage, 4 listed; "
        "the metadata table (column_stats, files, partition_stats) is turned off"
    )


def test_only_folders_of_partitions_that_a_filter_leaves_are_listed(path):
    text = HudiTable(str(path)).scan(filter="region = 'amer'", use_metadata_table=False).explain()
    assert fact(text, "listing").startswith("folders of the storage, 2 listed")


def test_table_without_metadata_table_says_so(golden_table):
    path = golden_table("flink_v6_mor_compacted")
    properties = (path / ".hoodie" / "hoodie.properties").read_text(encoding="utf-8")
    assert "hoodie.table.metadata.partitions=files" not in properties
    listing = fact(HudiTable(str(path)).scan().explain(), "listing")
    assert listing.endswith("has no metadata table that may be read")


def test_filter_is_explained_with_what_it_spares(path):
    text = HudiTable(str(path)).scan(filter="region = 'amer' and id = 'k0014'").explain()
    assert fact(text, "filter") == "region = 'amer' AND id = 'k0014'"
    pruned = fact(text, "pruned")
    assert pruned.startswith("partitions by their paths, before their files are listed; ")
    assert "possible record keys, by Bloom filters" in pruned
    assert "pruned" not in HudiTable(str(path)).scan().explain()


def test_plan_is_logged_in_one_line(path, caplog):
    base = size_of(path, "amer/*_20261121062703875.parquet", "amer/*_20261121062701516.parquet")
    logs = size_of(path, "amer/.*_20261121062707028.log.*", "amer/.*_20261121062710569.log.*")
    after = ("amer/.*_20261121062707028.log.*", "amer/.*_20261121062710569.log.*")
    count = sum(len(list(path.glob(pattern))) for pattern in after)
    with caplog.at_level(logging.INFO, "hudi_pyspark.scan"):
        HudiTable(str(path)).scan(["id"], filter="region = 'amer'")._plan_groups()
    (message,) = caplog.messages
    assert message.startswith("planned in ")
    assert message.partition(" ms: ")[2] == (
        f"snapshot of {path}: 2 file slices in 1 partition: 2 base files, {count} log files in 1 "
        "slice; the filter region = 'amer' leaves out partitions by their paths, before their "
        "files are listed; row groups of 1 slice without log files, by their statistics; "
        "1 Spark task; at "
        f"most {base:,} bytes of base files, {logs:,} of log files; "
        "columns id"
    )


def test_changes_are_logged_too(golden_table, caplog):
    table = HudiTable(str(golden_table("v9_cow_cdc_data_before")))
    with caplog.at_level(logging.INFO, "hudi_pyspark.scan"):
        table.changes()._plan_groups()
    assert "change" in caplog.messages[0]


def test_row_groups_that_are_read_are_logged(path, caplog):
    with caplog.at_level(logging.DEBUG, "hudi_pyspark.reading.base_files.parquet"):
        HudiTable(str(path)).scan(["id"], query_type="read_optimized").to_arrow()
    assert len(caplog.messages) == 5
    assert all(m.endswith("1 of 1 row groups, columns ['id']") for m in caplog.messages)


@pytest.mark.parametrize("case", ["v6_mor_part_basic", "v6_mor_inmemory_logonly", "v8_mor_nbcc"])
def test_rows_take_the_bytes_of_the_base_file_unless_logs_hold_more(case, golden_table):
    path = golden_table(case)
    files: defaultdict[object, list[int]] = defaultdict(
        lambda: [0, 0]
    )  # of bases and of logs, by file group
    for file in path.glob("[!.h]*/*" if case != "v6_mor_inmemory_logonly" else "*"):
        name = file.name.lstrip(".")
        if file.suffix == ".parquet" or ".log." in name:
            files[file.parent, name.split("_")[0]][".log." in name] += file.stat().st_size
    expected = sum(max(base, int(0.35 * logs)) for base, logs in files.values())
    assert HudiTable(str(path)).scan()._grouped_plan().row_bytes == expected > 0
