"""Commit ranges: the commits of an incremental query, and the file slices that they wrote."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hudi_pyspark import errors
from hudi_pyspark.cached_property import PickledWithoutCache, cached_property
from hudi_pyspark.format.timeline.instant import COMMIT_ACTIONS, Action
from hudi_pyspark.messages import logger, warn
from hudi_pyspark.options.option import HollowCommits, OnMissing, RangeMerge
from hudi_pyspark.planning.stream_offsets import FIRST_OFFSET, LAST_OFFSET
from hudi_pyspark.table.commit_slices import commits_without_files, slices_of_groups, written_slices
from hudi_pyspark.table.config import has_completion_times
from hudi_pyspark.table.timeline import compared_times
from hudi_pyspark.tasks import CommitRange

if TYPE_CHECKING:
    from hudi_pyspark.options.read_options import IncrementalOptions
    from hudi_pyspark.table.file_group import FileSlice
    from hudi_pyspark.table.listing import PartitionChoice
    from hudi_pyspark.table.view import TableView

_log = logger(__name__)


@dataclass(frozen=True)
class AskedRange(PickledWithoutCache):
    """The range that a query asks for, on the timeline of a table.

    Begin is exclusive and end inclusive. For rows they are compared with completion times from
    table version 8 on, and with requested times before.
    """

    view: TableView
    options: IncrementalOptions
    by_completion: bool  # what begin and end are compared with

    @classmethod
    def of_rows(cls, view: TableView, options: IncrementalOptions) -> AskedRange:
        version = options.table_version or view.config.version
        return cls(view, options, has_completion_times(version))

    @cached_property
    def times(self) -> dict[str, str]:
        """Requested time of each completed commit to the time that the range compares."""
        return compared_times(self.view.commits, by_completion=self.by_completion)

    @cached_property
    def end(self) -> str:
        """The end that is asked for; by default that of the last commit, "" without one."""
        return self.options.end or max(self.times.values(), default="")

    def resolve(self) -> CommitRange:
        """Resolve the commits that an incremental query covers; they must be known and complete.

        Raises:
            UnsupportedTableError: the table's rows do not name their commits.
            InvalidInstantError: the range ends before it begins.
            IncrementalRangeError: commits of the range are archived or pending, and the options ask
                for an error then.
        """
        if not self.view.config.populate_meta_fields:
            raise errors.UnsupportedTableError(
                "incremental queries need the column _hoodie_commit_time, which the table does not "
                "have (hoodie.populate.meta.fields=false)"
            )
        self.check_bounds()
        begin = self.options.begin
        end = self.end if self.by_completion else self.end_before_hollow_commits()
        commits = self._without_skipped([t for t, at in self.times.items() if begin < at <= end])
        commit_range = CommitRange(begin, end, self.by_completion, tuple(sorted(commits)), "")
        archived = self.archived(end)
        if not archived:
            return commit_range
        reason = f"commit {min(archived)} of the range is archived"
        answerable = self._answerable(commit_range, reason, archived)
        if answerable.full_scan:
            return replace(answerable, commits=tuple(sorted({*commits, *archived})))
        return answerable

    def check_bounds(self) -> None:
        """Refuse a range that ends before it begins, and warn of one that begins after all commits.

        Raises:
            InvalidInstantError: the begin is after the end.
            IncrementalRangeError: it is after the last commit, and ``on_missing=fail``.
        """
        begin, end = self.options.begin, self.options.end
        last = max(self.times.values(), default="")
        if end and begin > end:
            raise errors.InvalidInstantError(f"the range begins at {begin}, after its end {end}")
        if last and last < begin != LAST_OFFSET:
            message = f"the range begins at {begin}, after the last commit of the table, {last}"
            if self.options.on_missing is OnMissing.FAIL:
                raise errors.IncrementalRangeError(f"{message}: begin there, or earlier")
            text = f"{message}: no rows (on_missing=fail refuses)"
            warn(text, stacklevel=3)

    def slices(
        self, commit_range: CommitRange, choice: PartitionChoice | None = None
    ) -> tuple[CommitRange, list[FileSlice]]:
        """Return the effective commit range, and the slices to read for it.

        Slices are made only of the files that the range's commits wrote. If such a file is gone,
        the latest slices are read instead, with a warning: they hold the rows whose present version
        was written in the range. The returned range says so.

        Raises:
            IncrementalRangeError: files are gone, and the query must not fall back
                (``on_missing=fail``).
        """
        slices: list[FileSlice] = []
        while commit_range.commits and not commit_range.full_scan:
            try:
                slices = written_slices(self.view, commit_range.commits)
                if self.options.range_merge is RangeMerge.TABLE:
                    commit_range, slices = self._checked_slices(commit_range, slices)
                break
            except errors.MissingFileError:
                lost = commits_without_files(self.view, commit_range.commits)
                reason = f"a file that commit {min(lost)} wrote is gone"
                incomplete = {time: self.times[time] for time in lost}
                commit_range = self._answerable(commit_range, reason, incomplete)
        if commit_range.full_scan:
            slices = self.view.slices.as_of(choice=choice)
        self._announce(commit_range)
        return commit_range, [s for s in slices if self.matches_glob(f.path for f in s.files)]

    def slices_at_end(
        self, commit_range: CommitRange, slices: Sequence[FileSlice], *, check_files: bool = False
    ) -> list[FileSlice]:
        """Return the slices of the same file groups as the table had them at the end of a range."""
        return slices_of_groups(
            self.view,
            {(s.partition_path, s.file_id) for s in slices},
            self.last_commit(commit_range),
            replaced_until=max(commit_range.commits, default=""),
            completed_by=commit_range.end if self.by_completion else "",
            check_files=check_files,
        )

    def last_commit(self, commit_range: CommitRange) -> str:
        """Return the newest requested time of the commits that a range's end includes."""
        return max((t for t, at in self.times.items() if at <= commit_range.end), default="")

    def archived(self, end: str) -> dict[str, str]:
        """Map each archived commit of the range, up to an end, to the time that it compares."""
        begin, history = self.options.begin, self.view.history
        first = history.committed.first
        if first and begin >= self.times[first]:
            return {}
        # None completes before it is requested.
        archived = history.archived_between("" if self.by_completion else begin, end)
        commits = (a for a in archived if a.action in COMMIT_ACTIONS)
        times = compared_times(commits, by_completion=self.by_completion)
        return {t: at for t, at in times.items() if begin < at <= end and t not in self.times}

    def end_before_hollow_commits(self) -> str:
        """Return the end of a range of requested times, inside which pending commits may complete.

        The options say what a query does about pending commits with completed ones behind them.
        ``block`` ends before the first one, ``use_transition_time`` reads on.

        Raises:
            IncrementalRangeError: such a commit lies in the range, and the policy is ``fail``.
        """
        begin, policy = self.options.begin, self.options.hollow_commits
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
        """Return the end of a read of a commit range: its last commit, or its begin if it has none.

        Args:
            begin: exclusive; the end is never before it.
            end: inclusive; "" for the latest commit. A later commit may still complete before an
                end that lies behind the last one, which the next query must not miss.
        """
        beyond = [at for at in self.times.values() if end and at > end]
        last = _last_before(self.view, self.times, beyond, by_completion=self.by_completion)
        return max(begin, last)

    def matches_glob(self, paths: Iterable[str]) -> bool:
        """Return whether one of the files has a full path that ends like the glob of the options.

        Without a glob, all do.
        """
        describe, glob = self.view.storage.describe, self.options.incremental_path_glob
        return not glob or any(fnmatch.fnmatchcase(describe(path), f"*{glob}") for path in paths)

    def _checked_slices(
        self, commit_range: CommitRange, slices: Sequence[FileSlice]
    ) -> tuple[CommitRange, list[FileSlice]]:
        """Return the slices at its end, or a commit range that falls back: files are gone."""
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
        """Log the range, and warn if the answer differs from that of the range's own files."""
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
        if left_out := self._left_out(commit_range):
            differences.append(
                f"it leaves out delta commits, the last of them {left_out[-1]}, since the table "
                "has become COPY_ON_WRITE, as Apache Hudi does. Begin there, or read a snapshot"
            )
        for difference in differences:
            text = f"incremental query of {commit_range.bounds}: {difference}"
            warn(text, stacklevel=3)

    def _left_out(self, commit_range: CommitRange) -> list[str]:
        """Return the range's delta commits that do not count: the table is COPY_ON_WRITE now."""
        if self.view.config.is_merge_on_read:
            return []
        begin, end = commit_range.begin, commit_range.end or "~"
        deltas = self.view.timeline.of_action(Action.DELTA_COMMIT)
        completed = (i for i in deltas if i.is_completed)
        times = compared_times(completed, by_completion=self.by_completion)
        return [time for time, at in times.items() if begin < at <= end]

    def _answerable(
        self, commit_range: CommitRange, reason: str, missing: Mapping[str, str]
    ) -> CommitRange:
        """Return the effective commit range where some of its commits, or their files, are gone."""
        if self.options.on_missing is OnMissing.FULL_SCAN:
            return replace(commit_range, full_scan=reason)
        last_missing = max(missing.values())
        later = tuple(t for t in commit_range.commits if self.times[t] > last_missing)
        if self.options.on_missing is OnMissing.EARLIEST:
            moved = commit_range.moved or reason
            return replace(commit_range, begin=last_missing, commits=later, moved=moved)
        incomplete = commits_without_files(self.view, later) if later else ()
        earliest = max((self.times[t] for t in incomplete), default=last_missing)
        raise errors.IncrementalRangeError(
            f"the range can no longer be answered commit by commit: {reason}. The first commit "
            f"that is gone is {min(missing)}; the earliest begin that still works is {earliest}. "
            "Begin there (on_missing=earliest does), or read the rows whose present version lies "
            "in the range with on_missing=full_scan"
        )

    def _without_skipped(self, times: Sequence[str]) -> list[str]:
        history = self.view.history
        commits = {c.requested_time: c for c in self.view.commits}
        kept = list(times)
        if self.options.skip_compaction and self.view.config.is_merge_on_read:
            # Also the first bulk insert of a table, whose action is commit too, as in Apache Hudi.
            kept = [t for t in kept if commits[t].action is not Action.COMMIT]
        if self.options.skip_clustering:
            kept = [t for t in kept if not history.is_clustering(commits[t])]
        return kept


def end_of_state(view: TableView, as_of: str | None) -> str:
    """Return the end of a read of a whole state: of the latest one, or as of a requested time.

    The next incremental query begins there. It is the last time that such queries compare before
    which the state lacks no commit. Before table version 8, that is before the first pending
    commit, so the next query may return rows of commits that the state has already, but misses
    none.
    """
    by_completion = view.config.has_completion_times
    times = compared_times(view.commits, by_completion=by_completion)
    lacking = [at for time, at in times.items() if as_of is not None and time > as_of]
    return _last_before(view, times, lacking, by_completion=by_completion)


def _last_before(
    view: TableView, times: Mapping[str, str], lacking: list[str], *, by_completion: bool
) -> str:
    """Return the last time of commits before those that are lacking or, if these count, pending."""
    pending = None if by_completion else view.history.first_incomplete_commit()
    limits = [*lacking, *([pending.requested_time] if pending is not None else [])]
    limit = min(limits, default=None)
    known = [at for at in times.values() if limit is None or at < limit]
    return max(known, default=FIRST_OFFSET)
