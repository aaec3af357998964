"""Relabel timestamps that files declare with another type than the table.

Hudi 0.x and 1.0 labelled milliseconds as microseconds, and like Flink they left out the types of
local timestamps. The stored numbers fit the table's type, whatever the Avro schema in a footer or
log block says, so they are relabelled and not converted.

Source: ``SchemaRepair`` and ``HoodieSchemaRepair`` of Apache Hudi; golden cases
``hudi_trips_logical_types_*``, ``x_v8_mor_ty_local_units_*``.
"""

from collections.abc import Iterable

import pyarrow as pa

from hudi_pyspark.format.column_names import spellings
from hudi_pyspark.format.nested_types import counts_milliseconds, replace_columns
from hudi_pyspark.format.parquet.legacy_calendar import INT96_ZONE


def repair_timestamps(
    table: pa.Table, columns: Iterable[pa.Field], *, in_avro: bool = False
) -> pa.Table:
    """Give the columns of a file their real timestamp types.

    Args:
        table: rows of the file.
        columns: of the table that the file belongs to.
        in_avro: the rows come from an Avro log block.
    """
    repaired = {}
    for name, data_type in mislabelled_columns(table.schema, columns, in_avro=in_avro).items():
        index = table.schema.get_field_index(name)
        parts = [part.view(data_type) for part in table.column(index).chunks]
        field = table.schema.field(index).with_type(data_type)
        repaired[index] = field, pa.chunked_array(parts, data_type)
    return replace_columns(table, repaired)


def mislabelled_columns(
    schema: pa.Schema, columns: Iterable[pa.Field], *, in_avro: bool = False
) -> dict[str, pa.DataType]:
    """Return the real types of the columns that a file declares with a wrong timestamp type.

    Args:
        schema: of the file.
        columns: of the table that the file belongs to.
        in_avro: the file is an Avro log block.
    """
    real_types = {}
    for field in columns:
        may_be_wrong = pa.types.is_timestamp(field.type) or pa.types.is_nested(field.type)
        if may_be_wrong and schema.get_field_index(field.name) >= 0:  # -1 also for duplicates
            stored_type = schema.field(field.name).type
            data_type = _real_type(stored_type, field, in_avro=in_avro)
            if data_type != stored_type:
                real_types[field.name] = data_type
    return real_types


def is_as_declared(stored_type: pa.DataType, column: pa.Field) -> bool:
    """Return whether a file has the values of a table's column as they are, without conversion."""
    return bool(stored_type == column.type and _real_type(stored_type, column) == stored_type)


def _real_type(stored_type: pa.DataType, column: pa.Field, *, in_avro: bool = False) -> pa.DataType:
    """Return the type that a file's values really have; the stored type if it is right."""

    def repair(field: pa.Field, column: pa.Field) -> pa.Field:
        return field.with_type(_real_type(field.type, column, in_avro=in_avro))

    target = column.type
    if pa.types.is_struct(stored_type) and pa.types.is_struct(target):
        names = [field.name for field in target]
        pairs = ((field, spellings(field.name, names)) for field in stored_type)
        return pa.struct([repair(f, target.field(n[0])) if n else f for f, n in pairs])
    if pa.types.is_list(stored_type) and pa.types.is_list(target):
        return pa.list_(repair(stored_type.value_field, target.value_field))
    if pa.types.is_map(stored_type) and pa.types.is_map(target):
        return pa.map_(stored_type.key_field, repair(stored_type.item_field, target.item_field))
    if not pa.types.is_timestamp(target):
        return stored_type
    unit = "ms" if counts_milliseconds(column) else "us"
    is_wrong = pa.types.is_int64(stored_type) and target.tz is None
    if unit == "ms" and pa.types.is_timestamp(stored_type) and stored_type.unit == "us":
        # In log blocks Apache Hudi relabels local timestamps as well. INT96 is always labelled
        # correctly.
        is_instant = None not in (stored_type.tz, target.tz)
        is_wrong = in_avro or (is_instant and stored_type.tz != INT96_ZONE)
    return pa.timestamp(unit, target.tz) if is_wrong else stored_type
