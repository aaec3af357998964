"""Commit ranges: the commits of an incremental query, and the file slices that they wrote."""

from __future__ import annotations

import fnmatch
import logging
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING

from hudi_pyspark import errors
from hudi_pyspark.format.timeline.instant import COMMIT_ACTIONS, Action
from hudi_pyspark.options.option import HollowCommits, OnMissing, RangeMerge
from hudi_pyspark.planning.stream_offsets import LAST_OFFSET
from hudi_pyspark.table.commit_slices import commits_without_files, slices_of_groups, written_slices
from hudi_pyspark.table.config import has_completion_times
from hudi_pyspark.tasks import CommitRange

if TYPE_CHECKING:
    from hudi_pyspark.options.read_options import IncrementalOptions
    from hudi_pyspark.table.file_group import FileSlice
    from hudi_pyspark.table.listing import PartitionChoice
    from hudi_pyspark.table.view import TableView

_log = logging.getLogger(__name__)


def resolve_range(view: TableView, options: IncrementalOptions) -> CommitRange:
    """Resolve the commits that an incremental query covers; they must be known and complete.

    Begin is exclusive and end inclusive. They are compared with completion times from table version
    8 on, and with requested times before.

    Raises:
        UnsupportedTableError: the table's rows do not name their commits.
        InvalidInstantError: the range ends before it begins.
        IncrementalRangeError: commits of the range are archived or pending, and the options ask for
            an error then.
    """
    if not view.config.populate_meta_fields:
        raise errors.UnsupportedTableError(
            "incremental queries need the column _hoodie_commit_time, which the table does not "
            "have (hoodie.populate.meta.fields=false)"
        )
    by_completion = has_completion_times(options.table_version or view.config.version)
    times = commit_times(view, by_completion=by_completion)
    check_bounds(options, times.values())
    end = options.end or max(times.values(), default="")
    if not by_completion:
        end = end_before_hollow_commits(view, options.begin, end, options.hollow_commits)
    commits = _without_skipped(
        view, [t for t, at in times.items() if options.begin < at <= end], options
    )
    commit_range = CommitRange(options.begin, end, by_completion, tuple(sorted(commits)), "")
    archived = archived_commits(view, options.begin, end, by_completion=by_completion)
    if not archived:
        return commit_range
    reason = f"commit {min(archived)} of the range is archived"
    answerable = _answerable(view, commit_range, options, reason, archived)
    if answerable.full_scan:
        return replace(answerable, commits=tuple(sorted({*commits, *archived})))
    return answerable


def check_bounds(options: IncrementalOptions, times: Iterable[str]) -> None:
    """Refuse a range that ends before it begins, and warn of one that begins after all commits.

    Args:
        options: the range.
        times: those of the table's commits that ranges compare.

    Raises:
        InvalidInstantError: the begin is after the end.
        IncrementalRangeError: it is after the last commit, and ``on_missing=fail``.
    """
    begin, last = options.begin, max(times, default="")
    if options.end and begin > options.end:
        raise errors.InvalidInstantError(
            f"the range begins at {begin}, after its end {options.end}"
        )
    if last and last < begin != LAST_OFFSET:
        message = f"the range begins at {begin}, after the last commit of the table, {last}"
        if options.on_missing is OnMissing.FAIL:
            raise errors.IncrementalRangeError(f"{message}: begin there, or earlier")
        warnings.warn(f"{message}: no rows (on_missing=fail refuses)", UserWarning, stacklevel=3)


def range_slices(
    view: TableView,
    commit_range: CommitRange,
    options: IncrementalOptions,
    choice: PartitionChoice | None = None,
) -> tuple[CommitRange, list[FileSlice]]:
    """Return the effective commit range, and the slices to read for it.

    Slices are made only of the files that the range's commits wrote. If such a file is gone, the
    latest slices are read instead, with a warning: they hold the rows whose present version was
    written in the range. The returned range says so.

    Raises:
        IncrementalRangeError: files are gone, and the query must not fall back
            (``on_missing=fail``).
    """
    slices: list[FileSlice] = []
    while commit_range.commits and not commit_range.full_scan:
        try:
            slices = written_slices(view, commit_range.commits)
            if options.range_merge is RangeMerge.TABLE:
                commit_range, slices = _checked_slices(view, commit_range, options, slices)
            break
        except errors.MissingFileError:
            times = commit_times(view, by_completion=commit_range.by_completion_time)
            incomplete = {t: times[t] for t in commits_without_files(view, commit_range.commits)}
            reason = f"a file that commit {min(incomplete)} wrote is gone"
            commit_range = _answerable(view, commit_range, options, reason, incomplete)
    if commit_range.full_scan:
        slices = view.slices.as_of(choice=choice)
    _announce(view, commit_range)
    glob = options.incremental_path_glob
    return commit_range, [s for s in slices if matches_glob(view, slice_paths(s), glob)]


def slices_at_end(
    view: TableView,
    commit_range: CommitRange,
    slices: Sequence[FileSlice],
    *,
    check_files: bool = False,
) -> list[FileSlice]:
    """Return the slices of the same file groups as the table had them at the end of a range."""
    return slices_of_groups(
        view,
        {(s.partition_path, s.file_id) for s in slices},
        last_commit(view, commit_range),
        completed_by=commit_range.end if commit_range.by_completion_time else "",
        check_files=check_files,
    )


def last_commit(view: TableView, commit_range: CommitRange) -> str:
    """Return the newest requested time of the commits that a range's end includes."""
    times = commit_times(view, by_completion=commit_range.by_completion_time)
    return max((t for t, at in times.items() if at <= commit_range.end), default="")


def _checked_slices(
    view: TableView,
    commit_range: CommitRange,
    options: IncrementalOptions,
    slices: Sequence[FileSlice],
) -> tuple[CommitRange, list[FileSlice]]:
    """Return the slices at its end, or a commit range that falls back because files are gone."""
    try:
        return commit_range, slices_at_end(view, commit_range, slices, check_files=True)
    except errors.MissingFileError as error:
        reason = "a file that the table had at the end of the range is gone"
        if options.on_missing is OnMissing.FULL_SCAN:
            return replace(commit_range, full_scan=reason), []
        raise errors.IncrementalRangeError(
            f"range_merge=table needs the whole file slices as of {commit_range.end}, but "
            f"{reason} ({error}). End the range later, merge within the range (range_merge=range), "
            "or read the rows whose present version lies in the range (on_missing=full_scan)"
        ) from error


def _announce(view: TableView, commit_range: CommitRange) -> None:
    """Log the range, and warn if the answer differs from that of the range's own files."""
    _log.info("incremental query of %s", commit_range)
    differences = []
    if commit_range.full_scan:
        differences.append(
            f"{commit_range.full_scan}. The latest rows that were written in the range are read "
            "instead, without versions in between and without rows deleted since "
            "(on_missing=fail refuses)"
        )
    if commit_range.moved:
        differences.append(
            f"it begins later than requested, since {commit_range.moved} (on_missing=fail refuses)"
        )
    if left_out := _left_out(view, commit_range):
        differences.append(
            f"it leaves out delta commits, the last of them {left_out[-1]}, since the table has "
            "become COPY_ON_WRITE, as Apache Hudi does. Begin there, or read a snapshot"
        )
    for difference in differences:
        text = f"incremental query of {commit_range.bounds}: {difference}"
        warnings.warn(text, UserWarning, stacklevel=3)


def _left_out(view: TableView, commit_range: CommitRange) -> list[str]:
    """Return the range's delta commits that do not count, since the table is COPY_ON_WRITE now."""
    if view.config.is_merge_on_read:
        return []
    at = attrgetter("completion_time" if commit_range.by_completion_time else "requested_time")
    return [
        instant.requested_time
        for instant in view.timeline.completed
        if instant.action is Action.DELTA_COMMIT
        and commit_range.begin
        < (at(instant) or instant.requested_time)
        <= (commit_range.end or "~")
    ]


def _answerable(
    view: TableView,
    commit_range: CommitRange,
    options: IncrementalOptions,
    reason: str,
    missing: Mapping[str, str],
) -> CommitRange:
    """Return the effective commit range where some of its commits, or their files, are gone."""
    if options.on_missing is OnMissing.FULL_SCAN:
        return replace(commit_range, full_scan=reason)
    last_missing = max(missing.values())
    times = commit_times(view, by_completion=commit_range.by_completion_time)
    later = tuple(t for t in commit_range.commits if times[t] > last_missing)
    if options.on_missing is OnMissing.EARLIEST:
        return replace(
            commit_range, begin=last_missing, commits=later, moved=commit_range.moved or reason
        )
    incomplete = commits_without_files(view, later) if later else ()
    earliest = max((times[t] for t in incomplete), default=last_missing)
    raise errors.IncrementalRangeError(
        f"the range can no longer be answered commit by commit: {reason}. The first commit that is "
        f"gone is {min(missing)}; the earliest begin that still works is {earliest}. Begin there "
        "(on_missing=earliest does), or read the rows whose present version lies in the range with "
        "on_missing=full_scan"
    )


def commit_times(view: TableView, *, by_completion: bool) -> dict[str, str]:
    """Map the requested time of each completed commit to the time that ranges compare."""
    if not by_completion:
        return {c.requested_time: c.requested_time for c in view.commits}
    return {c.requested_time: c.completion_time or c.requested_time for c in view.commits}


def _without_skipped(
    view: TableView, times: Sequence[str], options: IncrementalOptions
) -> list[str]:
    commits = {c.requested_time: c for c in view.commits}
    kept = list(times)
    if options.skip_compaction and view.config.is_merge_on_read:
        # Also the first bulk insert of a table, whose action is commit as well, as in Apache Hudi.
        kept = [t for t in kept if commits[t].action is not Action.COMMIT]
    if options.skip_clustering:
        kept = [t for t in kept if not view.history.is_clustering(commits[t])]
    return kept


def archived_commits(
    view: TableView, begin: str, end: str, *, by_completion: bool
) -> dict[str, str]:
    """Map each archived commit of the range to the time that ranges compare."""
    first = view.history.committed.first
    if first and begin >= commit_times(view, by_completion=by_completion)[first]:
        return {}
    active = {c.requested_time for c in view.commits}
    archived = {
        a.requested_time: (a.completion_time if by_completion else None) or a.requested_time
        # None completes before it is requested.
        for a in view.history.archived_between("" if by_completion else begin, end)
        if a.action in COMMIT_ACTIONS and a.requested_time not in active
    }
    return {time: at for time, at in archived.items() if begin < at <= end}


def end_before_hollow_commits(view: TableView, begin: str, end: str, policy: HollowCommits) -> str:
    """Return the end of a range of requested times, inside which pending commits may complete.

    Args:
        view: the table.
        begin: exclusive.
        end: inclusive.
        policy: what a query does about pending commits with completed ones behind them. ``block``
            ends before the first one, ``use_transition_time`` reads on.

    Raises:
        IncrementalRangeError: such a commit lies in the range, and the policy is ``fail``.
    """
    reads_on = policy is HollowCommits.USE_TRANSITION_TIME
    pending = None if reads_on else view.history.first_incomplete_commit()
    times = [c.requested_time for c in view.commits]
    if pending is None or max(times, default="") < pending.requested_time:
        return end
    if policy is HollowCommits.BLOCK:
        last = max((t for t in times if t < pending.requested_time), default=begin)
        return min(end, last)
    if begin < pending.requested_time <= end:
        raise errors.IncrementalRangeError(
            f"{pending.action} {pending.requested_time} has not completed, but later commits have: "
            "this range and the next one would both miss it. Let the writer finish or roll back, "
            "or end the range before it (hollow_commits=block does)"
        )
    return end


def matches_glob(view: TableView, paths: Sequence[str], glob: str) -> bool:
    """Return whether one of the files has a full path that ends like the glob; "" matches all."""
    describe = view.storage.describe
    return not glob or any(fnmatch.fnmatchcase(describe(path), f"*{glob}") for path in paths)


def slice_paths(file_slice: FileSlice) -> list[str]:
    """Return the paths of a slice's files, relative to the base path."""
    base = [file_slice.base_file.path] if file_slice.base_file is not None else []
    return base + [log.path for log in file_slice.log_files]
