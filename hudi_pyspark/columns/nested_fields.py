"""Nested fields of a column: types without some of them, their leaves in a file, their nulls."""

from collections.abc import Collection, Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_pyspark.format.column_names import spelled
from hudi_pyspark.format.nested_types import is_variant, with_fields


def narrow_type(data_type: pa.DataType, wanted: pa.DataType) -> pa.DataType:
    """Return a type without nested fields that ``wanted`` lacks; all of a struct if it has none.

    Names match without case, too, so that fields which differ in case alone stay together. A
    variant stays whole, with what the file shreds of it.
    """
    if is_variant(wanted):
        return data_type
    if pa.types.is_struct(data_type) and pa.types.is_struct(wanted):
        names = [field.name for field in wanted]
        pairs = ((field, spelled(field.name, names)) for field in data_type)
        chosen = [
            field.with_type(narrow_type(field.type, wanted.field(name).type))
            for field, name in pairs
            if name is not None
        ]
        return pa.struct(chosen) if chosen else data_type
    if pa.types.is_list(data_type) and pa.types.is_list(wanted):
        return with_fields(data_type, lambda f: f.with_type(narrow_type(f.type, wanted.value_type)))
    if pa.types.is_map(data_type) and pa.types.is_map(wanted):
        return with_fields(data_type, lambda f: f.with_type(narrow_type(f.type, wanted.item_type)))
    return data_type


def narrow_fields(
    schema: pa.Schema, wanted: pa.Schema, *, whole: Collection[str] = ()
) -> pa.Schema:
    """Return columns without unwanted nested fields; ``whole`` and unlisted ones stay whole."""
    names = ((field, spelled(field.name, wanted.names)) for field in schema)
    return pa.schema(
        field.with_type(narrow_type(field.type, wanted.field(name).type))
        if name is not None and field.name not in whole
        else field
        for field, name in names
    )


def named_fields(data_type: pa.DataType) -> list[pa.Field]:
    """Return the fields that dotted names reach: those of a struct, and none of a variant."""
    return list(data_type) if pa.types.is_struct(data_type) and not is_variant(data_type) else []


def leaf_paths(file: pq.ParquetFile, wanted: pa.Schema) -> list[str]:
    """Return the paths of the leaf columns that hold the wanted fields of a Parquet file."""
    leaves: list[str] = []
    first = 0
    for field in file.schema_arrow:
        count = _count_leaves(field.type)
        if field.name in wanted.names:
            chosen = _chosen_leaves(field.type, wanted.field(field.name).type, first)
            leaves += [file.schema.column(leaf).path for leaf in chosen]
        first += count
    # Types of pyarrow's own, which a footer may name, need not have as many leaves as the file.
    return leaves if first == len(file.schema) else list(wanted.names)


def _chosen_leaves(data_type: pa.DataType, wanted: pa.DataType, first: int) -> Iterator[int]:
    """Yield the ordinals of the leaves, the first of which is given."""
    if data_type.equals(wanted) or not pa.types.is_nested(data_type):
        yield from range(first, first + _count_leaves(data_type))
    elif pa.types.is_struct(data_type):
        for field in data_type:
            if wanted.get_field_index(field.name) >= 0:
                yield from _chosen_leaves(field.type, wanted.field(field.name).type, first)
            first += _count_leaves(field.type)
    elif pa.types.is_map(data_type):
        keys = _count_leaves(data_type.key_type)
        yield from range(first, first + keys)
        yield from _chosen_leaves(data_type.item_type, wanted.item_type, first + keys)
    else:
        yield from _chosen_leaves(data_type.value_type, wanted.value_type, first)


def _count_leaves(data_type: pa.DataType) -> int:
    children = (data_type.field(i).type for i in range(data_type.num_fields))
    return sum(map(_count_leaves, children)) if pa.types.is_nested(data_type) else 1


def nullable(field: pa.Field) -> pa.Field:
    """Return a field that may be null, and so may all fields in it, but for those of a variant."""
    # Spark recognises a variant by the metadata of its fields.
    data_type = field.type if is_variant(field.type) else with_fields(field.type, nullable)
    return pa.field(field.name, data_type, nullable=True)
