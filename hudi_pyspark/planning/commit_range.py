"""The commits of an incremental query, and the file slices that they wrote."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hudi_pyspark import errors
from hudi_pyspark.cached_property import PickledWithoutCache, cached_property
from hudi_pyspark.format.timeline.instant import (
    COMMIT_ACTIONS,
    FIRST_OFFSET,
    LAST_OFFSET,
    Action,
    ComparedTime,
    CompletionTime,
    Instant,
    RequestedTime,
)
from hudi_pyspark.messages import logger, warn
from hudi_pyspark.options.instant_text import local_now, present_instant
from hudi_pyspark.options.option import HollowCommits, OnMissing, RangeMerge
from hudi_pyspark.options.read_options import IncrementalOptions
from hudi_pyspark.table.config import FIRST_WITH_COMPLETION_TIMES
from hudi_pyspark.table.file_group import FileSlice
from hudi_pyspark.table.listing import PartitionChoice
from hudi_pyspark.table.timeline import completion_times
from hudi_pyspark.tasks import CommitRange

if TYPE_CHECKING:
    from hudi_pyspark.table.view import TableView

_log = logger(__name__)


@dataclass(frozen=True)
class RequestedRange(PickledWithoutCache):
    """The range that a query asks for, on the timeline of a table.

    The begin is exclusive, the end inclusive. Both are either completion times or requested times.
    """

    view: TableView
    options: IncrementalOptions
    by_completion: bool  # begin and end are completion times, not requested times

    @classmethod
    def of_rows(cls, view: TableView, options: IncrementalOptions) -> RequestedRange:
        """Return the range of an incremental query: of completion times from table version 8 on."""
        version = options.table_version or view.config.version
        return cls(view, options, version >= FIRST_WITH_COMPLETION_TIMES)

    @cached_property
    def times(self) -> dict[RequestedTime, ComparedTime]:
        """The time that the range compares, by the requested time of each completed commit."""
        return _compared_times(self.view.history.commits, by_completion=self.by_completion)

    @cached_property
    def end(self) -> str:
        """The requested end; by default the last commit, and "" if there is no commit."""
        return self.options.end or max(self.times.values(), default="")

    def resolve(self) -> CommitRange:
        """Find the completed commits that an incremental query covers.

        Raises:
            UnsupportedTableError: the table's rows do not name their commits.
            InvalidInstantError: the range ends before it begins.
            IncrementalRangeError: commits of the range are archived or pending, and the options
                refuse that.
        """
        config = self.view.config
        if not config.has_commit_times:
            mode = config.meta_fields_mode
            given = f", hoodie.meta.fields.mode={mode}" if mode != "NONE" else ""
            raise errors.UnsupportedTableError(
                "incremental queries need the column _hoodie_commit_time, which the table does not "
                f"have (hoodie.populate.meta.fields=false{given})"
            )
        self.check_bounds()
        begin = self.options.begin
        end = self.end if self.by_completion else self.end_before_hollow_commits()
        in_range = [
            c for c in self.view.history.commits if begin < self.times[c.requested_time] <= end
        ]
        commits = sorted(c.requested_time for c in in_range if self._counts(c))
        commit_range = CommitRange(begin, end, self.by_completion, tuple(commits), "")
        return self._without_archived(commit_range, self.archived(end))

    def check_bounds(self) -> None:
        """Refuse a range that ends before it begins, and warn if it begins in the future.

        A range without new commits is usual: a job may run more often than writers write.

        Raises:
            InvalidInstantError: the begin is after the end.
            IncrementalRangeError: the begin is after the last commit, and ``on_missing=fail``.
        """
        begin, end = self.options.begin, self.options.end
        last = max(self.times.values(), default="")
        if end and begin > end:
            raise errors.InvalidInstantError(
                f"the range begins at {begin}, after its end {end}",
                advice="Give an earlier begin, or leave out the end to read to the latest commit",
            )
        if last and last < begin != LAST_OFFSET:
            message = f"the range begins at {begin}, after the last commit of the table, {last}"
            if self.options.on_missing is OnMissing.FAIL:
                raise errors.IncrementalRangeError(f"{message}: begin there, or earlier")
            if begin > present_instant(self.view.config, local_now()):
                warn(f"{message}, and in the future: no rows (on_missing=fail refuses)")
            _log.info("%s: no rows", message)

    def slices(
        self, commit_range: CommitRange, choice: PartitionChoice | None = None
    ) -> tuple[CommitRange, list[FileSlice]]:
        """Return the commit range that can be answered, and the slices to read for it.

        The slices consist of the files that the range's commits wrote. If one of the files is gone,
        or the file of a commit is empty, and the options allow a full scan, the latest slices are
        returned instead, with a warning. They have the rows whose present version was written in
        the range.

        Args:
            commit_range: as `resolve` returns it.
            choice: of the partitions to list; None for all. Only a full scan lists partitions.

        Raises:
            IncrementalRangeError: files are gone or empty, and ``on_missing=fail``.
        """
        slices: list[FileSlice] = []
        commit_range = self._without_empty_commits(commit_range)
        if not commit_range.full_scan:
            archived = self.archived_in_gap(
                commit_range.commits, commit_range.begin, commit_range.end
            )
            commit_range = self._without_archived(commit_range, archived)
        while commit_range.commits and not commit_range.full_scan:
            try:
                slices = self.view.slices.written_by(commit_range.commits)
                if self.options.range_merge is RangeMerge.TABLE:
                    commit_range, slices = self._checked_slices(commit_range, slices)
                break
            except errors.MissingFileError:
                lost = self.view.slices.commits_without_files(commit_range.commits)
                reason = f"a file that commit {min(lost)} wrote is gone"
                incomplete = {time: at for time, at in self.times.items() if time in lost}
                commit_range = self._answerable(commit_range, reason, incomplete)
        if commit_range.full_scan:
            slices = self.view.slices.as_of(choice=choice)
        self._announce(commit_range)
        return commit_range, [s for s in slices if self.matches_glob(f.path for f in s.files)]

    def _without_empty_commits(self, commit_range: CommitRange) -> CommitRange:
        """Return the part of a commit range whose commits say what they wrote.

        Raises:
            IncrementalRangeError: a commit does not, and ``on_missing=fail``.
        """
        if commit_range.full_scan:
            return commit_range
        empty = self.view.history.empty_commits(commit_range.commits)
        if not empty:
            return commit_range
        times = {time: at for time, at in self.times.items() if time in empty}
        return self._answerable(commit_range, unknown_writes(empty), times)

    def slices_at_end(
        self, commit_range: CommitRange, slices: Sequence[FileSlice], *, check_files: bool = False
    ) -> list[FileSlice]:
        """Return the slices of the same file groups as they were at the end of a range.

        Raises:
            MissingFileError: one of their files is gone, and ``check_files`` is set.
        """
        return self.view.slices.of_groups(
            {(s.partition_path, s.file_id) for s in slices},
            self.last_commit(commit_range),
            replaced_until=max(commit_range.commits, default=""),
            completed_by=CompletionTime(commit_range.end) if self.by_completion else None,
            check_files=check_files,
        )

    def last_commit(self, commit_range: CommitRange) -> str:
        """Return the newest requested time of the commits up to the end of a range; "" for none."""
        return max((t for t, at in self.times.items() if at <= commit_range.end), default="")

    def archived(self, end: str) -> dict[RequestedTime, ComparedTime]:
        """Return the time that the range compares, by requested time of its archived commits.

        Empty if the range begins on the active timeline; see `archived_in_gap`.
        """
        begin = self.options.begin
        first = self.view.history.committed.first
        if first and begin >= self.times[RequestedTime(first)]:
            return {}
        return self._archived_between(begin, end)

    def _archived_between(self, begin: str, end: str) -> dict[RequestedTime, ComparedTime]:
        # An instant never completes before it is requested.
        since = "" if self.by_completion else begin
        archived = self.view.history.archived_between(since, end)
        commits = (a for a in archived if a.action in COMMIT_ACTIONS)
        times = _compared_times(commits, by_completion=self.by_completion)
        return {t: at for t, at in times.items() if begin < at <= end and t not in self.times}

    def archived_in_gap(
        self, commits: Iterable[RequestedTime], begin: str, end: str
    ) -> dict[RequestedTime, ComparedTime]:
        """Return what `archived` does if active commits show that some between them are archived.

        Reads what the commits wrote, so it is asked only when files are planned.
        """
        history = self.view.history
        if not history.shows_gap(history.metadata_of(commits).values()):
            return {}
        return self._archived_between(begin, end)

    def _without_archived(
        self, commit_range: CommitRange, archived: Mapping[RequestedTime, ComparedTime]
    ) -> CommitRange:
        """Return the part of a commit range that can be answered, given its archived commits.

        Raises:
            IncrementalRangeError: there are some, and ``on_missing=fail``.
        """
        if not archived:
            return commit_range
        reason = f"commit {min(archived)} of the range is archived"
        answerable = self._answerable(commit_range, reason, archived)
        if answerable.full_scan:
            commits = tuple(sorted({*commit_range.commits, *archived}))
            return replace(answerable, commits=commits)
        return answerable

    def end_before_hollow_commits(self) -> str:
        """Return where a range of requested times ends, given that pending commits may complete.

        A pending commit is hollow if later commits have completed. With ``hollow_commits=block``
        the range ends before the first hollow commit; ``use_transition_time`` reads on.

        Raises:
            IncrementalRangeError: the range has a hollow commit, and ``hollow_commits=fail``.
        """
        begin = self.options.begin
        policy = self.options.hollow_commits
        reads_on = policy is HollowCommits.USE_TRANSITION_TIME
        pending = None if reads_on else self.view.history.first_incomplete_commit()
        if pending is None or max(self.times, default="") < pending.requested_time:
            return self.end
        if policy is HollowCommits.BLOCK:
            last = max((t for t in self.times if t < pending.requested_time), default=begin)
            return min(self.end, last)
        if begin < pending.requested_time <= self.end:
            raise errors.IncrementalRangeError(
                f"{pending.action} {pending.requested_time} has not completed, but later commits "
                "have: this range and the next one would both miss it. Let the writer finish or "
                "roll back, or end the range before it (hollow_commits=block does)"
            )
        return self.end

    def end_of_read(self, begin: str, end: str) -> str:
        """Return the last commit of a range, where the next query begins; its begin if it has none.

        If the requested end is after the last commit, other commits may still complete before it,
        and the next query must not miss them.

        Args:
            begin: exclusive.
            end: inclusive; "" for the latest commit.
        """
        later = [at for at in self.times.values() if end and at > end]
        last = _last_before(self.view, self.times, later, by_completion=self.by_completion)
        return max(begin, last)

    def matches_glob(self, paths: Iterable[str]) -> bool:
        """Decide whether the full path of a file matches the glob of the options at its end.

        Without a glob, all files match.
        """
        describe = self.view.storage.describe
        glob = self.options.incremental_path_glob
        return not glob or any(fnmatch.fnmatchcase(describe(path), f"*{glob}") for path in paths)

    def _checked_slices(
        self, commit_range: CommitRange, slices: Sequence[FileSlice]
    ) -> tuple[CommitRange, list[FileSlice]]:
        """Return the slices at the end of the range; a range of a full scan if files are gone."""
        try:
            return commit_range, self.slices_at_end(commit_range, slices, check_files=True)
        except errors.MissingFileError as error:
            reason = "a file that the table had at the end of the range is gone"
            if self.options.on_missing is OnMissing.FULL_SCAN:
                return replace(commit_range, full_scan=reason), []
            raise errors.IncrementalRangeError(
                f"range_merge=table needs the whole file slices as of {commit_range.end}, but "
                f"{reason} ({error}). End the range later, merge within the range "
                "(range_merge=range), or read the rows whose present version lies in the range "
                "(on_missing=full_scan)"
            ) from error

    def _announce(self, commit_range: CommitRange) -> None:
        """Log the range, and warn if the answer is not simply what its commits wrote."""
        _log.info("incremental query of %s", commit_range)
        differences = []
        if commit_range.full_scan:
            differences.append(
                f"{commit_range.full_scan}. The latest rows that were written in the range are "
                "read instead, without versions in between and without rows deleted since "
                "(on_missing=fail refuses)"
            )
        if commit_range.moved:
            differences.append(
                f"it begins later than requested, since {commit_range.moved} (on_missing=fail "
                "refuses)"
            )
        if ignored := self._ignored_delta_commits(commit_range):
            differences.append(
                f"it leaves out delta commits, the last of them {ignored[-1]}, since the table "
                "has become COPY_ON_WRITE, where they do not count. Begin there, or read a snapshot"
            )
        for difference in differences:
            warn(f"incremental query of {commit_range.bounds}: {difference}")

    def _ignored_delta_commits(self, commit_range: CommitRange) -> list[RequestedTime]:
        """Return the delta commits of a COPY_ON_WRITE table in the range, which do not count."""
        if self.view.config.is_merge_on_read:
            return []
        begin = commit_range.begin
        end = commit_range.end or "~"
        deltas = self.view.timeline.of_action(Action.DELTA_COMMIT)
        completed = (i for i in deltas if i.is_completed)
        times = _compared_times(completed, by_completion=self.by_completion)
        return [time for time, at in times.items() if begin < at <= end]

    def _answerable(
        self, commit_range: CommitRange, reason: str, missing: Mapping[RequestedTime, ComparedTime]
    ) -> CommitRange:
        """Return the part of a commit range that can be answered if commits or files are gone.

        Args:
            commit_range: the whole range.
            reason: what is gone, in words.
            missing: the time that the range compares, by the requested time of commits that are
                gone or lack files.
        """
        if self.options.on_missing is OnMissing.FULL_SCAN:
            return replace(commit_range, full_scan=reason)
        last_missing = max(missing.values())
        later_commits = tuple(t for t in commit_range.commits if self.times[t] > last_missing)
        if self.options.on_missing is OnMissing.EARLIEST:
            moved = commit_range.moved or reason
            return replace(commit_range, begin=last_missing, commits=later_commits, moved=moved)
        incomplete = self.view.slices.commits_without_files(later_commits) if later_commits else ()
        lacking = (at for time, at in self.times.items() if time in incomplete)
        earliest = max(lacking, default=last_missing)
        raise errors.IncrementalRangeError(
            f"the range can no longer be answered commit by commit: {reason}. The first commit "
            f"that is gone is {min(missing)}; the earliest begin that still works is {earliest}. "
            "Begin there (on_missing=earliest does), or read the rows whose present version lies "
            "in the range with on_missing=full_scan"
        )

    def _counts(self, commit: Instant) -> bool:
        """Decide whether the options leave a commit in the range.

        As in Apache Hudi, a table's first bulk insert, whose action is commit, passes for a
        compaction.
        """
        is_compaction = commit.action is Action.COMMIT and self.view.config.is_merge_on_read
        if self.options.skip_compaction and is_compaction:
            return False
        return not (self.options.skip_clustering and self.view.history.is_clustering(commit))


def _compared_times(
    instants: Iterable[Instant], *, by_completion: bool
) -> dict[RequestedTime, ComparedTime]:
    """Map the requested times of completed instants to the times that a range compares."""
    if by_completion:
        return {**completion_times(instants)}
    return {instant.requested_time: instant.requested_time for instant in instants}


def unknown_writes(empty: Mapping[str, str]) -> str:
    """Say in words that nobody knows what commits wrote, given the places of their empty files."""
    time = min(empty)
    return (
        f"the file of completed commit {time} is empty, so nobody knows what it wrote (restore "
        f"{empty[time]} from a copy of the table)"
    )


def end_of_state(view: TableView, as_of: str | None) -> str:
    """Return the begin of the incremental query that continues a read of a whole state.

    It is the last commit before all commits that the state lacks. Before table version 8, it is
    also before the first pending commit: the next query may return rows that the state already
    has, but it misses none.

    Args:
        view: the table.
        as_of: requested time of the state, inclusive; None for the latest state.
    """
    by_completion = view.config.has_completion_times
    times = _compared_times(view.history.commits, by_completion=by_completion)
    later = [at for time, at in times.items() if as_of is not None and time > as_of]
    return _last_before(view, times, later, by_completion=by_completion)


def _last_before(
    view: TableView,
    times: Mapping[RequestedTime, ComparedTime],
    excluded: Sequence[ComparedTime],
    *,
    by_completion: bool,
) -> str:
    """Return the last of ``times`` before all excluded times and, of requested times, pending ones.

    `FIRST_OFFSET` if there is none.
    """
    pending = None if by_completion else view.history.first_incomplete_commit()
    limits = excluded if pending is None else [*excluded, pending.requested_time]
    limit = min(limits, default=None)
    return max((at for at in times.values() if limit is None or at < limit), default=FIRST_OFFSET)
