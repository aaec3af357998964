from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_pyspark.planning import task_groups
from hudi_pyspark.planning.task_groups import cost, group_tasks
from hudi_pyspark.tasks import ScanTask
from tests.planning.test_slice_tasks import planned, slice_of

MIB = 1 << 20


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


def test_log_records_cost_more_than_base_rows():
    with_log, without = tasks_of(MIB, logs=1)[0], tasks_of(2 * MIB)[0]
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
    monkeypatch.setattr(task_groups, "_MOST_GROUPS", 4)
    groups = packed(tasks_of(*[200 * MIB] * 8), 64 * MIB)
    assert [len(group) for group in groups] == [2] * 4
    assert all(task.byte_range is None for group in groups for task in group)


def test_nothing_to_read_is_no_group():
    assert group_tasks([], MIB) == []
