"""Decoder of log blocks: their records with the marks that the merge needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.columns.arrays import Mask, RowNumbers, as_one_array, is_null, is_true
from hudi_pyspark.columns.column_names import match_columns, rename_columns
from hudi_pyspark.columns.schema_evolution import SchemaOnRead, conform, stored_columns
from hudi_pyspark.columns.timestamp_repair import repair_timestamps
from hudi_pyspark.errors import CorruptTableError
from hudi_pyspark.format.log import data_block
from hudi_pyspark.format.log.block_schema import block_schema
from hudi_pyspark.format.log.delete_block import OrderingWrapper, decode_deletes
from hudi_pyspark.format.log.log_block import LogBlock, LogBlockType
from hudi_pyspark.format.log.record_positions import decode_positions
from hudi_pyspark.format.nested_types import counts_milliseconds, find_field
from hudi_pyspark.reading.log_records.deletes import deleting_rows
from hudi_pyspark.reading.log_records.ordering import (
    OrderingValues,
    comparable,
    comparable_ordering,
    ordering_field,
)
from hudi_pyspark.reading.log_records.record_keys import with_record_key
from hudi_pyspark.reading.log_records.records import (
    ALL_COLUMNS,
    NO_ROW,
    ColumnSets,
    LogRecords,
    Marks,
)
from hudi_pyspark.table.meta_columns import RECORD_KEY_COLUMN

if TYPE_CHECKING:
    from hudi_pyspark.format.log.delete_block import DeleteRecords, OrderingGroup
    from hudi_pyspark.table.merge_mode import MergeRule

# Apache Hudi takes what is higher for microseconds, in a delete of a column in milliseconds.
_LAST_MILLISECOND = 9_999_999_999_999
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
class LogDecoder:
    """Decoder of the data and delete blocks of a slice, for the columns of a schema.

    Without a record key column in the schema, only row positions identify the records.
    """

    schema: pa.Schema  # columns to decode, in the table's types; has the ordering fields' columns
    constants: Mapping[str, pa.Scalar]  # partition columns that files may lack
    rule: MergeRule  # names ordering fields and delete markers
    positions_of: str | None  # instant of the base file whose row positions count; None to use keys
    columns: Sequence[str]  # those of the schema that files may hold; others are constants
    key_fields: Sequence[str] = ()  # make up the record key in a table without meta columns
    schema_on_read: SchemaOnRead | None = None  # matches columns by id; None to match by name
    # Records of other keys are left out, where blocks hold the key; None for all.
    wanted_keys: pa.Array | None = None
    column_sets: ColumnSets = field(default_factory=ColumnSets)  # of all blocks decoded so far

    @property
    def has_keys(self) -> bool:
        return RECORD_KEY_COLUMN in self.schema.names

    def decode(self, block: LogBlock) -> LogRecords:
        """Decode one block; without keys and positions, if it lacks both.

        Raises:
            CorruptLogBlockError: the block cannot be decoded.
            CorruptTableError: a record or a delete has no record key.
            SchemaEvolutionError: a column cannot be matched, or converted to the table's type.
            UnsupportedTableError: the block has types, a version or a codec that cannot be read.
            ValueError: the block is of a type without records.
        """
        if block.block_type is LogBlockType.DELETE_BLOCK:
            return self._decode_deletes(block)
        instant = block.instant_time or ""
        stored = stored_columns(self.schema_on_read, self.columns, instant)
        wanted = self.wanted_keys
        in_block = [field.name for field in block_schema(block).fields]
        names = match_columns(stored.values(), in_block, source=_place(block))
        only = None
        if wanted is not None:
            only = data_block.ValueLookup(names.get(RECORD_KEY_COLUMN, RECORD_KEY_COLUMN), wanted)
        decoded = data_block.decode_data_block(block, list(names.values()), only)
        asked = {name: asked for asked, name in names.items()}
        decoded = rename_columns(decoded, (asked[name] for name in decoded.schema.names))
        if self.schema_on_read is not None:
            decoded = self.schema_on_read.rename(decoded, stored, instant)
        in_avro = block.block_type is LogBlockType.AVRO_DATA_BLOCK
        decoded = repair_timestamps(decoded, self.schema, in_avro=in_avro)
        rows = conform(decoded, self.schema, self.constants, source=_place(block), casts=True)
        rows = with_record_key(rows, self.key_fields)
        if wanted is not None:
            rows = rows.filter(pc.is_in(rows.column(RECORD_KEY_COLUMN), value_set=wanted))
        keys, length = self._keys(block, rows), rows.num_rows
        columns = ALL_COLUMNS  # of any block but those of partial updates, which are in its schema
        if block.is_partial:  # no update changes the columns that come from the path
            columns = self.column_sets.number(frozenset(n for n in stored if stored[n] in names))
        marks = Marks(
            is_delete=deleting_rows(rows, self.rule),
            has_default_ordering=_default_ordering(rows, self.rule.ordering_fields),
            has_other_class=np.zeros(length, np.bool_),
            columns=np.full(length, columns, np.int32),
            ordering=comparable_ordering(rows, self.rule.ordering_fields),
        )
        positions = self._positions(block, length)
        return LogRecords(rows, np.arange(length), keys, positions, marks, self.column_sets)

    def concatenate(self, parts: Sequence[LogRecords]) -> LogRecords:
        """Join the records of all parts, which may be none, in their order."""
        rows = self.schema.empty_table()
        no_records = LogRecords(
            rows=rows,
            row=np.empty(0, np.int64),
            keys=pa.nulls(0, pa.string()),
            positions=None if self.has_keys else np.empty(0, np.int64),
            marks=Marks.of_rows(comparable_ordering(rows, self.rule.ordering_fields)),
            column_sets=self.column_sets,
        )
        return LogRecords.concat([no_records, *parts])

    def _decode_deletes(self, block: LogBlock) -> LogRecords:
        records = decode_deletes(block, data_block.decode_native_deletes(block))
        length = len(records.record_keys)
        if records.record_keys.null_count:
            raise CorruptTableError(f"{_place(block)}: a deleted record without record key")
        names = self.rule.ordering_fields
        ordering, has_other_class = delete_ordering(records, self.schema, names)
        deleted = LogRecords(
            rows=self.schema.empty_table(),
            row=np.full(length, NO_ROW, np.int64),
            keys=records.record_keys,
            positions=self._positions(block, length),
            marks=Marks(
                is_delete=np.ones(length, np.bool_),
                has_default_ordering=np.asarray(records.is_commit_time) | (not names),
                has_other_class=has_other_class,
                columns=np.full(length, ALL_COLUMNS, np.int32),
                ordering=ordering,
            ),
            column_sets=self.column_sets,
        )
        if self.wanted_keys is None:
            return deleted
        is_wanted = is_true(pc.is_in(deleted.keys, value_set=self.wanted_keys))
        return replace(deleted.take(np.flatnonzero(is_wanted)), positions=None)

    def _keys(self, block: LogBlock, rows: pa.Table) -> pa.Array:
        if not self.has_keys:
            return pa.nulls(rows.num_rows, pa.string())
        keys = as_one_array(rows.column(RECORD_KEY_COLUMN))
        if keys.null_count:
            raise CorruptTableError(f"{_place(block)}: a record without record key")
        return keys

    def _positions(self, block: LogBlock, length: int) -> RowNumbers | None:
        """Return the row positions of a block's records, if there is one for each of them."""
        text, base = block.record_positions_text, self.positions_of
        if not text or base is None or block.positions_base_instant != base:
            return None
        is_list = bool(block.native_extension)
        positions = decode_positions(
            text, length, is_list=is_list, path=block.path, offset=block.offset
        )
        return positions if positions is not None and len(positions) == length else None


def _place(block: LogBlock) -> str:
    return f"{block.path} at byte {block.offset}"


def _default_ordering(rows: pa.Table, fields: Sequence[str]) -> Mask:
    """Return the rows whose ordering value is the Integer 0: no field, null, or 0 as int."""
    if not fields:
        return np.ones(rows.num_rows, np.bool_)
    if len(fields) > 1:
        return np.zeros(rows.num_rows, np.bool_)
    values = ordering_field(rows, fields[0])
    default = is_null(values)
    if pa.types.is_int32(values.type):
        default = default | is_true(pc.equal(values, 0))
    return default


def delete_ordering(
    records: DeleteRecords, schema: pa.Schema, names: Sequence[str]
) -> tuple[OrderingValues, Mask]:
    """Make the ordering values of deleted records comparable with those of rows.

    Returns the values, null where one does not fit its column, and a mask of the records that have
    a value of another Java class than the column.
    """
    length = len(records.record_keys)
    groups_of_field: Sequence[Sequence[OrderingGroup]] = [records.ordering]
    if len(names) > 1:
        array_ordering = records.array_ordering
        groups_of_field = array_ordering.fields if array_ordering else [()] * len(names)
    has_other_class = np.zeros(length, np.bool_)
    fields = []
    for name, groups in zip(names, groups_of_field, strict=False):
        data_type = ordering_field(schema.empty_table(), name).type
        is_instant = pa.types.is_timestamp(data_type) and data_type.tz is not None
        in_milliseconds = is_instant and counts_milliseconds(find_field(schema, name))
        values = pa.nulls(length, data_type)
        for group in groups:
            decimal = (OrderingWrapper.DECIMAL,) if pa.types.is_decimal(data_type) else ()
            if group.wrapper is not None and group.wrapper not in _WRAPPERS.get(data_type, decimal):
                has_other_class[np.asarray(group.rows)] = True
            if in_milliseconds and pa.types.is_int64(group.values.type):
                group = replace(group, values=_microseconds(group.values))  # noqa: PLW2901
            values = _scatter(values, group, data_type)
        fields.append(comparable(values, name))
    return OrderingValues(tuple(fields), length), has_other_class


def _microseconds(values: pa.Array) -> pa.Array:
    """Return numbers of milliseconds in microseconds, and of microseconds, which are higher."""
    is_milliseconds = pc.less_equal(values, _LAST_MILLISECOND)
    return pc.if_else(is_milliseconds, pc.multiply(values, 1000), values)


def _scatter(values: pa.Array, group: OrderingGroup, data_type: pa.DataType) -> pa.Array:
    """Put a group's values at its rows; values that do not fit the type become null."""
    converted = group.values
    try:
        if pa.types.is_date32(data_type) and pa.types.is_int32(converted.type):
            converted = converted.cast(data_type)
        elif pa.types.is_timestamp(data_type) and pa.types.is_int64(converted.type):
            converted = converted.cast(pa.timestamp("us")).cast(data_type)
        else:
            converted = pc.cast(converted, data_type, safe=not pa.types.is_floating(data_type))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return values
    mask = np.zeros(len(values), np.bool_)
    mask[np.asarray(group.rows)] = True
    return pc.replace_with_mask(values, pa.array(mask), converted)
