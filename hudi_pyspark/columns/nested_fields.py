"""Nested fields of columns: narrow types to some of them, find them by name and in a file."""

from collections.abc import Collection, Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_pyspark.columns.column_names import resolve_column
from hudi_pyspark.format.nested_types import is_variant, resolve_case, with_fields


def narrow_type(data_type: pa.DataType, requested: pa.DataType) -> pa.DataType:
    """Drop the nested fields that ``requested`` lacks; a struct keeps all fields if none match.

    Names match in any case, so fields that differ only in case stay together. A variant stays
    whole, with everything that the file shreds of it.
    """
    if is_variant(requested):
        return data_type
    if pa.types.is_struct(data_type) and pa.types.is_struct(requested):
        names = {field.name: None for field in requested}
        pairs = ((field, resolve_case(field.name, names)) for field in data_type)
        chosen = [
            field.with_type(narrow_type(field.type, requested.field(name).type))
            for field, name in pairs
            if name is not None
        ]
        return pa.struct(chosen) if chosen else data_type
    if pa.types.is_list(data_type) and pa.types.is_list(requested):
        items = requested.value_type
    elif pa.types.is_map(data_type) and pa.types.is_map(requested):
        items = requested.item_type
    else:
        return data_type
    return with_fields(data_type, lambda f: f.with_type(narrow_type(f.type, items)))


def narrow_fields(
    schema: pa.Schema, requested: pa.Schema, *, whole: Collection[str] = ()
) -> pa.Schema:
    """Drop the nested fields of columns that ``requested`` lacks, as `narrow_type` does.

    Args:
        schema: the columns to narrow.
        requested: has the nested fields to keep. Columns that it lacks stay whole.
        whole: names of columns that stay whole in any case.
    """
    if not any(map(pa.types.is_nested, schema.types)):
        return schema
    requested_names, whole = dict.fromkeys(requested.names), frozenset(whole)

    def narrow(field: pa.Field) -> pa.Field:
        name = None
        if pa.types.is_nested(field.type) and field.name not in whole:
            name = resolve_case(field.name, requested_names)
        if name is None:
            return field
        return field.with_type(narrow_type(field.type, requested.field(name).type))

    return pa.schema(map(narrow, schema))


def named_fields(data_type: pa.DataType) -> list[pa.Field]:
    """Return the fields that dotted names reach: those of a struct, but none of a variant."""
    return list(data_type) if pa.types.is_struct(data_type) and not is_variant(data_type) else []


def resolve_field(written: str, schema: pa.Schema) -> pa.Field:
    """Return a column, or a nested field with its dotted name as a schema spells it.

    Args:
        written: a column, or a nested field by its dotted name, in any case.
        schema: of the table.

    Raises:
        InvalidOptionError: the schema has no such field, or several that differ only in case.
    """
    is_column = resolve_case(written, schema.names) is not None
    head, *parts = [written] if is_column else written.split(".")
    column = schema.field(resolve_column(head, schema.names))
    for part in parts:
        fields = {f"{column.name}.{field.name}": field for field in named_fields(column.type)}
        # A column without fields has none of that name, even if a column has the dotted name.
        names = list(fields) or [name for name in schema.names if "." not in name]
        name = resolve_column(f"{column.name}.{part}", names)
        column = fields[name].with_name(name)
    return column


def leaf_paths(file: pq.ParquetFile, requested: pa.Schema) -> list[str]:
    """Return the paths of a Parquet file's leaf columns that hold the requested fields.

    Args:
        file: an open file.
        requested: columns as `narrow_fields` returns them. Columns that the file lacks are ignored.
    """
    leaves: list[str] = []
    requested_names, first = set(requested.names), 0
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
