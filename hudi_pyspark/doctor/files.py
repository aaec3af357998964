"""Files on the storage against files on the timeline, in both directions, and their sizes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from hudi_pyspark.doctor.finding import Finding, Severity, counted
from hudi_pyspark.errors import HudiError
from hudi_pyspark.format.file_name import (
    BaseFileName,
    LogFileName,
    NotADataFile,
    is_partition_marker,
    parse_data_file_name,
)
from hudi_pyspark.format.log.log_block import frame_blocks
from hudi_pyspark.inspection.files import files
from hudi_pyspark.table.listing import path_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hudi_pyspark.doctor.timeline import FilesOfTimeline
    from hudi_pyspark.table.file_group import FileSlice, LogFile
    from hudi_pyspark.table.view import TableView

FILES = "files"
SIZES = "sizes"
_RESTORE = "Restore the file from a copy of the table"


@dataclass(frozen=True)
class StoredFiles:
    """What lies in the folders of a table's partitions."""

    sizes: Mapping[str, int]  # by path relative to the base path; bytes
    unmarked: tuple[str, ...]  # partitions that commits know but that have no marker

    @cached_property
    def data_files(self) -> Mapping[str, BaseFileName | LogFileName]:
        """The parsed names of base and log files, by path; change logs included."""
        parsed = {path: _parse(path) for path in sorted(self.sizes)}
        return {path: name for path, name in parsed.items() if name is not None}


def _parse(path: str) -> BaseFileName | LogFileName | None:
    try:
        return parse_data_file_name(path.rpartition("/")[2])
    except NotADataFile:
        return None


def stored_files(view: TableView, told: FilesOfTimeline) -> StoredFiles:
    """List the partitions that have a marker, and those that only commits know."""
    marked = view.listing.partitions()
    named = {path.rpartition("/")[0] for path in told.written}
    listed = view.listing.files(sorted({*marked, *named}))
    sizes = {
        path_in(partition, file.name): file.size
        for partition, files in listed.items()
        for file in files
    }
    has_files = {path.rpartition("/")[0] for path in sizes}
    return StoredFiles(sizes, tuple(sorted(p for p in named & has_files if p not in marked)))


def check_files(view: TableView, told: FilesOfTimeline, stored: StoredFiles) -> Iterator[Finding]:
    """Committed files that are missing, and files that no commit knows."""
    found = [*_missing(view, told, stored), *_unknown(view, stored), *_unmarked(stored)]
    yield from found
    if not any(finding.severity is Severity.PROBLEM for finding in found):
        count = len(stored.data_files)
        message = f"{counted(count, 'data file')} on the storage; none that a read needs is missing"
        yield Finding(Severity.OK, FILES, "", message)


def _missing(view: TableView, told: FilesOfTimeline, stored: StoredFiles) -> Iterator[Finding]:
    gone = {path for s in view.file_slices(check_files=False) for path in _gone_from(view, s)}
    # Cleans leave the timeline too; then nobody can tell which files they removed.
    is_told = not view.history.archived_times
    for path, written in sorted(told.written.items()):
        if path in gone:
            message = f"committed by {written.commit}, part of every read, and not on the storage"
            yield Finding(Severity.PROBLEM, FILES, path, message, _RESTORE)
        elif path in stored.sizes or path in told.removed:
            continue
        elif is_told and not _is_appended(view, path):
            yield Finding(
                Severity.WARNING,
                FILES,
                path,
                f"committed by {written.commit}, not on the storage, and no clean removed it. The "
                "latest snapshot does without it; time travel and incremental reads may not",
                _RESTORE,
            )


def _gone_from(view: TableView, file_slice: FileSlice) -> Iterator[str]:
    """Paths of files of a slice that are neither there nor, as blocks, in another of its files."""
    base, unlisted = file_slice.base_file, [f for f in file_slice.log_files if not f.is_listed]
    if base is not None and not base.is_listed:
        yield base.path
    if not view.config.log_file_has_one_commit and unlisted:
        instants = {time for f in file_slice.log_files if f.is_listed for time in _writers(view, f)}
        unlisted = [f for f in unlisted if f.committed_by not in instants]
    yield from (f.path for f in unlisted)


def _writers(view: TableView, file: LogFile) -> Iterator[str]:
    """Instants that wrote the blocks of a log file, as far as it can be read."""
    try:
        for block in frame_blocks(view.storage.read_bytes(file.path), path=file.path):
            yield from (block.instant_time or "", *block.compacted_block_times)
    except (HudiError, OSError):
        return  # the check of log files tells of it


def _is_appended(view: TableView, path: str) -> bool:
    """Whether a log file may exist as blocks of another: where a file system can append."""
    return not view.config.log_file_has_one_commit and path.rpartition("/")[2].startswith(".")


def _unknown(view: TableView, stored: StoredFiles) -> Iterator[Finding]:
    pending = {instant.requested_time for instant in view.timeline.pending}
    table = files(view)
    uncommitted = table.filter(pc.invert(table.column("is_committed")))
    for path, time in zip(
        uncommitted.column("path").to_pylist(),
        uncommitted.column("instant_time").to_pylist(),
        strict=True,
    ):
        if time in pending:
            message = f"belongs to {time}, which has not completed; readers skip it"
            yield Finding(Severity.NOTE, FILES, path, message)
            continue
        yield Finding(
            Severity.WARNING,
            FILES,
            path,
            "no commit knows it: left over by a write that failed, or by a second attempt at one. "
            "Readers skip it",
            "Nothing needs to be done; it only takes space",
        )
    foreign = sorted(path for path in stored.sizes if _is_foreign(path, stored))
    if foreign:
        names = ", ".join(foreign[:3]) + (", …" if len(foreign) > 3 else "")
        message = f"{counted(len(foreign), 'file')} not of Hudi, which readers ignore: {names}"
        yield Finding(Severity.NOTE, FILES, "", message)


def _is_foreign(path: str, stored: StoredFiles) -> bool:
    name = path.rpartition("/")[2]
    return not (path in stored.data_files or is_partition_marker(name) or name[0] in "._")


def _unmarked(stored: StoredFiles) -> Iterator[Finding]:
    for partition in stored.unmarked:
        yield Finding(
            Severity.WARNING,
            FILES,
            partition or ".",
            "the partition has files but no .hoodie_partition_metadata: readers that list folders "
            "do not find it. This package does, since commits name it",
            "Put the marker file of another partition of the same depth there",
        )


def check_sizes(view: TableView, told: FilesOfTimeline, stored: StoredFiles) -> Iterator[Finding]:
    """Sizes in commits against sizes on the storage."""
    compared: Counter[Severity] = Counter()
    for path, written in sorted(told.written.items()):
        if path not in stored.sizes or not written.size:
            continue
        finding = _judge_size(view, path, written.size, stored.sizes[path])
        compared[finding.severity if finding is not None else Severity.OK] += 1
        if finding is not None:
            yield finding
    if not compared[Severity.PROBLEM] and compared:
        message = f"{counted(sum(compared.values()), 'file')} of the size that commits say"
        if compared[Severity.WARNING]:
            message = f"no file is shorter than its commit says, of {sum(compared.values())}"
        yield Finding(Severity.OK, SIZES, "", message)


def _judge_size(view: TableView, path: str, committed: int, found: int) -> Finding | None:
    name = path.rpartition("/")[2]
    if found == committed:
        return None
    message = f"{found} bytes on the storage, {committed} in its commit"
    if found < committed:
        return Finding(Severity.PROBLEM, SIZES, path, f"{message}: cut short", _RESTORE)
    if not name.startswith("."):
        return Finding(Severity.PROBLEM, SIZES, path, f"{message}: overwritten", _RESTORE)
    if not view.config.log_file_has_one_commit:
        return None  # later commits append to the same log file
    message = f"{message}: something was appended after the commit"
    return Finding(Severity.WARNING, SIZES, path, message)
