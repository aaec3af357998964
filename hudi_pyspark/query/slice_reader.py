"""One task to Arrow batches: the whole pipeline of a read."""

from __future__ import annotations

import logging
import os
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.errors import CorruptLogBlockError, CorruptTableError, MissingFileError
from hudi_pyspark.format.log.log_block import LogBlock, LogBlockType, frame_blocks
from hudi_pyspark.query.base_files.base_file import read_base_file
from hudi_pyspark.query.base_files.bootstrap import read_bootstrap_file
from hudi_pyspark.query.base_files.row_groups import RowGroupFilter
from hudi_pyspark.query.columns.schema_evolution import conform
from hudi_pyspark.query.columns.schema_on_read import stored_columns
from hudi_pyspark.query.filter.predicate import matching, top_level_columns
from hudi_pyspark.query.filter.record_keys import keys_array
from hudi_pyspark.query.log_records.decoder import LogDecoder, PositionsMissing
from hudi_pyspark.query.log_records.live_blocks import scan_blocks
from hudi_pyspark.query.log_records.record_key import with_record_key
from hudi_pyspark.query.merge.merge import changed_rows, merge, unmerged
from hudi_pyspark.query.merge.spill_file import MemoryLimits
from hudi_pyspark.query.merge.spilled_merge import in_passes
from hudi_pyspark.query.option_table import OnDamage
from hudi_pyspark.table.log_file import LogFiles
from hudi_pyspark.table.schema import COMMIT_TIME_COLUMN, RECORD_KEY_COLUMN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import numpy as np
    import numpy.typing as npt

    from hudi_pyspark.query.filter.predicate import Predicate
    from hudi_pyspark.query.incremental import CommitRange
    from hudi_pyspark.query.log_records.live_blocks import LogScan
    from hudi_pyspark.query.plan import ScanTask
    from hudi_pyspark.storage import Storage
    from hudi_pyspark.table.file_group import BaseFile, LogFile

_T = TypeVar("_T")
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
        rows = matching(task.predicate, task.partition.show(table))
        if task.shared.commit_range is not None:
            rows = rows.filter(pa.array(_is_written(task.shared.commit_range, rows)))
        yield rows.select(task.shared.result.names)


def slice_tables(task: ScanTask, storage: Storage) -> Iterator[pa.Table]:
    """The rows of the slice, with the columns that the task works on.

    Rows for which the task's predicate is not true may be among them.
    """
    if not task.file_slice.log_files:
        yield from _base_tables(task, storage, task.predicate)
        return
    with closing(LogFiles(storage)) as files:
        blocks = _live_blocks(task, storage, files)
        if task.whole_slice is not None and any(map(_is_partial_update, blocks)):
            # A range's files alone do not have what a partial update left unchanged.
            whole = replace(
                task,
                file_slice=task.whole_slice,
                whole_slice=None,
                shared=replace(task.shared, merges_whole_table=True),
            )
            yield from slice_tables(whole, storage)
        elif task.options.skip_merge:
            log = map(log_decoder(task).decode, blocks)
            base = _base_tables(task, storage, task.predicate)
            yield from unmerged(base, log, batch_rows=task.options.batch_rows)
        else:
            yield from _merged(task, blocks, storage)


def _merged(task: ScanTask, blocks: list[LogBlock], storage: Storage) -> Iterator[pa.Table]:
    """The rows of a slice with logs; only keys are looked for before the merge.

    Whatever else the predicate rules out may still beat a log record, lend it values, or, where a
    base file has a key twice, be the one of the two that is replaced.
    """
    if task.shared.record_keys is not None and _has_positions(task, blocks, any):
        # Positions say which of several rows of one key is meant, and keys do not; where no key
        # comes twice they mean the same.
        rows = list(_base_tables(task, storage, None))
        if not _has_duplicates(rows):
            options = replace(task.options, use_record_positions=False)
            by_key = replace(task, shared=replace(task.shared, options=options))
            yield from _merged_passes(by_key, blocks, rows)
            return
        task = replace(task, shared=replace(task.shared, record_keys=None))
    if _may_go_by_position(task, blocks):
        try:
            without_keys = _without_keys(task)
            base = _base_tables(without_keys, storage, None)
            yield from _merged_passes(without_keys, blocks, base)
        except PositionsMissing:
            pass  # found while the log was decoded, before the first row was yielded
        else:
            return
    yield from _merged_passes(task, blocks, _base_tables(task, storage, None))


def _merged_passes(
    task: ScanTask, blocks: list[LogBlock], base: Iterable[pa.Table]
) -> Iterator[pa.Table]:
    """Base rows merged with the records of log blocks.

    As in Apache Hudi, base rows that a range's commits did not write have no part in its merge: a
    compaction, a clustering or an insert into a small file may have copied them into the range's
    files, where they could beat a record of the range.
    """
    shared = task.shared
    commit_range = None if shared.merges_whole_table else shared.commit_range
    yield from _in_passes(
        task,
        blocks,
        base,
        merge,
        batch_rows=task.options.batch_rows,
        takes_part=partial(_is_written, commit_range) if commit_range is not None else None,
    )


def _is_written(commit_range: CommitRange, rows: pa.Table) -> npt.NDArray[np.bool_]:
    """Which rows the commits of a range wrote."""
    return commit_range.contains(rows.column(COMMIT_TIME_COLUMN))


def _has_positions(
    task: ScanTask, blocks: list[LogBlock], some: Callable[[Iterable[bool]], bool]
) -> bool:
    """Whether any or all log blocks tell the places of their records in the base file."""
    base = task.file_slice.base_file
    return (
        base is not None
        and task.options.use_record_positions
        and some(
            bool(block.record_positions_text) and block.positions_base_instant == base.instant_time
            for block in blocks
        )
    )


def _has_duplicates(tables: Sequence[pa.Table]) -> bool:
    """Whether two of the rows have the same record key."""
    keys = [key for table in tables for key in table.column(RECORD_KEY_COLUMN).to_pylist()]
    return len(set(keys)) < len(keys)


def _may_go_by_position(task: ScanTask, blocks: list[LogBlock]) -> bool:
    """Whether the record keys need not be read, by what the headers of the log blocks say."""
    asked_for = [*task.shared.result.names, *top_level_columns(task.predicate, task.working)]
    return (
        bool(blocks)
        and task.shared.merger is None
        and task.shared.record_keys is None
        and RECORD_KEY_COLUMN not in asked_for
        and _has_positions(task, blocks, all)
    )


def _without_keys(task: ScanTask) -> ScanTask:
    columns = [field for field in task.working if field.name != RECORD_KEY_COLUMN]
    shared = replace(task.shared, key_fields=())
    return replace(task, working=pa.schema(columns), shared=shared)


def changes_of_log(
    task: ScanTask, storage: Storage, before: Iterable[pa.Table]
) -> Iterator[tuple[str, pa.Table | None, pa.Table | None]]:
    """What the log files of a task do to the rows of a slice; see `changed_rows`."""
    with closing(LogFiles(storage)) as files:
        yield from _in_passes(task, _live_blocks(task, storage, files), before, changed_rows)


def _in_passes(
    task: ScanTask,
    blocks: list[LogBlock],
    rows: Iterable[pa.Table],
    outcome: Callable[..., Iterator[_T]],
    **more: object,
) -> Iterator[_T]:
    """What comes of rows and log records; in several passes where these take too much memory."""
    rule, merger = task.shared.rule, task.shared.merger
    merging = partial(outcome, rule=rule, key_column=RECORD_KEY_COLUMN, merger=merger, **more)
    yield from in_passes(blocks, rows, log_decoder(task), _memory(task), merging, merger=merger)


def _is_partial_update(block: LogBlock) -> bool:
    return block.is_partial and block.block_type is not LogBlockType.DELETE_BLOCK


def _base_tables(
    task: ScanTask, storage: Storage, predicate: Predicate | None
) -> Iterator[pa.Table]:
    """Rows of the base file; without row groups and keys that the predicate rules out."""
    base = task.file_slice.base_file
    if base is None:
        return
    schema = task.working
    constants = task.partition.constants
    wanted = task.stored_columns
    stored = stored_columns(task.shared.schema_on_read, wanted, base.instant_time)
    filterable = {name: stored[name] for name in stored if task.partition.is_as_stored(name)}
    record_keys = task.shared.record_keys
    row_groups = RowGroupFilter(predicate, schema, filterable, record_keys, task.byte_range)
    keys = keys_array(record_keys)
    for stored_table in _stored_tables(
        base, storage, list(stored.values()), task.options.batch_rows, row_groups
    ):
        table = stored_table
        if task.shared.schema_on_read is not None:
            table = task.shared.schema_on_read.rename(stored_table, stored, base.instant_time)
        _check_partition_columns(task, table, wanted, base.path)
        rows = conform(table, schema, constants, source=base.path)
        if task.file_slice.log_files:
            rows = with_record_key(rows, task.shared.key_fields)
            if keys is not None:
                rows = rows.filter(pc.is_in(rows.column(RECORD_KEY_COLUMN), value_set=keys))
        yield rows


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


def _check_partition_columns(
    task: ScanTask, table: pa.Table, wanted: Sequence[str], path: str
) -> None:
    known = {*table.schema.names, *task.partition.constants}
    lost = [n for n in task.partition.columns if n in wanted and n not in known]
    if lost:
        raise CorruptTableError(
            f"{path}: partition column {', '.join(lost)} is neither in the file nor can it be "
            f"taken from the partition path {task.file_slice.partition_path!r}"
        )


def _memory(task: ScanTask) -> MemoryLimits:
    return MemoryLimits.resolve(task.options.merge_memory, task.options.spill_folder, os.environ)


def log_decoder(task: ScanTask) -> LogDecoder:
    """Decodes log blocks to the columns that the task works on."""
    base, shared = task.file_slice.base_file, task.shared
    use_positions = task.options.use_record_positions
    return LogDecoder(
        task.working,
        task.partition.constants,
        shared.rule,
        key_column=RECORD_KEY_COLUMN if RECORD_KEY_COLUMN in task.working.names else None,
        positions_of=base.instant_time if base is not None and use_positions else None,
        columns=task.stored_columns,
        key_fields=shared.key_fields,
        schema_on_read=shared.schema_on_read,
        wanted_keys=keys_array(shared.record_keys),
    )


def _live_blocks(task: ScanTask, storage: Storage, files: LogFiles) -> list[LogBlock]:
    """All log blocks of a slice that the query sees, undecoded, in the order they apply in."""
    scan = scan_blocks(_frame_files(task, storage, files), task.shared.block_filter)
    _check_damage(task, scan, storage)
    until = task.shared.block_filter.until
    logs = task.file_slice.log_files
    unlisted = [f for f in logs if not f.is_listed and f.committed_by <= until]
    _check_unlisted(unlisted, scan, storage)
    return list(scan.blocks)


def _frame_files(task: ScanTask, storage: Storage, files: LogFiles) -> Iterator[LogBlock]:
    listed = [file for file in task.file_slice.log_files if file.is_listed]
    is_small = sum(file.size for file in listed) <= _memory(task).files
    for file in listed:
        data = files.load(file.path) if is_small else files.open(file.path)
        if len(data) < file.committed_size:
            _report_damage(
                task.options.on_damage,
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
                task.options.on_damage,
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
