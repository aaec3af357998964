"""Changes of an instant range: rows with their images before and after (CDC).

A commit tells its changes in one of several ways: a CDC log file that the writer added, a base file
that is all inserts or all deletes, a log file whose records are compared with the slice below, or a
list of replaced file groups.
"""

from __future__ import annotations

import enum
import logging
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.errors import (
    CorruptLogBlockError,
    CorruptTableError,
    IncrementalRangeError,
    MissingFileError,
    UnsupportedTableError,
)
from hudi_pyspark.format.file_name import is_log_file_name
from hudi_pyspark.format.log.data_block import decode_data_block
from hudi_pyspark.format.log.log_block import LogBlockType, frame_blocks
from hudi_pyspark.format.timeline.commit_metadata import WriteOperationType
from hudi_pyspark.query.columns.arrays import as_one_array
from hudi_pyspark.query.columns.json_text import json_text
from hudi_pyspark.query.columns.schema_evolution import conform
from hudi_pyspark.query.filter.predicate import matching
from hudi_pyspark.query.incremental import (
    archived_commits,
    check_order,
    commit_times,
    end_before_hollow_commits,
    matches_glob,
    slice_paths,
)
from hudi_pyspark.query.slice_reader import changes_of_log, slice_tables
from hudi_pyspark.table.commit_slices import written_slices
from hudi_pyspark.table.schema import META_COLUMNS, OPERATION_COLUMN, RECORD_KEY_COLUMN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hudi_pyspark.format.timeline.commit_metadata import CommitMetadata, WriteStat
    from hudi_pyspark.query.filter.predicate import Predicate
    from hudi_pyspark.query.options import IncrementalOptions
    from hudi_pyspark.query.plan import ScanTask
    from hudi_pyspark.storage import Storage
    from hudi_pyspark.table.file_group import FileSlice
    from hudi_pyspark.table.view import TableView

    Plan = Callable[[list[FileSlice], str], list[ScanTask]]

_log = logging.getLogger(__name__)

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
    cdc_files: tuple[tuple[str, int], ...]  # CDC log files: path from the base path, bytes
    logging_mode: str  # OP_KEY_ONLY, DATA_BEFORE or DATA_BEFORE_AFTER
    images: pa.Schema  # data columns of the images
    as_struct: bool  # images as structs instead of JSON text
    predicate: Predicate | None = None  # only changes for which it is true; None for all


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


def check_changes(view: TableView, options: IncrementalOptions) -> None:
    """Refuse what cannot be answered for any range, or for no table.

    Raises:
        UnsupportedTableError: the table does not log changes, or its rows have no record key.
        InvalidInstantError: the range ends before it begins.
    """
    check_order(options.begin, options.end)
    config = view.config
    if not config.cdc_enabled:
        raise UnsupportedTableError(
            f"{view.storage.describe('')} keeps no changes (hoodie.table.cdc.enabled is not true), "
            "so there are no before and after images. Read the latest rows of the range instead "
            "(hoodie.datasource.query.incremental.format=latest_state)"
        )
    needs_keys = config.is_merge_on_read or config.cdc_logging_mode != "DATA_BEFORE_AFTER"
    if needs_keys and not config.populate_meta_fields:
        raise UnsupportedTableError(
            "images are found by the column _hoodie_record_key, which the table does not have "
            "(hoodie.populate.meta.fields=false)"
        )


def plan_changes(
    view: TableView, options: IncrementalOptions, table_schema: pa.Schema, plan: Plan
) -> list[CdcTask]:
    """One task per commit and file group, in order of commits.

    Begin and end are compared with requested times on every table version, but for the offsets of
    a stream, which are completion times from version 8 on.

    Args:
        view: the table.
        options: the range and how to answer it.
        table_schema: all columns of the table.
        plan: file slices and the newest instant that counts, to scan tasks of all columns.

    Raises:
        IncrementalRangeError: the range begins before the active timeline, commits of it are still
            pending, or files are gone.
    """
    by_completion = options.by_offset and view.config.has_completion_times
    times = commit_times(view, by_completion=by_completion)
    end = options.end or max(times.values(), default="")
    if not view.config.has_completion_times:
        end = end_before_hollow_commits(view, options.begin, end, options.hollow_commits)
    begin = _known_begin(view, options, end, by_completion=by_completion)
    images = _data_columns(table_schema)
    planner = _Planner(view, plan, images, as_struct=options.cdc_as_struct)
    tasks: list[CdcTask] = []
    moved = ""
    for time in sorted((t for t in times if begin < times[t] <= end), key=lambda t: times[t]):
        found, gone = _commit_tasks(planner, time, options)
        if gone:
            tasks, begin, moved = [], times[time], gone
        tasks += found
    if moved:
        _warn_moved(options.begin, begin, moved)
    kept = [t for t in tasks if matches_glob(view, _task_paths(t), options.path_glob)]
    _log.info("changes after %s up to %s, inclusive: %d tasks", begin, end, len(kept))
    return kept


def _commit_tasks(
    planner: _Planner, time: str, options: IncrementalOptions
) -> tuple[list[CdcTask], str]:
    """The tasks of a commit; or none, and why, where the range may begin behind it."""
    try:
        return list(planner.commit_tasks(time)), ""
    except IncrementalRangeError as error:
        if options.on_missing != "earliest":
            raise
        return [], error.reason()


def _task_paths(task: CdcTask) -> list[str]:
    slices = [scan.file_slice for scan in (task.before, task.after) if scan is not None]
    return [path for path, _ in task.cdc_files] + [p for s in slices for p in slice_paths(s)]


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
    for table in read(task, storage):
        yield matching(task.predicate, table)


def _data_columns(table_schema: pa.Schema) -> pa.Schema:
    hidden = (*META_COLUMNS, OPERATION_COLUMN)
    return pa.schema([field for field in table_schema if field.name not in hidden])


def _known_begin(
    view: TableView, options: IncrementalOptions, end: str, *, by_completion: bool
) -> str:
    """Where the range begins: as asked for, unless commits behind it are archived."""
    begin = options.begin
    gone = archived_commits(view, begin, end, by_completion=by_completion)
    if not gone:
        return begin
    last = max(gone.values())
    reason = f"commit {min(gone)} is archived and its changes are gone"
    if options.on_missing == "earliest":
        _warn_moved(begin, last, reason)
        return last
    raise IncrementalRangeError(
        f"the range begins at {begin}, but {reason}. Begin at {last} or later (on_missing=earliest "
        "does)"
    )


def _warn_moved(asked: str, begin: str, reason: str) -> None:
    warnings.warn(
        f"changes after {asked}: they begin at {begin}, later than asked for, since {reason} "
        "(on_missing=fail refuses)",
        UserWarning,
        stacklevel=3,
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
        if metadata.operation_type is WriteOperationType.UNKNOWN and any(metadata.all_stats()):
            raise UnsupportedTableError(
                f"commit {time} does not tell by which operation it was written, so whether it "
                "changed rows or only moved them. Begin the range after it"
            )
        if metadata.operation_type not in _CHANGING:
            return
        for partition, stats in metadata.write_stats.items():
            for file_id, group in _by_file_id(stats).items():
                yield from self._group_task(time, metadata, partition, file_id, group)
        for partition, file_ids in metadata.replaced_file_ids.items():
            for file_id in file_ids:
                before = self._before(time, partition, file_id, must_exist=False)
                if before is None and self._view.history.archived_times:
                    # Commits that are archived may have written it, and the cleaner removed it.
                    before = self._before(time, partition, file_id, must_exist=True)
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
        cdc_files = tuple(file for stat in stats for file in stat.cdc_files)
        if cdc_files:
            self._check_cdc_files(time, partition, [path for path, _ in cdc_files])
            mode = self._view.config.cdc_logging_mode
            before = None
            if mode == "OP_KEY_ONLY":
                has_older = any(stat.prev_commit not in (None, time) for stat in stats)
                before = self._before(time, partition, file_id, must_exist=has_older)
            after = self._after(time, partition, file_id) if mode != "DATA_BEFORE_AFTER" else None
            yield self._task(
                ChangeSource.CDC_LOG, time, before=before, after=after, cdc_files=cdc_files
            )
            return
        stat = stats[0]
        if is_log_file_name(stat.file_name):
            yield self._task(
                ChangeSource.LOG_FILE,
                time,
                before=self._before(time, partition, file_id, must_exist=False),
                after=self._after(time, partition, file_id),
            )
        elif metadata.operation_type in _DELETES and not stat.num_writes and stat.num_deletes:
            before = self._before(time, partition, file_id, must_exist=True)
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
        cdc_files: tuple[tuple[str, int], ...] = (),
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

    def _before(
        self, time: str, partition: str, file_id: str, *, must_exist: bool
    ) -> ScanTask | None:
        """The file group as it was before a commit; None where it did not exist."""
        try:
            found = self._view.slices.before(time, partition, file_id)
        except MissingFileError as error:
            raise self._gone(time, error) from error
        if found is None:
            if must_exist:
                reason = f"no file is left of group {file_id} in {partition!r} as it was before"
                raise self._gone(time, MissingFileError(reason))
            return None
        return self._plan([found], self._view.history.instant_before(time))[0]

    def _after(self, time: str, partition: str, file_id: str) -> ScanTask:
        """Only what a commit wrote to a file group."""
        if time not in self._written:
            try:
                slices = written_slices(self._view, [time])
            except MissingFileError as error:
                raise self._gone(time, error) from error
            self._written[time] = {(s.partition_path, s.file_id): s for s in slices}
        found = self._written[time].get((partition, file_id))
        if found is None:
            raise CorruptTableError(
                f"commit {time} wrote no visible file of group {file_id} in {partition!r}"
            )
        return self._plan([found], time)[0]

    def _check_cdc_files(self, time: str, partition: str, paths: Sequence[str]) -> None:
        listed = {file.name for file in self._view.listing.files([partition])[partition]}
        for path in paths:
            if path.rpartition("/")[2] not in listed:
                raise self._gone(time, MissingFileError(_cdc_file_gone(self._view.storage, path)))

    def _gone(self, time: str, error: MissingFileError) -> IncrementalRangeError:
        return IncrementalRangeError(
            f"the changes of commit {time} can no longer be told: {error.args[0]}. Begin the range "
            f"at {time} or later (on_missing=earliest does)"
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
    before = _tables(task.before, storage)
    for operation, old, new in changes_of_log(task.after, storage, before):
        yield _changes(task, operation, old, new)


def _read_cdc_log(task: CdcTask, storage: Storage) -> Iterator[pa.Table]:
    before, after = _Images(task.before, storage), _Images(task.after, storage)
    for path, size in task.cdc_files:
        for block in frame_blocks(_read_cdc_file(storage, path, size), path=path):
            if block.block_type is LogBlockType.CORRUPT_BLOCK:
                problem = "a corrupt block in a committed CDC log file. Restore it from a copy"
                raise CorruptLogBlockError(problem, storage.describe(path), block.offset)
            if block.block_type is not LogBlockType.CDC_DATA_BLOCK:
                continue
            logged = decode_data_block(block, None)
            if logged.num_rows:
                yield _logged_changes(task, logged, before, after, source=path)


def _read_cdc_file(storage: Storage, path: str, size: int) -> bytes:
    try:
        data = storage.read_bytes(path)
    except FileNotFoundError as error:
        raise MissingFileError(_cdc_file_gone(storage, path)) from error
    if len(data) < size:
        raise CorruptLogBlockError(
            f"the file has {len(data)} bytes, but its commit says {size}. Restore it from a copy",
            storage.describe(path),
            len(data),
        )
    return data


def _cdc_file_gone(storage: Storage, path: str) -> str:
    return f"{storage.describe(path)}, a CDC log file, is not on the storage"


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
            old = before.of(keys, pc.not_equal(operations, "i"), task.images, source)
        if new is None:
            new = after.of(keys, pc.not_equal(operations, "d"), task.images, source)
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

    def of(self, keys: pa.Array, wanted: pa.Array, images: pa.Schema, source: str) -> pa.Array:
        """The rows of some keys as structs; null where not wanted.

        Raises:
            CorruptTableError: a wanted key is not among the rows.
        """
        rows = self._load(images)
        found = pc.index_in(keys, value_set=as_one_array(rows.column(RECORD_KEY_COLUMN)))
        lost = keys.filter(pc.and_(wanted, pc.is_null(found)))
        if len(lost):
            raise CorruptTableError(
                f"{source}: the CDC log tells a change of record key {lost[0].as_py()!r}, of which "
                "the commit's base files have no row"
            )
        found = pc.if_else(wanted, found, pa.scalar(None, pa.int32()))
        return _as_structs(rows, images).take(found)

    def _load(self, images: pa.Schema) -> pa.Table:
        if self._task is None:
            return pa.schema([*images, pa.field(RECORD_KEY_COLUMN, pa.string())]).empty_table()
        if self._rows is None:
            tables = list(slice_tables(self._task, self._storage))
            self._rows = pa.concat_tables(tables or [self._task.working.empty_table()])
        return self._rows


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
