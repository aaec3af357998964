"""One task to Arrow batches: the whole pipeline of a read."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.errors import CorruptLogBlockError, CorruptTableError, MissingFileError
from hudi_pyspark.format.log_block import LogBlock, frame_blocks
from hudi_pyspark.read.base_file import read_base_file
from hudi_pyspark.read.bootstrap_file import read_bootstrap_file
from hudi_pyspark.read.key_filter import keys_array
from hudi_pyspark.read.log_records import load_log_records
from hudi_pyspark.read.log_scan import scan_blocks
from hudi_pyspark.read.merge import merge, unmerged
from hudi_pyspark.read.options import OnDamage
from hudi_pyspark.read.predicate import matching
from hudi_pyspark.read.record_key import with_record_key
from hudi_pyspark.read.row_groups import RowGroupFilter
from hudi_pyspark.read.schema_evolution import conform
from hudi_pyspark.read.schema_on_read import stored_columns
from hudi_pyspark.table.merge_mode import RecordMergeMode
from hudi_pyspark.table.schema import COMMIT_TIME_COLUMN, RECORD_KEY_COLUMN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hudi_pyspark.read.log_records import LogRecords
    from hudi_pyspark.read.log_scan import LogScan
    from hudi_pyspark.read.plan import ScanTask
    from hudi_pyspark.read.predicate import Predicate
    from hudi_pyspark.storage import Storage
    from hudi_pyspark.table.file_group import BaseFile, LogFile

_log = logging.getLogger(__name__)


def read(task: ScanTask, storage: Storage) -> Iterator[pa.Table]:
    """Read one file slice.

    Yields:
        Tables of the task's result schema, in no promised order of rows. Stop iterating to stop
        reading.

    Raises:
        HudiError: a file is missing, damaged, or not readable as the table's schema asks.
    """
    for table in slice_tables(task, storage):
        rows = matching(task.predicate, table)
        if task.commit_range is not None:
            written = task.commit_range.contains(rows.column(COMMIT_TIME_COLUMN))
            rows = rows.filter(pa.array(written))
        yield rows.select(task.result.names)


def slice_tables(task: ScanTask, storage: Storage) -> Iterator[pa.Table]:
    """The rows of the slice, with the columns that the task works on.

    Rows for which the task's predicate is not true may be among them.
    """
    if not task.file_slice.log_files:
        return _base_tables(task, storage, task.predicate)
    log = load_log(task, storage)
    if len(log.column_sets) and task.whole_slice is not None:
        # A range's files alone do not tell what a partial update left unchanged.
        return slice_tables(replace(task, file_slice=task.whole_slice, whole_slice=None), storage)
    base = _base_tables(task, storage, _before_merge(task, log))
    return _merged(task, base, log)


def _before_merge(task: ScanTask, log: LogRecords) -> Predicate | None:
    """What base rows have to fulfil to matter at all, known before they are merged.

    By commit time log records win whatever the base rows hold, so that base rows only stand for
    themselves. In every other mode a base row that the predicate rules out may still beat a log
    record, or lend it values.
    """
    plain = task.rule.mode is RecordMergeMode.COMMIT_TIME_ORDERING and not task.rule.needs_fold
    if task.skip_merge or (plain and not len(log.column_sets) and not task.key_fields):
        return task.predicate
    return None


def _merged(task: ScanTask, base: Iterator[pa.Table], log: LogRecords) -> Iterator[pa.Table]:
    if task.skip_merge:
        return unmerged(base, log, batch_rows=task.batch_rows)
    return merge(
        base,
        log,
        task.rule,
        key_column=RECORD_KEY_COLUMN,
        batch_rows=task.batch_rows,
        merger=task.merger,
    )


def _base_tables(
    task: ScanTask, storage: Storage, predicate: Predicate | None
) -> Iterator[pa.Table]:
    """Rows of the base file; without those that the predicate or the wanted keys rule out."""
    base = task.file_slice.base_file
    if base is None:
        return
    schema = task.working
    constants = dict(task.partition_values)
    wanted = _columns_in_files(task, schema)
    stored = stored_columns(task.schema_on_read, wanted, base.instant_time)
    row_groups = RowGroupFilter(predicate, schema, stored, task.record_keys, task.byte_range)
    keys = keys_array(task.record_keys)
    for stored_table in _stored_tables(
        base, storage, list(stored.values()), task.batch_rows, row_groups
    ):
        table = stored_table
        if task.schema_on_read is not None:
            table = task.schema_on_read.rename(stored_table, stored, base.instant_time)
        _check_partition_columns(task, table, wanted, base.path)
        rows = conform(table, schema, constants, source=base.path)
        if task.file_slice.log_files:
            rows = with_record_key(rows, task.key_fields)
            rows = (
                rows
                if keys is None
                else rows.filter(pc.is_in(rows.column(RECORD_KEY_COLUMN), value_set=keys))
            )
        yield matching(predicate, rows)


def _stored_tables(
    base: BaseFile,
    storage: Storage,
    columns: Sequence[str],
    batch_rows: int,
    row_groups: RowGroupFilter,
) -> Iterator[pa.Table]:
    """The columns as they are stored, in the base file or in the one that it was made for."""
    if base.bootstrap_source:
        source = base.bootstrap_source
        return read_bootstrap_file(storage, base.path, source, columns, batch_rows)
    return read_base_file(storage, base.path, columns, batch_rows, row_groups)


def _columns_in_files(task: ScanTask, schema: pa.Schema) -> list[str]:
    hidden = task.partition_columns if task.values_from_path else ()
    return [name for name in schema.names if name not in hidden]


def _check_partition_columns(
    task: ScanTask, table: pa.Table, wanted: Sequence[str], path: str
) -> None:
    known = {*table.schema.names, *(name for name, _ in task.partition_values)}
    lost = [n for n in task.partition_columns if n in wanted and n not in known]
    if lost:
        raise CorruptTableError(
            f"{path}: partition column {', '.join(lost)} is neither in the file nor can it be "
            f"taken from the partition path {task.file_slice.partition_path!r}"
        )


def load_log(task: ScanTask, storage: Storage) -> LogRecords:
    """All log records of a slice that the query sees, with the columns that the task works on."""
    files = task.file_slice.log_files
    scan = scan_blocks(_frame_files(task, storage), task.block_filter)
    _check_damage(task, scan, storage)
    until = task.block_filter.until
    unlisted = [f for f in files if not f.is_listed and f.committed_by <= until]
    _check_unlisted(unlisted, scan, storage)
    base = task.file_slice.base_file
    return load_log_records(
        scan.blocks,
        task.working,
        dict(task.partition_values),
        task.rule,
        key_column=RECORD_KEY_COLUMN,
        positions_of=base.instant_time if base is not None and task.use_record_positions else None,
        columns=_columns_in_files(task, task.working),
        key_fields=task.key_fields,
        schema_on_read=task.schema_on_read,
        wanted_keys=keys_array(task.record_keys),
    )


def _frame_files(task: ScanTask, storage: Storage) -> Iterator[LogBlock]:
    for file in task.file_slice.log_files:
        if not file.is_listed:
            continue
        try:
            data = storage.read_bytes(file.path)
        except FileNotFoundError as error:
            raise MissingFileError.since_planning(storage.describe(file.path)) from error
        if len(data) < file.committed_size:
            _report_damage(
                task.on_damage,
                f"the file has {len(data)} bytes, but its commit says {file.committed_size}",
                storage.describe(file.path),
                len(data),
            )
        yield from frame_blocks(data, path=file.path)


def _check_damage(task: ScanTask, scan: LogScan, storage: Storage) -> None:
    """Corrupt blocks: torn by a write that never committed, or damaged since it did."""
    committed = {f.path: f.committed_size for f in task.file_slice.log_files}
    for block in scan.corrupt_blocks:
        if block.offset < committed[block.path]:
            _report_damage(
                task.on_damage,
                "a corrupt block within what completed commits wrote",
                storage.describe(block.path),
                block.offset,
            )
    if scan.corrupt_blocks:
        places = ", ".join(f"{b.path} at byte {b.offset}" for b in scan.corrupt_blocks)
        _log.warning("skipped %d corrupt log blocks: %s", len(scan.corrupt_blocks), places)


def _report_damage(on_damage: OnDamage, problem: str, path: str, offset: int) -> None:
    if on_damage is OnDamage.FAIL:
        raise CorruptLogBlockError(
            f"{problem}. Restore the file from a copy, or accept what is left of it with the "
            "option on_damage=warn (Apache Hudi skips it silently: on_damage=ignore)",
            path,
            offset,
        )
    if on_damage is OnDamage.WARN:
        _log.warning("%s at byte %d: %s", path, offset, problem)


def _check_unlisted(unlisted: Sequence[LogFile], scan: LogScan, storage: Storage) -> None:
    """Blocks of log files that only commits know must stand in another file of the slice.

    Where a file system can append, later readers find the blocks in the file they were appended to.
    """
    for file in unlisted:
        if file.committed_by not in scan.instants:
            raise MissingFileError.since_commit(storage.describe(file.path), file.committed_by)
