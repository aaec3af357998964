"""Columns to arrays and masks, and their comparison."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.columns.text import json_text
from hudi_pyspark.errors import CorruptTableError
from hudi_pyspark.format.nested_types import find_field

Mask = npt.NDArray[np.bool_]
RowNumbers = npt.NDArray[np.int64]
_Part = TypeVar("_Part", pa.Table, pa.RecordBatch)


def first_rows(parts: Iterable[_Part], limit: int | None) -> Iterator[_Part]:
    """Yield tables or batches up to a number of rows, None for all; no part is read past it."""
    for part in parts:
        yield part.slice(0, limit)
        if limit is not None:
            limit -= part.num_rows
            if limit <= 0:
                return


def field_array(table: pa.Table, name: str, *, role: str = "column") -> pa.Array:
    """Return a column, or a nested field by its dotted name, as one array.

    Raises:
        CorruptTableError: the table lacks it; ``role`` says what it is for.
    """
    if find_field(table.schema, name) is None:
        raise CorruptTableError(f"{role} {name!r} does not exist in the table schema")
    if name in table.schema.names:
        return as_one_array(table.column(name))
    head, *path = name.split(".")
    return as_one_array(pc.struct_field(table.column(head), path))


def repeat(value: pa.Scalar, length: int) -> pa.Array:
    """Return a column that has one value, or null, in every row."""
    return pa.repeat(value, length) if value.is_valid else pa.nulls(length, value.type)


def any_of(*tests: Callable[[pa.DataType], bool]) -> Callable[[pa.DataType], bool]:
    """Return the test whether a type passes one of several tests."""
    return lambda data_type: any(test(data_type) for test in tests)


is_number = any_of(pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)


def cast_to(values: pa.Array, data_type: pa.DataType) -> pa.Array:
    """Convert values to a type that has room for all of them, to compare them in it."""
    if values.type == data_type:
        return values
    if pa.types.is_integer(values.type) and pa.types.is_decimal(data_type):
        values = pc.cast(values, pa.decimal128(19, 0))
    if pa.types.is_decimal(values.type) and pa.types.is_floating(data_type):
        values = pc.cast(values, pa.string())  # Arrow's direct cast is often off by one bit
    return pc.cast(values, data_type, safe=not pa.types.is_floating(data_type))


def as_one_array(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Return a chunked array as one array; copy only if it has several chunks."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.nulls(0, column.type)


def is_null(column: pa.ChunkedArray | pa.Array) -> Mask:
    """Return the rows that have no value."""
    return np.asarray(as_one_array(pc.is_null(column)))


def is_true(column: pa.ChunkedArray | pa.Array) -> Mask:
    """Return the rows of a boolean column that are true; null counts as false."""
    return np.asarray(as_one_array(pc.fill_null(column, fill_value=False)))


def differing_rows(older: pa.Table, newer: pa.Table) -> Mask:
    """Return the rows that differ from the rows beside them, of the same schema."""
    differs = np.zeros(older.num_rows, np.bool_)
    for left, right in zip(older.columns, newer.columns, strict=True):
        differs |= differing_values(left, right)
    return differs


def differing_values(older: pa.ChunkedArray, newer: pa.ChunkedArray) -> Mask:
    """Return where two columns of the same type differ; null equals null, and NaN equals NaN."""
    left, right = as_one_array(older), as_one_array(newer)
    if pa.types.is_null(left.type):
        return np.zeros(len(left), np.bool_)
    if pa.types.is_nested(left.type):
        left, right = json_text(left), json_text(right)
    is_nan = np.zeros(len(left), np.bool_)
    if pa.types.is_floating(left.type):
        # By their bits, since 0.0 is another value than -0.0; NaN has many bits.
        is_nan = is_true(pc.and_(pc.is_nan(left), pc.is_nan(right)))
        bits = pa.int64() if pa.types.is_float64(left.type) else pa.int32()
        left, right = left.view(bits), right.view(bits)
    is_one_null: Mask = is_null(left) != is_null(right)
    return (is_true(pc.not_equal(left, right)) & ~is_nan) | is_one_null
