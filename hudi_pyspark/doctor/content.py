"""Checks of the contents of data files: log blocks are whole, base files can be opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_pyspark.description import counted
from hudi_pyspark.doctor.finding import Finding, Severity, reason_of
from hudi_pyspark.errors import CorruptLogBlockError, HudiError
from hudi_pyspark.format.file_name import LogFileName
from hudi_pyspark.format.log.data_block import decode_data_block, decode_deletes
from hudi_pyspark.format.log.log_block import LogBlock, LogBlockType
from hudi_pyspark.format.log.log_file import frame_log_file
from hudi_pyspark.reading.base_files.base_file import read_base_file
from hudi_pyspark.table.schema import resolve_schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hudi_pyspark.doctor.files import StoredFiles
    from hudi_pyspark.doctor.finding import Track
    from hudi_pyspark.doctor.timeline import TimelineFiles
    from hudi_pyspark.storage import Storage
    from hudi_pyspark.table.view import TableView

LOGS = "log files"
BASES = "base files"
_BATCH_ROWS = 65_536
_RESTORE = (
    "Restore the file from a copy of the table; `hudi-py log blocks` shows which parts are readable"
)


def check_logs(
    view: TableView, committed: TimelineFiles, stored: StoredFiles, track: Track, *, deep: bool
) -> Iterator[Finding]:
    """Split every log file into its blocks, and on request decode every record."""
    paths = [path for path, name in stored.data_files.items() if isinstance(name, LogFileName)]
    has_problem, blocks = False, 0
    for path in track(paths, "Reading log files"):
        size = _committed_bytes(view, committed, stored, path)
        for result in _check_log(view.storage, path, size, deep=deep):
            if isinstance(result, LogBlock):
                blocks += 1
                continue
            has_problem |= result.severity is Severity.PROBLEM
            yield result
    if paths and not has_problem:
        how = "all records decoded" if deep else "whole"
        yield Finding(
            Severity.OK,
            LOGS,
            "",
            f"{counted(blocks, 'block')} in {counted(len(paths), 'log file')}: {how}",
        )


def _committed_bytes(
    view: TableView, committed: TimelineFiles, stored: StoredFiles, path: str
) -> int:
    """Return how many bytes of a log file completed commits are known to have written."""
    if path in committed.written:
        return committed.written[path].size
    # From layout 2 on a log file has one writer, and its name has the writer's instant.
    is_old = view.config.log_file_has_one_commit and _is_of_archived_commit(view, stored, path)
    return stored.sizes[path] if is_old else 0


def _is_of_archived_commit(view: TableView, stored: StoredFiles, path: str) -> bool:
    """Return whether a commit without known metadata wrote a file."""
    time = stored.data_files[path].instant
    return time in view.committed and time not in view.commit_metadata


def _check_log(
    storage: Storage, path: str, committed: int, *, deep: bool
) -> Iterator[Finding | LogBlock]:
    """Yield the blocks of a log file and the findings about it, up to damage that ends the file."""
    try:
        for block in frame_log_file(storage.read_bytes(path), path=path):
            if block.block_type is LogBlockType.CORRUPT_BLOCK:
                yield _corrupt_block(block, committed)
                continue
            if deep:
                _decode(block)
            yield block
    except CorruptLogBlockError as error:
        message = f"at byte {error.offset}: {error.problem}"
        # Readers never open a file that no commit names, unless a later commit appends to it.
        severity = Severity.PROBLEM if error.offset < committed else Severity.WARNING
        yield Finding(severity, LOGS, path, message, _RESTORE)
    except (HudiError, OSError) as error:
        yield Finding(Severity.PROBLEM, LOGS, path, reason_of(error), _RESTORE)


def _corrupt_block(block: LogBlock, committed: int) -> Finding:
    message = f"bytes {block.offset} to {block.offset + block.size} are not a whole block"
    if block.offset < committed:
        message += ", although a completed commit wrote them. Apache Hudi skips them silently"
        return Finding(Severity.PROBLEM, LOGS, block.path, message, _RESTORE)
    message += ": a failed write left them. No commit includes them, and readers skip them"
    return Finding(Severity.NOTE, LOGS, block.path, message)


def _decode(block: LogBlock) -> None:
    if block.block_type is LogBlockType.DELETE_BLOCK:
        decode_deletes(block)
    elif block.block_type is not LogBlockType.COMMAND_BLOCK:
        decode_data_block(block, None)


def check_base_files(
    view: TableView, committed: TimelineFiles, stored: StoredFiles, track: Track, *, deep: bool
) -> Iterator[Finding]:
    """Open every committed base file, and on request read all of its columns.

    Files of failed writes are not opened, since they may be incomplete.
    """
    paths = [
        path
        for path, name in stored.data_files.items()
        if not isinstance(name, LogFileName)
        and (path in committed.written or _is_of_archived_commit(view, stored, path))
    ]
    columns: Sequence[str] = resolve_schema(view).names if deep and paths else ()
    has_problem = False
    for path in track(paths, "Opening base files"):
        problem = _problem_of(view.storage, path, columns)
        if problem:
            has_problem = True
            yield Finding(Severity.PROBLEM, BASES, path, problem)
    if paths and not has_problem:
        how = "read with all columns" if deep else "opened"
        yield Finding(Severity.OK, BASES, "", f"{counted(len(paths), 'base file')} {how}")


def _problem_of(storage: Storage, path: str, columns: Sequence[str]) -> str:
    """Return why a base file cannot be read; "" if it can."""
    try:
        for _ in read_base_file(storage, path, columns, _BATCH_ROWS):
            pass
    except (HudiError, OSError) as error:
        return reason_of(error)
    return ""
