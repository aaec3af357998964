"""What a query is, and its plan: the tasks, and in words their instants, files and cost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import pyarrow as pa

from hudi_pyspark.cached_property import PickledWithoutCache, cached_property
from hudi_pyspark.errors import printable
from hudi_pyspark.filter.predicate import Predicate
from hudi_pyspark.options.option import QueryType
from hudi_pyspark.planning.slice_tasks import TablePlanner
from hudi_pyspark.table.file_group import FileSlice
from hudi_pyspark.table.listing import PartitionChoice
from hudi_pyspark.table.view import TableView
from hudi_pyspark.tasks import CdcTask, ReadTask, ScanTask
from hudi_pyspark.wording import counted

# Apache Hudi's hoodie.logfile.to.parquet.compression.ratio
_LOGS_AS_PARQUET = 0.35


@dataclass(frozen=True, eq=False)
class Query(ABC):
    """What a scan reads of a table. Files are listed when its slices or tasks are first needed."""

    view: TableView
    choice: PartitionChoice | None = field(default=None, kw_only=True)  # None: all partitions
    is_ordered: ClassVar[bool] = False  # the answer has the order of the tasks

    def of_partitions(self, choice: PartitionChoice | None) -> Query:
        """Return the same query of chosen partitions; changes ignore the choice.

        An unchanged choice returns the same object, which keeps the slices that it has found.
        """
        return self if choice is self.choice else replace(self, choice=choice)

    @property
    def title(self) -> str:
        """The query in a few words, e.g. ``snapshot of /table``."""
        return f"{QueryType.INCREMENTAL.value} of {self.view.storage.describe('')}"

    @property
    def schema_instant(self) -> str | None:
        """Instant whose schema the answer has; None for the latest."""
        return None

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

    def answer_schema(self, table_schema: pa.Schema) -> pa.Schema:
        """Return all columns that the answer may have.

        Raises:
            UnsupportedTableError: as `changes_schema`, if the query is one of changes.
        """
        return table_schema

    @abstractmethod
    def plan(self, planner: TablePlanner, result: pa.Schema, predicate: Predicate | None) -> Plan:
        """Make the tasks of the query.

        Args:
            planner: of the table that the query is about.
            result: columns of the answer. Changes always have all of their columns.
            predicate: only rows for which it is true; None for all.

        Raises:
            MissingFileError: a committed file is not on the storage.
            IncrementalRangeError: files of the range are gone.
            UnsupportedTableError: a slice cannot be read correctly.
        """


@dataclass(frozen=True)
class Plan(PickledWithoutCache):
    """The tasks of a query, and what explains them in words."""

    query: Query
    planner: TablePlanner
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

    def facts(self) -> dict[str, str]:
        """Return the facts of the plan by label, in the order in which they are shown.

        Labels are ``table``, ``query``, ``instants``, then ``changes``, or ``files`` and ``merge``;
        with a filter ``filter`` and ``pruned``; ``cost``, ``listing``, ``columns``; and ``schema``
        if columns are matched by id.
        """
        view = self.planner.view
        slices = self.query.slices
        version = f"{view.config.table_type.value}, version {view.config.version}"
        facts = {
            "table": f"{view.storage.describe('')} ({version})",
            "query": self.planner.options.query_type.value,
            "instants": self.query.instants or _instants(self.changes),
        }
        if slices is None:
            facts["changes"] = _changes(self.changes)
        else:
            facts |= {"files": _files(slices), "merge": _merge(self.planner, slices)}
        if self.predicate is not None:
            facts |= {"filter": str(self.predicate), "pruned": _pruned(self)}
        facts |= {
            "cost": _cost(self),
            "listing": _listing(self),
            "columns": ", ".join(self.columns),
        }
        if self.planner.schema_on_read is not None:
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
    view = plan.planner.view
    line = view.listing.summary()
    partitions = view.config.metadata_partitions
    if partitions and not plan.planner.options.use_metadata_table:
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
