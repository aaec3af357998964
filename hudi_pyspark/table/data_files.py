"""The data files of a partition: those on the storage, and those that commits name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hudi_pyspark.errors import CorruptTableError
from hudi_pyspark.format.file_name import (
    BaseFileName,
    LogFileName,
    NotADataFile,
    parse_data_file_name,
)
from hudi_pyspark.table.file_group import BaseFile, LogFile
from hudi_pyspark.table.listing import path_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hudi_pyspark.format.timeline.commit_metadata import CommitMetadata
    from hudi_pyspark.storage import FileInfo
    from hudi_pyspark.table.config import TableConfig


@dataclass(frozen=True, slots=True)
class CommittedFile:
    """The record of completed commits about a file."""

    size: int  # bytes, the largest that a completed commit names
    committed_by: str  # requested time of the newest commit that names the file
    first_committed_by: str  # and of the oldest


def committed_files(
    commits: Mapping[str, CommitMetadata],
) -> Mapping[str, Mapping[str, CommittedFile]]:
    """Map partition path and file name to what commits record of the file.

    Args:
        commits: requested time to metadata, oldest first.
    """
    files: dict[str, dict[str, CommittedFile]] = {}
    for time, metadata in commits.items():
        for partition, stat in metadata.all_stats():
            if not stat.path:
                continue
            named = files.setdefault(partition, {})
            name = stat.file_name
            known = named.get(name, CommittedFile(0, time, time))
            size = max(stat.file_size, known.size)
            named[name] = CommittedFile(size, time, known.first_committed_by)
    return files


def data_files(
    partition: str,
    listed: Iterable[FileInfo],
    committed: Mapping[str, CommittedFile],
    config: TableConfig,
) -> tuple[list[BaseFile], list[LogFile]]:
    """Return the base and log files of a partition: on the storage, or only known by commits.

    Args:
        partition: its path.
        listed: the files in its folder.
        committed: file name to what commits record of the file.
        config: names the extensions of base files.

    Raises:
        CorruptTableError: a committed base file is empty.
    """
    base_files: dict[str, BaseFile] = {}
    log_files: dict[str, LogFile] = {}
    sizes = {file.name: file.size for file in listed}
    for name in sorted({*sizes, *committed}):
        path = path_in(partition, name)
        stat = committed.get(name, CommittedFile(0, "", ""))
        parsed = _slice_file_name(name, config)
        if isinstance(parsed, LogFileName):
            log_files[name] = LogFile(
                path=path,
                file_id=parsed.file_id,
                instant_time=parsed.instant,
                version=parsed.version,
                write_token=parsed.write_token or "",
                size=sizes.get(name, 0),
                committed_size=stat.size,
                is_listed=name in sizes,
                committed_by=stat.committed_by,
                first_committed_by=stat.first_committed_by,
            )
        elif parsed is not None:
            _check_not_empty(path, name, sizes, committed)
            base_files[name] = BaseFile(
                path=path,
                file_id=parsed.file_id,
                instant_time=parsed.instant,
                size=sizes.get(name, 0),
                is_listed=name in sizes,
            )
    # Of several attempts at one base file, the one that the commit names comes last and counts;
    # once the commit is archived, at least no attempt that wrote nothing.
    attempts = sorted(base_files, key=lambda name: (name in committed, base_files[name].size > 0))
    return [base_files[name] for name in attempts], list(log_files.values())


def _check_not_empty(
    path: str, name: str, sizes: Mapping[str, int], committed: Mapping[str, CommittedFile]
) -> None:
    if sizes.get(name) == 0 and name in committed:
        raise CorruptTableError(f"{path}: a committed base file of 0 bytes. Restore it from a copy")


def _slice_file_name(name: str, config: TableConfig) -> BaseFileName | LogFileName | None:
    """Return a base or log file name that takes part in slices; None for every other file."""
    try:
        parsed = parse_data_file_name(name)
    except NotADataFile:
        return None
    if isinstance(parsed, LogFileName):
        return None if parsed.is_cdc else parsed
    extensions = {f".{config.base_file_format.lower()}"}
    if config.base_file_formats_mixed:
        extensions |= {".parquet", ".orc", ".hfile"}
    return parsed if any(extension in name for extension in extensions) else None
