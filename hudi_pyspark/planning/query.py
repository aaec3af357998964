"""The kinds of queries: each knows its schema, file slices, tasks and explanation."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa

from hudi_pyspark.cached_property import cached_property
from hudi_pyspark.errors import UnsupportedQueryError
from hudi_pyspark.filter.predicate import Predicate, top_level_columns
from hudi_pyspark.format.timeline.instant import RequestedTime
from hudi_pyspark.options.instant_text import local_now
from hudi_pyspark.options.option import QueryType
from hudi_pyspark.options.read_options import ReadOptions
from hudi_pyspark.planning.changes import changes_schema, check_changes, plan_changes
from hudi_pyspark.planning.commit_range import RequestedRange, end_of_state
from hudi_pyspark.planning.plan import Plan, Query
from hudi_pyspark.planning.pruning import prune_by_buckets, prune_by_indexes, requested_keys
from hudi_pyspark.planning.slice_tasks import SliceQuery, TablePlanner, read_settings
from hudi_pyspark.planning.time_travel import (
    check_first_commit,
    resolve_as_of,
    resolve_range_end,
)
from hudi_pyspark.table.cdc_format import CdcFormat
from hudi_pyspark.table.file_group import FileSlice
from hudi_pyspark.table.view import TableView
from hudi_pyspark.tasks import (
    BOTH_IMAGES,
    CHANGELOG_COLUMNS,
    CdcTask,
    CommitRange,
    ScanTask,
    data_columns,
)

if TYPE_CHECKING:
    from hudi_pyspark.custom_mergers import Mergers
    from hudi_pyspark.metadata_table.table import MetadataTable


def resolve_query(
    view: TableView,
    options: ReadOptions,
    mergers: Mergers,
    metadata: Callable[[], MetadataTable] | None = None,
) -> Query:
    """Return the query that options ask for, with its instants resolved on the timeline.

    Args:
        view: the table.
        options: of the read.
        mergers: merge functions of users, by payload class.
        metadata: returns the metadata table if the view's files come from it; None to ask no index.

    Raises:
        InvalidInstantError: an instant is not one, or a range ends before it begins.
        TimeTravelError: the state at ``as_of`` is not known.
        IncrementalRangeError: commits of the range are archived or pending.
        UnsupportedTableError: the table cannot answer queries of ranges, or logs no changes.
    """
    plan_as_of = partial(TablePlanner, view, options, mergers, metadata=metadata)
    if options.incremental is None:
        as_of = None
        if options.as_of is not None:
            as_of = resolve_as_of(options.as_of, view, local_now())
            check_first_commit(as_of, view, fails=options.fails_on_missing)
        is_read_optimized = options.query_type is QueryType.READ_OPTIMIZED
        return SnapshotQuery(plan_as_of(as_of), as_of, is_read_optimized)
    ends = options.incremental.begin, options.incremental.end
    begin, end = (resolve_range_end(text, view) for text in ends)
    incremental = replace(options.incremental, begin=begin, end=end)
    if incremental.cdc:
        by_completion = incremental.by_offset and view.config.has_completion_times
        requested = RequestedRange(view, incremental, by_completion)
        check_changes(requested)
        return ChangesQuery(plan_as_of(), requested)
    requested = RequestedRange.of_rows(view, incremental)
    commit_range = requested.resolve()
    commits = commit_range.commits
    schema_instant = commits[-1] if incremental.use_end_schema and commits else None
    return RangeQuery(plan_as_of(schema_instant), requested, commit_range)


@dataclass(frozen=True, eq=False)
class SnapshotQuery(Query):
    """The rows of a table as of an instant, or those of its base files alone."""

    as_of: RequestedTime | None  # None for the latest
    read_optimized: bool

    @property
    def title(self) -> str:
        kind = QueryType.READ_OPTIMIZED if self.read_optimized else QueryType.SNAPSHOT
        when = f" as of {self.as_of}" if self.as_of else ""
        return f"{kind.value} of {self.view.storage.describe('')}{when}"

    @property
    def end(self) -> str:
        if self.read_optimized:
            raise UnsupportedQueryError(
                "a read-optimized query has no end: it lacks the records of log files, which a "
                "query that goes on from there would miss",
                advice="Read a snapshot first",
            )
        return end_of_state(self.view, self.as_of)

    @cached_property
    def slices(self) -> Sequence[FileSlice]:
        return self.view.slices.as_of(
            self.as_of, read_optimized=self.read_optimized, choice=self.choice
        )

    def plan(self, result: pa.Schema, predicate: Predicate | None) -> Plan:
        slices = self.slices
        until = self.view.slices.last_instant if self.as_of is None else self.as_of
        requested = requested_keys(self.planner, predicate)
        query = SliceQuery(result, until, predicate, requested)
        slices, notes = prune_by_buckets(self.planner, slices, requested)
        if self.as_of is None:
            by_key = not self.read_optimized
            slices, index_notes = prune_by_indexes(self.planner, slices, query, by_key=by_key)
            notes = [*notes, *index_notes]
        tasks = self.planner.tasks(slices, query)
        return Plan(self, result.names, predicate, tasks, notes)

    @property
    def instants(self) -> str:
        if self.as_of:
            return f"up to {self.as_of}, inclusive (requested times)"
        last = self.view.slices.last_instant
        return f"latest, {last}" if last else "no commit yet"


@dataclass(frozen=True, eq=False)
class RangeQuery(Query):
    """The rows that a range of commits wrote."""

    requested: RequestedRange
    commit_range: CommitRange  # as it is known before files are listed

    @property
    def end(self) -> str:
        return self.requested.end_of_read(self.commit_range.begin, self.commit_range.end)

    @property
    def slices(self) -> Sequence[FileSlice]:
        return self._range_and_slices[1]

    def plan(self, result: pa.Schema, predicate: Predicate | None) -> Plan:
        commit_range, slices = self._range_and_slices
        until = self.view.slices.last_instant
        if commit_range.commits and not commit_range.full_scan:
            until = self.requested.last_commit(commit_range)
        whole_slices = self._whole_slices(commit_range, slices)
        requested = requested_keys(self.planner, predicate)
        query = SliceQuery(result, until, predicate, requested, commit_range, whole_slices)
        tasks = self.planner.tasks(slices, query)
        return Plan(self, result.names, predicate, tasks)

    @property
    def instants(self) -> str:
        return str(self._range_and_slices[0])

    @cached_property
    def _range_and_slices(self) -> tuple[CommitRange, Sequence[FileSlice]]:
        return self.requested.slices(self.commit_range, self.choice)

    def _whole_slices(
        self, commit_range: CommitRange, slices: Sequence[FileSlice]
    ) -> Mapping[tuple[str, str], FileSlice]:
        """Return the whole slices to which log files of the range may have partial updates.

        Only log files of one commit have partial updates: those that version 8 or later wrote,
        even if the table was downgraded since.
        """
        with_logs = [s for s in slices if any(log.is_of_one_commit for log in s.log_files)]
        if not self.view.config.is_merge_on_read or not with_logs:
            return {}
        whole = self.requested.slices_at_end(commit_range, with_logs)
        return {(s.partition_path, s.file_id): s for s in whole}


@dataclass(frozen=True, eq=False)
class ChangesQuery(Query):
    """The changes of a range of commits, with images of each row before and after (CDC)."""

    requested: RequestedRange
    is_ordered: ClassVar[bool] = True

    @property
    def end(self) -> str:
        options = self.requested.options
        return self.requested.end_of_read(options.begin, options.end)

    @property
    def schema(self) -> pa.Schema:
        return changes_schema(self.planner.table_schema, self.requested.options.cdc_format)

    def plan(self, result: pa.Schema, predicate: Predicate | None) -> Plan:
        settings = read_settings(self.planner.options)
        names = {*result.names, *top_level_columns(predicate, self.schema)}
        # Images take most of the time, and a count needs none of them.
        shown = BOTH_IMAGES & names
        tasks = self._tasks_of_whole_images()
        if self.requested.options.cdc_format is CdcFormat.CHANGELOG:
            all_images = data_columns(self.planner.table_schema)
            images = pa.schema([field for field in all_images if field.name in names])
            answer = pa.schema([*images, *CHANGELOG_COLUMNS])
            shown = BOTH_IMAGES if images.names else frozenset()
            tasks = [replace(task, images=images, answer=answer) for task in tasks]
        tasks = [replace(t, predicate=predicate, settings=settings, shown=shown) for t in tasks]
        return Plan(self, result.names, predicate, tasks)

    def _tasks_of_whole_images(self) -> list[CdcTask]:
        """Plan all columns, in the slices around each commit and in its CDC log files.

        A row may stay in its folder after its partition value has changed: images are the rows as
        they were stored, unless the paths give all partition values.
        """
        planner = self.planner
        from_files = not planner.values_come_from_path
        query = SliceQuery(planner.table_schema, "", partition_values_from_files=from_files)

        def plan_whole(slices: Sequence[FileSlice], until: str) -> list[ScanTask]:
            return planner.tasks(slices, replace(query, until=until))

        def folder_of(task: CdcTask) -> str:
            return posixpath.dirname(task.cdc_files[0].path)

        tasks = plan_changes(self.requested, planner.table_schema, plan_whole)
        folders = {folder_of(task) for task in tasks if task.cdc_files}
        values = planner.partition_values(folders, query)
        by_id = planner.schema_on_read
        return [
            replace(task, partition=values[folder_of(task)], schema_on_read=by_id)
            if task.cdc_files
            else task
            for task in tasks
        ]
