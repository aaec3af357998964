from dataclasses import replace
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_pyspark import thresholds
from hudi_pyspark.filter.sql_text import parse_filter
from hudi_pyspark.format.timeline.instant import RequestedTime
from hudi_pyspark.planning.plan import cost, group_tasks, threads_for
from hudi_pyspark.tasks import CdcTask, ChangeSource, CommitRange, ScanTask
from tests.planning.planned_slices import TABLE, planned, slice_of

MIB = 1 << 20
OPENING = MIB // 2


def tasks_of(*sizes: int, logs: int = 0, extension: str = "parquet") -> list[ScanTask]:
    slices = []
    for number, size in enumerate(sizes):
        made = slice_of("p", f"{number:04}", logs=logs, extension=extension)
        assert made.base_file is not None
        base = replace(made.base_file, size=size)
        logged = tuple(replace(log, size=size) for log in made.log_files)
        slices.append(replace(made, base_file=base, log_files=logged))
    tasks: list[ScanTask] = planned(*slices)
    return tasks


def packed(tasks: list[ScanTask], target: int) -> list[tuple[ScanTask, ...]]:
    groups = group_tasks(tasks, target)
    return [tuple(task for task in group if isinstance(task, ScanTask)) for group in groups]


def test_small_slices_share_groups_of_equal_cost():
    groups = packed(tasks_of(*[MIB] * 300), 64 * MIB)
    costs = [sum(map(cost, group)) for group in groups]
    assert 6 <= len(groups) <= 8
    assert max(costs) <= 1.2 * min(costs)
    assert sorted(t.file_slice.file_id for g in groups for t in g) == [
        f"{n:04}" for n in range(300)
    ]


def test_slices_as_large_as_a_group_stay_alone():
    assert [len(g) for g in packed(tasks_of(*[60 * MIB] * 5, logs=1), 64 * MIB)] == [1] * 5


def test_large_base_file_without_logs_is_read_in_parts_that_cover_it():
    groups = packed(tasks_of(200 * MIB), 64 * MIB)
    ranges = sorted(task.byte_range or (0, 0) for group in groups for task in group)
    assert len(ranges) == 4
    assert ranges[0][0] == 0
    assert ranges[-1][1] == 200 * MIB
    assert all(left[1] == right[0] for left, right in pairwise(ranges))


@pytest.mark.parametrize(("logs", "extension"), [(1, "parquet"), (0, "orc")])
def test_other_slices_are_not_divided(logs, extension):
    ((task,),) = packed(tasks_of(200 * MIB, logs=logs, extension=extension), 64 * MIB)
    assert task.byte_range is None


def test_base_file_of_a_bootstrap_is_not_divided():
    (task,) = tasks_of(200 * MIB)
    base = task.file_slice.base_file
    assert base is not None
    skeleton = replace(base, bootstrap_source="other/file.parquet")
    bootstrapped = replace(task, file_slice=replace(task.file_slice, base_file=skeleton))
    assert packed([bootstrapped], 64 * MIB) == [(bootstrapped,)]


def test_base_file_of_two_groups_is_read_in_halves():
    groups = packed(tasks_of(128 * MIB), 64 * MIB)
    assert sorted(task.byte_range for group in groups for task in group if task.byte_range) == [
        (0, 64 * MIB),
        (64 * MIB, 128 * MIB),
    ]


def test_cost_is_the_bytes_that_are_read_and_half_a_mebibyte_for_each_file():
    (task,), (logged,) = tasks_of(30 * MIB), tasks_of(2 * MIB, logs=2)
    assert cost(task) == 30 * MIB + OPENING
    assert cost(replace(task, byte_range=(10 * MIB, 30 * MIB))) == 20 * MIB + OPENING
    assert cost(logged) == 2 * MIB + OPENING + 2 * (3 * 2 * MIB + OPENING)
    only_logs = replace(logged, file_slice=replace(logged.file_slice, base_file=None))
    assert cost(only_logs) == cost(logged) - 2 * MIB


def test_one_thread_reads_tiny_slices_of_this_machine(monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    tiny = tasks_of(32 << 10, 20 << 10, logs=1)
    assert threads_for(tiny, MIB, is_local=True) == (1, 0)
    assert threads_for([], MIB, is_local=True) == (1, 0)
    larger = [*tiny, *tasks_of(40 << 10, logs=1)]
    assert threads_for(larger, MIB, is_local=True) == (3, 0)
    no_columns = pa.schema([])
    change = CdcTask(ChangeSource.LOG_FILE, "1", no_columns, no_columns, after=tiny[0])
    assert threads_for([change], MIB, is_local=True) == (3, 0)


def test_more_threads_read_small_slices_of_another_machine():
    (task,) = tasks_of(3 * MIB)
    assert threads_for([task] * 9, 2 * cost(task), is_local=False)[1] == 2
    assert threads_for([task] * 9, 99 * cost(task), is_local=False)[1] == 12
    assert threads_for([task] * 9, MIB, is_local=False)[1] == 0


def test_changes_cost_both_images_and_their_files():
    (before,), (after,) = tasks_of(30 * MIB), tasks_of(2 * MIB, logs=1)
    images = pa.schema({"id": pa.int64()})
    change = CdcTask(ChangeSource.LOG_FILE, "003", images, images, after=after)
    assert cost(change) == cost(after)
    files = after.file_slice.log_files
    change = replace(change, before=before, cdc_files=files)
    assert cost(change) == cost(before) + cost(after) + 3 * 2 * MIB + OPENING
    assert group_tasks([change], MIB) == [(change,)]


def test_log_records_cost_more_than_base_rows():
    with_log = tasks_of(MIB, logs=1)[0]
    without = tasks_of(2 * MIB)[0]
    assert cost(with_log) > cost(without)


@given(st.lists(st.integers(0, 30), min_size=1, max_size=40), st.integers(1, 60))
def test_longest_tasks_go_first_each_to_the_group_that_has_least(sizes, target):
    tasks = tasks_of(*[size * MIB for size in sizes], logs=1)
    groups = packed(tasks, target * MIB)
    loads = [0] * len(groups)
    expected: list[list[ScanTask]] = [[] for _ in groups]
    for task in sorted(tasks, key=cost, reverse=True):
        least = loads.index(min(loads))
        loads[least] += cost(task)
        expected[least].append(task)
    assert groups == [tuple(group) for group in expected]


def test_reads_of_very_many_bytes_have_larger_groups_instead_of_more(monkeypatch):
    monkeypatch.setattr(thresholds, "MOST_GROUPS", 4)
    groups = packed(tasks_of(*[200 * MIB] * 8), 64 * MIB)
    assert [len(group) for group in groups] == [2] * 4
    assert all(task.byte_range is None for group in groups for task in group)


def test_nothing_to_read_is_no_group():
    assert group_tasks([], MIB) == []


def test_small_read_has_a_group_for_each_core():
    tasks = tasks_of(*[10 * MIB] * 12)
    assert [len(group_tasks(tasks, 64 * MIB, cores)) for cores in (0, 2, 6, 100)] == [2, 2, 6, 12]
    assert len(group_tasks(tasks_of(*[MIB] * 12), 64 * MIB, 100)) == 4  # 4 MiB each at least
    whole = [task for group in group_tasks(tasks_of(50 * MIB), 64 * MIB, 8) for task in group]
    assert [task.byte_range for task in whole if isinstance(task, ScanTask)] == [None]


def test_cores_make_no_fewer_groups():
    tasks = tasks_of(*[60 * MIB] * 5, logs=1)
    assert group_tasks(tasks, 64 * MIB, 2) == group_tasks(tasks, 64 * MIB)


def test_logs_of_slices_that_were_merged_before_cost_nothing():
    (task,) = tasks_of(20 * MIB, logs=3)
    (alone,) = tasks_of(20 * MIB)
    assert cost(task, 3) == cost(alone) < cost(task) / 9
    tasks = tasks_of(*[20 * MIB] * 6, logs=1)
    assert [len(g) for g in packed(tasks, 64 * MIB)] == [1] * 6
    known = group_tasks(tasks, 64 * MIB, merged=[1] * 6)
    assert [len(group) for group in known] == [3, 3]
    some = group_tasks(tasks, 64 * MIB, merged=[0, *[1] * 5])
    assert [len(group) for group in some] == [1, 3, 2]
    assert some[0] == (tasks[0],)


def test_log_files_after_a_merge_that_is_kept_cost_as_much_as_alone():
    (task,) = tasks_of(64 * MIB, logs=3)
    log = cost(task) - cost(replace(task, file_slice=task.file_slice.filter_logs(lambda _: False)))
    assert cost(task, 2) == cost(task, 3) + log // 3
    assert cost(task, None) == cost(task, 0) == cost(task)
    # Keys and ordering values of the base file are kept as well.
    columns = 8 * len(task.working.names)
    assert cost(task, 2, columns=columns) == 8 * MIB + OPENING + log // 3
    tasks = tasks_of(*[64 * MIB] * 8, logs=3)
    groups = [
        len(group_tasks(tasks, 1024 * MIB, 2, merged=[merged] * 8, columns=columns))
        for merged in (0, 2)
    ]
    assert groups == [6, 2]


def test_some_columns_cost_their_share_of_a_base_file():
    (alone,), (logged,) = tasks_of(64 * MIB), tasks_of(64 * MIB, logs=1)
    columns = 8 * len(alone.working.names)
    assert cost(alone, columns=columns) == 8 * MIB + OPENING
    assert cost(alone, columns=1) == cost(alone)  # a column that the table lacks is no more
    assert cost(logged, columns=columns) == cost(logged)  # the merge needs the others
    assert 8 * MIB < cost(logged, 1, columns=columns) < cost(alone)
    tasks = tasks_of(*[64 * MIB] * 8)
    assert [len(group_tasks(tasks, 64 * MIB, 2, columns=n)) for n in (0, columns)] == [8, 2]
    parts = [
        task
        for group in group_tasks(tasks_of(200 * MIB), 64 * MIB, 2, columns=columns)
        for task in group
    ]
    assert len(parts) == 4  # of which each core reads some


def counting(task: ScanTask, **shared: Any) -> ScanTask:
    """The same task without columns."""
    return task.narrowed(pa.schema([])).with_plan(**shared)


def test_counting_rows_costs_a_footer_of_a_base_file_and_all_of_a_log():
    alone, logged = (counting(*tasks_of(200 * MIB, logs=logs)) for logs in (0, 1))
    assert cost(alone) < MIB
    assert cost(logged) > 220 * MIB
    assert cost(logged, 1) < MIB
    assert packed([alone], 64 * MIB) == [(alone,)]  # in one part


def test_counting_the_rows_of_a_filter_reads_its_columns():
    (task,) = tasks_of(200 * MIB)
    filtered = counting(task, predicate=parse_filter("id > 1", TABLE))
    assert cost(filtered) == cost(task)


def test_counting_the_rows_of_a_commit_range_reads_their_times():
    (task,) = tasks_of(200 * MIB)
    commits = CommitRange(
        "001", "002", by_completion_time=True, commits=(RequestedTime("002"),), full_scan=""
    )
    of_range = counting(task, commit_range=commits)
    assert cost(of_range) == cost(task)
    assert len(packed([of_range], 64 * MIB)) == 4
