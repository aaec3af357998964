"""What is inside data files: log blocks that can be framed, base files that can be opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_pyspark.doctor.finding import Finding, Severity, counted
from hudi_pyspark.errors import CorruptLogBlockError, HudiError
from hudi_pyspark.format.file_name import LogFileName
from hudi_pyspark.format.log.data_block import decode_data_block
from hudi_pyspark.format.log.delete_block import decode_delete_block
from hudi_pyspark.format.log.log_block import LogBlock, LogBlockType, frame_blocks
from hudi_pyspark.query.base_files.base_file import read_base_file
from hudi_pyspark.table.schema import resolve_schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hudi_pyspark.doctor.files import StoredFiles
    from hudi_pyspark.doctor.finding import Track
    from hudi_pyspark.doctor.timeline import FilesOfTimeline
    from hudi_pyspark.storage import Storage
    from hudi_pyspark.table.view import TableView

LOGS = "log files"
BASES = "base files"
_BATCH_ROWS = 65_536
_RESTORE = (
    "Restore the file from a copy of the table; `hudi-py log blocks` shows what can be read of it"
)


def check_logs(
    view: TableView, told: FilesOfTimeline, stored: StoredFiles, track: Track, *, deep: bool
) -> Iterator[Finding]:
    """Frame every log file, and on request decode every record in it."""
    paths = [path for path, name in stored.data_files.items() if isinstance(name, LogFileName)]
    has_problem, blocks = False, 0
    for path in track(paths, "Reading log files"):
        committed = _vouched_bytes(view, told, stored, path)
        for finding in _check_log(view.storage, path, committed, deep=deep):
            if isinstance(finding, LogBlock):
                blocks += 1
                continue
            has_problem |= finding.severity is Severity.PROBLEM
            yield finding
    if paths and not has_problem:
        how = "all records decoded" if deep else "whole"
        yield Finding(
            Severity.OK,
            LOGS,
            "",
            f"{counted(blocks, 'block')} in {counted(len(paths), 'log file')}: {how}",
        )


def _vouched_bytes(view: TableView, told: FilesOfTimeline, stored: StoredFiles, path: str) -> int:
    """How much of a log file completed commits have written, as far as anybody knows."""
    if path in told.written:
        return told.written[path].size
    # From layout 2 on a log file has one writer; earlier its name does not tell who wrote it.
    is_old = view.config.log_file_has_one_commit and _is_of_archived_commit(view, stored, path)
    return stored.sizes[path] if is_old else 0


def _is_of_archived_commit(view: TableView, stored: StoredFiles, path: str) -> bool:
    """Whether a file was written by a commit that is known, but not what it wrote."""
    time = stored.data_files[path].instant
    return time in view.committed and time not in view.commit_metadata


def _check_log(
    storage: Storage, path: str, committed: int, *, deep: bool
) -> Iterator[Finding | LogBlock]:
    """The blocks of a log file, with findings between them; ends where no block can be framed."""
    try:
        for block in frame_blocks(storage.read_bytes(path), path=path):
            if block.block_type is LogBlockType.CORRUPT_BLOCK:
                yield _corrupt_block(block, committed)
                continue
            if deep:
                _decode(block)
            yield block
    except CorruptLogBlockError as error:
        message = f"at byte {error.offset}: {error.problem}"
        # Readers never open a file that no commit knows, unless it is appended to.
        severity = Severity.PROBLEM if error.offset < committed else Severity.WARNING
        yield Finding(severity, LOGS, path, message, _RESTORE)
    except (HudiError, OSError) as error:
        reason = error.reason() if isinstance(error, HudiError) else str(error)
        yield Finding(Severity.PROBLEM, LOGS, path, reason, _RESTORE)


def _corrupt_block(block: LogBlock, committed: int) -> Finding:
    message = f"bytes {block.offset} to {block.offset + block.size} are no whole block"
    if block.offset < committed:
        message += ", although a completed commit vouches for them. Apache Hudi skips them silently"
        return Finding(Severity.PROBLEM, LOGS, block.path, message, _RESTORE)
    message += ", and no commit vouches for them: torn by a write that failed. Readers skip them"
    return Finding(Severity.NOTE, LOGS, block.path, message)


def _decode(block: LogBlock) -> None:
    if block.block_type is LogBlockType.DELETE_BLOCK:
        decode_delete_block(block.content, path=block.path, offset=block.offset)
    elif block.block_type is not LogBlockType.COMMAND_BLOCK:
        decode_data_block(block, None)


def check_base_files(
    view: TableView, told: FilesOfTimeline, stored: StoredFiles, track: Track, *, deep: bool
) -> Iterator[Finding]:
    """Open every committed base file, and on request read all of its columns.

    What a failed attempt at a commit has left is not opened: it may be half a file.
    """
    paths = [
        path
        for path, name in stored.data_files.items()
        if not isinstance(name, LogFileName)
        and (path in told.written or _is_of_archived_commit(view, stored, path))
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
    """Why a base file cannot be read; "" if it can."""
    try:
        for _ in read_base_file(storage, path, columns, _BATCH_ROWS):
            pass
    except (HudiError, OSError) as error:
        return error.reason() if isinstance(error, HudiError) else str(error)
    return ""
