"""Arrow types that hold fields: structs, lists and maps."""

from collections.abc import Callable

import pyarrow as pa


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
