"""Fields of schemas, and of Arrow types that hold fields: structs, lists and maps."""

from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa

VARIANT_MARK: Final = {b"variant": b"true"}  # of the metadata in a variant, as PySpark has it
# The struct that PySpark takes for a VARIANT: its values' own two binaries, in this order.
VARIANT: Final = pa.struct(
    [
        pa.field("value", pa.binary(), nullable=False),
        pa.field("metadata", pa.binary(), nullable=False, metadata=VARIANT_MARK),
    ]
)
TYPED_VALUE: Final = "typed_value"  # the field of a variant that a file shreds


def is_variant(data_type: pa.DataType) -> bool:
    """Return whether a type is marked as that of variants; a struct of the same fields is none."""
    place = data_type.get_field_index("metadata") if pa.types.is_struct(data_type) else -1
    marks = data_type.field(place).metadata if place >= 0 else None
    return (marks or {}).items() >= VARIANT_MARK.items()


def find_field(schema: pa.Schema, name: str) -> pa.Field | None:
    """Return a column, or a nested field by its dotted name; None if absent.

    The binaries of a variant are not fields: a file may keep parts of the value elsewhere.
    """
    if name in schema.names:
        return schema.field(name)
    head, _, rest = name.partition(".")
    if head not in schema.names or not rest:
        return None
    field = schema.field(head)
    for part in rest.split("."):
        if not pa.types.is_struct(field.type) or field.type.get_field_index(part) < 0:
            return None
        if is_variant(field.type):
            return None
        field = field.type.field(part)
    return field


def with_fields(data_type: pa.DataType, change: Callable[[pa.Field], pa.Field]) -> pa.DataType:
    """Return a nested type of which each field is changed; any other type as it is.

    The fields are those of a struct, the items of a list, and the values of a map.
    """
    if pa.types.is_struct(data_type):
        return pa.struct([change(field) for field in data_type])
    if pa.types.is_list(data_type):
        return pa.list_(change(data_type.value_field))
    if pa.types.is_map(data_type):
        return pa.map_(data_type.key_field, change(data_type.item_field))
    return data_type


def with_items(array: pa.Array, items: pa.Array, target: pa.DataType) -> pa.Array:
    """Return a list or map array `without_offset` with the same nulls and lengths, other items."""
    # The first buffers are the nulls and the offsets.
    return pa.Array.from_buffers(target, len(array), array.buffers()[:2], children=[items])


def without_offset(array: pa.Array) -> pa.Array:
    """Return the same values in an array that starts at the beginning of its buffers."""
    return array.take(pa.array(np.arange(len(array)))) if array.offset else array
