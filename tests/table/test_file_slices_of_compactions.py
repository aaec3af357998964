"""Slices of groups that a compaction is planned for, or has compacted."""

import pytest

from hudi_pyspark.errors import CorruptTableError, CorruptTimelineError
from tests.table.tiny_table import F010, TinyTable, base, compacting, log, paths_of, shape

LAYOUTS = pytest.mark.parametrize("version", [6, 9], ids=["layout-1", "layout-2"])
F020, F030 = base("f", "020"), base("f", "030")


@LAYOUTS
def test_slice_of_a_planned_compaction_is_read_with_the_one_before(version):
    table, expected = compacting(version)
    assert shape(table.open().slices.as_of()) == {"f": expected}
    assert table.open().slices.as_of()[0].base_instant_time == "010"


@LAYOUTS
def test_half_written_base_file_of_a_compaction_is_dropped(version):
    table, expected = compacting(version)
    table.data(F030).instant("030.compaction.inflight")
    assert shape(table.open().slices.as_of()) == {"f": expected}
    assert shape(table.open().slices.as_of(read_optimized=True)) == {"f": [F010]}


@LAYOUTS
def test_completed_compaction_replaces_the_slice_before(version):
    table, expected = compacting(version)
    table.write("030", "commit", F030)
    assert shape(table.open().slices.as_of()) == {"f": [F030, expected[-1]]}
    assert shape(table.open().slices.as_of(read_optimized=True)) == {"f": [F030]}


@LAYOUTS
def test_planned_compaction_of_a_log_only_group(version):
    after = log("f", "030" if version == 6 else "040")
    table = TinyTable(version).write("010", "deltacommit", log("f", "010"))
    table.plan_compaction("030", ("", "f")).write("040", "deltacommit", after)
    assert shape(table.open().slices.as_of()) == {"f": [log("f", "010"), after]}
    assert table.open().slices.as_of(read_optimized=True) == []


@LAYOUTS
def test_planned_compaction_whose_earlier_slice_is_gone_gives_its_logs(version):
    after = log("f", "030" if version == 6 else "040")
    table = TinyTable(version).write("010", "commit", base("g", "010"))
    table.plan_compaction("030", ("", "f")).write("040", "deltacommit", after).data(F030)
    assert shape(table.open().slices.as_of())["f"] == [after]


@LAYOUTS
def test_compaction_of_other_groups_leaves_a_group_alone(version):
    table, expected = compacting(version)
    table.write("035", "commit", base("g", "035"))
    assert shape(table.open().slices.as_of()) == {"f": expected, "g": [base("g", "035")]}


@LAYOUTS
def test_plan_names_its_groups_by_partition(version):
    in_a, in_b = ("030", "010") if version == 6 else ("040", "040")
    logs = f"a/{log('f', in_a)}", f"b/{log('f', in_b)}"
    table = TinyTable(version, table__partition__fields="p")
    table.write("010", "commit", f"a/{F010}", f"b/{F010}").plan_compaction("030", ("a", "f"))
    table.write("040", "deltacommit", *logs).data(f"a/{F030}")
    found = [paths_of(s) for s in table.open().slices.as_of()]
    assert found == [[f"a/{F010}", logs[0]], [f"b/{F010}", logs[1]]]


def test_uncommitted_logs_of_both_slices_of_a_planned_compaction_are_dropped():
    table, expected = compacting(9)
    table.data(log("f", "025"), log("f", "045")).instant("045.deltacommit.inflight")
    assert shape(table.open().slices.as_of()) == {"f": expected}


def test_delta_commit_across_the_planning_of_a_compaction_is_not_lost():
    # Began at 025, completed at 035: its log file belongs to the planned slice.
    table, _ = compacting(9)
    table.write("025", "deltacommit", log("f", "025"), completed="035")
    logs = [log("f", t) for t in ("020", "025", "040")]
    assert shape(table.open().slices.as_of()) == {"f": [F010, *logs]}
    table.write("030", "commit", F030)
    assert shape(table.open().slices.as_of()) == {"f": [F030, *logs[1:]]}


@pytest.mark.parametrize("is_done", [False, True], ids=["planned", "completed"])
def test_time_travel_to_a_delta_commit_across_the_planning_of_a_compaction(is_done):
    """Its other log files, and its base files, are seen as of that instant, too."""
    table, _ = compacting(9)
    table.write("025", "deltacommit", log("f", "025"), base("g", "025"), completed="035")
    if is_done:
        table.write("030", "commit", F030)
    logs = [log("f", t) for t in ("020", "025")]
    assert shape(table.open().slices.as_of("025")) == {"f": [F010, *logs], "g": [base("g", "025")]}
    assert shape(table.open().slices.as_of("020")) == {"f": [F010, logs[0]]}


def test_range_of_a_delta_commit_across_the_planning_of_a_compaction_has_its_files():
    """A range of this commit alone has no other slice of the file group to add them to."""
    table, _ = compacting(9)
    table.write("025", "deltacommit", log("f", "025"), completed="035")
    slices = table.open().slices
    assert shape(slices.written_by(["025"])) == {"f": [log("f", "025")]}
    assert shape(slices.written_by(["020", "025"])) == {"f": [log("f", "020"), log("f", "025")]}
    assert shape(slices.written_by(["025", "040"])) == {"f": [log("f", "025"), log("f", "040")]}
    table.write("030", "commit", F030)
    assert shape(table.open().slices.written_by(["025"])) == {"f": [log("f", "025")]}


def test_time_before_a_compaction_was_planned_does_not_see_it():
    table, expected = compacting(9)
    assert shape(table.open().slices.as_of("020")) == {"f": expected[:2]}


def test_two_plans_for_one_group_are_corrupt():
    table, _ = compacting(9)
    table.plan_compaction("050", ("", "f"))
    with pytest.raises(CorruptTableError, match="030 and 050 are both planned for file group f"):
        table.open().slices.as_of()


def test_compaction_without_its_plan_is_refused():
    table, _ = compacting(9)
    table.instant("030.compaction.requested", b"")
    with pytest.raises(CorruptTimelineError, match="expected a compaction plan"):
        table.open().slices.as_of()
