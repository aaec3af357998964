"""The blocks of log files, read as far as damage allows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from hudi_pyspark.errors import HudiError, MissingFileError
from hudi_pyspark.format.log.data_block import salvage_data_block
from hudi_pyspark.format.log.delete_block import DeleteRecords, decode_deletes
from hudi_pyspark.format.log.log_block import DATA_BLOCKS, LogBlock, LogBlockType
from hudi_pyspark.format.log.log_file import salvage_log_file
from hudi_pyspark.inspection.commits import known_commits
from hudi_pyspark.inspection.definition import with_columns
from hudi_pyspark.inspection.files import committed_by_path
from hudi_pyspark.table.view import TableView

_RECORD_TYPES = DATA_BLOCKS | {LogBlockType.CDC_DATA_BLOCK}


@with_columns(
    "path, block int, offset int, bytes int, log_format_version int, type, block_version int, "
    "instant_time, is_committed bool, target_instant_time, records int, is_partial bool, "
    "compacted_instants texts, content_offset int, content_bytes int, header map, problem"
)
def log_blocks(view: TableView, path: str | None) -> Iterator[dict[str, object]]:
    """Yield one row per block; see `Inspection.log_blocks`."""
    slices = view.slices.as_of(check_files=False) if path is None else ()
    paths = [log.path for file_slice in slices for log in file_slice.log_files]
    for file in salvage_logs(view, paths if path is None else [relative_path(view, path)]):
        for salvaged in file.blocks:
            block = salvaged.block
            time = salvaged.block.instant_time
            yield {
                "path": file.path,
                "block": salvaged.number,
                "offset": block.offset,
                "bytes": block.size,
                "log_format_version": block.log_format_version,
                "type": block.block_type.name,
                "block_version": block.block_version,
                "instant_time": time,
                "is_committed": time in view.history.committed if time is not None else None,
                "target_instant_time": block.target_instant_time,
                "records": salvaged.record_count,
                "is_partial": block.is_partial,
                "compacted_instants": block.compacted_block_times,
                "content_offset": block.content_offset,
                "content_bytes": len(block.content),
                "header": [(key.name, text) for key, text in block.header.items()],
                "problem": salvaged.problem or None,
            }
        if file.problem:
            damage = {"offset": file.size, "bytes": file.missing_bytes, "problem": file.problem}
            yield {"path": file.path, **damage}


@dataclass(frozen=True, slots=True)
class DecodedBlock:
    """A block of a log file with its records, or the reason why it cannot be decoded."""

    number: int  # in its file, from 0
    block: LogBlock
    rows: pa.Table | None = None  # of a data block; incomplete if `problem` is set
    deletes: DeleteRecords | None = None  # of a delete block
    problem: str = ""  # "" for a whole block

    @property
    def record_count(self) -> int | None:
        """Number of decoded records; None for a block that has no records."""
        if self.rows is not None:
            return int(self.rows.num_rows)
        return len(self.deletes.record_keys) if self.deletes is not None else None


@dataclass(frozen=True, slots=True)
class SalvagedLog:
    """A log file, read as far as damage allows."""

    path: str
    size: int  # bytes; 0 if the file is missing
    blocks: tuple[DecodedBlock, ...]
    missing_bytes: int  # that a commit recorded and the file lacks
    problem: str  # of the file as a whole; "" if it has none

    @property
    def problems(self) -> list[dict[str, object]]:
        """The problems of the blocks, then that of the file: their places, and what they are."""
        found: list[dict[str, object]] = [
            {
                "path": self.path,
                "block": salvaged.number,
                "offset": salvaged.block.offset,
                "instant_time": salvaged.block.instant_time,
                "problem": salvaged.problem,
            }
            for salvaged in self.blocks
            if salvaged.problem
        ]
        if self.problem:
            found.append({"path": self.path, "offset": self.size, "problem": self.problem})
        return found


def relative_path(view: TableView, path: str) -> str:
    """Return a path relative to the table, given a relative or a full path."""
    base = view.storage.describe("").rstrip("/")
    local = path.removeprefix("file://") if not base.startswith("file:") else path
    return local.removeprefix(f"{base}/").lstrip("/") if base else path


def salvage_logs(view: TableView, paths: Sequence[str]) -> Iterator[SalvagedLog]:
    """Read log files as far as damage allows.

    Args:
        view: the table.
        paths: of log files, relative to the table.

    Raises:
        MissingFileError: the only path does not exist, and no commit names it. With several paths,
            a missing file has a problem instead.
    """
    committed = committed_by_path(known_commits(view, archived=False))
    for path in paths:
        size = committed[path].size if path in committed else 0
        yield _salvage_log(view, path, size, is_only=len(paths) == 1)


def _salvage_log(view: TableView, path: str, committed: int, *, is_only: bool) -> SalvagedLog:
    try:
        data = view.storage.read_bytes(path)
    except FileNotFoundError as error:
        if is_only and not committed:
            raise MissingFileError(
                f"{view.storage.describe(path)} does not exist. inspect.files() lists the paths "
                "of log files"
            ) from error
        elsewhere = "; another log file of the slice may have its blocks"
        hint = "" if view.config.has_completion_times else elsewhere
        problem = f"the file was committed but is not on the storage{hint}"
        return SalvagedLog(path, 0, (), committed, problem)
    salvaged_blocks = enumerate(salvage_log_file(data, path=path))
    blocks = tuple(_decode(number, s.block, s.problem) for number, s in salvaged_blocks)
    missing = max(committed - len(data), 0)
    problem = f"the file has {len(data)} bytes, but its commit says {committed}" if missing else ""
    return SalvagedLog(path, len(data), blocks, missing, problem)


def _decode(number: int, block: LogBlock, problem: str) -> DecodedBlock:
    if problem:
        return DecodedBlock(number, block, problem=problem)
    if block.block_type in _RECORD_TYPES:
        rows, problem = salvage_data_block(block)
        return DecodedBlock(number, block, rows=rows, problem=problem)
    if block.block_type is not LogBlockType.DELETE_BLOCK:
        return DecodedBlock(number, block)
    try:
        deletes = decode_deletes(block)
    except HudiError as error:
        return DecodedBlock(number, block, problem=error.reason())
    return DecodedBlock(number, block, deletes=deletes)
