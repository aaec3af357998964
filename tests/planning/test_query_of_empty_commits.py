"""Completed commits whose file is empty: nobody knows what they wrote, and queries say so.

The expected rows are those that Apache Hudi read from the whole table.
"""

import warnings

import pytest

from hudi_pyspark import CorruptTimelineError, HudiTable, IncrementalRangeError, TimeTravelError
from tests.conftest import GOLDEN
from tests.damage import unpack
from tests.golden.case import load_case
from tests.golden.compare import differences
from tests.table.tiny_table import TinyTable, base

COW = "v9_cow_incr_options"  # three commits, with completion times
BEFORE_LAST = "20261121064532791"
CDC = "v9_cow_cdc_data_before"


def completed(table, actions="commit"):
    """The files of completed commits, oldest first."""
    folder = table / ".hoodie" / "timeline"
    folder = folder if folder.is_dir() else folder.parent
    return sorted(p for p in folder.iterdir() if p.suffix in {f".{a}" for a in actions.split()})


def differs(answer, query, case=COW):
    known = next(q for q in load_case(GOLDEN / case).queries if q.name == query)
    return differences(answer, known.expected_rows(), known.expected_schema())


@pytest.fixture
def table(tmp_path):
    """A table whose last commit has an empty file."""
    path = unpack(COW, tmp_path)
    completed(path)[-1].write_bytes(b"")
    return path


def test_a_range_reads_the_rows_of_an_empty_commit_from_the_latest_slices_and_warns(tmp_path):
    path = unpack(COW, tmp_path)
    commit = completed(path)[1]
    commit.write_bytes(b"")
    scan = HudiTable(path).scan(begin="20261121064531390")
    with pytest.warns(UserWarning, match="is empty, so nobody knows what it wrote") as warned:
        answer = scan.to_arrow()
    assert differs(answer, "incr_latest_state") == []
    message = str(warned[0].message)
    assert str(commit) in message
    assert f"commit {commit.name.partition('_')[0]}" in message
    assert "restore" in message


@pytest.mark.parametrize("content", [b"", b"{}"])
def test_a_range_with_an_empty_commit_is_refused_if_asked(table, content):
    completed(table)[-1].write_bytes(content)
    with pytest.raises(IncrementalRangeError, match="is empty, so nobody knows what it wrote"):
        HudiTable(table).scan(begin=BEFORE_LAST, on_missing="fail").to_arrow()


def test_a_range_can_begin_after_an_empty_commit(tmp_path):
    path = unpack(COW, tmp_path)
    completed(path)[1].write_bytes(b"")
    scan = HudiTable(path).scan(begin="000", on_missing="earliest")
    with pytest.warns(UserWarning, match="begins later than requested"):
        answer = scan.to_arrow()
    assert differs(answer, "incr_last_minus_1ms") == []


def test_snapshots_and_other_ranges_do_not_warn(tmp_path):
    path = unpack(COW, tmp_path)
    completed(path)[1].write_bytes(b"")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        opened = HudiTable(path)
        assert differs(opened.scan().to_arrow(), "snapshot") == []
        assert differs(opened.scan(begin=BEFORE_LAST).to_arrow(), "incr_last_minus_1ms") == []


def test_an_empty_commit_may_hide_columns_of_every_query(table):
    opened = HudiTable(table)
    with pytest.warns(UserWarning, match="is empty: columns that it added are missing"):
        answer = opened.scan().to_arrow()
    assert "added" not in answer.column_names
    with pytest.raises(CorruptTimelineError, match=r"is empty: columns.*Restore the file"):
        opened.scan(on_missing="fail").to_arrow()


def test_changes_of_an_empty_commit_are_refused_or_left_out(tmp_path):
    path = unpack(CDC, tmp_path)
    commits = completed(path, "commit replacecommit")
    commits[1].write_bytes(b"")
    opened = HudiTable(path)
    with pytest.raises(IncrementalRangeError, match=r"empty.*on_missing=earliest does"):
        opened.changes("000").to_arrow()
    later = opened.scan(query_type="incremental", cdc=True, begin="000", on_missing="earliest")
    with pytest.warns(UserWarning, match="later than requested"):
        times = set(later.to_arrow()["ts_ms"].to_pylist())
    assert times == {commit.name.partition("_")[0] for commit in commits[2:]}


@pytest.mark.parametrize("version", [6, 9])
def test_an_empty_replacecommit_is_refused_since_replaced_rows_would_be_read_again(version):
    table = TinyTable(version, "COPY_ON_WRITE").write("010", "commit", base("f", "010"))
    table.data(base("g", "020"))
    table.instant("020_025.replacecommit" if version == 9 else "020.replacecommit")
    view = table.open()
    with pytest.raises(CorruptTimelineError, match="is empty, so nobody knows what it replaced"):
        view.slices.as_of()
    assert [s.file_id for s in view.slices.as_of("015")] == ["f"]


def test_a_savepoint_without_content_does_not_save_an_instant():
    table = TinyTable(9, "COPY_ON_WRITE").write("010", "commit", base("f", "010"))
    table.write("020", "commit", base("f", "020")).instant("010_022.savepoint")
    table.instant("030_035.clean", {"earliestCommitToRetain": "020", "partitionMetadata": {}})
    with pytest.raises(TimeTravelError, match="the earliest commit that the cleaner kept"):
        table.open().history.check_as_of("010")


def test_empty_files_that_are_usual_do_not_warn():
    table = TinyTable(9, "COPY_ON_WRITE").write("010", "commit", base("f", "010"))
    nothing = b'{"partitionToWriteStats": {}, "extraMetadata": {}}'  # of a write without rows
    table.instant("020_025.commit", nothing)
    for name in ("030_035.clean", "040_045.rollback", "050.commit.requested", "050.inflight"):
        table.instant(name)
    history = table.open().history
    assert history.empty_commits(c.requested_time for c in history.commits) == {}
