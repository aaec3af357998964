"""Columns as arrays and masks, and comparisons of them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.arrow_values import to_arrow, to_numpy
from hudi_pyspark.columns.text import json_text
from hudi_pyspark.errors import CorruptTableError
from hudi_pyspark.format.nested_types import find_field

Mask = npt.NDArray[np.bool_]  # one flag for each row
RowNumbers = npt.NDArray[np.int64]  # from 0 on
_Part = TypeVar("_Part", pa.Table, pa.RecordBatch)
_Parallel = TypeVar("_Parallel", bound="ParallelArrays")
_FALSE = to_arrow(np.zeros(1, np.bool_))[0]

ONLY_ROW_COUNT = pa.schema([pa.field("", pa.null())])
"""Schema of tables that count rows: pyarrow's `take` and `concat_tables` lose the number of rows of
a table without columns. No file has this column."""


class ParallelArrays:
    """Base of dataclasses whose parts all have one entry per row.

    A part is a numpy array, an Arrow array, a table, a tuple of such parts, or another such value.
    """

    __slots__: tuple[str, ...] = ()

    def take(self: _Parallel, rows: RowNumbers) -> _Parallel:
        """Return some of the rows, in that order."""
        make: Callable[..., _Parallel] = type(self)
        return make(*(_take(part, rows) for part in _parts_of(self)))

    @classmethod
    def concat(cls: type[_Parallel], values: Sequence[_Parallel]) -> _Parallel:
        """Join the rows of several values, at least one, in their order."""
        make: Callable[..., _Parallel] = cls
        return make(*map(_join, zip(*map(_parts_of, values), strict=True)))


def nbytes_of(value: object) -> int:
    """Return the bytes in memory of an array or table, or of all parts of a tuple or dataclass."""
    if is_dataclass(value):
        value = _parts_of(value)
    if isinstance(value, tuple):
        return sum(map(nbytes_of, value))
    return int(getattr(value, "nbytes", 0))


def _parts_of(value: Any) -> tuple[Any, ...]:  # noqa: ANN401  (a dataclass)
    return tuple(getattr(value, each.name) for each in fields(value))


def _take(part: Any, rows: RowNumbers) -> Any:  # noqa: ANN401  (a part of any kind)
    if isinstance(part, tuple):
        return tuple(_take(each, rows) for each in part)
    if isinstance(part, np.ndarray):
        return part[rows]
    return part.take(rows if isinstance(part, ParallelArrays) else to_arrow(rows))


def _join(parts: Sequence[Any]) -> Any:  # noqa: ANN401  (parts of any kind)
    first = parts[0]
    if isinstance(first, tuple):
        return tuple(map(_join, zip(*parts, strict=True)))
    if isinstance(first, np.ndarray):
        return np.concatenate(parts)
    if isinstance(first, ParallelArrays):
        return first.concat(parts)
    return pa.concat_tables(parts) if isinstance(first, pa.Table) else pa.concat_arrays(parts)


def first_rows(parts: Iterable[_Part], limit: int | None) -> Iterator[_Part]:
    """Yield tables or batches up to ``limit`` rows, None for all; later parts are not requested."""
    for part in parts:
        yield part.slice(0, limit)
        if limit is not None:
            limit -= part.num_rows
            if limit <= 0:
                return


def field_array(table: pa.Table, name: str, *, role: str = "column") -> pa.Array:
    """Return a column, or a nested field by its dotted name, as one array.

    Args:
        table: the rows.
        name: of the column or field, spelled as in the table.
        role: what the column is for; part of the error.

    Raises:
        CorruptTableError: the table lacks the column or field.
    """
    if find_field(table.schema, name) is None:
        raise CorruptTableError(f"{role} {name!r} does not exist in the table schema")
    if name in table.schema.names:
        return as_one_array(table.column(name))
    head, *path = name.split(".")
    return as_one_array(pc.struct_field(table.column(head), path))


def rename_columns(table: pa.Table, names: Iterable[str]) -> pa.Table:
    """Return a table under other column names; the same table if it has these names already."""
    new_names = list(names)
    return table if table.schema.names == new_names else table.rename_columns(new_names)


def repeat(value: pa.Scalar, length: int) -> pa.Array:
    """Return an array that has one value, or null, in every row."""
    return pa.repeat(value, length) if value.is_valid else pa.nulls(length, value.type)


def any_of(*tests: Callable[[pa.DataType], bool]) -> Callable[[pa.DataType], bool]:
    """Combine tests of types: the result is true if one of them is."""
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
    """Return a chunked array as one array; only several chunks are copied."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunks[0]
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.nulls(0, column.type)


def is_null(column: pa.ChunkedArray | pa.Array) -> Mask:
    """Return a mask of the rows that are null."""
    if not column.null_count:
        return np.zeros(len(column), np.bool_)
    return to_numpy(as_one_array(pc.is_null(column)))


def is_true(column: pa.ChunkedArray | pa.Array) -> Mask:
    """Return a mask of the rows of a boolean column that are true; null counts as false."""
    return to_numpy(as_one_array(pc.fill_null(column, _FALSE) if column.null_count else column))


def differing_rows(older: pa.Table, newer: pa.Table) -> Mask:
    """Return a mask of the rows that differ between two tables of one schema and length."""
    masks = map(differing_values, older.columns, newer.columns)
    differs: Mask = np.logical_or.reduce([np.zeros(older.num_rows, np.bool_), *masks])
    return differs


def differing_values(older: pa.ChunkedArray, newer: pa.ChunkedArray) -> Mask:
    """Return a mask of the rows in which two columns of one type and length differ.

    Null equals null and NaN equals NaN, but 0.0 differs from -0.0.
    """
    left, right = as_one_array(older), as_one_array(newer)
    if pa.types.is_null(left.type):
        return np.zeros(len(left), np.bool_)
    if pa.types.is_nested(left.type):
        left, right = json_text(left), json_text(right)
    is_nan = np.zeros(len(left), np.bool_)
    if pa.types.is_floating(left.type):
        # Bits tell 0.0 from -0.0, but NaN has many of them.
        is_nan = is_true(pc.and_(pc.is_nan(left), pc.is_nan(right)))
        bits = pa.int64() if pa.types.is_float64(left.type) else pa.int32()
        left, right = left.view(bits), right.view(bits)
    is_null_once: Mask = is_null(left) != is_null(right)
    return (is_true(pc.not_equal(left, right)) & ~is_nan) | is_null_once
