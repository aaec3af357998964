"""A query that begins where another one ended reads each commit once."""

from __future__ import annotations

import pytest

from hudi_pyspark import HudiTable, UnsupportedQueryError
from tests.growing_table import commits_of, table_at


def open_table(growing):
    return HudiTable(str(growing.path))


def keys_and_commits(table):
    columns = ["_hoodie_record_key", "_hoodie_commit_time"]
    return set(zip(*(table[name].to_pylist() for name in columns), strict=True))


@pytest.mark.parametrize("case", ["v9_mor_compaction_inline", "v6_mor_part_basic"])
def test_runs_after_each_commit_read_what_one_run_reads(case, tmp_path):
    requested = list(commits_of(case))
    growing = table_at(case, requested[0], tmp_path)
    scan = open_table(growing).scan()
    seen = keys_and_commits(scan.to_arrow())
    done = scan.end
    for instant in requested[1:]:
        growing.grow(instant)
        scan = open_table(growing).scan(begin=done)
        rows = keys_and_commits(scan.to_arrow())
        assert {commit for _, commit in rows} <= {instant}, "another commit is repeated"
        seen = seen | rows
        done = scan.end
        assert done == commits_of(case)[instant]
    growing.grow()
    last = open_table(growing)
    assert keys_and_commits(last.scan().to_arrow()) <= seen
    assert last.scan(begin=done).end == done
    assert last.scan(begin=done).count() == 0


@pytest.mark.parametrize("case", ["v9_mor_compaction_inline", "v6_mor_part_basic"])
def test_end_is_that_of_the_last_commit(case, golden_table):
    times = list(commits_of(case).values())
    table = HudiTable(str(golden_table(case)))
    assert table.scan().end == times[-1]
    assert table.scan(begin="earliest").end == times[-1]
    assert table.scan(begin="earliest", end=times[1]).end == times[1]
    # Commits may still complete before an end that lies in the future.
    assert table.scan(begin="earliest", end="29990101000000000").end == times[-1]
    for requested, time in commits_of(case).items():
        assert table.scan(as_of=requested).end == time


def test_read_that_lacks_log_records_has_no_end(golden_table):
    table = HudiTable(str(golden_table("v6_mor_part_basic")))
    with pytest.raises(UnsupportedQueryError, match="Read a snapshot first"):
        _ = table.scan(query_type="read_optimized").end


def test_changes_end_at_a_requested_time(golden_table):
    table = HudiTable(str(golden_table("v9_mor_cdc_data_before_after")))
    requested = list(commits_of("v9_mor_cdc_data_before_after"))
    whole = table.changes("earliest")
    assert whole.end == requested[-1]
    assert table.changes(whole.end).to_arrow().num_rows == 0
    first = table.changes("earliest", end=requested[1])
    rest = table.changes(first.end)
    assert first.to_arrow().num_rows + rest.to_arrow().num_rows == whole.to_arrow().num_rows


def test_pending_commit_before_version_8_is_not_passed(tmp_path):
    case = "v6_mor_part_basic"
    requested = list(commits_of(case))
    growing = table_at(case, requested[-1], tmp_path)
    completed = growing.path / ".hoodie" / f"{requested[2]}.deltacommit"
    completed.unlink()  # its writer is slow
    assert open_table(growing).scan().end == requested[1]


def test_commit_range_says_where_a_query_ends(golden_table):
    case = "v9_mor_compaction_inline"
    table = HudiTable(str(golden_table(case)))
    times = list(commits_of(case).values())
    (row,) = table.inspect.commit_range(times[2]).to_pylist()
    assert row == {"begin": times[2], "end": times[-1], "is_empty": False}
    (row,) = table.inspect.commit_range(times[2], times[3]).to_pylist()
    assert row == {"begin": times[2], "end": times[3], "is_empty": False}
    (row,) = table.inspect.commit_range(times[-1]).to_pylist()
    assert row == {"begin": times[-1], "end": times[-1], "is_empty": True}
