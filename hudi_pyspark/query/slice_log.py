"""Log files of a task: their live blocks, and the decoder of these."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hudi_pyspark.query.filter.record_keys import keys_array
from hudi_pyspark.query.log_records.decoder import LogDecoder
from hudi_pyspark.query.log_records.slice_blocks import SliceBlocks
from hudi_pyspark.query.merge.spill_file import MemoryLimits
from hudi_pyspark.query.merge.spilled_merge import load_log

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hudi_pyspark.format.log.log_block import LogBlock
    from hudi_pyspark.query.merge.spilled_merge import LoadedLog
    from hudi_pyspark.query.plan import ScanTask
    from hudi_pyspark.storage import Storage
    from hudi_pyspark.table.log_file import LogFiles


def read_live_blocks(task: ScanTask, storage: Storage, files: LogFiles) -> list[LogBlock]:
    """Return the log blocks of a slice that the query sees; see `SliceBlocks.read`."""
    blocks = SliceBlocks(
        task.file_slice.log_files,
        task.shared.block_filter,
        task.options.on_damage,
        most_bytes_in_memory=_memory(task).files,
    )
    return blocks.read(storage, files)


def log_decoder(task: ScanTask) -> LogDecoder:
    """Return the decoder of log blocks to the columns that the task works on."""
    base, shared = task.file_slice.base_file, task.shared
    by_position = base is not None and task.options.use_record_positions
    return LogDecoder(
        task.working,
        task.partition.constants,
        shared.rule,
        positions_of=base.instant_time if base is not None and by_position else None,
        columns=task.stored_columns,
        key_fields=shared.key_fields,
        schema_on_read=shared.schema_on_read,
        wanted_keys=keys_array(shared.record_keys),
    )


def load_log_records(task: ScanTask, blocks: Sequence[LogBlock]) -> LoadedLog:
    """Decode blocks of a task, into memory or onto local disk; see `load_log`.

    Raises:
        PositionsMissing: the task has no record key, and a block has no usable positions.
        CorruptTableError: a block does not decode.
        SpillError: the local disk is full, or cannot be used.
    """
    return load_log(blocks, log_decoder(task), _memory(task), task.shared.merger)


def _memory(task: ScanTask) -> MemoryLimits:
    return MemoryLimits.resolve(task.options.merge_memory, task.options.spill_folder, os.environ)
