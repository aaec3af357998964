"""The file slices of the metadata table, which are complete or are refused.

A slice without its base file or without some of its log files looks like a smaller one: partitions
and files of the table would be missing without a word. These say what a slice has to have:

=======================  ===========================================================================
its commits              The base file and the log files that the commits of the slice name are
                         there. All commits from the base instant on are known: those that have left
                         the timeline are read from the archive, and an instant that neither has
                         proves nothing.
its first log file       A slice without a base file begins with the empty log file with which a
                         writer creates a file group. A group that has been compacted has none.
its names                Up to table version 7, log files name the base instant of their slice.
=======================  ===========================================================================

Source: ``initializeFileGroups`` of Hudi's HoodieBackedTableMetadataWriter. Up to Hudi 0.13 the
records of the first commit follow in log files; later releases write them into a base file.
"""

from collections.abc import Collection, Mapping

from hudi_pyspark.errors import CorruptTableError
from hudi_pyspark.format.timeline.instant import Action, CompletionTime
from hudi_pyspark.format.timeline.instant_metadata import CommitMetadata, commit_metadata_of
from hudi_pyspark.metadata_table.records import INITIAL_INSTANTS
from hudi_pyspark.table.archive import ArchivedInstant, load_archived_metadata
from hudi_pyspark.table.file_group import FileSlice, LogFile
from hudi_pyspark.table.file_groups import CommittedFile, committed_files
from hudi_pyspark.table.view import TableView

_CREATES_GROUP = (1, "0-0-0")  # version and write token of the log file that creates a file group


def complete_slices(view: TableView, partition: str) -> list[FileSlice]:
    """Return a partition's slices, by file id.

    Raises:
        CorruptTableError: a file is missing or shorter than committed, or a slice may lack one.
    """
    commits = view.history.metadata_of()
    committed = _committed(view, partition, commits)
    slices = listed_slices(view, partition, committed)
    begins = {s.base_instant_time for s in slices} - commits.keys()
    if begins:
        commits = {**_archived_since(view, min(begins), begins), **commits}
        committed = _committed(view, partition, commits)
        slices = listed_slices(view, partition, committed)
    for file_slice in slices:
        _check(view, file_slice, committed)
    return slices


def is_evident(view: TableView, file_slice: FileSlice) -> bool:
    """Decide whether a listed slice has the newest base file, without reading commits.

    The caller compares its log blocks with the commits of the timeline. Lost base files of a
    version that names base instants leave log files without one.
    """
    base = file_slice.base_file
    if base is None or base.instant_time not in view.history.committed.times:
        return False
    return view.config.has_completion_times or not _of_other_slices(file_slice)


def listed_slices(
    view: TableView, partition: str, committed: Mapping[str, CommittedFile]
) -> list[FileSlice]:
    """Return a partition's slices as its folder has them, by file id.

    Args:
        view: of the metadata table.
        partition: of the metadata table.
        committed: what commits record of its files; {} to take all files as they are.
    """
    groups = view.groups.of([partition], {partition: committed})
    return view.slices.of(groups, view.slices.last_instant, replaced_until="")


def _committed(
    view: TableView, partition: str, commits: Mapping[str, CommitMetadata]
) -> dict[str, CommittedFile]:
    """Return what commits, oldest first, record of a partition's files since it was last built.

    A partition that is dropped leaves its commits behind.
    """
    initial = (time for time in commits if time.startswith(INITIAL_INSTANTS))
    builds = (time for time in initial if partition in commits[time].write_stats)
    built_at = max((completed_at(view, time) for time in builds), default="")
    files = committed_files(commits).get(partition, {})
    return {
        name: file
        for name, file in files.items()
        if completed_at(view, file.committed_by) >= built_at
    }


def _archived_since(
    view: TableView, first: str, begins: Collection[str]
) -> dict[str, CommitMetadata]:
    """Return the archived commits from an instant on, oldest first.

    Raises:
        CorruptTableError: one of the instants with which slices begin is not archived.
    """
    archived: dict[str, ArchivedInstant] = {
        instant.requested_time: instant
        for instant in view.history.archived_between(since=first)
        if instant.action in (Action.COMMIT, Action.DELTA_COMMIT)
        and (instant.completion_time or instant.requested_time) >= first
    }
    if unknown := sorted(set(begins) - archived.keys()):
        problem = f"neither its timeline nor its archive has {unknown[0]}, which began a slice"
        raise corrupt(view, "", problem)
    metadata = load_archived_metadata(view.storage, list(archived.values()), commit_metadata_of)
    return dict(zip(archived, metadata, strict=True))


def _check(view: TableView, file_slice: FileSlice, committed: Mapping[str, CommittedFile]) -> None:
    """Refuse a slice that lacks a file, or the end of one, or has another base file.

    Up to table version 7 a missing log file may have been appended to another one.
    """
    _check_names(view, file_slice)
    base = file_slice.base_file
    if base is None:
        first = file_slice.log_files[0]
        if (first.version, first.write_token) != _CREATES_GROUP:
            problem = "has neither a base file below it nor the first log file of its group"
            raise corrupt(view, first.path, problem)
    view.slices.check_files(file_slice)
    record = committed.get(base.path.rpartition("/")[2]) if base is not None else None
    if base is not None and record is not None and record.size not in (0, base.size):
        problem = f"has {base.size} bytes, but its commit says {record.size}"
        raise corrupt(view, base.path, problem)


def _check_names(view: TableView, file_slice: FileSlice) -> None:
    """Refuse log files that name another base instant than that of their slice.

    Apache Hudi compacts the metadata table before it downgrades it. So these log files are from
    before a downgrade, and the slice that the compaction began is lost with its commit.
    """
    if view.config.has_completion_times:
        return
    planned = {instant.requested_time for instant in view.timeline.pending_compactions}
    for file in _of_other_slices(file_slice):
        if file.instant_time not in planned:
            problem = f"is in the slice of {file_slice.base_instant_time}: a later one is lost"
            raise corrupt(view, file.path, problem)


def completed_at(view: TableView, time: str) -> CompletionTime:
    """Return when a commit completed; its requested time if that is unknown."""
    return view.history.completion_time(time) or CompletionTime(time)


def corrupt(view: TableView, path: str, problem: str) -> CorruptTableError:
    """Return the error about a file or folder of the metadata table."""
    return CorruptTableError(f"{view.storage.describe(path)} {problem}")


def _of_other_slices(file_slice: FileSlice) -> list[LogFile]:
    """Return the log files that name another base instant than that of their slice."""
    return [f for f in file_slice.log_files if f.instant_time != file_slice.base_instant_time]
