"""An instant range to the file slices and the rows that were written in it."""

from __future__ import annotations

import fnmatch
import logging
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.errors import (
    IncrementalRangeError,
    InvalidInstantError,
    MissingFileError,
    UnsupportedTableError,
)
from hudi_pyspark.format.timeline.instant import COMMIT_ACTIONS
from hudi_pyspark.query.columns.arrays import as_one_array
from hudi_pyspark.query.options import RangeMerge
from hudi_pyspark.table.commit_slices import (
    commits_without_files,
    slices_of_groups,
    written_slices,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hudi_pyspark.query.options import IncrementalOptions
    from hudi_pyspark.table.file_group import FileSlice
    from hudi_pyspark.table.view import TableView

_FIRST_COMPLETION_TIME_VERSION = 8


_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CommitRange:
    """The commits of an incremental query.

    ``begin`` is exclusive and ``end`` inclusive. They are completion times from table version 8 on
    and requested times before. Commits are always named by their requested times.
    """

    begin: str
    end: str  # "" while the table has no commit
    by_completion_time: bool
    commits: tuple[str, ...]  # requested times, ascending; archived ones included
    full_scan: str  # why the latest slices are read, not the range's files; "" if they are not
    moved: str = ""  # why the range begins later than asked for; "" if it does not

    def contains(self, commit_times: pa.ChunkedArray) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which rows the range's commits wrote."""
        written = pc.is_in(commit_times, value_set=pa.array(self.commits, pa.string()))
        return np.asarray(as_one_array(written))

    @property
    def bounds(self) -> str:
        """The range in words."""
        kind = "completion" if self.by_completion_time else "requested"
        last = f"{self.end}, inclusive" if self.end else "the latest"
        return f"{kind} times after {self.begin} up to {last} ({len(self.commits)} commits)"

    def __str__(self) -> str:
        notes = [self.bounds]
        if self.moved:
            notes.append(f"begins later than asked for, since {self.moved}")
        if self.full_scan:
            notes.append(f"full scan of the latest file slices, since {self.full_scan}")
        return "; ".join(notes)


def resolve_range(view: TableView, options: IncrementalOptions) -> CommitRange:
    """The commits of a table that an incremental query covers.

    Raises:
        UnsupportedTableError: the table's rows do not tell their commit.
        InvalidInstantError: the range ends before it begins.
        IncrementalRangeError: commits of the range are no longer known, or not completed yet.
    """
    if not view.config.populate_meta_fields:
        raise UnsupportedTableError(
            "incremental queries need the column _hoodie_commit_time, which the table does not "
            "have (hoodie.populate.meta.fields=false)"
        )
    by_completion = (options.table_version or view.config.version) >= _FIRST_COMPLETION_TIME_VERSION
    check_order(options.begin, options.end)
    times = commit_times(view, by_completion=by_completion)
    end = options.end or max(times.values(), default="")
    if not by_completion:
        end = end_before_hollow_commits(view, options.begin, end, options.hollow_commits)
    chosen = [t for t, at in times.items() if options.begin < at <= end]
    chosen = _without_skipped(view, chosen, options)
    found = CommitRange(options.begin, end, by_completion, tuple(sorted(chosen)), "")
    archived = archived_commits(view, options.begin, end, by_completion=by_completion)
    if not archived:
        return found
    reason = f"commit {min(archived)} of the range is archived"
    found = _answerable(view, found, options, reason, archived)
    if found.full_scan:
        found = replace(found, commits=tuple(sorted({*chosen, *archived})))
    return found


def check_order(begin: str, end: str) -> None:
    """Refuse a range that ends before it begins.

    Raises:
        InvalidInstantError: it does.
    """
    if end and begin > end:
        raise InvalidInstantError(f"the range begins at {begin}, after its end {end}")


def range_slices(
    view: TableView, found: CommitRange, options: IncrementalOptions
) -> tuple[CommitRange, list[FileSlice]]:
    """The slices to read, and the range, which says so where they are the latest ones.

    Slices are made only of the files that the range's commits wrote. Where such a file is gone, the
    latest slices stand in: they hold the rows whose present version was written in the range. A
    warning tells it.

    Raises:
        IncrementalRangeError: files are gone and the query must not fall back.
    """
    slices: list[FileSlice] = []
    while found.commits and not found.full_scan:
        try:
            slices = written_slices(view, found.commits)
            if options.range_merge is RangeMerge.TABLE:
                found, slices = _slices_at_end(view, found, options, slices)
            break
        except MissingFileError:
            times = commit_times(view, by_completion=found.by_completion_time)
            gone = {t: times[t] for t in commits_without_files(view, found.commits)}
            reason = f"a file that commit {min(gone)} wrote is gone"
            found = _answerable(view, found, options, reason, gone)
    if found.full_scan:
        slices = view.file_slices()
    _announce(found)
    return found, _matching(view, slices, options.path_glob)


def whole_slices(
    view: TableView,
    commit_range: CommitRange,
    slices: Sequence[FileSlice],
    *,
    check_files: bool = False,
) -> list[FileSlice]:
    """Return the slices of the same file groups as the table had them at the end of a range.

    Raises:
        MissingFileError: one of their files is gone (only if files are checked).
    """
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


def _slices_at_end(
    view: TableView,
    commit_range: CommitRange,
    options: IncrementalOptions,
    slices: Sequence[FileSlice],
) -> tuple[CommitRange, list[FileSlice]]:
    """Return the whole slices, or a range that falls back because their files are gone.

    Raises:
        IncrementalRangeError: files are gone and the query must not fall back.
    """
    try:
        return commit_range, whole_slices(view, commit_range, slices, check_files=True)
    except MissingFileError as error:
        reason = "a file that the table had at the end of the range is gone"
        if options.on_missing == "full_scan":
            return replace(commit_range, full_scan=reason), []
        raise IncrementalRangeError(
            f"range_merge=table needs the whole file slices as of {commit_range.end}, but "
            f"{reason} ({error}). End the range later, merge within the range (range_merge=range), "
            "or read the rows whose present version lies in the range (on_missing=full_scan)"
        ) from error


def _announce(found: CommitRange) -> None:
    """Log the range, and warn where the answer is not what the range's own files give."""
    _log.info("incremental query of %s", found)
    if found.full_scan:
        message = (
            f"incremental query of {found.bounds}: {found.full_scan}. The latest rows that were "
            "written in the range are read instead: versions in between and rows deleted since "
            "are not among them (on_missing=fail refuses)"
        )
        warnings.warn(message, UserWarning, stacklevel=3)
    if found.moved:
        warnings.warn(
            f"incremental query of {found.bounds}: it begins later than asked for, since "
            f"{found.moved} (on_missing=fail refuses)",
            UserWarning,
            stacklevel=3,
        )


def _answerable(
    view: TableView,
    found: CommitRange,
    options: IncrementalOptions,
    reason: str,
    gone: Mapping[str, str],
) -> CommitRange:
    """The range as it is answered although some of its commits, or their files, are gone.

    Args:
        view: the table.
        found: the range, with the commits of the active timeline.
        options: tell what to do.
        reason: what is gone, as the beginning of a sentence.
        gone: requested time of each such commit to the time that ranges compare.

    Raises:
        IncrementalRangeError: the query must not fall back.
    """
    if options.on_missing == "full_scan":
        return replace(found, full_scan=reason)
    last_gone = max(gone.values())
    times = commit_times(view, by_completion=found.by_completion_time)
    left = tuple(t for t in found.commits if times[t] > last_gone)
    if options.on_missing == "earliest":
        return replace(found, begin=last_gone, commits=left, moved=found.moved or reason)
    lost = commits_without_files(view, left) if left else ()
    works = max((times[t] for t in lost), default=last_gone)
    raise IncrementalRangeError(
        f"the range can no longer be answered commit by commit: {reason}. The first commit that is "
        f"gone is {min(gone)}; the earliest begin that still works is {works}. Begin there "
        "(on_missing=earliest does), or read the rows whose present version lies in the range with "
        "hoodie.datasource.read.incr.fallback.fulltablescan.enable=true"
    )


def commit_times(view: TableView, *, by_completion: bool) -> dict[str, str]:
    """Requested time of each completed commit to the time that ranges compare."""
    if not by_completion:
        return {c.requested_time: c.requested_time for c in view.commits}
    return {c.requested_time: c.completion_time or c.requested_time for c in view.commits}


def _without_skipped(
    view: TableView, times: Sequence[str], options: IncrementalOptions
) -> list[str]:
    actions = {c.requested_time: c.action for c in view.commits}
    kept = list(times)
    if options.skip_compaction and view.config.is_merge_on_read:
        # Also the first bulk insert of a table, whose action is commit as well, as in Apache Hudi.
        kept = [t for t in kept if actions[t] != "commit"]
    if options.skip_clustering:
        kept = [
            t
            for t in kept
            if actions[t] != "replacecommit" or view.commit_metadata[t].operation_type != "CLUSTER"
        ]
    return kept


def archived_commits(
    view: TableView, begin: str, end: str, *, by_completion: bool
) -> dict[str, str]:
    """The range's commits that have left the active timeline: requested time to compared time."""
    first = view.committed.first
    if first and begin >= commit_times(view, by_completion=by_completion)[first]:
        return {}
    active = {c.requested_time for c in view.commits}
    archived = {
        a.requested_time: (a.completion_time if by_completion else None) or a.requested_time
        for a in view.history.archived
        if a.action in COMMIT_ACTIONS and a.requested_time not in active
    }
    return {time: at for time, at in archived.items() if begin < at <= end}


def end_before_hollow_commits(view: TableView, begin: str, end: str, policy: str) -> str:
    """The end of a range of requested times, given that pending commits may complete inside it.

    Args:
        view: the table.
        begin: exclusive.
        end: inclusive.
        policy: ``fail``, ``block`` (end before the first pending commit) or
            ``use_transition_time`` (read on).

    Raises:
        IncrementalRangeError: the range would miss a commit, and so would the one after it.
    """
    pending = view.history.first_incomplete_commit() if policy != "use_transition_time" else None
    times = [c.requested_time for c in view.commits]
    if pending is None or max(times, default="") < pending.requested_time:
        return end
    if policy == "block":
        last = max((t for t in times if t < pending.requested_time), default=begin)
        return min(end, last)
    if begin < pending.requested_time <= end:
        raise IncrementalRangeError(
            f"{pending.action} {pending.requested_time} has not completed, but later commits have: "
            "it would be missed by this range and by the next one. Let the writer finish or roll "
            "back, or end the range before it (hollow_commits=block does)"
        )
    return end


def _matching(view: TableView, slices: Sequence[FileSlice], glob: str) -> list[FileSlice]:
    """Slices with a file whose path matches Hudi's path glob."""
    return [s for s in slices if matches_glob(view, slice_paths(s), glob)]


def matches_glob(view: TableView, paths: Sequence[str], glob: str) -> bool:
    """Whether one of the files has a full path that ends like the glob; "" matches all."""
    describe = view.storage.describe
    return not glob or any(fnmatch.fnmatchcase(describe(path), f"*{glob}") for path in paths)


def slice_paths(file_slice: FileSlice) -> list[str]:
    """Paths of a slice's files, relative to the base path."""
    base = [file_slice.base_file.path] if file_slice.base_file is not None else []
    return base + [log.path for log in file_slice.log_files]
