"""Read the changes of a commit and file group (CDC).

A commit records its changes in one of several ways: a CDC log file that the writer added, a base
file that is all inserts or all deletes, a log file whose records are compared with the slice below,
or a list of replaced file groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark import thresholds
from hudi_pyspark.arrow_values import to_arrow
from hudi_pyspark.columns.arrays import as_one_array, is_true, rename_columns, repeat
from hudi_pyspark.columns.schema_evolution import conform, repair_timestamps, stored_columns
from hudi_pyspark.columns.text import json_text
from hudi_pyspark.errors import CorruptTableError
from hudi_pyspark.filter.evaluation import filter_rows
from hudi_pyspark.format.column_names import match_names
from hudi_pyspark.format.log.data_block import decode_data_block
from hudi_pyspark.format.log.log_block import LogBlock, LogBlockType
from hudi_pyspark.reading.merge.loaded_log import LogInMemory
from hudi_pyspark.reading.merge.merge import changed_rows
from hudi_pyspark.reading.merge_sides import live_blocks, load_log_records, slice_blocks
from hudi_pyspark.storage.protocol import Storage
from hudi_pyspark.table.cdc_format import CdcFormat
from hudi_pyspark.table.log_files import LogFiles
from hudi_pyspark.table.meta_columns import RECORD_KEY_COLUMN
from hudi_pyspark.tasks import CdcTask, ChangeSource, ScanTask

_CHANGE_TYPES = ("delete", "update_preimage", "insert", "update_postimage")
ReadSlice = Callable[[ScanTask], Iterator[pa.Table]]


def read_changes(task: CdcTask, storage: Storage, read_slice: ReadSlice) -> Iterator[pa.Table]:
    """Yield the change rows of a task, in its schema of the answer.

    Args:
        task: what to read.
        storage: of the table.
        read_slice: reads the rows of a slice, as `read_slice.slice_tables` does.

    Raises:
        MissingFileError: a file of the commit, or of the slice before it, is gone.
        CorruptTableError: a file cannot be decoded, or lacks a row that the CDC log names.
        UnsupportedMergeError: the records cannot be merged by the table's rule.
    """
    changes: Iterable[pa.Table]
    match task.source:
        case ChangeSource.CDC_LOG:
            changes = _read_cdc_log(task, storage, read_slice)
        case ChangeSource.BASE_FILE_INSERT:
            inserted = _slice_rows(task.after, read_slice, is_counted=not task.shown)
            changes = (_changes(task, "i", None, table) for table in inserted)
        case ChangeSource.BASE_FILE_DELETE | ChangeSource.REPLACED:
            deleted = _slice_rows(task.before, read_slice, is_counted=not task.shown)
            changes = (_changes(task, "d", table, None) for table in deleted)
        case ChangeSource.LOG_FILE:
            assert task.after is not None  # a log file was written
            merged = _changes_of_log(task.after, task.before, storage, read_slice)
            changes = (_changes(task, *change) for change in merged if _row_count(*change[1:]))
    for table in changes:
        yield filter_rows(task.predicate, table)


def _changes_of_log(
    task: ScanTask, before: ScanTask | None, storage: Storage, read_slice: ReadSlice
) -> Iterator[tuple[str, pa.Table | None, pa.Table | None]]:
    """List the changes that the log files of a task make to a slice; see `changed_rows`.

    Of the slice before, only rows with the keys of a few log records are read.
    """
    with live_blocks(task, storage) as scan:
        log = load_log_records(task, scan.blocks)
    with closing(log):
        if (
            before is not None
            and before.shared.rule.merger is None  # a user's merger may give a row another key
            and isinstance(log, LogInMemory)
            and len(log.records) <= thresholds.FEW_KEYS
        ):
            keys = log.records.keys.unique().to_pylist()
            before = before.with_plan(record_keys=tuple(keys))
        rows = _slice_rows(before, read_slice)
        yield from log.merge(rows, partial(changed_rows, rule=task.shared.rule))


def _read_cdc_log(task: CdcTask, storage: Storage, read_slice: ReadSlice) -> Iterator[pa.Table]:
    before, after = _Images(task.before, read_slice), _Images(task.after, read_slice)
    with closing(LogFiles(storage)) as files:
        for block in slice_blocks(task.cdc_files, task.settings).framed(files):
            if block.block_type is not LogBlockType.CDC_DATA_BLOCK:
                continue
            logged = decode_data_block(block, None)
            if logged.num_rows:
                yield _logged_changes(task, logged, before, after, block)


def _logged_changes(
    task: CdcTask, logged: pa.Table, before: _Images, after: _Images, block: LogBlock
) -> pa.Table:
    operations = as_one_array(logged.column("op"))
    if not task.shown:
        return _result(task, operations, None, None)
    names = logged.schema.names
    old = _logged_image(logged, "before", task, block) if "before" in names else None
    new = _logged_image(logged, "after", task, block) if "after" in names else None
    if "record_key" in names:
        keys = as_one_array(logged.column("record_key"))
        if old is None:
            old = before.of(keys, pc.not_equal(operations, "i"), task.images, block.path)
        if new is None:
            new = after.of(keys, pc.not_equal(operations, "d"), task.images, block.path)
    assert old is not None  # a log without images has keys
    assert new is not None
    return _result(task, operations, old, new)


def _logged_image(logged: pa.Table, name: str, task: CdcTask, block: LogBlock) -> pa.Array:
    """Return the images of a CDC log as structs of the table's present columns."""
    stored = as_one_array(logged.column(name))
    rows = pa.Table.from_arrays(stored.flatten(), [field.name for field in stored.type])
    by_id = task.schema_on_read
    of_path = task.partition.from_path
    in_images = [name for name in task.images.names if name not in of_path]
    names = stored_columns(by_id, in_images, task.instant)
    in_log = match_names(names.values(), rows.schema.names, place=block.path)
    rows = rename_columns(rows.select([*in_log.values()]), in_log)
    if by_id is not None:
        rows = by_id.rename(rows, names, task.instant)
    rows = repair_timestamps(rows, task.images, in_avro=not block.native_extension)
    constants = task.partition.constants
    rows = conform(rows, task.images, constants, source=block.path, casts=True)
    images = _as_structs(rows, task.images)
    return pc.if_else(stored.is_valid(), images, pa.scalar(None, images.type))


class _Images:
    """The rows of a slice by record key, read when the first is needed."""

    def __init__(self, task: ScanTask | None, read_slice: ReadSlice) -> None:
        self._task = task
        self._read_slice = read_slice
        self._rows: pa.Table | None = None

    def of(self, keys: pa.Array, mask: pa.Array, images: pa.Schema, source: str) -> pa.Array:
        """Return the rows of some keys as structs; null for keys that are not in the mask."""
        rows = self._load(images)
        places = pc.index_in(keys, value_set=as_one_array(rows.column(RECORD_KEY_COLUMN)))
        missing = keys.filter(pc.and_(mask, pc.is_null(places)))
        if len(missing):
            raise CorruptTableError(
                f"{source}: the CDC log has a change for record key {missing[0].as_py()!r}, but "
                "the commit's base files do not contain that row"
            )
        places = pc.if_else(mask, places, pa.scalar(None, pa.int32()))
        return _as_structs(rows, images).take(places)

    def _load(self, images: pa.Schema) -> pa.Table:
        if self._task is None:
            return pa.schema([*images, pa.field(RECORD_KEY_COLUMN, pa.string())]).empty_table()
        if self._rows is None:
            tables = list(self._read_slice(self._task))
            self._rows = pa.concat_tables(tables or [self._task.working.empty_table()])
        return self._rows


def _slice_rows(
    task: ScanTask | None, read_slice: ReadSlice, *, is_counted: bool = False
) -> Iterator[pa.Table]:
    """Yield the rows of a slice, without columns if they are only counted."""
    if task is not None:
        yield from read_slice(task.narrowed(pa.schema([])) if is_counted else task)


def _changes(task: CdcTask, operation: str, old: pa.Table | None, new: pa.Table | None) -> pa.Table:
    return _result(
        task,
        pa.array([operation] * _row_count(old, new), pa.string()),
        _as_structs(old, task.images) if old is not None and "before" in task.shown else None,
        _as_structs(new, task.images) if new is not None and "after" in task.shown else None,
    )


def _row_count(old: pa.Table | None, new: pa.Table | None) -> int:
    return max(len(table) for table in (old, new) if table is not None)


def _result(
    task: CdcTask, operations: pa.Array, old: pa.Array | None, new: pa.Array | None
) -> pa.Table:
    if task.cdc_format is CdcFormat.CHANGELOG:
        return _changelog(task, operations, old, new)
    columns = [operations, pa.array([task.instant] * len(operations), pa.string())]
    for name, image in (("before", old), ("after", new)):
        if image is None or name not in task.shown:
            columns.append(pa.nulls(len(operations), task.answer.field(name).type))
        else:
            is_json = task.cdc_format is CdcFormat.JSON
            columns.append(_json_image(image) if is_json else image)
    return pa.Table.from_arrays(columns, schema=task.answer)


def _changelog(
    task: CdcTask, operations: pa.Array, old: pa.Array | None, new: pa.Array | None
) -> pa.Table:
    """Return a row for each image; that of a row before an update comes before that after it."""
    is_insert, is_delete = (is_true(pc.equal(operations, op)) for op in ("i", "d"))
    change, side = np.nonzero(np.stack((~is_insert, ~is_delete), axis=1))
    is_update = ~(is_insert | is_delete)[change]
    change_types = pa.array(_CHANGE_TYPES).take(to_arrow(2 * side + is_update))
    count = len(operations)
    row_count = len(change)
    image_type = pa.struct(list(task.images))
    both = [pa.nulls(count, image_type) if image is None else image for image in (old, new)]
    images = pa.concat_arrays(both).take(to_arrow(change + count * side))
    columns = [
        *images.flatten(),
        change_types,
        repeat(pa.scalar(int(task.instant), pa.int64()), row_count),
        repeat(pa.scalar(task.moment, task.answer.field("_commit_timestamp").type), row_count),
    ]
    return pa.Table.from_arrays(columns, schema=task.answer)


def _json_image(images: pa.Array) -> pa.Array:
    # A missing image is null, not the JSON text null.
    return pc.if_else(pc.is_null(images), pa.scalar(None, pa.string()), json_text(images))


def _as_structs(rows: pa.Table, images: pa.Schema) -> pa.Array:
    columns = [as_one_array(rows.column(name)) for name in images.names]
    if not columns:
        return pa.array([{}] * rows.num_rows, pa.struct([]))
    return pa.StructArray.from_arrays(columns, fields=list(images))
