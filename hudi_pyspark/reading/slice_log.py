"""Load the log of a slice: choose its live blocks, and decode them for a task.

A task says which columns are decoded, and whether record positions count.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager

import pyarrow as pa

from hudi_pyspark.arrow_values import to_arrow
from hudi_pyspark.columns.arrays import Mask
from hudi_pyspark.format.log.log_block import LogBlock, LogBlockType
from hudi_pyspark.reading.log_records.decoder import LogDecoder
from hudi_pyspark.reading.merge.spill_file import MemoryLimits
from hudi_pyspark.reading.merge.spilled_merge import LoadedLog, load_log
from hudi_pyspark.storage.protocol import Storage
from hudi_pyspark.table.file_group import BaseFile, LogFile
from hudi_pyspark.table.log_files import LogFiles, LogScan, SliceBlocks
from hudi_pyspark.tasks import ReadSettings, ScanTask


@contextmanager
def live_blocks(task: ScanTask, storage: Storage) -> Iterator[LogScan]:
    """Read the log blocks of a slice that the query sees; see `SliceBlocks.read`.

    The log files are open within the ``with`` block, since the blocks are decoded from them.
    """
    with closing(LogFiles(storage)) as files:
        blocks = slice_blocks(task.file_slice.log_files, task.settings, task.file_slice.base_file)
        yield blocks.read(storage, files, task.shared.block_filter)


def slice_blocks(
    log_files: Sequence[LogFile], settings: ReadSettings, base: BaseFile | None = None
) -> SliceBlocks:
    """Return the reader of the blocks of some log files, on top of a base file."""
    base_instant = base.instant_time if base is not None else ""
    return SliceBlocks(log_files, settings.on_damage, _memory(settings).files, base_instant)


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
    by_position = by_position and may_use_positions(task)
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
    return load_log(blocks, decoder, _memory(task.settings), task.shared.merger)


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


def may_use_positions(task: ScanTask) -> bool:
    """Decide whether record positions may identify base rows."""
    return task.settings.use_record_positions and not task.shared.rule.folds_base_rows


def _memory(settings: ReadSettings) -> MemoryLimits:
    return MemoryLimits.resolve(settings.merge_memory, settings.spill_folder, os.environ)
