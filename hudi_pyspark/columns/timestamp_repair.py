"""Timestamps that files hold under another type than the table's.

Hudi 0.x and 1.0 labelled milliseconds as microseconds; they and Flink leave out the types of local
timestamps. The stored numbers are those of the table's type, whatever the Avro schema in a footer
or log block says, so they are relabelled and not converted.

Source: ``SchemaRepair`` and ``HoodieSchemaRepair`` of Apache Hudi; golden cases
``hudi_trips_logical_types_*``, ``x_v8_mor_ty_local_units_*``.
"""

from collections.abc import Iterable

import pyarrow as pa

from hudi_pyspark.format.nested_types import counts_milliseconds, resolve_case
from hudi_pyspark.format.parquet.legacy_calendar import INT96_ZONE


def repair_timestamps(
    table: pa.Table, columns: Iterable[pa.Field], *, in_avro: bool = False
) -> pa.Table:
    """Return a file's table with its real types, given the columns of the table it belongs to."""
    for name, data_type in mislabelled_columns(table.schema, columns, in_avro=in_avro).items():
        index = table.schema.get_field_index(name)
        column = pa.chunked_array(
            [part.view(data_type) for part in table.column(index).chunks], data_type
        )
        table = table.set_column(index, table.schema.field(index).with_type(data_type), column)
    return table


def mislabelled_columns(
    schema: pa.Schema, columns: Iterable[pa.Field], *, in_avro: bool = False
) -> dict[str, pa.DataType]:
    """Return the table's columns that a file has under a wrong type, with their real types."""
    real_types = {}
    for field in columns:
        may_be_wrong = pa.types.is_timestamp(field.type) or pa.types.is_nested(field.type)
        if may_be_wrong and schema.get_field_index(field.name) >= 0:  # the file has one such column
            stored = schema.field(field.name).type
            data_type = repaired_type(stored, field, in_avro=in_avro)
            if data_type != stored:
                real_types[field.name] = data_type
    return real_types


def is_as_declared(stored: pa.DataType, wanted: pa.Field) -> bool:
    """Return whether a file's values are those of the table's column, without any conversion."""
    return bool(stored == wanted.type and repaired_type(stored, wanted) == stored)


def repaired_type(stored: pa.DataType, wanted: pa.Field, *, in_avro: bool = False) -> pa.DataType:
    """Return the type that a file's values really have; the same where the file's is right."""

    def repaired(field: pa.Field, wanted: pa.Field) -> pa.Field:
        return field.with_type(repaired_type(field.type, wanted, in_avro=in_avro))

    target = wanted.type
    if pa.types.is_struct(stored) and pa.types.is_struct(target):
        names = [field.name for field in target]
        places = ((field, resolve_case(field.name, names)) for field in stored)
        return pa.struct([f if n is None else repaired(f, target.field(n)) for f, n in places])
    if pa.types.is_list(stored) and pa.types.is_list(target):
        return pa.list_(repaired(stored.value_field, target.value_field))
    if pa.types.is_map(stored) and pa.types.is_map(target):
        return pa.map_(stored.key_field, repaired(stored.item_field, target.item_field))
    if not pa.types.is_timestamp(target):
        return stored
    unit = "ms" if counts_milliseconds(wanted) else "us"
    is_wrong = pa.types.is_int64(stored) and target.tz is None
    if unit == "ms" and pa.types.is_timestamp(stored) and stored.unit == "us":
        # In log blocks Apache Hudi relabels local timestamps, too.
        # Timestamps of the type INT96 are always labelled rightly.
        is_wrong = in_avro or (None not in (stored.tz, target.tz) and stored.tz != INT96_ZONE)
    return pa.timestamp(unit, target.tz) if is_wrong else stored
