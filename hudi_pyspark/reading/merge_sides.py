"""Load both sides of a slice's merge: the records of its live log blocks, and its base rows.

Log records find base rows by record key, or by position if every log block has positions. Positions
identify a row even if the base file has its key twice, and the keys need not be read. A task says
which columns are decoded, and whether record positions count.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace

import pyarrow as pa

from hudi_pyspark.arrow_values import to_arrow
from hudi_pyspark.columns.arrays import Mask
from hudi_pyspark.format.log.log_block import LogBlock, LogBlockType
from hudi_pyspark.reading.base_files.base_file import read_base_rows
from hudi_pyspark.reading.base_files.page_reads import PagedFile
from hudi_pyspark.reading.log_records.decoder import LogDecoder
from hudi_pyspark.reading.log_records.record_keys import show_texts
from hudi_pyspark.reading.log_records.records import LogRecords
from hudi_pyspark.reading.merge.base_rows import RowFilter
from hudi_pyspark.reading.merge.loaded_log import LoadedLog, LogInMemory, MemoryLimits, load_log
from hudi_pyspark.storage.protocol import Storage
from hudi_pyspark.table.file_group import BaseFile, LogFile
from hudi_pyspark.table.log_files import LogFiles, LogScan, SliceBlocks
from hudi_pyspark.table.meta_columns import RECORD_KEY_COLUMN
from hudi_pyspark.tasks import ReadSettings, ScanTask


@dataclass(frozen=True, slots=True)
class MergeSides:
    """Both sides of a slice's merge."""

    log: LoadedLog  # to be closed
    base: Iterable[pa.Table]  # of the same schema; read when it is iterated
    scan: LogScan  # of the log files, without their blocks
    row_filter: RowFilter | None = None  # base rows that take part in the merge; None for all

    @property
    def records(self) -> LogRecords:
        """The log records of a merge that takes one pass."""
        assert isinstance(self.log, LogInMemory)
        return self.log.records


def load_merge_sides(task: ScanTask, storage: Storage, file: PagedFile | None = None) -> MergeSides:
    """Load the log records of a slice; its base rows are read later.

    Args:
        task: of the slice.
        storage: of the table.
        file: the base file if it is open, until the base rows have been read.

    Raises:
        MissingFileError: a log file is gone.
        CorruptLogBlockError: a block cannot be decoded.
        SpillError: the log records need the disk, and it is full.
    """
    # Blocks and log files are released here, before the merge begins.
    with live_blocks(task, storage) as scan:
        if lacks_older_values(task, scan.blocks):
            return load_merge_sides(task.of_whole_slice(), storage)
        log, base = _choose_identity(task, scan.blocks, storage, file)
        without_blocks = replace(scan, blocks=(), corrupt_blocks=())
    commit_range = task.shared.commit_range
    if commit_range is None or task.shared.merges_whole_table:
        return MergeSides(log, base, without_blocks)
    # As in Apache Hudi, base rows that the range's commits did not write take no part. A
    # compaction, a clustering or an insert into a small file may have copied them into the range's
    # files, where they could beat a record of the range.
    return MergeSides(log, base, without_blocks, commit_range.wrote)


def _choose_identity(
    task: ScanTask, blocks: Sequence[LogBlock], storage: Storage, file: PagedFile | None
) -> tuple[LoadedLog, Iterable[pa.Table]]:
    """Choose how log records find their base rows, and load both sides accordingly.

    Base rows are left out by their keys only. A row that the predicate rules out otherwise may
    still beat a log record, lend it values, or be the replaced one of two rows with the same key.
    """
    task = with_keys_of_blocks(task, blocks)
    have_positions = _have_positions(task, blocks)
    if task.shared.record_keys is not None and any(have_positions):
        # Positions identify one of several rows with the same key, and keys do not. If no key
        # occurs twice, both identify the same row.
        rows = list(read_base_rows(task, storage, file=file))
        keys = [key for table in rows for key in table.column(RECORD_KEY_COLUMN).to_pylist()]
        if len(set(keys)) == len(keys):
            return load_log_records(task, blocks, by_position=False), rows
        task = task.with_plan(record_keys=None)
    if (
        blocks
        and all(have_positions)
        and task.shared.rule.merger is None
        and task.shared.record_keys is None
        and RECORD_KEY_COLUMN not in task.shared.planned_columns.requested.names
    ):
        columns = pa.schema(field for field in task.working if field.name != RECORD_KEY_COLUMN)
        without_keys = task.with_columns(columns, key_fields=())
        log = load_log_records(without_keys, blocks)
        if log.by_position:
            return log, read_base_rows(without_keys, storage, file=file)
        log.close()  # a block has more or fewer positions than records: its header does not say so
    return load_log_records(task, blocks), read_base_rows(task, storage, file=file)


def _have_positions(task: ScanTask, blocks: Sequence[LogBlock]) -> list[bool]:
    """Return for each block whether positions may identify its base rows, as its header says."""
    base = task.file_slice.base_file
    if base is None or not _may_use_positions(task):
        return [False] * len(blocks)
    return [
        bool(block.record_positions_text) and block.positions_base_instant == base.instant_time
        for block in blocks
    ]


def with_keys_of_blocks(task: ScanTask, blocks: Sequence[LogBlock]) -> ScanTask:
    """Return the task for any record key if keys in log blocks may have other texts than its keys.

    A writer made the keys of a block of the values in it.
    """
    shared = task.shared
    if shared.record_keys is None or not shared.key_texts:
        return task
    data = [block for block in blocks if block.block_type is not LogBlockType.DELETE_BLOCK]
    if all(show_texts(block, shared.key_texts) for block in data):
        return task
    return task.with_plan(record_keys=None)


@contextmanager
def live_blocks(task: ScanTask, storage: Storage) -> Iterator[LogScan]:
    """Read the log blocks of a slice that the query sees; see `SliceBlocks.read`.

    The log files are open within the ``with`` block, since the blocks are decoded from them.
    """
    with closing(LogFiles(storage)) as files:
        blocks = slice_blocks(task.file_slice.log_files, task.settings, task.file_slice.base_file)
        yield blocks.read(files, task.shared.block_filter)


def slice_blocks(
    log_files: Sequence[LogFile], settings: ReadSettings, base: BaseFile | None = None
) -> SliceBlocks:
    """Return the reader of the blocks of some log files, on top of a base file."""
    base_instant = base.instant_time if base is not None else ""
    most_bytes = MemoryLimits.of(settings, os.environ).files
    return SliceBlocks(log_files, settings.on_damage, most_bytes, base_instant)


def log_decoder(
    task: ScanTask, *, by_position: bool = True, slice_numbers: Mapping[str, int] | None = None
) -> LogDecoder:
    """Return the decoder of log blocks to the columns that the task works on.

    Args:
        task: of a file slice.
        by_position: whether record positions are decoded, if the task may use them. If not, records
            have keys alone.
        slice_numbers: path of a log file to the number of its slice, to number the keys of several
            slices; None for the blocks of one slice.
    """
    base = task.file_slice.base_file
    shared = task.shared
    by_position = by_position and _may_use_positions(task)
    return LogDecoder(
        task.working,
        task.partition.constants,
        shared.rule,
        positions_of=base.instant_time if base is not None and by_position else None,
        columns=task.stored_columns,
        key_fields=shared.key_fields,
        schema_on_read=shared.schema_on_read,
        wanted_keys=shared.wanted_keys,
        slice_numbers=slice_numbers,
    )


def load_log_records(
    task: ScanTask, blocks: Sequence[LogBlock], *, by_position: bool = True
) -> LoadedLog:
    """Decode blocks of a task, into memory or onto local disk; see `load_log`."""
    decoder = log_decoder(task, by_position=by_position)
    memory = MemoryLimits.of(task.settings, os.environ)
    return load_log(blocks, decoder, memory)


def decode_kept_rows(
    task: ScanTask, storage: Storage, columns: pa.Schema, kept_log_rows: Mask
) -> pa.Table | None:
    """Decode more columns of the log rows that an earlier merge has kept, without a merge.

    Args:
        task: of the slice. All records are decoded, whatever record keys the task asks for.
        storage: of the table.
        columns: to decode.
        kept_log_rows: by ordinal of the log row.

    Returns:
        The kept rows; None if the log has another number of rows.

    Raises:
        MissingFileError, CorruptLogBlockError: as `load_merge_sides`.
    """
    decoder = log_decoder(task.with_columns(columns))
    tables = [pa.Table.from_batches([], columns)]
    begin = 0
    with live_blocks(task, storage) as scan:
        data = (block for block in scan.blocks if block.block_type is not LogBlockType.DELETE_BLOCK)
        for rows in decoder.values(data):
            mask = kept_log_rows[begin : begin + rows.num_rows]
            begin += rows.num_rows
            tables.append(rows.slice(0, len(mask)).filter(to_arrow(mask)))
    is_complete = begin == len(kept_log_rows)
    return pa.concat_tables(tables).combine_chunks() if is_complete else None


def lacks_older_values(task: ScanTask, blocks: Sequence[LogBlock]) -> bool:
    """Decide whether a range's files have partial updates without the values that these keep."""
    return task.whole_slice is not None and any(
        block.is_partial and block.block_type is not LogBlockType.DELETE_BLOCK for block in blocks
    )


def _may_use_positions(task: ScanTask) -> bool:
    """Decide whether record positions may identify base rows."""
    return task.settings.use_record_positions and not task.shared.rule.folds_base_rows
