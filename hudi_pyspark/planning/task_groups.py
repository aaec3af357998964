"""Tasks of about the same cost: small slices together, large base files in parts."""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from hudi_pyspark.table.file_group import PARQUET, FileSlice
from hudi_pyspark.tasks import CdcTask, ReadTask, ScanTask

# Records of logs are decoded here, sorted and merged; those of base files only decompressed.
_LOG_WEIGHT = 3
# Each group is a task of Spark, whose driver keeps an account of every one.
_MOST_GROUPS = 100_000
# Opening a file and reading its footer costs about as much as reading this many bytes.
_OPENING = 512 * 1024
# Row groups are hardly ever smaller, and a task whose part has no row group does nothing.
_SMALLEST_PART = 4 << 20


def group_tasks(tasks: Sequence[ReadTask], target: int) -> list[tuple[ReadTask, ...]]:
    """Spread tasks over groups of about ``target`` bytes, the most expensive first.

    A slice with logs may cost more, since it cannot be divided. There are at most as many groups as
    pieces of tasks, and none without tasks. The same tasks in the same order give the same groups.
    """
    costs = np.fromiter((cost(task) for task in tasks), np.int64, len(tasks))
    target = max(target, int(costs.sum()) // _MOST_GROUPS)
    pieces = [piece for task in tasks for piece in _pieces(task, target)]
    if len(pieces) > len(tasks):
        costs = np.fromiter((cost(piece) for piece in pieces), np.int64, len(pieces))
    count = min(len(pieces), max(1, -(-int(costs.sum()) // target)))
    groups: list[list[ReadTask]] = [[] for _ in range(count)]
    # Longest first, each to the group that has least so far.
    loads = [(0, number) for number in range(count)]
    for row in np.argsort(-costs, kind="stable").tolist():
        load, number = loads[0]
        groups[number].append(pieces[row])
        heapq.heapreplace(loads, (load + int(costs[row]), number))
    return [tuple(group) for group in groups]


def cost(task: ReadTask) -> int:
    """Return the cost of a task, in bytes of base files that take as long to read."""
    if isinstance(task, CdcTask):
        slices = [scan.file_slice for scan in (task.before, task.after) if scan is not None]
        logged = sum(file.size * _LOG_WEIGHT + _OPENING for file in task.cdc_files)
        return logged + sum(map(_slice_cost, slices))
    if task.byte_range is not None:
        return task.byte_range[1] - task.byte_range[0] + _OPENING
    return _slice_cost(task.file_slice)


def _slice_cost(file_slice: FileSlice) -> int:
    base = file_slice.base_file
    bases = base.size + _OPENING if base is not None else 0
    return bases + sum(log.size * _LOG_WEIGHT + _OPENING for log in file_slice.log_files)


def _pieces(task: ReadTask, target: int) -> Iterator[ReadTask]:
    """Yield the task, or parts of its base file that have about the target size."""
    size = _divisible_bytes(task) if not isinstance(task, CdcTask) else 0
    count = -(-size // max(target, _SMALLEST_PART))
    if isinstance(task, CdcTask) or count <= 1:
        yield task
        return
    cuts = [size * number // count for number in range(count + 1)]
    for byte_range in pairwise(cuts):
        yield replace(task, byte_range=byte_range)


def _divisible_bytes(task: ScanTask) -> int:
    """Return the size of a base file whose row groups several tasks may read; 0 for any other."""
    base = task.file_slice.base_file
    is_alone = base is not None and not task.file_slice.log_files and not base.bootstrap_source
    return base.size if base is not None and is_alone and base.path.endswith(PARQUET) else 0
