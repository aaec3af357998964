"""Group tasks by cost: small slices share a group, large base files are divided."""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise, repeat, starmap

import numpy as np

from hudi_pyspark import thresholds
from hudi_pyspark.format.base_file_formats import BaseFileFormat
from hudi_pyspark.table.file_group import LogFile
from hudi_pyspark.tasks import CdcTask, ReadTask, ScanTask

# Log records are decoded by this package, sorted and merged; base files are only decompressed.
_LOG_WEIGHT = 3
# Opening a file and reading its footer costs about as much as reading this many bytes.
_OPENING = 512 * 1024
# Row groups are rarely smaller, and a task whose part contains no row group does nothing.
_SMALLEST_PART = 4 << 20


def group_tasks(
    tasks: Sequence[ReadTask],
    target: int,
    cores: int = 0,
    merged: Sequence[int | None] = (),
    columns: int = 0,
) -> list[tuple[ReadTask, ...]]:
    """Spread tasks over groups of about ``target`` bytes, the most expensive first.

    A group may cost more, since a slice with logs cannot be divided. The same tasks in the same
    order give the same groups.

    Args:
        tasks: of one read.
        target: bytes of a group, as `cost` counts them.
        cores: the number of groups that are read at the same time. There are at least as many
            groups if each then has 4 MiB. 0 if the number is unknown.
        merged: for each task, the number of its first log files whose merge is kept, so that they
            cost nothing; () if no outcome is kept.
        columns: the number of columns of the table: a task that reads some of them costs its share
            of the base file. 0 to count whole files.

    Returns:
        Tasks, or parts of tasks, by group; no group if there are no tasks.
    """
    whole_tasks = list(zip(tasks, merged or repeat(0, len(tasks)), strict=True))
    costs_of = partial(cost, columns=columns)
    costs = np.fromiter(starmap(costs_of, whole_tasks), np.int64, len(whole_tasks))
    target = max(target, int(costs.sum()) // thresholds.MOST_GROUPS)
    pieces = [(piece, kept) for task, kept in whole_tasks for piece in _pieces(task, target)]
    if len(pieces) > len(whole_tasks):
        costs = np.fromiter(starmap(costs_of, pieces), np.int64, len(pieces))
    total = int(costs.sum())
    # Most base files have one row group, so dividing them further would give no core work.
    useful = max(1, -(-total // target), min(cores, total // _SMALLEST_PART))
    count = min(len(pieces), useful)
    groups: list[list[ReadTask]] = [[] for _ in range(count)]
    # The most expensive piece first, each to the group that costs least so far.
    loads = [(0, number) for number in range(count)]
    for row in np.argsort(-costs, kind="stable").tolist():
        load, number = loads[0]
        groups[number].append(pieces[row][0])
        heapq.heapreplace(loads, (load + int(costs[row]), number))
    return [tuple(group) for group in groups]


def cost(task: ReadTask, merged: int | None = 0, *, columns: int = 0) -> int:
    """Return the cost of a task, as the bytes of a base file that takes as long to read.

    Args:
        task: a read of a slice, or of changes.
        merged: the number of the first log files that are not read, since the outcome of their
            merge is kept.
        columns: as in `group_tasks`.
    """
    if isinstance(task, CdcTask):
        images = (image for image in (task.before, task.after) if image is not None)
        return sum(map(cost, images)) + _cost_of_logs(task.cdc_files)
    logs = task.file_slice.log_files[merged or 0 :]
    base = task.file_slice.base_file
    begin, end = task.byte_range or (0, base.size if base is not None else 0)
    base_bytes = (end - begin) * (1.0 if logs and not merged else _share(task, columns))
    return int(base_bytes) + _OPENING + _cost_of_logs(logs)


def _cost_of_logs(files: Sequence[LogFile]) -> int:
    return sum(file.size * _LOG_WEIGHT + _OPENING for file in files)


def _share(task: ScanTask, columns: int) -> float:
    """Return the share of a base file that a task without a merge reads.

    0 if the footer suffices. All columns weigh the same: their sizes are in the footers, which
    planning does not read.
    """
    if _only_counts(task):
        return 0.0
    return min(1.0, len(task.working) / columns) if columns else 1.0


def _only_counts(task: ScanTask) -> bool:
    """Decide whether a task needs the number of rows alone, so the footer suffices."""
    shared = task.shared
    is_everything = shared.predicate is None and shared.commit_range is None
    return is_everything and not len(shared.planned_columns.result)


def _pieces(task: ReadTask, target: int) -> Iterator[ReadTask]:
    """Yield the task, or parts of it that each read about ``target`` bytes of its base file."""
    if isinstance(task, CdcTask):
        yield task
        return
    size = _divisible_bytes(task)
    count = -(-size // max(target, _SMALLEST_PART))
    if count <= 1:
        yield task
        return
    cuts = [size * number // count for number in range(count + 1)]
    for byte_range in pairwise(cuts):
        yield replace(task, byte_range=byte_range)


def _divisible_bytes(task: ScanTask) -> int:
    """Return the bytes of a base file that several tasks may read; 0 if one task must read it."""
    base = task.file_slice.base_file
    if base is None or task.file_slice.log_files or base.bootstrap_source or _only_counts(task):
        return 0
    return base.size if BaseFileFormat.of(base.path).has_row_groups else 0
