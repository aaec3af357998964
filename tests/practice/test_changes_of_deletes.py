"""Changes of an upsert that leaves a file without rows: the writer adds no CDC log file."""

from __future__ import annotations

import pytest

from hudi_pyspark import HudiTable

FIRST_COMMIT = "20261129190058469"
ROW = {"id": 1, "ts": 1, "p": "a", "v": "x", "_hoodie_is_deleted": False}
FRESH = {"id": 5, "ts": 1, "p": "d", "v": "y", "_hoodie_is_deleted": None}


@pytest.fixture
def table(practice_table):
    return HudiTable(practice_table("changes_of_deletes/emptied_file"))


def changes(scan):
    rows = scan.to_arrow().to_pylist()
    return [(row["op"], row["before"], row["after"]) for row in rows]


def test_rows_before_are_deleted(table):
    scan = table.scan(cdc=True, cdc_format="struct", begin="000")
    assert changes(scan) == [("i", None, ROW), ("d", ROW, None), ("i", None, FRESH)]


def test_delete_marker_of_a_row_that_was_not_there_changes_nothing(table):
    scan = table.scan(cdc=True, cdc_format="struct", begin=FIRST_COMMIT)
    assert changes(scan) == [("d", ROW, None), ("i", None, FRESH)]


def test_snapshot_has_the_rows_that_are_left(table):
    rows = table.scan(["id", "v"]).to_arrow().to_pylist()
    assert rows == [{"id": 5, "v": "y"}]
