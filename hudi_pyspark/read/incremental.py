"""An instant range to the file slices and the rows that were written in it."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
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
from hudi_pyspark.read.ordering import as_one_array
from hudi_pyspark.table.archive import load_archive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hudi_pyspark.read.options import IncrementalOptions
    from hudi_pyspark.table.file_group import FileSlice
    from hudi_pyspark.table.view import TableView

_COMMIT_ACTIONS = frozenset({"commit", "deltacommit", "replacecommit"})
_FIRST_COMPLETION_TIME_VERSION = 8


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
    full_scan: (
        str  # why the latest slices are read instead of the range's files; "" if they are not
    )

    def contains(self, commit_times: pa.ChunkedArray) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which rows the range's commits wrote."""
        written = pc.is_in(commit_times, value_set=pa.array(self.commits, pa.string()))
        return np.asarray(as_one_array(written))


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
    times = _commit_times(view, by_completion=by_completion)
    end = options.end or max(times.values(), default="")
    if options.end and options.begin > options.end:
        raise InvalidInstantError(
            f"the range begins at {options.begin}, after its end {options.end}"
        )
    if not by_completion:
        _check_hollow_commits(view, options)
    chosen = [t for t, at in times.items() if options.begin < at <= end]
    chosen = _without_skipped(view, chosen, options)
    archived = _archived_commits(view, options.begin, end, by_completion=by_completion)
    full_scan = ""
    if archived:
        full_scan = f"commit {archived[0]} of the range is archived"
        _check_fallback(view, options, full_scan, first=archived[0])
    commits = tuple(sorted({*chosen, *archived}))
    return CommitRange(options.begin, end, by_completion, commits, full_scan)


def range_slices(
    view: TableView, found: CommitRange, options: IncrementalOptions
) -> tuple[CommitRange, list[FileSlice]]:
    """The slices to read, and the range, which says so where they are the latest ones.

    Slices are made only of the files that the range's commits wrote. Where such a file is gone, the
    latest slices stand in: they hold the rows whose present version was written in the range.

    Raises:
        IncrementalRangeError: files are gone and the query must not fall back.
    """
    if not found.commits:
        return found, []
    if not found.full_scan:
        try:
            slices = view.written_slices(found.commits)
        except MissingFileError as error:
            reason = f"a file of the range is gone: {error.args[0]}"
            _check_fallback(view, options, reason, first=found.commits[0])
            found = CommitRange(
                found.begin, found.end, found.by_completion_time, found.commits, reason
            )
        else:
            return found, _matching(view, slices, options.path_glob)
    return found, _matching(view, view.file_slices(), options.path_glob)


def _commit_times(view: TableView, *, by_completion: bool) -> dict[str, str]:
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


def _archived_commits(view: TableView, begin: str, end: str, *, by_completion: bool) -> list[str]:
    """Requested times of the range's commits that have left the active timeline."""
    first = view.committed.first
    if first and begin >= first:
        return []
    archived = load_archive(view.storage, view.config.layout, view.config.archive_folder)
    active = {c.requested_time for c in view.commits}
    return [
        a.requested_time
        for a in archived
        if a.action in _COMMIT_ACTIONS
        and a.requested_time not in active
        and begin < (a.completion_time or a.requested_time if by_completion else a.requested_time)
        and (a.completion_time or a.requested_time if by_completion else a.requested_time) <= end
    ]


def _check_fallback(
    view: TableView, options: IncrementalOptions, reason: str, *, first: str
) -> None:
    if options.on_missing == "full_scan":
        return
    earliest = view.commits[0] if view.commits else None
    works = (earliest.completion_time or earliest.requested_time) if earliest else "none"
    raise IncrementalRangeError(
        f"the range can no longer be answered commit by commit: {reason}. The first commit that is "
        f"gone is {first}; the earliest begin that still works is {works}. Begin there, or read "
        "the rows whose present version lies in the range with "
        "hoodie.datasource.read.incr.fallback.fulltablescan.enable=true"
    )


def _check_hollow_commits(view: TableView, options: IncrementalOptions) -> None:
    """Before version 8 a commit that is still pending may complete inside a range already read."""
    pending = view.first_incomplete_commit()
    if pending is None or options.hollow_commits != "fail":
        return
    later = [c.requested_time for c in view.commits if c.requested_time > pending.requested_time]
    if later and pending.requested_time > options.begin:
        raise IncrementalRangeError(
            f"{pending.action} {pending.requested_time} has not completed, but later commits have: "
            "it would be missed by this range and by the next one. Let the writer finish or roll "
            "back, or end the range before it (hollow_commits=block does)"
        )


def _matching(view: TableView, slices: Sequence[FileSlice], glob: str) -> list[FileSlice]:
    """Slices with a file whose path matches Hudi's path glob."""
    if not glob:
        return list(slices)
    return [s for s in slices if any(_matches(view, f, glob) for f in _paths(s))]


def _paths(file_slice: FileSlice) -> list[str]:
    base = [file_slice.base_file.path] if file_slice.base_file is not None else []
    return base + [log.path for log in file_slice.log_files]


def _matches(view: TableView, path: str, glob: str) -> bool:
    return fnmatch.fnmatchcase(view.storage.describe(path), f"*{glob}")
