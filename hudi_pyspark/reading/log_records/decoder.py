"""Decode log blocks to records with the marks that a merge needs."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.arrow_values import to_arrow, to_numpy
from hudi_pyspark.columns.arrays import RowNumbers, as_one_array, is_true, rename_columns
from hudi_pyspark.columns.schema_evolution import (
    SchemaOnRead,
    conform,
    repair_timestamps,
    stored_columns,
)
from hudi_pyspark.errors import CorruptTableError, HudiError
from hudi_pyspark.format.column_names import match_names
from hudi_pyspark.format.log import data_block
from hudi_pyspark.format.log.delete_block import (
    DeleteRecords,
    OrderingGroup,
    OrderingWrapper,
    decode_deletes,
)
from hudi_pyspark.format.log.log_block import LogBlock, LogBlockType
from hudi_pyspark.format.log.record_positions import decode_positions
from hudi_pyspark.format.nested_types import counts_milliseconds, find_field
from hudi_pyspark.reading.log_records.marks import (
    ALL_COLUMNS,
    Marks,
    comparable,
    ordering_field,
)
from hudi_pyspark.reading.log_records.record_keys import (
    number_keys,
    with_numbered_keys,
    with_record_key,
)
from hudi_pyspark.reading.log_records.records import NO_ROW, ColumnSets, LogRecords, Records
from hudi_pyspark.table.config import PROPERTIES_FILE
from hudi_pyspark.table.merge_mode import MergeRule, RecordMergeMode
from hudi_pyspark.table.meta_columns import RECORD_KEY_COLUMN

_T = TypeVar("_T")
# Apache Hudi takes higher values for microseconds, in a delete of a column in milliseconds.
_LAST_MILLISECOND = 9_999_999_999_999
# Wrappers that writers put around the ordering value in a delete block, by the column's type.
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

    If the schema has no record key column, only row positions identify the records.
    """

    schema: pa.Schema  # columns to decode, in the table's types; has the ordering fields' columns
    constants: Mapping[str, pa.Scalar]  # partition columns that files may lack
    rule: MergeRule  # names ordering fields and delete markers
    positions_of: str | None  # instant of the base file whose row positions count; None to use keys
    columns: Sequence[str]  # columns of the schema that files may hold; the rest are constants
    key_fields: Sequence[str] = ()  # make up the record key in a table without meta columns
    schema_on_read: SchemaOnRead | None = None  # matches columns by id; None to match by name
    # Records of other keys are left out if blocks hold the key; None for all records.
    wanted_keys: pa.Array | None = None
    # Path of a log file to the number of its slice, to decode blocks of several slices: their keys
    # are numbered, and all keys are wanted. None for the blocks of one slice.
    slice_numbers: Mapping[str, int] | None = None
    column_sets: ColumnSets = field(default_factory=ColumnSets)  # of all blocks decoded so far

    def decode(self, blocks: Iterable[LogBlock]) -> Iterator[LogRecords]:
        """Decode data and delete blocks in order, small Avro blocks of one schema together.

        Records have neither keys nor positions if a block lacks both.

        Raises:
            CorruptLogBlockError: a block cannot be decoded; the error names the first one.
            CorruptTableError: a record or a delete has no record key.
            SchemaEvolutionError: a column cannot be matched, or converted to the table's type.
            UnsupportedTableError: a block has types, a version or a codec that cannot be read.
            ValueError: a block is of a type without records.
        """
        return self._in_runs(blocks, self._decode_run)

    def values(self, blocks: Iterable[LogBlock]) -> Iterator[pa.Table]:
        """Decode all rows of data blocks to the schema, without what a merge would ask of them.

        Args:
            blocks: in order; none is a delete block.

        Raises:
            CorruptLogBlockError, SchemaEvolutionError: as `decode`.
            UnsupportedTableError, ValueError: as `decode`.
        """
        return self._in_runs(blocks, lambda run: self._values(run, None)[0])

    def _in_runs(
        self, blocks: Iterable[LogBlock], decode: Callable[[Sequence[LogBlock]], _T]
    ) -> Iterator[_T]:
        by_id = self.schema_on_read

        def kind_of(block: LogBlock) -> object:
            version = by_id and by_id.version_of(block.instant_time or "").version_id
            return block.is_partial, version

        for run in data_block.runs_of_blocks(blocks, kind_of):
            try:
                parts = [decode(run)]
            except HudiError:
                if len(run) == 1:
                    raise
                parts = [decode([block]) for block in run]  # the error names one of them
            yield from parts

    def _decode_run(self, run: Sequence[LogBlock]) -> LogRecords:
        block = run[0]
        if block.block_type is LogBlockType.DELETE_BLOCK:
            return self._decode_deletes(block)
        values, counts = self._values(run, self.wanted_keys)
        rows = with_record_key(values, self.key_fields)
        if self.slice_numbers is not None:
            numbers = [self.slice_numbers[block.path] for block in run]
            rows = with_numbered_keys(rows, np.repeat(numbers, counts))
        if self.wanted_keys is not None:
            is_wanted = pc.is_in(rows.column(RECORD_KEY_COLUMN), value_set=self.wanted_keys)
            rows = rows.filter(is_wanted)
        length = rows.num_rows
        keys = pa.nulls(length, pa.string())
        if RECORD_KEY_COLUMN in self.schema.names:
            keys = as_one_array(rows.column(RECORD_KEY_COLUMN))
            if keys.null_count:
                raise CorruptTableError(f"{_place(block)}: a record without record key")
        columns = ALL_COLUMNS
        if block.is_partial:  # then its schema has the columns that its updates change
            stored, names = self._names_in(block)
            columns = self.column_sets.number(frozenset(n for n in stored if stored[n] in names))
        marks = Marks.of_rows(rows, self.rule, columns)
        parts = [self._positions(*part) for part in zip(run, counts, strict=True)]
        known_positions = [part for part in parts if part is not None]
        has_all = known_positions and sum(map(len, known_positions)) == length
        positions = np.concatenate(known_positions) if has_all else None
        return LogRecords(rows, np.arange(length), keys, positions, marks, self.column_sets)

    def _values(
        self, run: Sequence[LogBlock], wanted_keys: pa.Array | None
    ) -> tuple[pa.Table, list[int]]:
        """Decode a run of data blocks; also return the number of records of each block."""
        block = run[0]
        stored, names = self._names_in(block)
        only = None
        if wanted_keys is not None:
            key_name = names.get(RECORD_KEY_COLUMN, RECORD_KEY_COLUMN)
            only = data_block.ValueLookup(key_name, wanted_keys)
        decoded, counts = data_block.decode_run(run, list(names.values()), only)
        name_of = {name_in_block: name for name, name_in_block in names.items()}
        decoded = rename_columns(decoded, (name_of[name] for name in decoded.schema.names))
        if self.schema_on_read is not None:
            decoded = self.schema_on_read.rename(decoded, stored, block.instant_time or "")
        in_avro = block.block_type is LogBlockType.AVRO_DATA_BLOCK
        decoded = repair_timestamps(decoded, self.schema, in_avro=in_avro)
        rows = conform(decoded, self.schema, self.constants, source=_place(block), casts=True)
        return rows, counts

    def _names_in(self, block: LogBlock) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """Map columns to their names at the block's instant, and these to the block's own names."""
        stored = stored_columns(self.schema_on_read, self.columns, block.instant_time or "")
        in_block = [field.name for field in block.avro_schema().fields]
        return stored, match_names(stored.values(), in_block, place=_place(block))

    def concatenate(self, parts: Sequence[LogRecords]) -> LogRecords:
        """Join the records of some parts, or of none, in their order."""
        if any(map(len, parts)):
            return LogRecords.concat(parts)
        rows = pa.Table.from_batches([], self.schema)
        records = Records.of_rows(rows, self.rule.ordering_fields)
        keys = pa.nulls(0, pa.string())
        has_keys = RECORD_KEY_COLUMN in self.schema.names
        positions = None if has_keys else np.empty(0, np.int64)
        no_records = LogRecords.of(records, keys, positions, self.column_sets)
        return LogRecords.concat([no_records, *parts])

    def _decode_deletes(self, block: LogBlock) -> LogRecords:
        records = decode_deletes(block)
        length = len(records.record_keys)
        if records.record_keys.null_count:
            raise CorruptTableError(f"{_place(block)}: a deleted record without record key")
        names = self.rule.ordering_fields
        if not names and self.rule.mode is RecordMergeMode.EVENT_TIME_ORDERING:
            _check_without_ordering(records, block)
        keys: pa.Array = records.record_keys
        if self.slice_numbers is not None:
            keys = as_one_array(number_keys(keys, np.full(length, self.slice_numbers[block.path])))
        deleted = LogRecords(
            rows=pa.Table.from_batches([], self.schema),
            row=np.full(length, NO_ROW, np.int64),
            keys=keys,
            positions=self._positions(block, length),
            marks=_marks_of_deletes(records, self.schema, self.rule),
            column_sets=self.column_sets,
        )
        if self.wanted_keys is None:
            return deleted
        is_wanted = is_true(pc.is_in(deleted.keys, value_set=self.wanted_keys))
        return replace(deleted.take(np.flatnonzero(is_wanted)), positions=None)

    def _positions(self, block: LogBlock, length: int) -> RowNumbers | None:
        """Return the row positions of a block's records; None unless each record has one."""
        text = block.record_positions_text
        base = self.positions_of
        if not text or base is None or block.positions_base_instant != base:
            return None
        is_list = bool(block.native_extension)
        positions = decode_positions(
            text, length, is_list=is_list, path=block.path, offset=block.offset
        )
        return positions if positions is not None and len(positions) == length else None


def _check_without_ordering(records: DeleteRecords, block: LogBlock) -> None:
    """Refuse an ordering value of a delete if the table names no ordering field.

    Records of a table without ordering fields all have the Integer 0. With any other value the
    properties have lost the fields, and rows would win that lose by them. Apache Hudi fails where
    it compares the value with the Integer 0.
    """
    has_value = ~to_numpy(records.is_commit_time)
    if has_value.any():
        raise CorruptTableError(
            f"{_place(block)}: {np.count_nonzero(has_value)} deletes have an ordering value, but "
            f"{PROPERTIES_FILE} names no ordering field: it has lost hoodie.table.ordering.fields "
            "(hoodie.table.precombine.field before table version 9)",
            advice="Restore it from a copy",
        )


def _place(block: LogBlock) -> str:
    return f"{block.path} at byte {block.offset}"


def _marks_of_deletes(deletes: DeleteRecords, schema: pa.Schema, rule: MergeRule) -> Marks:
    """Return the marks of the records of a delete block, with ordering values as rows have them.

    An ordering value is null if it does not fit its column.

    Args:
        deletes: the records.
        schema: of the rows, with the ordering fields' columns.
        rule: names ordering fields.

    Raises:
        UnsupportedTableError: an ordering field has a type that Apache Hudi does not order.
    """
    length = len(deletes.record_keys)
    names = rule.ordering_fields
    groups_of_field: Sequence[Sequence[OrderingGroup]] = [deletes.ordering]
    if len(names) > 1:
        has_arrays = deletes.array_rows is not None
        groups_of_field = deletes.array_fields if has_arrays else [()] * len(names)
    has_other_class = np.zeros(length, np.bool_)
    ordering = []
    for name, groups in zip(names, groups_of_field, strict=False):
        data_type = ordering_field(pa.Table.from_batches([], schema), name).type
        is_instant = pa.types.is_timestamp(data_type) and data_type.tz is not None
        in_milliseconds = is_instant and counts_milliseconds(find_field(schema, name))
        values = pa.nulls(length, data_type)
        for group in groups:
            decimal = (OrderingWrapper.DECIMAL,) if pa.types.is_decimal(data_type) else ()
            if group.wrapper is not None and group.wrapper not in _WRAPPERS.get(data_type, decimal):
                has_other_class[to_numpy(group.rows)] = True
            if in_milliseconds and pa.types.is_int64(group.values.type):
                group = replace(group, values=_microseconds(group.values))  # noqa: PLW2901
            values = _scatter(values, group, data_type)
        ordering.append(comparable(values, name))
    return Marks(
        ordering=tuple(ordering),
        is_delete=np.ones(length, np.bool_),
        has_default_ordering=to_numpy(deletes.is_commit_time) | (not names),
        has_other_class=has_other_class,
        columns=np.full(length, ALL_COLUMNS, np.int32),
    )


def _microseconds(values: pa.Array) -> pa.Array:
    """Convert milliseconds to microseconds; higher numbers are microseconds already."""
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
    mask[to_numpy(group.rows)] = True
    return pc.replace_with_mask(values, to_arrow(mask), converted)
