"""Load both sides of a slice's merge, and choose how log records find their base rows.

Log records find base rows by record key, or by position if every log block has positions. Positions
identify a row even if the base file has its key twice, and the keys need not be read.
"""

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from hudi_pyspark.format.log.log_block import LogBlock
from hudi_pyspark.reading import slice_log
from hudi_pyspark.reading.base_files.base_file import read_base_rows
from hudi_pyspark.reading.log_records.records import LogRecords
from hudi_pyspark.reading.merge.base_rows import RowFilter
from hudi_pyspark.reading.merge.merge import MergePass
from hudi_pyspark.reading.merge.spilled_merge import LoadedLog
from hudi_pyspark.storage.protocol import Storage
from hudi_pyspark.table.log_files import LogScan
from hudi_pyspark.table.meta_columns import RECORD_KEY_COLUMN
from hudi_pyspark.tasks import ScanTask


@dataclass(frozen=True, slots=True)
class MergeSides:
    """Both sides of a slice's merge."""

    log: LoadedLog  # to be closed
    base: Iterable[pa.Table]  # of the same schema; read when it is iterated
    scan: LogScan  # of the log files, without their blocks
    row_filter: RowFilter | None = None  # base rows that take part in the merge; None for all

    def merge_pass(self, records: LogRecords) -> MergePass:
        """Return one pass of the merge, with all log records or with some of them."""
        return MergePass(records, self.log.pair_rule, self.row_filter)


class RowIdentity(enum.Enum):
    """What identifies the base rows of log records, by the headers of a slice's blocks."""

    BY_KEY = "keys"
    BY_POSITION = "positions in the base file"
    MIXED = "some blocks positions, some only keys"

    @classmethod
    def of(cls, task: ScanTask, blocks: Sequence[LogBlock]) -> "RowIdentity":
        """Return what the headers of all blocks allow; BY_KEY if there is no block."""
        base = task.file_slice.base_file
        if base is None or not slice_log.may_use_positions(task):
            return cls.BY_KEY
        has_positions = {
            bool(block.record_positions_text) and block.positions_base_instant == base.instant_time
            for block in blocks
        }
        if True not in has_positions:
            return cls.BY_KEY
        return cls.MIXED if False in has_positions else cls.BY_POSITION


def load_merge_sides(task: ScanTask, storage: Storage) -> MergeSides:
    """Load the log records of a slice; its base rows are read later.

    Raises:
        MissingFileError: a log file is gone.
        CorruptLogBlockError: a block cannot be decoded.
        SpillError: the log records need the disk, and it is full.
    """
    # Blocks and log files are released here, before the merge begins.
    with slice_log.live_blocks(task, storage) as scan:
        if slice_log.lacks_older_values(task, scan.blocks):
            return load_merge_sides(task.of_whole_slice(), storage)
        log, base = _choose_identity(task, scan.blocks, storage)
        without_blocks = replace(scan, blocks=(), corrupt_blocks=())
    commit_range = task.shared.commit_range
    if commit_range is None or task.shared.merges_whole_table:
        return MergeSides(log, base, without_blocks)
    # As in Apache Hudi, base rows that the range's commits did not write take no part. A
    # compaction, a clustering or an insert into a small file may have copied them into the range's
    # files, where they could beat a record of the range.
    return MergeSides(log, base, without_blocks, commit_range.wrote)


def _choose_identity(
    task: ScanTask, blocks: Sequence[LogBlock], storage: Storage
) -> tuple[LoadedLog, Iterable[pa.Table]]:
    """Choose how log records find their base rows, and load both sides accordingly.

    Base rows are left out by their keys only. A row that the predicate rules out otherwise may
    still beat a log record, lend it values, or be the replaced one of two rows with the same key.
    """
    identity = RowIdentity.of(task, blocks)
    if task.shared.record_keys is not None and identity is not RowIdentity.BY_KEY:
        # Positions identify one of several rows with the same key, and keys do not. If no key
        # occurs twice, both identify the same row.
        rows = list(read_base_rows(task, storage))
        keys = [key for table in rows for key in table.column(RECORD_KEY_COLUMN).to_pylist()]
        if len(set(keys)) == len(keys):
            return slice_log.load_log_records(task, blocks, by_position=False), rows
        task = task.with_plan(record_keys=None)
    if (
        identity is RowIdentity.BY_POSITION
        and task.shared.merger is None
        and task.shared.record_keys is None
        and RECORD_KEY_COLUMN not in task.shared.planned_columns.requested.names
    ):
        columns = pa.schema(field for field in task.working if field.name != RECORD_KEY_COLUMN)
        without_keys = task.with_columns(columns, key_fields=())
        log = slice_log.load_log_records(without_keys, blocks)
        if log.by_position:
            return log, read_base_rows(without_keys, storage)
        log.close()  # a block has more or fewer positions than records: its header does not say so
    return slice_log.load_log_records(task, blocks), read_base_rows(task, storage)
