"""Nested fields of columns: narrow types to some of them, and find them in a file."""

from collections.abc import Iterator
from itertools import compress

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_pyspark.format.column_names import case_variants
from hudi_pyspark.format.nested_types import is_variant, with_fields


def narrow_type(data_type: pa.DataType, requested: pa.DataType) -> pa.DataType:
    """Drop the nested fields that ``requested`` lacks; a struct keeps all fields if none match.

    Names match in any case, so fields that differ only in case stay together. A variant stays
    whole, with everything that the file shreds of it.
    """
    if is_variant(requested):
        return data_type
    if pa.types.is_struct(data_type) and pa.types.is_struct(requested):
        names = case_variants((f.name for f in requested), (f.name for f in data_type))
        chosen = [
            field.with_type(narrow_type(field.type, requested.field(names[field.name]).type))
            for field in data_type
            if field.name in names
        ]
        return pa.struct(chosen) if chosen else data_type
    if pa.types.is_list(data_type) and pa.types.is_list(requested):
        items = requested.value_type
    elif pa.types.is_map(data_type) and pa.types.is_map(requested):
        items = requested.item_type
    else:
        return data_type
    return with_fields(data_type, lambda f: f.with_type(narrow_type(f.type, items)))


def narrow_fields(schema: pa.Schema, requested: pa.Schema) -> pa.Schema:
    """Drop the nested fields of columns that ``requested`` lacks, as `narrow_type` does.

    Args:
        schema: the columns to narrow.
        requested: has the nested fields to keep. Columns that it lacks stay whole.
    """
    is_nested = [pa.types.is_nested(data_type) for data_type in schema.types]
    if not any(is_nested):
        return schema
    names = case_variants(requested.names, compress(schema.names, is_nested))

    def narrow(field: pa.Field) -> pa.Field:
        if field.name not in names:
            return field
        return field.with_type(narrow_type(field.type, requested.field(names[field.name]).type))

    return pa.schema(map(narrow, schema))


def leaf_paths(file: pq.ParquetFile, requested: pa.Schema) -> list[str]:
    """Return the paths of a Parquet file's leaf columns that hold the requested fields.

    Args:
        file: an open file.
        requested: columns as `narrow_fields` returns them. Columns that the file lacks are ignored.
    """
    leaves: list[str] = []
    requested_names = set(requested.names)
    first = 0
    for field in file.schema_arrow:
        count = _count_leaves(field.type)
        if field.name in requested_names:
            chosen = _chosen_leaves(field.type, requested.field(field.name).type, first)
            leaves += [file.schema.column(leaf).path for leaf in chosen]
        first += count
    # Arrow's own types, which a footer may name, can have another number of leaves than the file.
    return leaves if first == len(file.schema) else list(requested.names)


def _chosen_leaves(data_type: pa.DataType, requested: pa.DataType, first: int) -> Iterator[int]:
    """Yield the ordinals of the requested leaves; ``first`` is that of the type's first leaf."""
    if data_type.equals(requested) or not pa.types.is_nested(data_type):
        yield from range(first, first + _count_leaves(data_type))
    elif pa.types.is_struct(data_type):
        for field in data_type:
            if requested.get_field_index(field.name) >= 0:
                yield from _chosen_leaves(field.type, requested.field(field.name).type, first)
            first += _count_leaves(field.type)
    elif pa.types.is_map(data_type):
        keys = _count_leaves(data_type.key_type)
        yield from range(first, first + keys)
        yield from _chosen_leaves(data_type.item_type, requested.item_type, first + keys)
    else:
        yield from _chosen_leaves(data_type.value_type, requested.value_type, first)


def _count_leaves(data_type: pa.DataType) -> int:
    children = (data_type.field(i).type for i in range(data_type.num_fields))
    return sum(map(_count_leaves, children)) if pa.types.is_nested(data_type) else 1


def nullable(field: pa.Field) -> pa.Field:
    """Make a field nullable, with all fields in it.

    Fields of a variant stay as they are, since Spark recognises a variant by them.
    """
    data_type = field.type if is_variant(field.type) else with_fields(field.type, nullable)
    return pa.field(field.name, data_type, nullable=True)
