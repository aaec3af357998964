"""File slices that some commits wrote, or that some file groups had."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from hudi_pyspark.table.file_groups import CommittedFiles, by_path, committed_files

if TYPE_CHECKING:
    from hudi_pyspark.table.file_group import FileSlice, LogFile
    from hudi_pyspark.table.view import TableView


def written_slices(view: TableView, times: Collection[str]) -> list[FileSlice]:
    """Return the slices that some commits wrote to, as of the last of these commits."""
    return view.slices.checked(lambda: _written_slices(view, times))


def commits_without_files(view: TableView, times: Collection[str]) -> list[str]:
    """Return the commits with a file that is gone, although their slices still need it."""
    missing = {
        path
        for file_slice in _written_slices(view, times)
        for path, _ in view.slices.missing_files(file_slice)
    }
    return [
        time
        for time, metadata in view.commit_metadata.of(sorted(times)).items()
        if not missing.isdisjoint(by_path(committed_files({time: metadata})))
    ]


def _written_slices(view: TableView, times: Collection[str]) -> list[FileSlice]:
    """Return the slices that some commits wrote, whether or not their files are still there."""
    until = max(times)
    # What other commits record of these files does not matter, so it is not read.
    committed = committed_files(view.commit_metadata.of(sorted(times)))
    names = {partition: set(files) for partition, files in committed.items()}
    groups = view.groups.of(sorted(names), committed, only=names)
    return view.slices.of(groups, until, replaced_until=until)


def slices_of_groups(
    view: TableView,
    file_groups: Collection[tuple[str, str]],
    until: str,
    *,
    replaced_until: str = "",
    completed_by: str = "",
    check_files: bool = False,
) -> list[FileSlice]:
    """Return the slices of some file groups (partition path, file id) as of an instant.

    Commits that replaced the file groups count up to ``replaced_until``, which may be earlier; ""
    for none. Commits that completed after ``completed_by`` do not count, although they began
    before; "" goes by requested times alone.

    Raises:
        MissingFileError: ``check_files`` is true, and a file that a commit wrote is gone.
    """
    if view.config.has_completion_times:
        times = _times_since(view, file_groups, until)
        committed = committed_files(view.commit_metadata.of(times))
    else:
        committed = view.groups.committed_files
    slices = view.slices.completed(
        lambda: _slices_of(view, file_groups, committed, until, replaced_until=replaced_until)
    )
    if completed_by:

        def is_completed(log: LogFile) -> bool:
            return (view.history.completion_time(log.instant_time) or "") <= completed_by

        slices = [s.filter_logs(is_completed) for s in slices]
    if check_files:
        for file_slice in slices:
            view.slices.check_files(file_slice)
    return slices


def _times_since(
    view: TableView, file_groups: Collection[tuple[str, str]], until: str
) -> list[str]:
    """Return the commits that can have written to the present slices of some file groups.

    From table version 8 on these are the ones that completed after its base file was begun.
    """
    present_slices = _slices_of(view, file_groups, {}, until)
    is_based = len(present_slices) == len(file_groups) and all(
        s.base_file is not None for s in present_slices
    )
    since = min((s.base_instant_time for s in present_slices), default="") if is_based else ""
    commits = (c for c in view.commits if c.requested_time <= until)
    return [c.requested_time for c in commits if (c.completion_time or c.requested_time) >= since]


def _slices_of(
    view: TableView,
    file_groups: Collection[tuple[str, str]],
    committed: CommittedFiles,
    until: str,
    *,
    replaced_until: str = "",
) -> list[FileSlice]:
    partitions = sorted({partition for partition, _ in file_groups})
    groups = view.groups.of(partitions, committed)
    chosen = (g for g in groups if (g.partition_path, g.file_id) in file_groups)
    return view.slices.of(chosen, until, replaced_until=replaced_until)
