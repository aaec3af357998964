"""Changes of an instant range: rows with their images before and after (CDC).

A commit tells its changes in one of several ways: a CDC log file that the writer added, a base file
that is all inserts or all deletes, a log file whose records are compared with the slice below, or a
list of replaced file groups.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.errors import (
    CorruptTableError,
    IncrementalRangeError,
    MissingFileError,
    UnsupportedTableError,
)
from hudi_pyspark.format.data_block import decode_data_block
from hudi_pyspark.format.log_block import LogBlockType, frame_blocks
from hudi_pyspark.read.json_text import json_text
from hudi_pyspark.read.merge import changed_rows
from hudi_pyspark.read.ordering import as_one_array
from hudi_pyspark.read.scan import load_log, slice_tables
from hudi_pyspark.read.schema_evolution import conform
from hudi_pyspark.table.schema import META_COLUMNS, OPERATION_COLUMN, RECORD_KEY_COLUMN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from hudi_pyspark.format.commit_metadata import CommitMetadata, WriteStat
    from hudi_pyspark.read.plan import ScanTask
    from hudi_pyspark.storage import Storage
    from hudi_pyspark.table.file_group import FileSlice
    from hudi_pyspark.table.view import TableView

    Plan = Callable[[list[FileSlice], str], list[ScanTask]]

# Operations that change rows; compaction, clustering and the like only move them.
_CHANGING = frozenset(
    {
        "INSERT", "INSERT_PREPPED", "UPSERT", "UPSERT_PREPPED", "DELETE", "DELETE_PREPPED",
        "BULK_INSERT", "BULK_INSERT_PREPPED", "DELETE_PARTITION", "INSERT_OVERWRITE",
        "INSERT_OVERWRITE_TABLE", "BOOTSTRAP",
    }
)  # fmt: skip
_DELETES = frozenset({"DELETE", "DELETE_PREPPED"})


class ChangeSource(enum.Enum):
    """Where the changes of one file come from."""

    CDC_LOG = "a CDC log file"
    BASE_FILE_INSERT = "a base file of inserts"
    BASE_FILE_DELETE = "the base file before, all of it deleted"
    LOG_FILE = "a log file against the slice below"
    REPLACED = "a replaced file group"


@dataclass(frozen=True, slots=True)
class CdcTask:
    """The changes that one commit made to one file group; small and picklable."""

    source: ChangeSource
    instant: str  # requested time of the commit
    before: ScanTask | None  # the slice as it was; None where there was none or none is needed
    after: ScanTask | None  # the files that the commit wrote; None where none are needed
    cdc_files: tuple[str, ...]  # paths of CDC log files, relative to the base path
    logging_mode: str  # OP_KEY_ONLY, DATA_BEFORE or DATA_BEFORE_AFTER
    images: pa.Schema  # data columns of the images
    as_struct: bool  # images as structs instead of JSON text


def cdc_schema(table_schema: pa.Schema, *, as_struct: bool) -> pa.Schema:
    """``op, ts_ms, before, after``; images as JSON text or as structs of the data columns."""
    images = pa.struct(list(_data_columns(table_schema))) if as_struct else pa.string()
    return pa.schema(
        [
            pa.field("op", pa.string()),
            pa.field("ts_ms", pa.string()),
            pa.field("before", images),
            pa.field("after", images),
        ]
    )


def plan_changes(
    view: TableView,
    begin: str,
    end: str,
    table_schema: pa.Schema,
    plan: Plan,
    *,
    as_struct: bool,
    by_offset: bool = False,
) -> list[CdcTask]:
    """One task per commit and file group, in order of commits.

    Args:
        view: the table.
        begin: instant, exclusive, compared with requested times on every table version.
        end: instant, inclusive; "" for the latest.
        table_schema: all columns of the table.
        plan: file slices and the newest instant that counts, to scan tasks of all columns.
        as_struct: images as structs instead of JSON text.
        by_offset: begin and end are offsets of a stream: completion times from version 8 on.

    Raises:
        UnsupportedTableError: the table does not log changes.
        IncrementalRangeError: the range begins before the active timeline, or files are gone.
    """
    if not view.config.cdc_enabled:
        raise UnsupportedTableError(
            f"{view.storage.describe('')} keeps no changes (hoodie.table.cdc.enabled is not true), "
            "so there are no before and after images. Read the latest rows of the range instead "
            "(hoodie.datasource.query.incremental.format=latest_state)"
        )
    offsets = _offsets(view, by_offset=by_offset)
    _check_begin(view, begin, offsets, by_completion=by_offset and view.config.layout > 1)
    images = _data_columns(table_schema)
    planner = _Planner(view, plan, images, as_struct=as_struct)
    chosen = [t for t, at in offsets.items() if begin < at and (not end or at <= end)]
    return [task for time in chosen for task in planner.commit_tasks(time)]


def read_changes(task: CdcTask, storage: Storage) -> Iterator[pa.Table]:
    """The change rows of a task, of the schema of `cdc_schema`.

    Raises:
        HudiError: a file is missing, damaged, or not readable.
    """
    read = {
        ChangeSource.CDC_LOG: _read_cdc_log,
        ChangeSource.BASE_FILE_INSERT: _read_inserts,
        ChangeSource.BASE_FILE_DELETE: _read_deletes,
        ChangeSource.REPLACED: _read_deletes,
        ChangeSource.LOG_FILE: _read_log_changes,
    }[task.source]
    return read(task, storage)


def _data_columns(table_schema: pa.Schema) -> pa.Schema:
    hidden = (*META_COLUMNS, OPERATION_COLUMN)
    return pa.schema([field for field in table_schema if field.name not in hidden])


def _offsets(view: TableView, *, by_offset: bool) -> dict[str, str]:
    """Requested time of each completed commit to the time that the range compares."""
    by_completion = by_offset and view.config.layout > 1
    return {
        c.requested_time: (c.completion_time if by_completion else None) or c.requested_time
        for c in view.commits
    }


def _check_begin(
    view: TableView, begin: str, offsets: Mapping[str, str], *, by_completion: bool
) -> None:
    first = min(offsets.values(), default="")
    if not first or begin >= first:
        return
    archived = view.archived_commit_times
    gone = [at for at in (archived.values() if by_completion else archived) if at > begin]
    if gone:
        raise IncrementalRangeError(
            f"the range begins at {begin}, but commit {min(gone)} is archived and its changes are "
            f"gone. Begin at {max(gone)} or later"
        )


class _Planner:
    """Finds the change sources of commits."""

    def __init__(self, view: TableView, plan: Plan, images: pa.Schema, *, as_struct: bool) -> None:
        self._view = view
        self._plan = plan
        self._images = images
        self._as_struct = as_struct
        self._written: dict[str, dict[tuple[str, str], FileSlice]] = {}

    def commit_tasks(self, time: str) -> Iterator[CdcTask]:
        metadata = self._view.commit_metadata[time]
        if metadata.operation_type not in _CHANGING:
            return
        for partition, stats in metadata.write_stats.items():
            for file_id, group in _by_file_id(stats).items():
                yield from self._group_task(time, metadata, partition, file_id, group)
        for partition, file_ids in metadata.replaced_file_ids.items():
            for file_id in file_ids:
                before = self._before(time, partition, file_id)
                if before is not None:
                    yield self._task(ChangeSource.REPLACED, time, before=before)

    def _group_task(
        self,
        time: str,
        metadata: CommitMetadata,
        partition: str,
        file_id: str,
        stats: Sequence[WriteStat],
    ) -> Iterator[CdcTask]:
        cdc_files = tuple(path for stat in stats for path, _ in stat.cdc_files)
        if cdc_files:
            mode = self._view.config.cdc_logging_mode
            before = self._before(time, partition, file_id) if mode == "OP_KEY_ONLY" else None
            after = self._after(time, partition, file_id) if mode != "DATA_BEFORE_AFTER" else None
            yield self._task(
                ChangeSource.CDC_LOG, time, before=before, after=after, cdc_files=cdc_files
            )
            return
        stat = stats[0]
        if stat.path.rpartition("/")[2].startswith("."):
            yield self._task(
                ChangeSource.LOG_FILE,
                time,
                before=self._before(time, partition, file_id),
                after=self._after(time, partition, file_id),
            )
        elif metadata.operation_type in _DELETES and not stat.num_writes and stat.num_deletes:
            before = self._before(time, partition, file_id)
            yield self._task(ChangeSource.BASE_FILE_DELETE, time, before=before)
        elif not stat.num_update_writes and stat.num_writes == stat.num_inserts:
            after = self._after(time, partition, file_id)
            yield self._task(ChangeSource.BASE_FILE_INSERT, time, after=after)
        else:
            raise CorruptTableError(
                f"commit {time} updated rows in {stat.path}, but left no CDC log file: the "
                "changes of the range cannot be told"
            )

    def _task(
        self,
        source: ChangeSource,
        time: str,
        *,
        before: ScanTask | None = None,
        after: ScanTask | None = None,
        cdc_files: tuple[str, ...] = (),
    ) -> CdcTask:
        return CdcTask(
            source=source,
            instant=time,
            before=before,
            after=after,
            cdc_files=cdc_files,
            logging_mode=self._view.config.cdc_logging_mode,
            images=self._images,
            as_struct=self._as_struct,
        )

    def _before(self, time: str, partition: str, file_id: str) -> ScanTask | None:
        """The file group as it was before a commit; None where it did not exist."""
        try:
            found = self._view.slice_before(time, partition, file_id)
        except MissingFileError as error:
            raise self._gone(time, error) from error
        if found is None:
            return None
        earlier = max(c.requested_time for c in self._view.commits if c.requested_time < time)
        return self._plan([found], earlier)[0]

    def _after(self, time: str, partition: str, file_id: str) -> ScanTask:
        """Only what a commit wrote to a file group."""
        if time not in self._written:
            try:
                slices = self._view.written_slices([time])
            except MissingFileError as error:
                raise self._gone(time, error) from error
            self._written[time] = {(s.partition_path, s.file_id): s for s in slices}
        found = self._written[time].get((partition, file_id))
        if found is None:
            raise CorruptTableError(
                f"commit {time} wrote no visible file of group {file_id} in {partition!r}"
            )
        return self._plan([found], time)[0]

    def _gone(self, time: str, error: MissingFileError) -> IncrementalRangeError:
        return IncrementalRangeError(
            f"the changes of commit {time} can no longer be told: {error.args[0]}. Begin the range "
            f"at {time} or later"
        )


def _by_file_id(stats: Sequence[WriteStat]) -> dict[str, list[WriteStat]]:
    groups: dict[str, list[WriteStat]] = {}
    for stat in stats:
        if stat.path and stat.file_id:
            groups.setdefault(stat.file_id, []).append(stat)
    return groups


def _read_inserts(task: CdcTask, storage: Storage) -> Iterator[pa.Table]:
    for table in _tables(task.after, storage):
        yield _changes(task, "i", None, table)


def _read_deletes(task: CdcTask, storage: Storage) -> Iterator[pa.Table]:
    for table in _tables(task.before, storage):
        yield _changes(task, "d", table, None)


def _read_log_changes(task: CdcTask, storage: Storage) -> Iterator[pa.Table]:
    """Merge a commit's log records with the slice as it was, and tell what became of each row."""
    assert task.after is not None  # a log file was written
    log = load_log(task.after, storage)
    before = _tables(task.before, storage)
    for operation, old, new in changed_rows(
        before, log, task.after.rule, key_column=RECORD_KEY_COLUMN, merger=task.after.merger
    ):
        yield _changes(task, operation, old, new)


def _read_cdc_log(task: CdcTask, storage: Storage) -> Iterator[pa.Table]:
    before, after = _Images(task.before, storage), _Images(task.after, storage)
    for path in task.cdc_files:
        for block in frame_blocks(storage.read_bytes(path), path=path):
            if block.block_type is not LogBlockType.CDC_DATA_BLOCK:
                continue
            logged = decode_data_block(block, None)
            if logged.num_rows:
                yield _logged_changes(task, logged, before, after, source=path)


def _logged_changes(
    task: CdcTask, logged: pa.Table, before: _Images, after: _Images, *, source: str
) -> pa.Table:
    operations = as_one_array(logged.column("op"))
    names = logged.schema.names
    old = _logged_image(logged, "before", task.images, source) if "before" in names else None
    new = _logged_image(logged, "after", task.images, source) if "after" in names else None
    if "record_key" in names:
        keys = as_one_array(logged.column("record_key"))
        if old is None:
            old = before.of(keys, pc.not_equal(operations, "i"), task.images)
        if new is None:
            new = after.of(keys, pc.not_equal(operations, "d"), task.images)
    assert old is not None  # a log without images has keys
    assert new is not None
    times = pa.array([task.instant] * len(operations), pa.string())
    return _result(task, operations, times, old, new)


def _logged_image(logged: pa.Table, name: str, images: pa.Schema, source: str) -> pa.Array:
    """An image out of a CDC log, in the table's present columns."""
    stored = as_one_array(logged.column(name))
    target = pa.schema([pa.field("image", pa.struct(list(images)))])
    rows = conform(pa.table({"image": stored}), target, {}, source=source)
    return as_one_array(rows.column("image"))


class _Images:
    """Rows of a slice by record key."""

    def __init__(self, task: ScanTask | None, storage: Storage) -> None:
        self._task, self._storage = task, storage
        self._rows: pa.Table | None = None

    def of(self, keys: pa.Array, wanted: pa.Array, images: pa.Schema) -> pa.Array:
        """The rows of some keys as structs; null where not wanted or not there."""
        struct = pa.struct(list(images))
        if self._task is None:
            return pa.nulls(len(keys), struct)
        if self._rows is None:
            tables = list(slice_tables(self._task, self._storage))
            self._rows = pa.concat_tables(tables or [self._task.working.empty_table()])
        found = pc.index_in(keys, value_set=as_one_array(self._rows.column(RECORD_KEY_COLUMN)))
        found = pc.if_else(pc.fill_null(wanted, False), found, pa.scalar(None, pa.int32()))  # noqa: FBT003
        return _as_structs(self._rows, images).take(found)


def _tables(task: ScanTask | None, storage: Storage) -> Iterator[pa.Table]:
    if task is not None:
        yield from slice_tables(task, storage)


def _changes(task: CdcTask, operation: str, old: pa.Table | None, new: pa.Table | None) -> pa.Table:
    """Change rows of one operation."""
    length = max(t.num_rows for t in (old, new) if t is not None)
    nothing = pa.nulls(length, pa.struct(list(task.images)))
    return _result(
        task,
        pa.array([operation] * length, pa.string()),
        pa.array([task.instant] * length, pa.string()),
        nothing if old is None else _as_structs(old, task.images),
        nothing if new is None else _as_structs(new, task.images),
    )


def _result(
    task: CdcTask, operations: pa.Array, times: pa.Array, old: pa.Array, new: pa.Array
) -> pa.Table:
    images = [old, new] if task.as_struct else [_json_image(old), _json_image(new)]
    return pa.Table.from_arrays(
        [operations, times, *images], schema=cdc_schema(task.images, as_struct=task.as_struct)
    )


def _json_image(images: pa.Array) -> pa.Array:
    # An image that is not there is null, not the JSON text null.
    return pc.if_else(pc.is_null(images), pa.scalar(None, pa.string()), json_text(images))


def _as_structs(rows: pa.Table, images: pa.Schema) -> pa.Array:
    columns = [as_one_array(rows.column(name)) for name in images.names]
    if not columns:
        return pa.nulls(rows.num_rows, pa.struct([])).fill_null({})
    return pa.StructArray.from_arrays(columns, fields=list(images))
