"""Checks of the contents of data files: log blocks are whole, base files can be opened."""

from collections.abc import Iterator
from contextlib import closing

import pyarrow as pa

from hudi_pyspark.columns.schema_evolution import mislabelled_columns
from hudi_pyspark.doctor.files import StoredFiles
from hudi_pyspark.doctor.finding import RESTORE, Finding, Severity, Track, reason_of, worst
from hudi_pyspark.errors import CorruptLogBlockError, HudiError
from hudi_pyspark.format.data_files import LogFileName
from hudi_pyspark.format.log.data_block import decode_data_block
from hudi_pyspark.format.log.delete_block import decode_deletes
from hudi_pyspark.format.log.log_block import LogBlock, LogBlockType
from hudi_pyspark.format.log.log_file import frame_log_file
from hudi_pyspark.inspection.commits import known_schema
from hudi_pyspark.reading.base_files.base_file import read_base_file
from hudi_pyspark.table.log_files import LogFiles
from hudi_pyspark.table.schema import resolve_schema
from hudi_pyspark.wording import counted

LOGS = "log files"
BASES = "base files"
_BATCH_ROWS = 65_536
_HEADERS = 1 << 16  # bytes per request: enough for the headers of most blocks
_RESTORE = f"{RESTORE}; `hudi-py log blocks` shows which parts are readable"


def check_logs(
    stored: StoredFiles, track: Track, *, deep: bool, most_files: int | None = None
) -> Iterator[Finding]:
    """Split log files into their blocks, and on request decode every record.

    Args:
        stored: the files of the table.
        track: shows the progress.
        deep: decode the records, rather than read headers alone.
        most_files: how many files are split, the newest first; None for all.
    """
    paths = [path for path, name in stored.data_files.items() if isinstance(name, LogFileName)]
    paths.sort(key=lambda path: stored.data_files[path].instant, reverse=True)
    skipped = len(paths[most_files:]) if most_files is not None else 0
    paths = paths[:most_files]
    timestamps = _Timestamps(known_schema(stored.view) if deep and paths else pa.schema([]))
    findings: list[Finding] = []
    blocks = 0
    with closing(LogFiles(stored.view.storage, None if deep else _HEADERS)) as files:
        for path in track(paths, "Reading log files"):
            committed = _committed_bytes(stored, path)
            try:
                for block in frame_log_file(files.open(path), path=path):
                    if block.block_type is LogBlockType.CORRUPT_BLOCK:
                        findings.append(_corrupt_block(block, committed))
                        continue
                    if deep:
                        timestamps.look_at(path, _decode(block))
                    blocks += 1
            except CorruptLogBlockError as error:
                message = f"at byte {error.offset}: {error.found}"
                # Readers open a file that no commit names only if a later commit appends to it.
                severity = Severity.PROBLEM if error.offset < committed else Severity.WARNING
                findings.append(Finding(severity, LOGS, path, message, _RESTORE))
            except (HudiError, OSError) as error:
                findings.append(
                    Finding(Severity.PROBLEM, LOGS, path, reason_of(error, path), _RESTORE)
                )
    yield from findings
    if paths and worst(finding.severity for finding in findings) is not Severity.PROBLEM:
        how = "all records decoded" if deep else "whole"
        message = f"{counted(blocks, 'block')} in {counted(len(paths), 'log file')}: {how}"
        if skipped:
            message += f"; {counted(skipped, 'older log file')} not read"
        yield Finding(Severity.OK, LOGS, "", message)
    yield from timestamps.findings(LOGS)


def _committed_bytes(stored: StoredFiles, path: str) -> int:
    """Return how many bytes of a log file completed commits are known to have written."""
    if path in stored.timeline.written:
        return stored.timeline.written[path].size
    # From layout 2 on a log file has one writer, and its name has the writer's instant.
    has_one_writer = stored.view.config.has_completion_times
    is_old = has_one_writer and _is_of_archived_commit(stored, path)
    return stored.sizes[path] if is_old else 0


def _is_of_archived_commit(stored: StoredFiles, path: str) -> bool:
    """Return whether a commit without known metadata wrote a file."""
    time = stored.data_files[path].instant
    view = stored.view
    return time in view.history.committed and time not in view.history.committed.times


def _corrupt_block(block: LogBlock, committed: int) -> Finding:
    message = f"bytes {block.offset} to {block.offset + block.size} are not a whole block"
    if block.offset < committed:
        message += ", although a completed commit wrote them. Apache Hudi skips them silently"
        return Finding(Severity.PROBLEM, LOGS, block.path, message, _RESTORE)
    message += ": a failed write left them. No commit includes them, and readers skip them"
    return Finding(Severity.NOTE, LOGS, block.path, message)


def _decode(block: LogBlock) -> pa.Schema:
    """Decode a block, and return the columns of its records as they are stored."""
    if block.block_type is LogBlockType.DELETE_BLOCK:
        decode_deletes(block)
    elif block.block_type is not LogBlockType.COMMAND_BLOCK:
        return decode_data_block(block, None).schema
    return pa.schema([])


class _Timestamps:
    """Files that store timestamps in another type than the table's latest schema."""

    def __init__(self, schema: pa.Schema) -> None:
        self._columns = schema
        self._files: dict[str, set[str]] = {}

    def look_at(self, path: str, schema: pa.Schema) -> None:
        names = mislabelled_columns(schema, self._columns)
        if names:
            self._files.setdefault(path, set()).update(names)

    def findings(self, check: str) -> Iterator[Finding]:
        if self._files:
            names = ", ".join(sorted(set().union(*self._files.values())))
            files = counted(len(self._files), check.removesuffix("s"))
            message = (
                f"{files} from an older Hudi or Flink, this one first, hold {names} as long or as "
                "timestamp-micros. They are read in the type of the table's schema"
            )
            advice = (
                "Clustering or compaction with Apache Hudi 1.1 or later writes the right type; it "
                "makes final what is lost, so first mend what other checks find"
            )
            yield Finding(Severity.NOTE, check, min(self._files), message, advice)


def check_base_files(stored: StoredFiles, track: Track, *, deep: bool) -> Iterator[Finding]:
    """Open every committed base file, and on request read all of its columns.

    Files of failed writes are not opened, since they may be incomplete.
    """
    paths = [
        path
        for path, name in stored.data_files.items()
        if not isinstance(name, LogFileName)
        and (path in stored.timeline.written or _is_of_archived_commit(stored, path))
    ]
    columns = resolve_schema(stored.view) if deep and paths else pa.schema([])
    timestamps = _Timestamps(columns)
    findings: list[Finding] = []
    for path in track(paths, "Opening base files"):
        try:
            for table in read_base_file(stored.view.storage, path, columns.names, _BATCH_ROWS):
                timestamps.look_at(path, table.schema)
        except (HudiError, OSError) as error:  # noqa: PERF203  (each file may be damaged)
            findings.append(Finding(Severity.PROBLEM, BASES, path, reason_of(error, path), RESTORE))
    yield from findings
    if paths and not findings:
        how = "read with all columns" if deep else "opened"
        yield Finding(Severity.OK, BASES, "", f"{counted(len(paths), 'base file')} {how}")
    yield from timestamps.findings(BASES)
