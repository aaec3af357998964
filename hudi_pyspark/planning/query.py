"""The kinds of queries: each knows its schema, file slices, tasks and explanation."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import ClassVar

import pyarrow as pa

from hudi_pyspark.cached_property import cached_property
from hudi_pyspark.errors import CorruptTimelineError, HudiError, UnsupportedQueryError
from hudi_pyspark.filter.predicate import Predicate, top_level_columns
from hudi_pyspark.format.timeline.instant import RequestedTime
from hudi_pyspark.messages import warn
from hudi_pyspark.options.instant_text import local_now
from hudi_pyspark.options.option import CdcFormat, OnMissing, QueryType
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
from hudi_pyspark.table.file_group import FileSlice
from hudi_pyspark.table.lost_commits import find_loss
from hudi_pyspark.table.schema import commits_hiding_columns
from hudi_pyspark.table.view import TableView
from hudi_pyspark.tasks import (
    BOTH_IMAGES,
    CHANGELOG_COLUMNS,
    CommitRange,
    ScanTask,
    data_columns,
)


def resolve_query(view: TableView, options: ReadOptions) -> Query:
    """Return the query that options ask for, with its instants resolved on the timeline.

    Raises:
        InvalidInstantError: an instant is not one, or a range ends before it begins.
        TimeTravelError: the state at ``as_of`` is not known.
        IncrementalRangeError: commits of the range are archived or pending.
        UnsupportedTableError: the table cannot answer queries of ranges, or logs no changes.
    """
    if options.incremental is None:
        as_of = None
        if options.as_of is not None:
            as_of = resolve_as_of(options.as_of, view, local_now())
            check_first_commit(as_of, view, fails=options.fails_on_missing)
        return SnapshotQuery(view, as_of, options.query_type is QueryType.READ_OPTIMIZED)
    ends = options.incremental.begin, options.incremental.end
    begin, end = (resolve_range_end(text, view) for text in ends)
    incremental = replace(options.incremental, begin=begin, end=end)
    if incremental.cdc:
        by_completion = incremental.by_offset and view.config.has_completion_times
        requested = RequestedRange(view, incremental, by_completion)
        check_changes(requested)
        return ChangesQuery(view, requested)
    requested = RequestedRange.of_rows(view, incremental)
    return RangeQuery(view, requested, requested.resolve())


def check_lost_commits(query: Query, planner: TablePlanner) -> None:
    """Warn of commits that the timeline has lost, or whose file is empty, or fail.

    Empty files of commits matter here if they hide columns. Ranges find those that hide rows.

    Raises:
        CorruptTimelineError: rows that a lost commit replaced would be in the answer; or commits
            are lost or hide columns, and ``on_missing=fail``.
    """
    options = planner.options
    incremental = options.incremental
    fails = incremental is not None and incremental.on_missing is OnMissing.FAIL
    fails = fails or options.fails_on_missing
    if hiding := commits_hiding_columns(query.view, query.schema_instant):
        time = max(hiding)
        error = CorruptTimelineError(
            hiding[time],
            f"the file of completed commit {time} is empty: columns that it added are missing",
        )
        if fails:
            raise error
        warn(f"{error.reason()} (on_missing=fail refuses)")
    recorded: Mapping[str, str] = {}
    with suppress(HudiError):  # no metadata table, or one that cannot be read
        recorded = planner.metadata().commits.lost if planner.metadata is not None else {}
    loss = find_loss(query.view, recorded, query.schema_instant)
    if loss is None:
        return
    if loss.repeats_rows or fails:
        raise loss.error()
    warn(loss.error(" (on_missing=fail refuses)").reason())


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
    def schema_instant(self) -> RequestedTime | None:
        return self.as_of

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

    def plan(self, planner: TablePlanner, result: pa.Schema, predicate: Predicate | None) -> Plan:
        slices = self.slices
        until = self.view.slices.last_instant if self.as_of is None else self.as_of
        requested = requested_keys(planner, predicate)
        query = SliceQuery(result, until, predicate, requested)
        slices, notes = prune_by_buckets(planner, slices, requested)
        if self.as_of is None:
            by_key = not self.read_optimized
            slices, index_notes = prune_by_indexes(planner, slices, query, by_key=by_key)
            notes = [*notes, *index_notes]
        tasks = planner.tasks(slices, query)
        return Plan(self, planner, result.names, predicate, tasks, notes)

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
    def schema_instant(self) -> RequestedTime | None:
        commits = self.commit_range.commits
        return commits[-1] if self.requested.options.use_end_schema and commits else None

    @property
    def end(self) -> str:
        return self.requested.end_of_read(self.commit_range.begin, self.commit_range.end)

    @property
    def slices(self) -> Sequence[FileSlice]:
        return self._range_and_slices[1]

    def plan(self, planner: TablePlanner, result: pa.Schema, predicate: Predicate | None) -> Plan:
        commit_range, slices = self._range_and_slices
        until = self.view.slices.last_instant
        if commit_range.commits and not commit_range.full_scan:
            until = self.requested.last_commit(commit_range)
        whole_slices = self._whole_slices(commit_range, slices)
        requested = requested_keys(planner, predicate)
        query = SliceQuery(result, until, predicate, requested, commit_range, whole_slices)
        tasks = planner.tasks(slices, query)
        return Plan(self, planner, result.names, predicate, tasks)

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

    def answer_schema(self, table_schema: pa.Schema) -> pa.Schema:
        """Return the columns of the changes.

        Raises:
            UnsupportedTableError: as `changes_schema`.
        """
        return changes_schema(table_schema, self.requested.options.cdc_format)

    def plan(self, planner: TablePlanner, result: pa.Schema, predicate: Predicate | None) -> Plan:
        schema = planner.table_schema

        def plan_whole(slices: Sequence[FileSlice], until: str) -> list[ScanTask]:
            query = SliceQuery(schema, until, partition_values_from_files=True)
            return planner.tasks(slices, query)

        settings = read_settings(planner.options)
        names = {*result.names, *top_level_columns(predicate, self.answer_schema(schema))}
        # Images take most of the time, and a count needs none of them.
        shown = BOTH_IMAGES & names
        tasks = plan_changes(self.requested, schema, plan_whole)
        if self.requested.options.cdc_format is CdcFormat.CHANGELOG:
            images = pa.schema([field for field in data_columns(schema) if field.name in names])
            answer = pa.schema([*images, *CHANGELOG_COLUMNS])
            shown = BOTH_IMAGES if images.names else frozenset()
            tasks = [replace(task, images=images, answer=answer) for task in tasks]
        tasks = [replace(t, predicate=predicate, settings=settings, shown=shown) for t in tasks]
        return Plan(self, planner, result.names, predicate, tasks)
