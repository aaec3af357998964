"""The kinds of queries: each knows its schema, file slices, tasks and explanation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar

import pyarrow as pa

from hudi_pyspark.cached_property import cached_property
from hudi_pyspark.errors import (
    CorruptTimelineError,
    HudiError,
    TimeTravelError,
    UnsupportedQueryError,
)
from hudi_pyspark.filter.predicate import Predicate, top_level_columns
from hudi_pyspark.messages import warn
from hudi_pyspark.options.instant_text import local_now, resolve_as_of
from hudi_pyspark.options.option import CdcFormat, OnMissing, QueryType
from hudi_pyspark.options.read_options import ReadOptions
from hudi_pyspark.planning.changes import check_changes, plan_changes
from hudi_pyspark.planning.commit_range import AskedRange, end_of_state
from hudi_pyspark.planning.slice_tasks import SlicePlanner, plan, read_settings
from hudi_pyspark.table.file_group import FileSlice
from hudi_pyspark.table.listing import PartitionChoice
from hudi_pyspark.table.view import TableView
from hudi_pyspark.tasks import CommitRange, ReadTask, ScanTask, cdc_schema


@dataclass(frozen=True, slots=True)
class Plan:
    """The tasks of a query, and what is to be said about them."""

    tasks: Sequence[ReadTask]
    notes: Sequence[str] = ()  # what each index did to the file slices


@dataclass(frozen=True, eq=False)
class Query(ABC):
    """What a scan reads of a table; files are listed when its slices or tasks are asked for."""

    view: TableView
    choice: PartitionChoice | None = field(default=None, kw_only=True)  # partitions; None: all
    is_ordered: ClassVar[bool] = False  # the order of the tasks is that of the answer

    def choosing(self, choice: PartitionChoice | None) -> Query:
        """Return the same query of some partitions only; changes do not depend on them."""
        # The same object keeps the slices that it has found.
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
        """Which instants the answer covers, in words; "" if its tasks decide."""
        return ""

    @property
    @abstractmethod
    def end(self) -> str:
        """The begin with which the next query of a range goes on; see `Scan.end`."""

    def answer_schema(self, table_schema: pa.Schema) -> pa.Schema:
        """Return all columns that the answer may have."""
        return table_schema

    @abstractmethod
    def plan(self, planner: SlicePlanner, result: pa.Schema, predicate: Predicate | None) -> Plan:
        """Plan the query; changes ignore ``result`` and have all of their columns."""


def resolve_query(view: TableView, options: ReadOptions) -> Query:
    """Resolve instants and ranges on the table's timeline."""
    if options.incremental is None:
        as_of = None
        if options.as_of is not None:
            as_of = resolve_as_of(options.as_of, view, local_now())
            check_first_commit(as_of, view, fails=options.fails_on_missing)
        return SnapshotQuery(view, as_of, options.query_type is QueryType.READ_OPTIMIZED)
    if options.incremental.cdc:
        by_completion = options.incremental.by_offset and view.config.has_completion_times
        asked = AskedRange(view, options.incremental, by_completion)
        check_changes(asked)
        return ChangesQuery(view, asked)
    asked = AskedRange.of_rows(view, options.incremental)
    return RangeQuery(view, asked, asked.resolve())


def check_first_commit(as_of: str, view: TableView, *, fails: bool) -> None:
    """Warn of an instant at which the table had no commit, or refuse it.

    Raises:
        TimeTravelError: `fails` is set.
    """
    first = view.commits[0].requested_time if view.commits else as_of
    # The archive is looked at only where the active timeline begins later.
    if as_of >= first or view.history.instant_before(f"{as_of}~"):
        return
    message = f"as.of.instant {as_of} is before {first}, the first commit of the table"
    if fails:
        raise TimeTravelError(f"{message}. Ask for that instant or a later one")
    warn(f"{message}: no rows (on_missing=fail refuses)", stacklevel=2)


def check_lost_commits(query: Query, planner: SlicePlanner) -> None:
    """Warn of commits that the timeline has lost, by what the plan of a query has read anyway.

    Raises:
        CorruptTimelineError: the query is to fail where something is missing.
    """
    options, view = planner.options, query.view
    lost = dict.fromkeys(view.groups.lost_commits(), "later commits built on its files")
    with suppress(HudiError):  # no metadata table, or one that cannot be read
        recorded = planner.metadata().lost_commits if planner.metadata is not None else ()
        lost |= dict.fromkeys(recorded, "the metadata table has it")
    as_of = query.schema_instant
    time = min((time for time in lost if as_of is None or time <= as_of), default="")
    if time:
        problem = f"it has no completed commit {time}, although {lost[time]}: its rows are missing"
    elif not view.timeline.instants and view.groups.has_data_files():
        problem = "it is empty, although the table has data files: their rows are missing"
    else:
        return
    problem += ". Keep writers and cleaners from the table, which would remove the files for good"
    folder, incremental = view.storage.describe(view.config.timeline_folder), options.incremental
    if options.fails_on_missing or (incremental and incremental.on_missing is OnMissing.FAIL):
        raise CorruptTimelineError(folder, problem)
    error = CorruptTimelineError(folder, f"{problem} (on_missing=fail refuses)")
    warn(error.reason(), stacklevel=2)


@dataclass(frozen=True, eq=False)
class SnapshotQuery(Query):
    """The rows of a table as of an instant, or those of its base files alone."""

    as_of: str | None  # None for the latest
    read_optimized: bool

    @property
    def title(self) -> str:
        kind = QueryType.READ_OPTIMIZED if self.read_optimized else QueryType.SNAPSHOT
        when = f" as of {self.as_of}" if self.as_of else ""
        return f"{kind.value} of {self.view.storage.describe('')}{when}"

    @property
    def schema_instant(self) -> str | None:
        return self.as_of

    @property
    def end(self) -> str:
        if self.read_optimized:
            raise UnsupportedQueryError(
                "a read-optimized query has no end: it lacks the records of log files, which a "
                "query that goes on from there would miss. Read a snapshot first"
            )
        return end_of_state(self.view, self.as_of)

    @cached_property
    def slices(self) -> Sequence[FileSlice]:
        return self.view.slices.as_of(
            self.as_of, read_optimized=self.read_optimized, choice=self.choice
        )

    def plan(self, planner: SlicePlanner, result: pa.Schema, predicate: Predicate | None) -> Plan:
        until = self.as_of if self.as_of is not None else self.view.last_instant
        slices: Sequence[FileSlice] = self.slices
        notes: Sequence[str] = ()
        if self.as_of is None:
            slices, notes = planner.pruned(slices, predicate, by_key=not self.read_optimized)
        slices = planner.with_sources(slices)
        tasks = plan(slices, planner.context, result=result, until=until, predicate=predicate)
        return Plan(tasks, notes)

    @property
    def instants(self) -> str:
        if self.as_of:
            return f"up to {self.as_of}, inclusive (requested times)"
        last = self.view.last_instant
        return f"latest, {last}" if last else "no commit yet"


@dataclass(frozen=True, eq=False)
class RangeQuery(Query):
    """The rows that a range of commits wrote."""

    asked: AskedRange
    commit_range: CommitRange  # as it is known before files are listed

    @property
    def schema_instant(self) -> str | None:
        commits = self.commit_range.commits
        return commits[-1] if self.asked.options.use_end_schema and commits else None

    @property
    def end(self) -> str:
        return self.asked.end_of_read(self.commit_range.begin, self.commit_range.end)

    @property
    def slices(self) -> Sequence[FileSlice]:
        return self._range_and_slices[1]

    def plan(self, planner: SlicePlanner, result: pa.Schema, predicate: Predicate | None) -> Plan:
        commit_range, slices = self._range_and_slices
        reads_range = bool(commit_range.commits) and not commit_range.full_scan
        tasks = plan(
            planner.with_sources(slices),
            planner.context,
            result=result,
            until=self.asked.last_commit(commit_range) if reads_range else self.view.last_instant,
            commit_range=commit_range,
            predicate=predicate,
            whole_slices=self._whole_slices(commit_range, slices),
        )
        return Plan(tasks)

    @property
    def instants(self) -> str:
        return str(self._range_and_slices[0])

    @cached_property
    def _range_and_slices(self) -> tuple[CommitRange, Sequence[FileSlice]]:
        return self.asked.slices(self.commit_range, self.choice)

    def _whole_slices(
        self, commit_range: CommitRange, slices: Sequence[FileSlice]
    ) -> Mapping[tuple[str, str], FileSlice]:
        """Return the whole slices on top of which the range's log files may be.

        Log files of one commit may have partial updates: those of tables from version 8 on, also
        after a downgrade.
        """
        with_logs = [s for s in slices if any(log.is_of_one_commit for log in s.log_files)]
        if not self.view.config.is_merge_on_read or not with_logs:
            return {}
        whole = self.asked.slices_at_end(commit_range, with_logs)
        return {(s.partition_path, s.file_id): s for s in whole}


@dataclass(frozen=True, eq=False)
class ChangesQuery(Query):
    """The changes of a range of commits, each with the images of its row (CDC)."""

    asked: AskedRange
    is_ordered: ClassVar[bool] = True

    @property
    def end(self) -> str:
        return self.asked.end_of_read(self.asked.options.begin, self.asked.options.end)

    def answer_schema(self, table_schema: pa.Schema) -> pa.Schema:
        return cdc_schema(table_schema, as_struct=self.asked.options.cdc_format is CdcFormat.STRUCT)

    def plan(self, planner: SlicePlanner, result: pa.Schema, predicate: Predicate | None) -> Plan:
        def plan_whole(slices: Sequence[FileSlice], until: str) -> list[ScanTask]:
            slices, context = planner.with_sources(slices), planner.context
            return plan(slices, context, result=schema, until=until, from_files=True)

        schema = planner.table_schema
        tasks = plan_changes(self.asked, schema, plan_whole)
        settings = read_settings(planner.options)
        compared = top_level_columns(predicate, self.answer_schema(schema))
        # Images cost most of the time, and a count needs none of them.
        shown = frozenset({"before", "after"} & {*result.names, *compared})
        shared = partial(replace, predicate=predicate, settings=settings, shown=shown)
        return Plan(list(map(shared, tasks)))
