"""Parquet and ORC columns whose meaning only the Avro schema in the file's footer records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_pyspark.format.avro.schema import (
    LOGICAL_TYPES,
    AvroArray,
    AvroMap,
    AvroPrimitive,
    AvroRecord,
    AvroUnion,
    parse_schema,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hudi_pyspark.format.avro.schema import AvroType

_AVRO_SCHEMA_KEYS = (b"parquet.avro.schema", b"orc.avro.schema")


def avro_schema_text(schema: pa.Schema) -> str | None:
    """Return the Avro schema that Hudi's writers leave in the footer of a Parquet or ORC file."""
    metadata = schema.metadata or {}
    texts = (metadata[key] for key in _AVRO_SCHEMA_KEYS if key in metadata)
    return next((str(text, "utf-8") for text in texts), None)


def annotated_schema(schema: pa.Schema) -> pa.Schema:
    """Return a file's schema with the timestamps that its footer's Avro schema declares."""
    # Casting the file's int64 columns to it changes no value.
    text = avro_schema_text(schema)
    if text is None or "timestamp" not in text:
        return schema
    return annotated_by(schema, parse_schema(text))


def annotated_by(schema: pa.Schema, record: AvroRecord) -> pa.Schema:
    """Return a schema with the timestamps of a given Avro schema, as `annotated_schema` does."""
    return pa.schema(_annotated_fields(schema, record), metadata=schema.metadata)


def _annotated_fields(fields: Iterable[pa.Field], record: AvroRecord) -> list[pa.Field]:
    types = {field.name: field.type for field in record.fields}
    return [
        field.with_type(_annotated(field.type, types[field.name])) if field.name in types else field
        for field in fields
    ]


def _annotated(stored: pa.DataType, avro: AvroType) -> pa.DataType:
    if isinstance(avro, AvroUnion) and len(avro.members) == 1:
        return _annotated(stored, avro.members[0])
    if isinstance(avro, AvroPrimitive) and avro.logical is not None and pa.types.is_int64(stored):
        # Flink writes local timestamps as plain int64, milliseconds or microseconds, without
        # annotation (golden table flink_v6_cow_all_types).
        _, arrow = LOGICAL_TYPES[avro.logical.name]
        return arrow if arrow is not None and pa.types.is_timestamp(arrow) else stored
    if isinstance(avro, AvroArray) and pa.types.is_list(stored):
        item = stored.value_field
        return pa.list_(item.with_type(_annotated(item.type, avro.item)))
    if isinstance(avro, AvroMap) and pa.types.is_map(stored):
        item = stored.item_field
        return pa.map_(stored.key_field, item.with_type(_annotated(item.type, avro.value)))
    if isinstance(avro, AvroRecord) and pa.types.is_struct(stored):
        return pa.struct(_annotated_fields(stored, avro))
    return stored
