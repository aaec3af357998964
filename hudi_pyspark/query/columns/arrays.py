"""Columns of a table as arrays and masks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.errors import CorruptTableError

if TYPE_CHECKING:
    import numpy.typing as npt

    Mask = npt.NDArray[np.bool_]


def field_array(table: pa.Table, name: str) -> pa.Array:
    """A column, or a nested field by its dotted name, as one array."""
    head, *path = name.split(".")
    if name in table.schema.names:
        head, path = name, []
    if head not in table.schema.names:
        raise CorruptTableError(f"ordering field {name!r} does not exist in the table schema")
    column = table.column(head)
    for child in path:
        if not pa.types.is_struct(column.type) or column.type.get_field_index(child) < 0:
            raise CorruptTableError(f"ordering field {name!r} does not exist in the table schema")
        column = pc.struct_field(column, [column.type.get_field_index(child)])
    return as_one_array(column)


def as_one_array(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """A chunked array as one array; copies only if there is more than one chunk."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.nulls(0, column.type)


def is_null(column: pa.ChunkedArray | pa.Array) -> Mask:
    """Rows without value."""
    return np.asarray(as_one_array(pc.is_null(column)))


def is_true(column: pa.ChunkedArray | pa.Array) -> Mask:
    """Rows of a column of booleans that are true, and not null."""
    return np.asarray(as_one_array(pc.fill_null(column, fill_value=False)))
