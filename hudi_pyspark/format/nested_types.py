"""Fields of schemas and of nested Arrow types: find them, change them, and read their marks."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa

VARIANT_MARK = {b"variant": b"true"}  # PySpark's metadata of the field `metadata`
# The struct that PySpark reads as a VARIANT: these two binaries, in this order.
VARIANT = pa.struct(
    [
        pa.field("value", pa.binary(), nullable=False),
        pa.field("metadata", pa.binary(), nullable=False, metadata=VARIANT_MARK),
    ]
)
TYPED_VALUE = "typed_value"  # the field in which a file shreds a variant
# Marks timestamps that the table's Avro schema counts in milliseconds.
MILLISECONDS = {b"hudi.unit": b"ms"}
# Marks binaries that the table's Avro schema calls a vector, with the name of its elements' type.
_VECTOR = b"hudi.vector"
VECTOR_ELEMENTS = {"FLOAT": pa.float32(), "DOUBLE": pa.float64(), "INT8": pa.int8()}

# Marks texts that the table's Avro schema calls a UUID of 16 bytes; files may have the bytes.
UUID_MARK = {b"hudi.uuid": b"bytes"}


def is_variant(data_type: pa.DataType) -> bool:
    """Return whether a struct is marked as a VARIANT; its field names alone do not make it one."""
    index = data_type.get_field_index("metadata") if pa.types.is_struct(data_type) else -1
    marks = data_type.field(index).metadata if index >= 0 else None
    return (marks or {}).items() >= VARIANT_MARK.items()


def counts_milliseconds(field: pa.Field) -> bool:
    """Return whether the table's Avro schema counts this timestamp field in milliseconds."""
    return (field.metadata or {}).items() >= MILLISECONDS.items()


def vector_mark(element: str) -> dict[bytes, bytes]:
    """Return the metadata of a field of vectors, given the name of their elements' type."""
    return {_VECTOR: element.encode()}


def vector_element(field: pa.Field) -> pa.DataType | None:
    """Return the type of the elements of vectors that are stored as bytes; None for other fields.

    The elements are little-endian, without gaps.
    """
    element = (field.metadata or {}).get(_VECTOR)
    return None if element is None else VECTOR_ELEMENTS[element.decode()]


def may_be_uuid_bytes(field: pa.Field) -> bool:
    """Return whether a file may have a field's texts, or texts in it, as the bytes of UUIDs."""
    data_type = field.type
    if pa.types.is_string(data_type):
        return (field.metadata or {}).items() >= UUID_MARK.items()
    if not pa.types.is_nested(data_type):
        return False
    if pa.types.is_map(data_type):
        return may_be_uuid_bytes(data_type.item_field)
    return any(may_be_uuid_bytes(data_type.field(i)) for i in range(data_type.num_fields))


def find_field(schema: pa.Schema, name: str) -> pa.Field | None:
    """Return a column, or a nested field by its dotted name; None if absent.

    The binaries of a variant do not count as fields: a file may keep parts of the value elsewhere.
    """
    if name in schema.names:
        return schema.field(name)
    head, _, tail = name.partition(".")
    if head not in schema.names or not tail:
        return None
    field = schema.field(head)
    for part in tail.split("."):
        if not pa.types.is_struct(field.type) or field.type.get_field_index(part) < 0:
            return None
        if is_variant(field.type):
            return None
        field = field.type.field(part)
    return field


def replace_columns(
    table: pa.Table, columns: Mapping[int, tuple[pa.Field, pa.Array | pa.ChunkedArray]]
) -> pa.Table:
    """Replace columns of a table by their ordinals; its `set_column` would list all anew for each.

    Args:
        table: with any columns.
        columns: ordinal to the field and the values that take the place of the column.
    """
    if not columns:
        return table
    fields = [*table.schema]
    arrays: list[pa.Array | pa.ChunkedArray] = [*table.columns]
    for index, (field, array) in columns.items():
        fields[index] = field
        arrays[index] = array
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields, metadata=table.schema.metadata))


def with_fields(data_type: pa.DataType, change: Callable[[pa.Field], pa.Field]) -> pa.DataType:
    """Change each field of a nested type; return any other type unchanged.

    Changed are the fields of a struct, the items of a list and the values of a map.
    """
    if pa.types.is_struct(data_type):
        return pa.struct([change(field) for field in data_type])
    if pa.types.is_list(data_type):
        return pa.list_(change(data_type.value_field))
    if pa.types.is_map(data_type):
        return pa.map_(data_type.key_field, change(data_type.item_field))
    return data_type


def with_items(array: pa.Array, items: pa.Array, target: pa.DataType) -> pa.Array:
    """Replace the items of a list or map array; nulls and lengths stay.

    Args:
        array: a list or map array that begins at offset 0; see `without_offset`.
        items: the new items; of a map, structs of a key and a value.
        target: the type of the result.
    """
    # The first buffers are the nulls and the offsets.
    return pa.Array.from_buffers(target, len(array), array.buffers()[:2], children=[items])


def with_entries(
    array: pa.MapArray, keys: pa.Array, items: pa.Array, target: pa.MapType
) -> pa.Array:
    """Replace the keys and values of a map array; see `with_items`."""
    fields = [target.key_field, target.item_field]
    return with_items(array, pa.StructArray.from_arrays([keys, items], fields=fields), target)


def with_children(
    array: pa.StructArray, children: Sequence[pa.Array], fields: Sequence[pa.Field]
) -> pa.StructArray:
    """Replace the fields of a struct array; nulls stay."""
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(children, fields=fields, mask=mask)


def without_offset(array: pa.Array) -> pa.Array:
    """Copy an array if it does not begin at the start of its buffers."""
    return array.take(pa.array(np.arange(len(array)))) if array.offset else array
