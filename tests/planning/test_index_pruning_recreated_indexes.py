"""Indexes that were dropped and created again: commits from before do not count for them.

A golden table of Apache Hudi 1.2.0 gets one commit more on the timeline of its metadata table. It
names a file of an index, as a commit does from before the index was dropped.
"""

import json
import logging
import shutil

import pytest

from hudi_pyspark import HudiTable, MissingFileError
from tests.planning.indexed import pruned

CASE = "v9_mor_mdt_indexes"
# A base file of the index, its first commit, and what `explain()` says of a filter that asks it.
INDEXES = {
    "record_index": ("record-index-0000-0_9-9-9_{}.hfile", 3, "by the record index"),
    "column_stats": ("col-stats-0000-0_9-9-9_{}.hfile", 1, "by column statistics"),
}
# Later than all base files that the table has of them.
TIMES = "20261121063221402", "20261121063222110"


@pytest.fixture(params=INDEXES)
def index(request):
    return request.param


@pytest.fixture
def recreated(golden_table, tmp_path, index):
    """Add a commit with a lost file of the index, and return the table and the file's name.

    ``built_at`` is when the index was created, "" for before that commit.
    """

    def add(built_at):
        path = shutil.copytree(golden_table(CASE), tmp_path / "table")
        name, first, _ = INDEXES[index]
        file = f"{index}/{name.format(TIMES[0])}"
        stat = {"path": file, "fileId": "", "fileSizeInBytes": 99}
        body = {"partitionToWriteStats": {index: [stat]}, "operationType": "UPSERT_PREPPED"}
        timeline = path / ".hoodie/metadata/.hoodie/timeline"
        for state in ("requested", "inflight"):
            (timeline / f"{TIMES[0]}.deltacommit.{state}").touch()
        (timeline / f"{'_'.join(TIMES)}.deltacommit").write_text(json.dumps(body))
        if built_at:
            (built,) = timeline.glob(f"{first:017}_*.deltacommit")
            built.unlink()
            (log,) = (path / ".hoodie/metadata" / index).glob(f".*_{first:017}.log.1_0-0-0")
            stat = {"path": f"{index}/{log.name}", "fileId": "", "fileSizeInBytes": 80}
            body = {**body, "partitionToWriteStats": {index: [stat]}}
            built = timeline / f"{first:017}_{built_at}.deltacommit"
            built.write_text(json.dumps(body))
        return HudiTable(path), file

    return add


def condition(table, index):
    first = table.scan(["_hoodie_record_key", "ts"]).to_arrow().sort_by("ts").to_pylist()[-1]
    key = first["_hoodie_record_key"]
    return f"_hoodie_record_key = '{key}'" if index == "record_index" else f"ts >= {first['ts']}"


def rows(scan):
    return sorted(map(str, scan.to_arrow().to_pylist()))


def test_index_that_was_created_again_is_used(recreated, index, caplog):
    table, _ = recreated(built_at="20261121063230000")
    text = condition(table, index)
    scan = table.scan(filter=text, unique_keys=True)
    with caplog.at_level(logging.WARNING):
        assert INDEXES[index][2] in pruned(scan)
    assert not [record for record in caplog.records if "is not used" in record.message]
    plain = table.scan(filter=text, use_metadata_table=False, data_skipping=False)
    assert rows(scan) == rows(plain) != []
    assert table.inspect.metadata_records(index).num_rows > 0
    assert not [finding for finding in table.doctor() if finding.severity.value == "problem"]


def test_lost_file_of_the_present_index_is_not_overlooked(recreated, index, caplog):
    table, file = recreated(built_at="")
    text = condition(table, index)
    with caplog.at_level(logging.WARNING):
        found = rows(table.scan(filter=text, unique_keys=True))
    assert found == rows(table.scan(filter=text, use_metadata_table=False, data_skipping=False))
    # Without statistics of a file its slice is read; places of keys may be older ones.
    warned = [r.message for r in caplog.records if "is not used" in r.message and file in r.message]
    assert len(warned) == (index == "record_index")
    with pytest.raises(MissingFileError, match=file):
        table.inspect.metadata_records(index)
