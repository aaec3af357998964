"""What a query is, and its plan: the tasks, groups of them of equal cost, and an explanation."""

from __future__ import annotations

import heapq
import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise, repeat, starmap
from typing import ClassVar

import numpy as np
import pyarrow as pa

from hudi_pyspark import thresholds
from hudi_pyspark.cached_property import PickledWithoutCache, cached_property
from hudi_pyspark.errors import CorruptTimelineError, HudiError, printable
from hudi_pyspark.filter.predicate import Predicate
from hudi_pyspark.format.data_files import BaseFileFormat
from hudi_pyspark.messages import warn
from hudi_pyspark.options.option import QueryType
from hudi_pyspark.planning.slice_tasks import TablePlanner
from hudi_pyspark.storage.retries import retry_on_corruption
from hudi_pyspark.table.file_group import FileSlice, LogFile
from hudi_pyspark.table.listing import PartitionChoice
from hudi_pyspark.table.lost_commits import find_loss
from hudi_pyspark.table.schema import commits_hiding_columns
from hudi_pyspark.table.timeline import collection_paused
from hudi_pyspark.table.view import TableView
from hudi_pyspark.tasks import CdcTask, ReadTask, ScanTask
from hudi_pyspark.wording import counted

# Apache Hudi's hoodie.logfile.to.parquet.compression.ratio
_LOGS_AS_PARQUET = 0.35
# Log records are decoded by this package, sorted and merged; base files are only decompressed.
_LOG_WEIGHT = 3
# Opening a file and reading its footer costs about as much as reading this many bytes.
_OPENING = 512 * 1024
# Row groups are rarely smaller, and a task whose part contains no row group does nothing.
_SMALLEST_PART = 4 << 20
_MAX_THREADS = 4
_MAX_EXTRA_THREADS = 12
_SAMPLED_TASKS = 100  # whose sizes decide how many threads read


@dataclass(frozen=True, eq=False)
class Query(ABC):
    """What a scan reads of a table. Files are listed when its slices or tasks are first needed."""

    planner: TablePlanner  # of the table, with the options of the read
    choice: PartitionChoice | None = field(default=None, kw_only=True)  # None: all partitions
    is_ordered: ClassVar[bool] = False  # the answer has the order of the tasks

    def of_filter(self, predicate: Predicate | None) -> Query:
        """Return the same query of the partitions that a filter leaves; changes ignore the filter.

        If it leaves all partitions as before, that is this object, which keeps the slices that it
        has found.
        """
        choice = self.planner.partition_choice(predicate)
        return self if choice is self.choice else replace(self, choice=choice)

    @property
    def title(self) -> str:
        """The query in a few words, e.g. ``snapshot of /table``."""
        return f"{QueryType.INCREMENTAL.value} of {self.view.storage.describe('')}"

    @property
    def view(self) -> TableView:
        """The table that is read."""
        return self.planner.view

    @property
    def schema(self) -> pa.Schema:
        """All columns that the answer may have.

        Raises:
            UnsupportedTableError: the table has no schema that can be read; or the query is one of
                changes, and the table has a column that they cannot have.
            CorruptTableError: the schema lacks a partition column.
        """
        return self.planner.table_schema

    @property
    def slices(self) -> Sequence[FileSlice] | None:
        """File slices that the answer is made of; None if it is made of changes."""
        return None

    @property
    def instants(self) -> str:
        """The instants that the answer covers, in words; "" if the tasks decide."""
        return ""

    @property
    @abstractmethod
    def end(self) -> str:
        """The begin with which the next query of a range goes on; see `Scan.end`.

        Raises:
            UnsupportedQueryError: the query is read-optimized.
        """

    @abstractmethod
    def plan(self, result: pa.Schema, predicate: Predicate | None) -> Plan:
        """Make the tasks of the query.

        Args:
            result: columns of the answer. Changes always have all of their columns.
            predicate: only rows for which it is true; None for all.

        Raises:
            MissingFileError: a committed file is not on the storage.
            IncrementalRangeError: files of the range are gone.
            UnsupportedTableError: a slice cannot be read correctly.
        """

    def checked_plan(self, result: pa.Schema, predicate: Predicate | None) -> Plan:
        """Plan, once more if a file looks corrupt, and check that no commit is lost.

        Raises:
            CorruptTimelineError: rows that a lost commit replaced would be in the answer; or
                commits are lost or hide columns, and ``on_missing=fail``.
            MissingFileError, IncrementalRangeError, UnsupportedTableError: as `plan`.
        """
        with collection_paused():
            planned = retry_on_corruption(self.view.storage, partial(self.plan, result, predicate))
            self._check_lost_commits()
            return planned

    def _check_lost_commits(self) -> None:
        """Warn of commits that the timeline has lost, or whose file is empty, or fail.

        Empty files of commits matter here if they hide columns. Ranges find those that hide rows.
        """
        fails = self.planner.options.fails_on_missing
        if hiding := commits_hiding_columns(self.view, self.planner.schema_instant):
            time = max(hiding)
            error = CorruptTimelineError(
                hiding[time],
                f"the file of completed commit {time} is empty: columns that it added are missing",
            )
            error.name_table(self.view.storage.describe(""))
            if fails:
                raise error
            warn(f"{error.reason()} (on_missing=fail refuses)")
        recorded: Mapping[str, str] = {}
        metadata = self.planner.metadata
        with suppress(HudiError):  # no metadata table, or one that cannot be read
            recorded = metadata().commits.lost if metadata is not None else {}
        loss = find_loss(self.view, recorded, self.planner.schema_instant)
        if loss is None:
            return
        if loss.repeats_rows or fails:
            raise loss.error()
        warn(loss.error(" (on_missing=fail refuses)").reason())


@dataclass(frozen=True)
class Plan(PickledWithoutCache):
    """The tasks of a query, and what explains them in words."""

    query: Query
    columns: Sequence[str]  # of the answer
    predicate: Predicate | None  # only rows for which it is true; None for all
    tasks: Sequence[ReadTask]
    notes: Sequence[str] = ()  # what each index did to the file slices, in words
    # What each Spark task reads: some of the tasks, or parts of them. () until tasks are grouped.
    groups: Sequence[tuple[ReadTask, ...]] = ()
    merged: Sequence[int | None] = ()  # for each task, as `merged_on_disk` says

    @cached_property
    def changes(self) -> list[CdcTask]:
        """The tasks that read changes; [] for other queries."""
        return [task for task in self.tasks if isinstance(task, CdcTask)]

    @cached_property
    def scans(self) -> list[ScanTask]:
        """The tasks that read file slices; for changes, slices before and after."""
        images = [image for change in self.changes for image in (change.before, change.after)]
        return [task for task in (*self.tasks, *images) if isinstance(task, ScanTask)]

    @cached_property
    def file_bytes(self) -> tuple[int, int, int]:
        """Bytes of base files, log files and change files that the tasks open."""
        base = sum(map(_base_bytes, self.scans))
        logs = sum(map(_log_bytes, self.scans))
        return base, logs, sum(file.size for task in self.changes for file in task.cdc_files)

    @property
    def row_bytes(self) -> int:
        """Estimated bytes in Parquet of the answer's rows, with all of their columns.

        Log records replace or add rows, so a slice counts as the larger of its two parts. It has at
        most twice as many bytes.
        """
        slice_bytes = (
            max(_base_bytes(task), int(_LOGS_AS_PARQUET * _log_bytes(task))) for task in self.scans
        )
        return sum(slice_bytes) + self.file_bytes[2]

    def grouped(self, merged: Sequence[int | None], cores: int) -> Plan:
        """Return the plan with its tasks in groups of about equal cost; see `group_tasks`.

        Args:
            merged: for each task, as `merged_on_disk` says.
            cores: the number of groups that are read at the same time; 0 if it is unknown. Then
                whole files count, and ``task_bytes`` alone decides.
        """
        planner = self.query.planner
        column_count = len(planner.table_schema.names) if cores else 0
        groups = group_tasks(self.tasks, planner.options.task_bytes, cores, merged, column_count)
        return replace(self, groups=groups, merged=merged)

    def facts(self) -> dict[str, str]:
        """Return the facts of the plan by label, in the order in which they are shown.

        Labels are ``table``, ``query``, ``instants``, then ``changes``, or ``files`` and ``merge``;
        with a filter ``filter`` and ``pruned``; ``cost``, ``listing``, ``columns``; and ``schema``
        if columns are matched by id.
        """
        query = self.query
        planner = query.planner
        view = query.view
        slices = query.slices
        version = f"{view.config.table_type.value}, version {view.config.version}"
        facts = {
            "table": f"{view.storage.describe('')} ({version})",
            "query": planner.options.query_type.value,
            "instants": query.instants or _instants(self.changes),
        }
        if slices is None:
            facts["changes"] = _changes(self.changes)
        else:
            facts |= {"files": _files(slices), "merge": _merge(planner, slices)}
        if self.predicate is not None:
            facts |= {"filter": str(self.predicate), "pruned": _pruned(self)}
        facts |= {
            "cost": _cost(self),
            "listing": _listing(self),
            "columns": ", ".join(self.columns),
        }
        if planner.schema_on_read is not None:
            facts["schema"] = "columns of older files are matched by id (schema on read)"
        return {label: printable(fact) for label, fact in facts.items()}


def summary(plan: Plan) -> str:
    """Say in one line what the plan reads."""
    slices = plan.query.slices
    reads = _changes(plan.changes) if slices is None else _files(slices)
    pruned = f"; the filter {plan.predicate} leaves out {_pruned(plan)}" if plan.predicate else ""
    columns = ", ".join(plan.columns) or "none"
    return f"{plan.query.title}: {reads}{pruned}; {_cost(plan)}; columns {columns}"


def _files(slices: Sequence[FileSlice]) -> str:
    slices_with_logs = sum(bool(s.log_files) for s in slices)
    return (
        f"{counted(len(slices), 'file slice')} in "
        f"{counted(len({s.partition_path for s in slices}), 'partition')}: "
        f"{counted(sum(s.base_file is not None for s in slices), 'base file')}, "
        f"{counted(sum(len(s.log_files) for s in slices), 'log file')} in "
        f"{counted(slices_with_logs, 'slice')}"
    )


def _pruned(plan: Plan) -> str:
    """Say what the filter skips, as far as planning knows: row groups are chosen while reading."""
    parts: list[str] = []
    if plan.query.slices is not None and plan.query.choice is not None:
        parts.append("partitions by their paths, before their files are listed")
    parts += plan.notes
    keys = {t.shared.record_keys for t in plan.scans if t.shared.record_keys is not None}
    if keys:
        parts.append(
            f"all but {counted(len(max(keys, key=len)), 'possible record key')}, by Bloom filters "
            "of base files and the keys of log records"
        )
    unmerged = sum(not task.file_slice.log_files for task in plan.scans)
    if unmerged:
        slices = counted(unmerged, "slice")
        parts.append(f"row groups of {slices} without log files, by their statistics")
    return "; ".join(parts) or "nothing"


def _cost(plan: Plan) -> str:
    """State the number of tasks, and the bytes of the files that they open."""
    base, logs, change_files = plan.file_bytes
    parts = [f"{base:,} bytes of base files", f"{logs:,} of log files"]
    if change_files:
        parts.append(f"{change_files:,} of change files")
    return f"{counted(len(plan.groups), 'Spark task')}; at most {', '.join(parts)}"


def _base_bytes(task: ScanTask) -> int:
    base = task.file_slice.base_file
    return base.size if base is not None else 0


def _log_bytes(task: ScanTask) -> int:
    return sum(log.size for log in task.file_slice.log_files)


def _listing(plan: Plan) -> str:
    view = plan.query.view
    line = view.listing.summary()
    partitions = view.config.metadata_partitions
    if partitions and not plan.query.planner.options.use_metadata_table:
        return f"{line}; the metadata table ({', '.join(partitions)}) is turned off"
    return line if partitions else f"{line}; the table has no metadata table that may be read"


def _instants(tasks: Sequence[CdcTask]) -> str:
    times = sorted({task.instant for task in tasks})
    return f"commits {times[0]} to {times[-1]}, both inclusive" if times else "no commit"


def _changes(tasks: Sequence[CdcTask]) -> str:
    counts = Counter(task.source.value for task in tasks)
    return ", ".join(f"{count} x {source}" for source, count in counts.most_common()) or "none"


def _merge(planner: TablePlanner, slices: Sequence[FileSlice]) -> str:
    if not any(s.log_files for s in slices):
        return "none needed: no slice has log files"
    if planner.options.skip_merge:
        return "skipped: base rows and log rows as they are"
    rule = planner.rule
    parts = [rule.payload_class or rule.merge_strategy_id or rule.mode.value]
    if rule.ordering_fields:
        parts.append(f"by {', '.join(rule.ordering_fields)}")
    if rule.partial_update_mode:
        parts.append(rule.partial_update_mode)
    if rule.delete_field:
        parts.append(f"deletes where {rule.delete_field} = {rule.delete_marker}")
    return ", ".join(parts)


@collection_paused()
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


def threads_for(tasks: Sequence[ReadTask], task_bytes: int, *, is_local: bool) -> tuple[int, int]:
    """Return how many tasks to read at a time with threads, and how many more if all are read.

    Threads that read tiny slices of this machine would mostly wait for the interpreter lock. Reads
    of small slices on another machine mostly wait for it: as many are read at a time as a Spark
    task has.

    Args:
        tasks: of one read.
        task_bytes: of a Spark task, as `cost` counts them.
        is_local: whether the files are on this machine.
    """
    some = tasks[:_SAMPLED_TASKS]
    threads = min(os.cpu_count() or 1, _MAX_THREADS)
    if is_local:
        are_tiny = all(isinstance(task, ScanTask) and task.file_slice.is_tiny for task in some)
        return (1 if are_tiny else threads), 0
    costs = [cost(task) for task in some] or [1]
    slices = task_bytes * len(costs) // max(1, sum(costs))
    return threads, min(slices, _MAX_EXTRA_THREADS)
