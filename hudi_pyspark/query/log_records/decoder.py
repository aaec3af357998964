"""Log blocks of a slice to one table of records with the marks that the merge needs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.errors import CorruptTableError
from hudi_pyspark.format.log.data_block import OnlyRows, block_schema, decode_data_block
from hudi_pyspark.format.log.delete_block import (
    DeleteRecords,
    OrderingGroup,
    OrderingWrapper,
    decode_delete_block,
)
from hudi_pyspark.format.log.log_block import LogBlock, LogBlockType
from hudi_pyspark.format.log.record_positions import decode_positions
from hudi_pyspark.query.columns.arrays import as_one_array, field_array, is_null, is_true
from hudi_pyspark.query.columns.schema_evolution import conform
from hudi_pyspark.query.columns.schema_on_read import stored_columns
from hudi_pyspark.query.log_records.column_sets import ColumnSets
from hudi_pyspark.query.log_records.ordering import (
    OrderingValues,
    comparable,
    comparable_ordering,
)
from hudi_pyspark.query.log_records.record_key import with_record_key
from hudi_pyspark.query.log_records.records import ALL_COLUMNS, Records
from hudi_pyspark.table.schema import OPERATION_COLUMN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from hudi_pyspark.query.columns.schema_on_read import SchemaOnRead
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

    @classmethod
    def of(
        cls,
        records: Records,
        keys: pa.Array,
        positions: npt.NDArray[np.int64] | None,
        column_sets: ColumnSets,
    ) -> LogRecords:
        """Records as they are, with their keys, or positions, in the same order."""
        return cls(
            rows=records.rows,
            row=np.where(records.has_row, np.arange(len(records)), NO_ROW),
            keys=keys,
            positions=positions,
            is_delete=records.is_delete,
            ordering=records.ordering,
            has_default_ordering=records.has_default_ordering,
            has_other_class=records.has_other_class,
            columns=records.columns,
            column_sets=column_sets,
        )

    @property
    def nbytes(self) -> int:
        """Memory that they take."""
        marks = (self.row, self.is_delete, self.has_default_ordering, self.has_other_class)
        numbers = [a for a in (*marks, self.positions, self.columns) if a is not None]
        size: int = sum(a.nbytes for a in (self.rows, self.keys, *self.ordering.fields, *numbers))
        return size

    def records(self, indices: npt.NDArray[np.int64]) -> Records:
        """Some of the records with their rows, in that order."""
        row = self.row[indices]
        all_columns = np.full(len(indices), ALL_COLUMNS, np.int64)
        return Records(
            rows=self.rows.take(pa.array(row, mask=row == NO_ROW)),
            has_row=row != NO_ROW,
            is_delete=self.is_delete[indices],
            has_default_ordering=self.has_default_ordering[indices],
            has_other_class=self.has_other_class[indices],
            ordering=self.ordering.take(indices),
            columns=all_columns if self.columns is None else self.columns[indices],
        )


class PositionsMissing(Exception):
    """Records that only their positions could identify do not have any that can be used."""


@dataclass(frozen=True, slots=True)
class LogDecoder:
    """Decodes the data and delete blocks of a slice, only the columns of a schema."""

    schema: pa.Schema  # columns to decode, in the table's types; holds key and ordering columns
    constants: Mapping[str, pa.Scalar]  # partition columns that files may lack
    rule: MergeRule  # tells ordering fields and delete markers
    key_column: str | None  # the column that holds the record key; None: only positions identify
    positions_of: str | None  # instant of the base file whose row positions count; None to use keys
    columns: Sequence[str]  # those of the schema that files may hold; others are constants
    key_fields: Sequence[str] = ()  # make up the record key in a table without meta columns
    schema_on_read: SchemaOnRead | None = None  # matches columns by id; None to match by name
    wanted_keys: pa.Array | None = None  # records of other keys are left out; None for all
    sets: ColumnSets = field(default_factory=ColumnSets)  # of all blocks that were decoded

    def decode(self, block: LogBlock) -> LogRecords:
        """The records of one block.

        Raises:
            CorruptLogBlockError: a block that does not decode.
            PositionsMissing: there is no key column, and the block's positions cannot be used.
        """
        positions = _positions(block, self.positions_of)
        if block.block_type is LogBlockType.DELETE_BLOCK:
            return self._delete_records(block, positions)
        instant = block.instant_time or ""
        stored = stored_columns(self.schema_on_read, self.columns, instant)
        decoded = decode_data_block(block, list(stored.values()), self._only())
        if self.schema_on_read is not None:
            decoded = self.schema_on_read.rename(decoded, stored, instant)
        rows = conform(decoded, self.schema, self.constants, source=_place(block))
        rows = self._with_wanted_keys(with_record_key(rows, self.key_fields))
        keys = self._keys(rows)
        if self.key_column is not None and keys.null_count:
            raise CorruptTableError(f"{_place(block)}: a record without record key")
        return LogRecords(
            rows=rows,
            row=np.arange(len(keys)),
            keys=keys,
            positions=self._usable(positions, len(keys)),
            is_delete=deleting_rows(rows, self.rule),
            ordering=comparable_ordering(rows, self.rule.ordering_fields),
            has_default_ordering=_default_ordering(rows, self.rule.ordering_fields),
            has_other_class=np.zeros(len(keys), np.bool_),
            columns=self._column_set(block, stored, len(keys)),
            column_sets=self.sets,
        )

    def _column_set(
        self, block: LogBlock, stored: Mapping[str, str], length: int
    ) -> npt.NDArray[np.int64] | None:
        """A block of partial updates holds what its own schema names; any other counts as whole."""
        if not block.is_partial:
            return None
        names = {f.name for f in block_schema(block).fields}
        # Columns that come from the path are no part of any update.
        held = frozenset(name for name, in_file in stored.items() if in_file in names)
        return np.full(length, self.sets.number(held), np.int64)

    def _keys(self, rows: pa.Table) -> pa.Array:
        if self.key_column is None:
            return pa.nulls(rows.num_rows, pa.string())
        return as_one_array(rows.column(self.key_column))

    def _usable(
        self, positions: npt.NDArray[np.int64] | None, length: int
    ) -> npt.NDArray[np.int64] | None:
        """Positions that fit their block one to one; others say nothing."""
        if positions is not None and len(positions) == length:
            return positions
        if self.key_column is None and length:
            raise PositionsMissing
        return None

    def _only(self) -> OnlyRows | None:
        if self.wanted_keys is None or self.key_column is None or self.key_fields:
            return None
        return OnlyRows(self.key_column, self.wanted_keys)

    def _with_wanted_keys(self, rows: pa.Table) -> pa.Table:
        if self.wanted_keys is None or self.key_column is None:
            return rows
        return rows.filter(pc.is_in(rows.column(self.key_column), value_set=self.wanted_keys))

    def _delete_records(
        self, block: LogBlock, positions: npt.NDArray[np.int64] | None
    ) -> LogRecords:
        records = decode_delete_block(block.content, path=block.path, offset=block.offset)
        length = len(records.record_keys)
        if records.record_keys.null_count:
            raise CorruptTableError(f"{_place(block)}: a deleted record without record key")
        names = self.rule.ordering_fields
        types = [_field_type(self.schema, name) for name in names]
        fields, other_class = _delete_ordering(records, types, names)
        deleted = LogRecords(
            rows=self.schema.empty_table(),
            row=np.full(length, NO_ROW, np.int64),
            keys=records.record_keys,
            positions=self._usable(positions, length),
            is_delete=np.ones(length, np.bool_),
            ordering=OrderingValues(fields, length),
            has_default_ordering=np.asarray(records.is_commit_time) | (not names),
            has_other_class=other_class,
            column_sets=self.sets,
        )
        if self.wanted_keys is None:
            return deleted
        is_wanted = is_true(pc.is_in(deleted.keys, value_set=self.wanted_keys))
        return replace(
            deleted,
            row=deleted.row[is_wanted],
            keys=deleted.keys.filter(pa.array(is_wanted)),
            positions=None,
            is_delete=deleted.is_delete[is_wanted],
            ordering=deleted.ordering.take(np.flatnonzero(is_wanted)),
            has_default_ordering=deleted.has_default_ordering[is_wanted],
            has_other_class=deleted.has_other_class[is_wanted],
        )

    def concatenate(self, parts: Sequence[LogRecords]) -> LogRecords:
        """The records of all parts, first those of the first."""
        tables = [part.rows for part in parts if part.rows.num_rows]
        starts = np.cumsum([0, *(part.rows.num_rows for part in parts)])
        row = [
            np.where(part.row == NO_ROW, NO_ROW, part.row + start)
            for part, start in zip(parts, starts[:-1], strict=True)
        ]
        # Positions count only if every part has usable ones: otherwise all records go by key.
        positions = [part.positions for part in parts if part.positions is not None]
        count = sum(map(len, parts))
        usable = sum(map(len, positions)) == count and (count > 0 or self.key_column is None)
        return LogRecords(
            rows=pa.concat_tables(tables) if tables else self.schema.empty_table(),
            row=_stack(row, np.int64),
            keys=pa.concat_arrays([pa.nulls(0, pa.string()), *(p.keys for p in parts)]),
            positions=_stack(positions, np.int64) if usable else None,
            is_delete=_stack([p.is_delete for p in parts], np.bool_),
            ordering=self._ordering(parts),
            has_default_ordering=_stack([p.has_default_ordering for p in parts], np.bool_),
            has_other_class=_stack([p.has_other_class for p in parts], np.bool_),
            columns=_stack([_columns(p) for p in parts], np.int64) if len(self.sets) else None,
            column_sets=self.sets,
        )

    def _ordering(self, parts: Sequence[LogRecords]) -> OrderingValues:
        none = comparable_ordering(self.schema.empty_table(), self.rule.ordering_fields)
        ordering = [none, *(p.ordering for p in parts)]
        fields = zip(*(o.fields for o in ordering), strict=True)
        return OrderingValues(
            tuple(pa.concat_arrays(arrays) for arrays in fields), sum(o.length for o in ordering)
        )


def pack(log: LogRecords) -> pa.Table:
    """Log records as one table, to be written somewhere: a row for each, its columns by place."""
    records = log.records(np.arange(len(log)))
    numbers = (log.positions, log.columns)
    marks = (
        records.has_row,
        records.is_delete,
        records.has_default_ordering,
        records.has_other_class,
    )
    arrays = [
        *records.rows.columns,
        log.keys,
        *(pa.nulls(len(log)) if a is None else pa.array(a) for a in numbers),
        *map(pa.array, marks),
        *records.ordering.fields,
    ]
    return pa.Table.from_arrays(arrays, names=[str(place) for place in range(len(arrays))])


def unpack(table: pa.Table, decoder: LogDecoder) -> LogRecords:
    """What `pack` made a table of."""
    width = len(decoder.schema)
    keys, positions, columns, *rest = map(as_one_array, table.columns[width:])
    has_row, is_delete, has_default_ordering, has_other_class = (np.asarray(a) for a in rest[:4])
    return LogRecords(
        rows=pa.Table.from_arrays(table.columns[:width], schema=decoder.schema),
        row=np.where(has_row, np.arange(table.num_rows), NO_ROW),
        keys=keys,
        positions=None if pa.types.is_null(positions.type) else np.asarray(positions),
        is_delete=is_delete,
        ordering=OrderingValues(tuple(rest[4:]), table.num_rows),
        has_default_ordering=has_default_ordering,
        has_other_class=has_other_class,
        columns=None if pa.types.is_null(columns.type) else np.asarray(columns),
        column_sets=decoder.sets,
    )


def _place(block: LogBlock) -> str:
    return f"{block.path} at byte {block.offset}"


def _columns(records: LogRecords) -> npt.NDArray[np.int64]:
    """Per record the number of its set of columns."""
    whole = np.full(len(records), ALL_COLUMNS, np.int64)
    return whole if records.columns is None else records.columns


def deleting_rows(rows: pa.Table, rule: MergeRule) -> npt.NDArray[np.bool_]:
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


def _stack(arrays: Sequence[npt.NDArray[_T]], dtype: type[_T]) -> npt.NDArray[_T]:
    return np.concatenate(arrays) if arrays else np.empty(0, dtype)
