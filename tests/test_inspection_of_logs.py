"""Log files looked into: raw, merged, and damaged."""

from __future__ import annotations

import struct
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from hudi_pyspark import HudiTable, InvalidOptionError, MissingFileError
from hudi_pyspark.format.log.log_block import MAGIC
from tests.conftest import GOLDEN
from tests.damage import data_file, unpack
from tests.golden.case import load_case

if TYPE_CHECKING:
    from pathlib import Path


CASE = "v9_mor_compaction_inline"


def rows(table: Path, name: str, *args: object, **kwargs: object) -> list[dict[str, Any]]:
    return list(getattr(HudiTable(str(table)).inspect, name)(*args, **kwargs).to_pylist())


@pytest.fixture
def three_blocks(tmp_path):
    """A table, and the path of a log file that holds one data block three times."""
    table = unpack("v6_mor_nonpart_event_time", tmp_path)
    data = [f for f in rows(table, "log_blocks") if f["type"] == "AVRO_DATA_BLOCK"]
    path = data[0]["path"]
    file = table / path
    content = file.read_bytes()[: data[0]["bytes"]]
    file.write_bytes(content * 3)
    return table, path, len(content), data[0]["records"]


def test_blocks_follow_one_another(three_blocks):
    table, path, size, records = three_blocks
    blocks = rows(table, "log_blocks", path)
    assert [b["block"] for b in blocks] == [0, 1, 2]
    assert [b["offset"] for b in blocks] == [0, size, 2 * size]
    assert [b["records"] for b in blocks] == [records] * 3
    assert [b["problem"] for b in blocks] == [None] * 3
    assert all(b["is_committed"] for b in blocks)


@pytest.mark.parametrize(
    ("case", "versions"),
    [
        ("v1_mor_part_basic", {"AVRO_DATA_BLOCK": (1, 1), "DELETE_BLOCK": (1, 1)}),
        ("v2_mor_rolled_back", {"AVRO_DATA_BLOCK": (1, 1), "COMMAND_BLOCK": (1, None)}),
        ("v6_mor_part_basic", {"AVRO_DATA_BLOCK": (1, 3), "DELETE_BLOCK": (1, 3)}),
        ("v10_mor_all_types", {"PARQUET_DATA_BLOCK": (None, None)}),
    ],
)
def test_blocks_have_two_versions(golden_table, case, versions):
    found = rows(golden_table(case), "log_blocks")
    both = {b["type"]: (b["log_format_version"], b["block_version"]) for b in found}
    assert both == versions


def test_path_may_be_given_in_full(three_blocks):
    table, path, _, _ = three_blocks
    assert rows(table, "log_blocks", str(table / path)) == rows(table, "log_blocks", path)


def test_truncated_block_is_reported_with_its_offset_and_earlier_blocks_are_read(three_blocks):
    table, path, size, records = three_blocks
    file = table / path
    file.write_bytes(file.read_bytes()[:-7])
    *whole, torn = rows(table, "log_blocks", path)
    assert [b["records"] for b in whole] == [records] * 2
    assert (torn["offset"], torn["bytes"], torn["type"]) == (2 * size, size - 7, "CORRUPT_BLOCK")
    assert f"the file ends at byte {3 * size - 7}" in torn["problem"]
    found = rows(table, "log_records", path)
    assert Counter(r["kind"] for r in found) == {"data": 2 * records, "damage": 1}
    (damage,) = (r for r in found if r["kind"] == "damage")
    assert (damage["block"], damage["offset"], damage["record"]) == (2, 2 * size, None)


def test_foreign_bytes_between_blocks_are_passed_over(three_blocks):
    table, path, _, records = three_blocks
    file = table / path
    content = file.read_bytes()
    file.write_bytes(b"garbage" + content)
    first, *whole = rows(table, "log_blocks", path)
    assert (first["offset"], first["bytes"]) == (0, 7)
    assert "expected magic" in first["problem"]
    assert [b["records"] for b in whole] == [records] * 3


def test_block_of_unknown_type_is_passed_over(three_blocks):
    table, path, size, records = three_blocks
    file = table / path
    content = bytearray(file.read_bytes())
    # magic, long length, int version, int type
    type_at = size + len(MAGIC) + 8 + 4
    content[type_at : type_at + 4] = struct.pack(">i", 99)
    file.write_bytes(content)
    blocks = rows(table, "log_blocks", path)
    assert [b["records"] for b in blocks] == [records, None, records]
    assert "found 99" in blocks[1]["problem"]
    assert [b["bytes"] for b in blocks] == [size] * 3


def test_wrong_trailing_length_is_reported(three_blocks):
    table, path, size, _ = three_blocks
    file = table / path
    content = bytearray(file.read_bytes())
    content[size - 8 : size] = struct.pack(">q", 1)
    file.write_bytes(content)
    first = rows(table, "log_blocks", path)[0]
    assert "at its start, but" in first["problem"]


def test_records_before_a_broken_one_are_read(three_blocks):
    table, path, _, records = three_blocks
    assert records > 1
    file = table / path
    content = bytearray(file.read_bytes())
    start = rows(table, "log_blocks", path)[0]["content_offset"] + 8  # version and count
    (length,) = struct.unpack_from(">i", content, start)
    second = start + 4 + length
    content[second : second + 4] = struct.pack(">i", 2**30)
    file.write_bytes(content)
    first, *others = rows(table, "log_blocks", path)
    assert first["records"] == 1
    assert "record 1" in first["problem"]
    assert [b["records"] for b in others] == [records] * 2
    whole = [r for r in rows(table, "log_records", path) if r["kind"] == "data"]
    assert len(whole) == 1 + 2 * records
    assert whole[0]["record"] == whole[1]["record"]


def test_file_that_is_shorter_than_its_commit_says_is_reported(tmp_path):
    table = unpack(CASE, tmp_path)
    file = data_file(table, ".*.log.*")
    size = file.stat().st_size
    file.write_bytes(b"")
    (found,) = rows(table, "log_blocks", str(file.relative_to(table)))
    assert (found["block"], found["offset"], found["bytes"]) == (None, 0, size)
    assert f"its commit says {size}" in found["problem"]


def test_missing_committed_file_is_reported_and_an_unknown_one_refused(tmp_path):
    table = unpack(CASE, tmp_path)
    file = data_file(table, ".*.log.*")
    path = str(file.relative_to(table))
    file.unlink()
    assert "not on the storage" in rows(table, "log_blocks", path)[0]["problem"]
    problems = [b["problem"] for b in rows(table, "log_blocks") if b["path"] == path]
    assert len(problems) == 1
    with pytest.raises(MissingFileError, match="does not exist"):
        rows(table, "log_blocks", "amer/.nothing_1.log.1_0-0-0")


@pytest.mark.parametrize("name", ["flink_v6_mor_event_time", "v8_mor_nbcc"])
def test_merge_of_slices_without_base_file_is_the_snapshot(tmp_path, name):
    case = load_case(GOLDEN / name)
    table = case.extract(tmp_path)
    snapshot = next(q for q in case.queries if q.name == "snapshot").expected_rows()
    slices = [s for s in rows(table, "file_slices") if s["base_file"] is None]
    assert slices
    # The file name of a row that was never in a base file is the id of its file group.
    groups = {s["file_id"] for s in slices}
    expected = [row for row in snapshot.to_pylist() if row["_hoodie_file_name"] in groups]
    found = [
        row
        for s in slices
        for row in rows(table, "log_records", s["log_files"][0], merge=True)
        if not row["is_delete"]
    ]
    assert expected
    by_key = {row["_hoodie_record_key"]: row for row in expected}
    assert {row["key"]: row["record"] for row in found} == by_key
    assert len(found) == len(expected)


def test_merge_reports_damage_too(golden_table):
    table = golden_table("v9_mor_corrupt_log_block")
    (logs,) = [s["log_files"] for s in rows(table, "file_slices")]
    merged = rows(table, "log_records", logs[0], merge=True)
    assert Counter(row["kind"] for row in merged)["damage"] == 2
    assert any(row["kind"] == "data" for row in merged)


def test_merge_of_a_base_file_is_refused(golden_table):
    table = golden_table(CASE)
    base = rows(table, "file_slices")[0]["base_file"]
    with pytest.raises(InvalidOptionError, match="not a log file"):
        rows(table, "log_records", base, merge=True)


def test_deletes_carry_their_ordering_value(golden_table):
    table = golden_table("v6_mor_nonpart_event_time")
    logs = [path for s in rows(table, "file_slices") for path in s["log_files"]]
    deletes = [
        row for path in logs for row in rows(table, "log_records", path) if row["kind"] == "delete"
    ]
    assert deletes
    assert all(row["is_delete"] and row["record"] is None for row in deletes)
    assert all(text.isdigit() for row in deletes for text in row["ordering"] or ())


def test_records_of_changes_have_columns_of_their_own(golden_table):
    table = golden_table("v9_cow_cdc_data_before")
    (path, *_) = [f["path"] for f in rows(table, "files") if f["kind"] == "cdc"]
    found = rows(table, "log_records", path)
    assert found
    assert set(found[0]["record"]) <= {"op", "ts_ms", "record_key", "before", "after"}
