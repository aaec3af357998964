"""Log blocks of a slice to one table of records with the marks that the merge needs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.errors import CorruptTableError
from hudi_pyspark.format.data_block import OnlyRows, block_schema, decode_data_block
from hudi_pyspark.format.delete_block import (
    DeleteRecords,
    OrderingGroup,
    OrderingWrapper,
    decode_delete_block,
)
from hudi_pyspark.format.log_block import LogBlock, LogBlockType
from hudi_pyspark.format.record_positions import decode_positions
from hudi_pyspark.read.column_sets import ColumnSets
from hudi_pyspark.read.columns import as_one_array, field_array, is_null, is_true
from hudi_pyspark.read.ordering import (
    OrderingValues,
    comparable,
    comparable_ordering,
)
from hudi_pyspark.read.record_key import with_record_key
from hudi_pyspark.read.records import ALL_COLUMNS, Records
from hudi_pyspark.read.schema_evolution import conform
from hudi_pyspark.read.schema_on_read import stored_columns
from hudi_pyspark.table.schema import OPERATION_COLUMN

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy.typing as npt

    from hudi_pyspark.read.schema_on_read import SchemaOnRead
    from hudi_pyspark.table.merge_mode import MergeRule

_T = TypeVar("_T", bound=np.generic)
DELETED_COLUMN = "_hoodie_is_deleted"
_DELETING_OPERATIONS = ("D", "-U")
NO_ROW = -1
# Wrapper of the ordering value that a writer puts into a delete block, by the column's type.
_WRAPPERS = {
    pa.int32(): (OrderingWrapper.INT,),
    pa.int64(): (OrderingWrapper.LONG, OrderingWrapper.TIME_MICROS),
    pa.float32(): (OrderingWrapper.FLOAT,),
    pa.float64(): (OrderingWrapper.DOUBLE,),
    pa.bool_(): (OrderingWrapper.BOOLEAN,),
    pa.string(): (OrderingWrapper.STRING,),
    pa.date32(): (OrderingWrapper.DATE, OrderingWrapper.LOCAL_DATE, OrderingWrapper.INT),
    pa.timestamp("us", "UTC"): (OrderingWrapper.TIMESTAMP_MICROS, OrderingWrapper.LONG),
    pa.timestamp("us"): (OrderingWrapper.TIMESTAMP_MICROS, OrderingWrapper.LONG),
}


@dataclass(frozen=True, slots=True)
class LogRecords:
    """All records of a slice's log files, in the order in which they apply.

    The arrays are parallel, one entry per record: a row of a data block or a key of a delete block.
    """

    rows: pa.Table  # of the schema that the merge works on; data rows only
    row: npt.NDArray[np.int64]  # ordinal in `rows`, NO_ROW for a delete-block record
    keys: pa.Array  # record keys, string
    positions: npt.NDArray[np.int64] | None  # row ordinal in the base file; None to merge by key
    is_delete: npt.NDArray[np.bool_]
    ordering: OrderingValues
    has_default_ordering: npt.NDArray[np.bool_]  # the Integer 0 that stands for "no value"
    has_other_class: npt.NDArray[np.bool_]  # delete whose ordering value has another Java class
    # Per record the number of its set of columns; None where every row has all columns.
    columns: npt.NDArray[np.int64] | None = None
    column_sets: ColumnSets = field(default_factory=ColumnSets)

    def __len__(self) -> int:
        return len(self.row)

    def records(self, indices: npt.NDArray[np.int64]) -> Records:
        """Some of the records with their rows, in that order."""
        row = self.row[indices]
        everything = np.full(len(indices), ALL_COLUMNS, np.int64)
        return Records(
            rows=self.rows.take(pa.array(row, mask=row == NO_ROW)),
            has_row=row != NO_ROW,
            is_delete=self.is_delete[indices],
            has_default_ordering=self.has_default_ordering[indices],
            has_other_class=self.has_other_class[indices],
            ordering=self.ordering.take(indices),
            columns=everything if self.columns is None else self.columns[indices],
        )


@dataclass(frozen=True, slots=True)
class _Part:
    """The records of one block."""

    rows: pa.Table | None  # None for a delete block
    keys: pa.Array
    positions: npt.NDArray[np.int64] | None
    is_delete: npt.NDArray[np.bool_]
    ordering: OrderingValues
    has_default_ordering: npt.NDArray[np.bool_]
    has_other_class: npt.NDArray[np.bool_]
    columns: int  # number of the block's set of columns, ALL_COLUMNS for all


def load_log_records(
    blocks: Iterable[LogBlock],
    schema: pa.Schema,
    constants: Mapping[str, pa.Scalar],
    rule: MergeRule,
    *,
    key_column: str,
    positions_of: str | None,
    columns: Sequence[str],
    key_fields: Sequence[str] = (),
    schema_on_read: SchemaOnRead | None = None,
    wanted_keys: pa.Array | None = None,
) -> LogRecords:
    """Decode the blocks of a slice, only the columns of the schema.

    Args:
        blocks: data and delete blocks, oldest first.
        schema: columns to decode, in the table's types; holds key and ordering columns.
        constants: partition columns that files may lack.
        rule: tells ordering fields and delete markers.
        key_column: the column that holds the record key.
        positions_of: instant of the base file whose row positions may be used; None to use keys.
        columns: those of the schema that files may hold; the others come from `constants`.
        key_fields: fields that make up the record key in a table without meta columns.
        schema_on_read: matches columns by id; None to match them by name.
        wanted_keys: record keys; records of others are left out. None for all.

    Raises:
        CorruptLogBlockError: a block that does not decode.
    """
    parts = []
    sets = ColumnSets()
    for block in blocks:
        positions = _positions(block, positions_of)
        if block.block_type is LogBlockType.DELETE_BLOCK:
            part = _delete_part(block, schema, rule, positions)
            parts.append(part if wanted_keys is None else _with_keys(part, wanted_keys))
            continue
        stored = stored_columns(schema_on_read, columns, block.instant_time or "")
        only = None if wanted_keys is None else OnlyRows(key_column, wanted_keys)
        decoded = decode_data_block(block, list(stored.values()), only)
        if schema_on_read is not None:
            decoded = schema_on_read.rename(decoded, stored, block.instant_time or "")
        place = f"{block.path} at byte {block.offset}"
        rows = with_record_key(conform(decoded, schema, constants, source=place), key_fields)
        if wanted_keys is not None:
            rows = rows.filter(pc.is_in(rows.column(key_column), value_set=wanted_keys))
        part = _data_part(block, rows, rule, key_column, positions)
        parts.append(replace(part, columns=_column_set(block, stored, sets)))
    return _concatenate(parts, schema, rule, sets)


def _with_keys(part: _Part, wanted_keys: pa.Array) -> _Part:
    """Those records of a delete block that have one of the keys."""
    is_wanted = is_true(pc.is_in(part.keys, value_set=wanted_keys))
    return replace(
        part,
        keys=part.keys.filter(pa.array(is_wanted)),
        positions=None,
        is_delete=part.is_delete[is_wanted],
        ordering=part.ordering.take(np.flatnonzero(is_wanted)),
        has_default_ordering=part.has_default_ordering[is_wanted],
        has_other_class=part.has_other_class[is_wanted],
    )


def _column_set(block: LogBlock, stored: Mapping[str, str], sets: ColumnSets) -> int:
    """A block of partial updates holds what its own schema names; any other counts as whole."""
    if not block.is_partial:
        return ALL_COLUMNS
    names = {f.name for f in block_schema(block).fields}
    # Columns that come from the path are no part of any update.
    return sets.number(frozenset(name for name, in_file in stored.items() if in_file in names))


def _data_part(
    block: LogBlock,
    rows: pa.Table,
    rule: MergeRule,
    key_column: str,
    positions: npt.NDArray[np.int64] | None,
) -> _Part:
    keys = as_one_array(rows.column(key_column))
    if keys.null_count:
        raise CorruptTableError(f"{block.path} at byte {block.offset}: a record without record key")
    return _Part(
        rows=rows,
        keys=keys,
        positions=_checked_positions(positions, len(keys)),
        is_delete=_deleting_rows(rows, rule),
        ordering=comparable_ordering(rows, rule.ordering_fields),
        has_default_ordering=_default_ordering(rows, rule.ordering_fields),
        has_other_class=np.zeros(len(keys), np.bool_),
        columns=ALL_COLUMNS,
    )


def _deleting_rows(rows: pa.Table, rule: MergeRule) -> npt.NDArray[np.bool_]:
    """Rows of a data block that delete their key."""
    deletes = np.zeros(rows.num_rows, np.bool_)
    if DELETED_COLUMN in rows.schema.names and pa.types.is_boolean(
        rows.schema.field(DELETED_COLUMN).type
    ):
        deletes |= is_true(rows.column(DELETED_COLUMN))
    if OPERATION_COLUMN in rows.schema.names:
        deletes |= is_true(pc.is_in(rows.column(OPERATION_COLUMN), pa.array(_DELETING_OPERATIONS)))
    if {rule.delete_field, rule.delete_field.partition(".")[0]} & set(rows.schema.names):
        marked = field_array(rows, rule.delete_field)
        deletes |= is_true(pc.equal(pc.cast(marked, pa.string()), rule.delete_marker))
    return deletes


def _default_ordering(rows: pa.Table, fields: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Rows whose ordering value is the Integer 0: no field, a null, or 0 in an int column."""
    if not fields:
        return np.ones(rows.num_rows, np.bool_)
    if len(fields) > 1:
        return np.zeros(rows.num_rows, np.bool_)
    values = field_array(rows, fields[0])
    default = is_null(values)
    if pa.types.is_int32(values.type):
        default = default | is_true(pc.equal(values, 0))
    return default


def _delete_part(
    block: LogBlock,
    schema: pa.Schema,
    rule: MergeRule,
    positions: npt.NDArray[np.int64] | None,
) -> _Part:
    records = decode_delete_block(block.content, path=block.path, offset=block.offset)
    length = len(records.record_keys)
    if records.record_keys.null_count:
        raise CorruptTableError(
            f"{block.path} at byte {block.offset}: a deleted record without record key"
        )
    types = [_field_type(schema, name) for name in rule.ordering_fields]
    fields, other_class = _delete_ordering(records, types, rule.ordering_fields)
    return _Part(
        rows=None,
        keys=records.record_keys,
        positions=_checked_positions(positions, length),
        is_delete=np.ones(length, np.bool_),
        ordering=OrderingValues(fields, length),
        has_default_ordering=np.asarray(records.is_commit_time) | (not rule.ordering_fields),
        has_other_class=other_class,
        columns=ALL_COLUMNS,
    )


def _delete_ordering(
    records: DeleteRecords, types: Sequence[pa.DataType], names: Sequence[str]
) -> tuple[tuple[pa.Array, ...], npt.NDArray[np.bool_]]:
    """Comparable ordering values of deleted records, and which are of another Java class."""
    length = len(records.record_keys)
    groups_of_field: Sequence[Sequence[OrderingGroup]] = [records.ordering]
    if len(types) > 1:
        array_ordering = records.array_ordering
        groups_of_field = array_ordering.fields if array_ordering else [()] * len(types)
    other_class = np.zeros(length, np.bool_)
    fields = []
    for kind, name, groups in zip(types, names, groups_of_field, strict=False):
        values = pa.nulls(length, kind)
        for group in groups:
            if group.wrapper not in _wrappers(kind):
                other_class[np.asarray(group.rows)] = True
            values = _scatter(values, group, kind)
        fields.append(comparable(values, name))
    return tuple(fields), other_class


def _wrappers(kind: pa.DataType) -> tuple[OrderingWrapper, ...]:
    return (OrderingWrapper.DECIMAL,) if pa.types.is_decimal(kind) else _WRAPPERS.get(kind, ())


def _scatter(values: pa.Array, group: OrderingGroup, kind: pa.DataType) -> pa.Array:
    """Put a group's values at its rows; values that do not fit the type become null."""
    converted = _to_column_type(group.values, kind)
    if converted is None:
        return values
    mask = np.zeros(len(values), np.bool_)
    mask[np.asarray(group.rows)] = True
    return pc.replace_with_mask(values, pa.array(mask), converted)


def _to_column_type(values: pa.Array, kind: pa.DataType) -> pa.Array | None:
    try:
        if pa.types.is_date32(kind) and pa.types.is_int32(values.type):
            return values.cast(kind)
        if pa.types.is_timestamp(kind) and pa.types.is_int64(values.type):
            return values.cast(pa.timestamp("us")).cast(kind)
        return pc.cast(values, kind, safe=not pa.types.is_floating(kind))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def _field_type(schema: pa.Schema, name: str) -> pa.DataType:
    return field_array(schema.empty_table(), name).type


def _positions(block: LogBlock, positions_of: str | None) -> npt.NDArray[np.int64] | None:
    """Row positions of a block's records, where they refer to the base file at hand."""
    text = block.record_positions_text
    if not text or positions_of is None or block.positions_base_instant != positions_of:
        return None
    return decode_positions(text, path=block.path, offset=block.offset)


def _checked_positions(
    positions: npt.NDArray[np.int64] | None, length: int
) -> npt.NDArray[np.int64] | None:
    """Positions that fit their block one to one; others say nothing."""
    return positions if positions is not None and len(positions) == length else None


def _concatenate(
    parts: Sequence[_Part], schema: pa.Schema, rule: MergeRule, sets: ColumnSets
) -> LogRecords:
    tables = [p.rows for p in parts if p.rows is not None]
    rows = pa.concat_tables(tables) if tables else schema.empty_table()
    row, start = [], 0
    for part in parts:
        if part.rows is None:
            row.append(np.full(len(part.keys), NO_ROW, np.int64))
        else:
            row.append(np.arange(start, start + len(part.keys), dtype=np.int64))
            start += len(part.keys)
    # Positions count only if every block has usable ones: otherwise all records go by key.
    positions = [p.positions for p in parts if len(p.keys)]
    usable = bool(positions) and all(p is not None for p in positions)
    return LogRecords(
        rows=rows,
        row=_stack(row, np.int64),
        keys=_concat_arrays([p.keys for p in parts], pa.string()),
        positions=_stack([p for p in positions if p is not None], np.int64) if usable else None,
        is_delete=_stack([p.is_delete for p in parts], np.bool_),
        ordering=_stacked_ordering(parts, schema, rule),
        has_default_ordering=_stack([p.has_default_ordering for p in parts], np.bool_),
        has_other_class=_stack([p.has_other_class for p in parts], np.bool_),
        columns=(
            np.repeat([p.columns for p in parts], [len(p.keys) for p in parts])
            if len(sets)
            else None
        ),
        column_sets=sets,
    )


def _stacked_ordering(parts: Sequence[_Part], schema: pa.Schema, rule: MergeRule) -> OrderingValues:
    none = comparable_ordering(schema.empty_table(), rule.ordering_fields)
    ordering = [none, *(p.ordering for p in parts)]
    fields = zip(*(o.fields for o in ordering), strict=True)
    return OrderingValues(
        tuple(pa.concat_arrays(arrays) for arrays in fields), sum(o.length for o in ordering)
    )


def _stack(arrays: Sequence[npt.NDArray[_T]], dtype: type[_T]) -> npt.NDArray[_T]:
    return np.concatenate(arrays) if arrays else np.empty(0, dtype)


def _concat_arrays(arrays: Sequence[pa.Array], kind: pa.DataType) -> pa.Array:
    return pa.concat_arrays(arrays) if arrays else pa.nulls(0, kind)
