"""What is in log files, read as far as it goes: their blocks, and the records of these."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from hudi_pyspark.errors import (
    CorruptTableError,
    HudiError,
    InvalidOptionError,
    MissingFileError,
    UnsupportedTableError,
)
from hudi_pyspark.format.file_name import LogFileName, NotADataFile
from hudi_pyspark.format.log.data_block import salvage_data_block
from hudi_pyspark.format.log.delete_block import decode_delete_block
from hudi_pyspark.format.log.log_block import LogBlockType, salvage_blocks
from hudi_pyspark.inspection.commits import known_commits
from hudi_pyspark.inspection.files import writes
from hudi_pyspark.query.columns.arrays import field_array
from hudi_pyspark.query.columns.schema_evolution import conform
from hudi_pyspark.query.log_records.decoder import deleting_rows
from hudi_pyspark.query.log_records.live_blocks import scan_blocks
from hudi_pyspark.query.log_records.record_key import record_keys
from hudi_pyspark.query.merge.custom_merger import registered_payloads
from hudi_pyspark.query.merge.fold import fold_log
from hudi_pyspark.query.options import ReadOptions
from hudi_pyspark.query.slice_log import log_decoder
from hudi_pyspark.query.slice_planner import SlicePlanner
from hudi_pyspark.table.merge_mode import resolve_merge_rule
from hudi_pyspark.table.schema import RECORD_KEY_COLUMN, resolve_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hudi_pyspark.format.log.delete_block import DeleteRecords
    from hudi_pyspark.format.log.log_block import LogBlock
    from hudi_pyspark.table.file_group import FileSlice
    from hudi_pyspark.table.merge_mode import MergeRule
    from hudi_pyspark.table.view import TableView

LOG_BLOCKS = pa.schema(
    [
        pa.field("path", pa.string()),
        pa.field("block", pa.int64()),
        pa.field("offset", pa.int64()),
        pa.field("bytes", pa.int64()),
        pa.field("type", pa.string()),
        pa.field("instant_time", pa.string()),
        pa.field("is_committed", pa.bool_()),
        pa.field("target_instant_time", pa.string()),
        pa.field("records", pa.int64()),
        pa.field("is_partial", pa.bool_()),
        pa.field("compacted_instants", pa.list_(pa.string())),
        pa.field("content_offset", pa.int64()),
        pa.field("content_bytes", pa.int64()),
        pa.field("header", pa.map_(pa.string(), pa.string())),
        pa.field("problem", pa.string()),
    ]
)

# The columns of a record follow, as one struct: their names cannot clash with these.
_RECORD_MARKS = pa.schema(
    [
        pa.field("path", pa.string()),
        pa.field("block", pa.int64()),
        pa.field("offset", pa.int64()),
        pa.field("instant_time", pa.string()),
        pa.field("record_number", pa.int64()),
        pa.field("kind", pa.string()),
        pa.field("key", pa.string()),
        pa.field("is_delete", pa.bool_()),
        pa.field("ordering", pa.list_(pa.string())),
        pa.field("problem", pa.string()),
    ]
)

_RECORD_TYPES = frozenset(
    {
        LogBlockType.AVRO_DATA_BLOCK,
        LogBlockType.PARQUET_DATA_BLOCK,
        LogBlockType.HFILE_DATA_BLOCK,
        LogBlockType.CDC_DATA_BLOCK,
    }
)


@dataclass(frozen=True, slots=True)
class _Block:
    """A block of a log file with its records, or what is wrong with it."""

    number: int  # in its file, from 0
    block: LogBlock
    rows: pa.Table | None  # of a data block; fewer than written where `problem` says why
    deletes: DeleteRecords | None  # of a delete block
    problem: str  # "" for a whole block

    @property
    def records(self) -> int | None:
        if self.rows is not None:
            return int(self.rows.num_rows)
        return len(self.deletes.record_keys) if self.deletes is not None else None


@dataclass(frozen=True, slots=True)
class _LogFile:
    """A log file, read as far as it goes."""

    path: str
    size: int  # bytes; 0 if the file is gone
    blocks: tuple[_Block, ...]
    lost_bytes: int  # that commits vouch for beyond the end of the file
    problem: str  # of the file as a whole; "" for none


def log_blocks(view: TableView, path: str | None) -> pa.Table:
    """One row per block; see `Inspection.log_blocks`."""
    rows = []
    for file in _read_files(view, _paths(view, path)):
        rows += [_block_row(view, block) for block in file.blocks]
        if file.problem:
            damage = {"offset": file.size, "bytes": file.lost_bytes, "problem": file.problem}
            rows.append({"path": file.path, **damage})
    return pa.Table.from_pylist(rows, schema=LOG_BLOCKS)


def log_records(view: TableView, path: str, *, merge: bool) -> pa.Table:
    """One row per record of a log file, or per key of its slice; see `Inspection.log_records`."""
    relative = _relative(view, path)
    if not merge:
        return _raw(view, list(_read_files(view, [relative])))
    file_slice = _slice_of(view, relative)
    listed = [log.path for log in file_slice.log_files if log.is_listed]
    return _merged(view, file_slice, list(_read_files(view, listed)))


def _paths(view: TableView, path: str | None) -> list[str]:
    if path is not None:
        return [_relative(view, path)]
    slices = view.file_slices(check_files=False)
    return [log.path for file_slice in slices for log in file_slice.log_files]


def _relative(view: TableView, path: str) -> str:
    """A path below the table's base path, which may be given in full."""
    base = view.storage.describe("").rstrip("/")
    local = path.removeprefix("file://") if not base.startswith("file:") else path
    return local.removeprefix(f"{base}/").lstrip("/") if base else path


def _read_files(view: TableView, paths: Sequence[str]) -> Iterator[_LogFile]:
    vouched: dict[str, int] = {}
    for path, _, stat in writes(known_commits(view, archived=False)):
        if path == stat.path:
            vouched[path] = max(stat.file_size, vouched.get(path, 0))
    for path in paths:
        yield _read_file(view, path, vouched.get(path, 0), is_asked_for=len(paths) == 1)


def _read_file(view: TableView, path: str, vouched: int, *, is_asked_for: bool) -> _LogFile:
    try:
        data = view.storage.read_bytes(path)
    except FileNotFoundError as error:
        if is_asked_for and not vouched:
            raise MissingFileError(
                f"{view.storage.describe(path)} does not exist. Paths of log files are in "
                "inspect.files()"
            ) from error
        is_whole = view.config.log_file_has_one_commit
        hint = "" if is_whole else "; its blocks may stand in another of the slice"
        problem = f"the file was committed but is not on the storage{hint}"
        return _LogFile(path, 0, (), vouched, problem)
    blocks = []
    for number, salvaged in enumerate(salvage_blocks(data, path=path)):
        blocks.append(_decode(number, salvaged.block, salvaged.problem))
    lost = max(vouched - len(data), 0)
    problem = f"the file has {len(data)} bytes, but its commit says {vouched}" if lost else ""
    return _LogFile(path, len(data), tuple(blocks), lost, problem)


def _decode(number: int, block: LogBlock, problem: str) -> _Block:
    if problem:
        return _Block(number, block, None, None, problem)
    if block.block_type in _RECORD_TYPES:
        rows, problem = salvage_data_block(block)
        return _Block(number, block, rows, None, problem)
    if block.block_type is not LogBlockType.DELETE_BLOCK:
        return _Block(number, block, None, None, "")
    try:
        deletes = decode_delete_block(block.content, path=block.path, offset=block.offset)
    except HudiError as error:
        return _Block(number, block, None, None, error.reason())
    return _Block(number, block, None, deletes, "")


def _block_row(view: TableView, found: _Block) -> dict[str, object]:
    block = found.block
    time = block.instant_time
    return {
        "path": block.path,
        "block": found.number,
        "offset": block.offset,
        "bytes": block.size,
        "type": block.block_type.name,
        "instant_time": time,
        "is_committed": time in view.committed if time is not None else None,
        "target_instant_time": block.target_instant_time,
        "records": found.records,
        "is_partial": block.is_partial,
        "compacted_instants": block.compacted_block_times,
        "content_offset": block.content_offset,
        "content_bytes": len(block.content),
        "header": [(key.name, text) for key, text in block.header.items()],
        "problem": found.problem or None,
    }


def _raw(view: TableView, files: Sequence[_LogFile]) -> pa.Table:
    """Records in file order."""
    rule = resolve_merge_rule(view.config, "", "")
    schema = _record_schema(view, files)
    parts = []
    for file in files:
        for found in file.blocks:
            if found.rows is not None and found.rows.num_rows:
                parts.append(_data_rows(view, found, rule, schema))
            if found.deletes is not None:
                parts.append(_delete_rows(found, rule, schema))
        parts += _damage_rows(file, schema)
    return _table(parts, schema)


def _merged(view: TableView, file_slice: FileSlice, files: Sequence[_LogFile]) -> pa.Table:
    """What the log files of a slice say of each key, the base file left aside."""
    planner = SlicePlanner(view, ReadOptions(use_record_positions=False), registered_payloads())
    task = planner.plan([file_slice], planner.table_schema, view.last_instant)[0]
    schema = _with_record(task.shared.result)
    blocks = [found.block for file in files for found in file.blocks if not found.problem]
    scan = scan_blocks(blocks, task.shared.block_filter)
    decoder = log_decoder(task)
    log = decoder.concatenate([decoder.decode(block) for block in scan.blocks])
    merged = fold_log(log, task.shared.rule, task.shared.merger)
    winners = merged.records(np.arange(len(merged)))
    rows = winners.rows.select(task.shared.result.names)
    parts = [part for file in files for part in _damage_rows(file, schema)]
    parts += [
        _damage_row({"path": gone.path, "problem": "the file is not on the storage"}, schema)
        for gone in file_slice.log_files
        # Where a file system appends, its blocks may stand in another file of the slice.
        if not gone.is_listed and gone.committed_by not in scan.instants
    ]
    count = len(merged)
    columns = {
        "kind": pa.array(np.where(winners.has_row, "data", "delete")),
        "key": merged.keys,
        "is_delete": pa.array(winners.marks.is_delete),
        "ordering": _ordering(winners.rows, task.shared.rule, count),
    }
    return _table([_rows(schema, count, columns, rows, winners.has_row), *parts], schema)


def _slice_of(view: TableView, path: str) -> FileSlice:
    """The file slice that a log file belongs to."""
    partition, name = posixpath.split(path)
    try:
        parsed = LogFileName.parse(name)
    except NotADataFile as error:
        raise InvalidOptionError(f"{path!r} is no log file of a file group") from error
    if parsed.is_cdc:
        raise InvalidOptionError(f"{path!r} holds changes, which are never merged")
    group = view.groups.find(partition, parsed.file_id)
    for file_slice in group.slices if group is not None else ():
        if any(log.path == path for log in file_slice.log_files):
            return file_slice
    raise MissingFileError(
        f"{view.storage.describe(path)} belongs to no slice of the table: it is not there, or was "
        "never committed"
    )


def _record_schema(view: TableView, files: Sequence[_LogFile]) -> pa.Schema:
    """Marks, then the record: the table's columns, then those that only the files have."""
    blocks = [found for file in files for found in file.blocks if found.rows is not None]
    try:
        table = resolve_schema(view)
    except UnsupportedTableError:  # nothing was committed yet
        table = pa.schema([])
    if any(found.block.block_type is LogBlockType.CDC_DATA_BLOCK for found in blocks):
        table = pa.schema([])  # changes have columns of their own
    fields = {field.name: field for field in table}
    for found in blocks:
        for field in found.rows.schema if found.rows is not None else ():
            fields.setdefault(field.name, field)
    return _with_record(pa.schema(list(fields.values())))


def _with_record(columns: pa.Schema) -> pa.Schema:
    return _RECORD_MARKS.append(pa.field("record", pa.struct(list(columns))))


def _columns(schema: pa.Schema) -> pa.Schema:
    """The columns of the record."""
    return pa.schema(list(schema.field("record").type))


def _data_rows(view: TableView, found: _Block, rule: MergeRule, schema: pa.Schema) -> pa.Table:
    stored, count = found.rows, found.records or 0
    rows, problems = _conform(stored, _columns(schema), found.block.path)
    key_fields = () if view.config.populate_meta_fields else view.config.record_key_fields
    columns = {
        **_block_marks(found, count),
        "kind": pa.repeat("data", count),
        "key": _keys(rows, key_fields, count),
        "is_delete": pa.array(deleting_rows(rows, rule)),
        "ordering": _ordering(rows, rule, count),
        "problem": pa.repeat(problems or None, count).cast(pa.string()),
    }
    return _rows(schema, count, columns, rows, np.ones(count, np.bool_))


def _conform(rows: pa.Table | None, schema: pa.Schema, source: str) -> tuple[pa.Table, str]:
    """Rows in the types of the table; null, with the reason, where a column has no such type."""
    assert rows is not None
    problems, columns = [], []
    for field in schema:
        wanted = pa.schema([field])
        try:
            columns.append(conform(rows, wanted, {}, source=source).column(0))
        except HudiError as error:
            problems.append(error.reason())
            columns.append(pa.nulls(rows.num_rows, field.type))
    return pa.Table.from_arrays(columns, schema=schema), "; ".join(problems)


def _keys(rows: pa.Table, key_fields: Sequence[str], count: int) -> pa.Array:
    """Record keys; null where the records do not tell them, as changes do not."""
    try:
        if key_fields:
            return record_keys(rows, key_fields)
        return field_array(rows, RECORD_KEY_COLUMN)
    except CorruptTableError:
        return pa.nulls(count, pa.string())


def _ordering(rows: pa.Table, rule: MergeRule, count: int) -> pa.Array:
    """Texts of the ordering values, one per ordering field; null without ordering fields."""
    names = [n for n in rule.ordering_fields if n.partition(".")[0] in rows.schema.names]
    if not names:
        return pa.nulls(count, pa.list_(pa.string()))
    texts = [
        field_array(rows, name, role="ordering field").cast(pa.string()).to_pylist()
        for name in names
    ]
    return pa.array(list(map(list, zip(*texts, strict=True))), pa.list_(pa.string()))


def _delete_rows(found: _Block, rule: MergeRule, schema: pa.Schema) -> pa.Table:
    deletes, count = found.deletes, found.records or 0
    assert deletes is not None
    columns = {
        **_block_marks(found, count),
        "kind": pa.repeat("delete", count),
        "key": deletes.record_keys,
        "is_delete": pa.repeat(True, count),  # noqa: FBT003  (a value, not a switch)
        "ordering": _delete_ordering(deletes, count, len(rule.ordering_fields)),
    }
    return _rows(schema, count, columns, None, np.zeros(count, np.bool_))


def _delete_ordering(deletes: DeleteRecords, count: int, fields: int) -> pa.Array:
    values: list[list[str | None] | None] = [None] * count
    for group in deletes.ordering:
        for row, text in zip(
            group.rows.to_pylist(), group.values.cast(pa.string()).to_pylist(), strict=True
        ):
            values[row] = [text]
    if deletes.array_ordering is not None:
        for row in deletes.array_ordering.rows.to_pylist():
            values[row] = [None] * max(fields, len(deletes.array_ordering.fields))
        for number, groups in enumerate(deletes.array_ordering.fields):
            for group in groups:
                texts = group.values.cast(pa.string()).to_pylist()
                for row, text in zip(group.rows.to_pylist(), texts, strict=True):
                    several = values[row]
                    if several is not None:
                        several[number] = text
    return pa.array(values, pa.list_(pa.string()))


def _damage_rows(file: _LogFile, schema: pa.Schema) -> list[pa.Table]:
    marks: list[dict[str, object]] = [
        {
            "path": file.path,
            "block": found.number,
            "offset": found.block.offset,
            "instant_time": found.block.instant_time,
            "problem": found.problem,
        }
        for found in file.blocks
        if found.problem
    ]
    if file.problem:
        marks.append({"path": file.path, "offset": file.size, "problem": file.problem})
    return [_damage_row(mark, schema) for mark in marks]


def _damage_row(marks: dict[str, object], schema: pa.Schema) -> pa.Table:
    return pa.Table.from_pylist([{**marks, "kind": "damage"}], schema=schema)


def _block_marks(found: _Block, count: int) -> dict[str, pa.Array]:
    block = found.block
    return {
        "path": pa.repeat(block.path, count),
        "block": pa.repeat(found.number, count),
        "offset": pa.repeat(block.offset, count),
        "instant_time": pa.repeat(block.instant_time or "", count),
        "record_number": pa.array(np.arange(count)),
    }


def _rows(
    schema: pa.Schema,
    count: int,
    columns: dict[str, pa.Array],
    rows: pa.Table | None,
    has_row: np.ndarray[tuple[int], np.dtype[np.bool_]],
) -> pa.Table:
    """A table of the schema; what is not given is null."""
    record = schema.field("record").type
    given = dict(columns)
    if rows is not None:
        arrays = [rows.column(n).combine_chunks() for n in rows.schema.names]
        given["record"] = pa.StructArray.from_arrays(
            arrays, fields=list(record), mask=pa.array(~has_row)
        )
    arrays = [given.get(field.name, pa.nulls(count, field.type)) for field in schema]
    cast = [a if a.type == f.type else a.cast(f.type) for a, f in zip(arrays, schema, strict=True)]
    return pa.Table.from_arrays(cast, schema=schema)


def _table(parts: Iterable[pa.Table], schema: pa.Schema) -> pa.Table:
    return pa.concat_tables([schema.empty_table(), *parts]).combine_chunks()
