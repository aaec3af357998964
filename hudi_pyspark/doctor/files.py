"""Checks of the files on the storage against the timeline, in both directions, and of sizes."""

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import pyarrow.compute as pc

from hudi_pyspark.doctor.finding import RESTORE, Finding, Severity
from hudi_pyspark.doctor.timeline import RESTORE_INSTANT, TimelineFiles
from hudi_pyspark.errors import HudiError, MissingFileError
from hudi_pyspark.format.data_files import BaseFileName, LogFileName, is_partition_marker
from hudi_pyspark.format.log.log_block import RECORD_BLOCKS
from hudi_pyspark.format.log.log_file import frame_log_file
from hudi_pyspark.inspection.files import (
    commits_of,
    committed_by_path,
    file_slices,
    files,
    stored_files,
)
from hudi_pyspark.table.bootstrap import BOOTSTRAP_INSTANT, is_skeleton, load_bootstrap_sources
from hudi_pyspark.table.file_group import FileSlice
from hudi_pyspark.table.file_groups import FOREIGN_NAME_ADVICE, may_lose_rows
from hudi_pyspark.table.table_services import rolled_back_times
from hudi_pyspark.table.view import TableView
from hudi_pyspark.wording import counted

FILES = "files"
SIZES = "sizes"
_KEEP = "Keep them unless you know that the timeline is whole: a copy may lack files"


@dataclass(frozen=True, slots=True)
class StoredFiles:
    """The files in the folders of a table's partitions."""

    view: TableView
    timeline: TimelineFiles  # the files that its instants name
    sizes: Mapping[str, int]  # by path relative to the base path; bytes
    data_files: Mapping[str, BaseFileName | LogFileName]  # by path; CDC log files included
    unmarked: tuple[str, ...]  # partitions that commits name, without a marker file


def collect_stored_files(view: TableView, committed: TimelineFiles) -> StoredFiles:
    """List the files of partitions with a marker, and of partitions that only commits name."""
    marked = view.listing.partitions()
    partitions = {path.rpartition("/")[0] for path in committed.written}
    infos = list(stored_files(view, partitions))
    sizes = {file.path: file.size for file in infos}
    data_files = {file.path: file.name for file in infos if file.name is not None}
    unmarked = sorted((partitions & {file.partition_path for file in infos}).difference(marked))
    return StoredFiles(view, committed, sizes, data_files, tuple(unmarked))


def check_files(stored: StoredFiles) -> Iterator[Finding]:
    """Find committed files that are missing, and files that no commit names."""
    view = stored.view
    committed = stored.timeline
    unreadable = {
        path: f"committed by {committed.written[path].committed_by}, {problem}"
        for path, problem in committed.unreadable.items()
        if may_lose_rows(problem, committed.written[path], stored.sizes.get(path, 0))
    }
    if unreadable:  # no query of the table is answered
        for path, message in sorted(unreadable.items()):
            yield Finding(Severity.PROBLEM, FILES, path, message, FOREIGN_NAME_ADVICE)
        return
    findings = [*_missing(stored), *_missing_sources(view)]
    message = (
        "the partition has files but no .hoodie_partition_metadata: readers that list folders do "
        "not find it. This package does, since commits name it"
    )
    advice = "Copy the marker file of another partition of the same depth into it"
    unmarked = (path or "." for path in stored.unmarked)
    if not committed.undecodable:  # which files they name is not known
        findings += _unknown(stored)
    findings += [Finding(Severity.WARNING, FILES, path, message, advice) for path in unmarked]
    yield from findings
    if not any(f.severity is Severity.PROBLEM for f in (*findings, *committed.undecodable)):
        count = len(stored.data_files)
        message = f"{counted(count, 'data file')} on the storage; no needed file is missing"
        yield Finding(Severity.OK, FILES, "", message)


def _missing(stored: StoredFiles) -> Iterator[Finding]:
    view = stored.view
    committed = stored.timeline
    slices = view.slices.as_of(check_files=False)
    missing = {path for file_slice in slices for path in _missing_from(view, file_slice)}
    # Cleans are archived too; after that it is unknown which files they removed.
    has_all_cleans = not view.history.archived_times
    has_one_commit = view.config.has_completion_times
    for path, written in sorted(committed.written.items()):
        commit = written.committed_by
        if path in missing:
            message = f"committed by {commit} and needed by every read, but not on the storage"
            yield Finding(Severity.PROBLEM, FILES, path, message, RESTORE)
        elif path in stored.sizes or path in committed.removed:
            continue
        # On a file system that appends, another file may have the blocks of a log file.
        elif has_all_cleans and (has_one_commit or path.rpartition("/")[2][0] != "."):
            message = (
                f"committed by {commit}, but not on the storage, and no clean removed it. "
                "The latest snapshot does not need it; time travel and incremental reads may"
            )
            yield Finding(Severity.WARNING, FILES, path, message, RESTORE)


def _missing_sources(view: TableView) -> Iterator[Finding]:
    """Find data columns of a metadata-only bootstrap that are gone with their files."""
    skeletons = [s for s in view.slices.as_of(check_files=False) if is_skeleton(s, view.config)]
    if not skeletons:
        return
    try:
        sources = load_bootstrap_sources(view.storage, view.config)
        sources.check_folder()
        attached = sources.attach(skeletons)
    except HudiError as error:
        yield Finding(Severity.PROBLEM, FILES, "hoodie.bootstrap.base.path", error.reason())
        return
    names_in = cache(lambda folder: {f.name for f in view.storage.at(folder).list_directory("")})
    for base in (s.base_file for s in attached if s.base_file is not None):
        folder, name = posixpath.split(base.bootstrap_source)
        if name not in names_in(folder):
            message = MissingFileError.of_bootstrap(base.bootstrap_source).reason()
            yield Finding(Severity.PROBLEM, FILES, base.path, message)


def _missing_from(view: TableView, file_slice: FileSlice) -> Iterator[str]:
    """Yield the paths of missing files whose blocks no other file of the slice has."""
    base = file_slice.base_file
    unlisted = [f for f in file_slice.log_files if not f.is_listed]
    if base is not None and not base.is_listed:
        yield base.path
    if not view.config.has_completion_times and unlisted:
        instants = {
            time for f in file_slice.log_files if f.is_listed for time in _writers(view, f.path)
        }
        unlisted = [f for f in unlisted if f.committed_by not in instants]
    yield from (f.path for f in unlisted)


def _writers(view: TableView, path: str) -> Iterator[str]:
    """Yield the instants that wrote the blocks of a log file, as far as it can be read."""
    try:
        for block in frame_log_file(view.storage.read_bytes(path), path=path):
            if block.block_type in RECORD_BLOCKS:
                yield from (block.instant_time or "", *block.compacted_block_times)
    except (HudiError, OSError):
        return  # the check of log files reports it


def _uncommitted_writers(view: TableView, path: str) -> list[str]:
    """Return the incomplete instants of a log file; [] if the file's name has its only instant."""
    if view.config.has_completion_times or not path.rpartition("/")[2].startswith("."):
        return []
    return [time for time in _writers(view, path) if time and time not in view.history.committed]


def _unknown(stored: StoredFiles) -> Iterator[Finding]:
    """Find files that no commit names, and files that are not of Hudi."""
    view = stored.view
    committed = stored.timeline
    if stored.data_files and not view.timeline.instants:
        message = f"{counted(len(stored.data_files), 'data file')}, although the timeline is empty"
        yield Finding(Severity.PROBLEM, FILES, "", message, RESTORE_INSTANT)
        return
    pending = {instant.requested_time for instant in view.timeline.pending}
    undone = rolled_back_times(view)
    lost = committed.lost.keys() | view.groups.lost_commits()
    needed = committed.written.keys() - committed.removed
    is_whole = not lost and needed <= stored.sizes.keys()
    table = files(view, file_slices(view))
    uncommitted = table.filter(pc.invert(table.column("is_committed"))).to_pylist()
    instants = [(row["path"], row["instant_time"]) for row in uncommitted]
    named = committed_by_path(commits_of(view, instants)).keys() if instants else frozenset()
    missing = {path.rpartition("/")[2] for path in named - stored.sizes.keys()}
    by_time: dict[str, list[str]] = {}
    for row in uncommitted:
        for time in _uncommitted_writers(view, row["path"]) or [row["instant_time"]]:
            by_time.setdefault(time, []).append(row["path"])
    for time, paths in by_time.items():
        subject = time if len(paths) > 1 else paths[0]
        files_of = f"{counted(len(paths), 'file')} of {time}: {_some(paths)}"
        severity = Severity.WARNING
        advice = ""
        if time in lost:
            severity = Severity.PROBLEM
            advice = RESTORE_INSTANT
            message = "Their commit did complete, but the timeline has lost that"
        elif any(path.rpartition("/")[2] in missing for path in paths):
            severity = Severity.PROBLEM
            advice = "Move the files, or the folder, back"
            message = "Commits name them in another folder, where they are missing"
        elif time in pending:
            severity = Severity.NOTE
            message = "It has not completed; readers skip what it wrote"
        elif time in undone or time in view.history.committed:
            message = "A failed or repeated attempt of a write left them. Readers skip them"
            advice = "Nothing needs to be done; they only take space" if is_whole else _KEEP
        else:
            message = (
                "No commit names them, so readers skip them: a failed write left them, or the "
                "timeline has lost their commit"
            )
            advice = _KEEP
        yield Finding(severity, FILES, subject, f"{files_of}. {message}", advice)
    yield from _forgotten(stored)
    yield from _foreign(stored)


def _foreign(stored: StoredFiles) -> Iterator[Finding]:
    """Find files that Hudi did not write."""
    others = {path: path.rpartition("/")[2] for path in stored.sizes.keys() - stored.data_files}
    foreign = sorted(
        p for p, name in others.items() if not is_partition_marker(name) and name[0] not in "._"
    )
    if foreign:
        count = counted(len(foreign), "file")
        message = f"{count} not written by Hudi, ignored by reads: {_some(foreign)}"
        yield Finding(Severity.NOTE, FILES, "", message)


def _forgotten(stored: StoredFiles) -> Iterator[Finding]:
    """Find files of commits before the timeline that its archive does not have."""
    history = stored.view.history
    active = {instant.requested_time for instant in history.timeline.instants}
    by_time: dict[str, list[str]] = {}
    for path, name in stored.data_files.items():
        by_time.setdefault(name.instant, []).append(path)
    for time in sorted(by_time.keys() - active - history.archived_times.keys()):
        if time in history.committed and time != BOOTSTRAP_INSTANT:
            files_of = f"{counted(len(by_time[time]), 'file')} of {time}: {_some(by_time[time])}"
            message = f"{files_of}. Reads take their commit for archived, but the archive lacks it"
            advice = "Unless somebody shortened the archive, restore the timeline from a copy"
            yield Finding(Severity.WARNING, FILES, time, message, advice)


def _some(paths: list[str]) -> str:
    return ", ".join(paths[:3]) + (", …" if len(paths) > 3 else "")


def check_sizes(stored: StoredFiles) -> Iterator[Finding]:
    """Compare the sizes on the storage with the sizes in commits."""
    files = sorted(stored.timeline.written.items())
    sized = {path: file.size for path, file in files if path in stored.sizes and file.size}
    findings = [f for path, size in sized.items() for f in _judge_size(stored, path, size)]
    yield from findings
    if sized and all(finding.severity is Severity.WARNING for finding in findings):
        message = f"{counted(len(sized), 'file')} of the size that commits recorded"
        if findings:
            message = f"none of {len(sized)} files is shorter than its commit recorded"
        yield Finding(Severity.OK, SIZES, "", message)


def _judge_size(stored: StoredFiles, path: str, committed: int) -> Iterator[Finding]:
    size = stored.sizes[path]
    is_log = path.rpartition("/")[2].startswith(".")
    message = f"{size} bytes on the storage, {committed} in its commit"
    if size < committed:
        yield Finding(Severity.PROBLEM, SIZES, path, f"{message}: truncated", RESTORE)
    elif size > committed and not is_log:
        yield Finding(Severity.PROBLEM, SIZES, path, f"{message}: overwritten", RESTORE)
    # Before layout 2 later commits append to the same log file.
    elif size > committed and stored.view.config.has_completion_times:
        message = f"{message}: bytes were appended after the commit"
        yield Finding(Severity.WARNING, SIZES, path, message)
