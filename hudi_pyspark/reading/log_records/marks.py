"""What a merge asks of records before it looks at their rows: `Marks`.

Hudi compares ordering values in Java. Here they become Arrow arrays whose own order is the same. A
row is a delete by flag, by operation, or by the table's delete marker.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import reduce
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.arrow_values import ZERO, to_arrow, to_numpy
from hudi_pyspark.columns.arrays import (
    Mask,
    ParallelArrays,
    RowNumbers,
    any_of,
    field_array,
    is_null,
    is_true,
)
from hudi_pyspark.columns.text import spark_value_text
from hudi_pyspark.errors import UnsupportedTableError
from hudi_pyspark.format.column_names import find_path, spelled
from hudi_pyspark.format.nested_types import find_field
from hudi_pyspark.table.merge_mode import MergeRule
from hudi_pyspark.table.meta_columns import DELETED_COLUMN, OPERATION_COLUMN

SetNumbers = npt.NDArray[np.int32]
Ordering: TypeAlias = tuple[pa.Array, ...]
"""Ordering values of some records, one comparable array per ordering field.

Without fields all values are equal. Null is smaller than every value, but an int column reads null
as 0 (Hudi's default ordering value is the Integer 0)."""

ALL_COLUMNS = -1  # number of the set of all columns
_DELETING_OPERATIONS = ("D", "-U")


@dataclass(frozen=True, slots=True)
class Marks(ParallelArrays):
    """Properties by which a merge decides between records; all arrays are parallel."""

    ordering: Ordering
    is_delete: Mask
    has_default_ordering: Mask  # the Integer 0, with which Hudi marks a missing ordering value
    has_other_class: Mask  # deletes whose ordering value has another Java class than the column
    columns: SetNumbers  # number of the set of columns that the row has, ALL_COLUMNS for all

    @classmethod
    def of_rows(cls, rows: pa.Table, rule: MergeRule, columns: int = ALL_COLUMNS) -> Marks:
        """Return the marks of rows of a data block.

        Args:
            rows: with the columns that the rule names.
            rule: names ordering fields and delete markers.
            columns: number of the set of columns that the block has.

        Raises:
            CorruptTableError: the rows lack an ordering field, or a nested delete field.
            UnsupportedTableError: an ordering field has a type that Apache Hudi does not order.
        """
        names = rule.ordering_fields
        values = [ordering_field(rows, name) for name in names]
        has_default_ordering = np.full(rows.num_rows, not values)
        if len(values) == 1:
            has_default_ordering = is_null(values[0])
            if pa.types.is_int32(values[0].type):
                has_default_ordering |= is_true(pc.equal(values[0], ZERO))
        return cls(
            ordering=tuple(map(comparable, values, names)),
            is_delete=deleting_rows(rows, rule),
            has_default_ordering=has_default_ordering,
            has_other_class=np.zeros(rows.num_rows, np.bool_),
            columns=np.full(rows.num_rows, columns, np.int32),
        )

    @classmethod
    def from_spill_columns(cls, columns: Sequence[pa.Array]) -> Marks:
        """Return the marks whose columns `to_spill_columns` has returned."""
        count = len(fields(cls)) - 1  # ordering values follow, one array per ordering field
        return cls(tuple(columns[count:]), *map(to_numpy, columns[:count]))

    def to_spill_columns(self) -> list[pa.Array]:
        """Return the marks as columns, for rows that go to disk."""
        arrays = (self.is_delete, self.has_default_ordering, self.has_other_class, self.columns)
        return [*map(to_arrow, arrays), *self.ordering]

    @property
    def is_commit_time_delete(self) -> Mask:
        """Deletes that beat every older record."""
        return self.is_delete & self.has_default_ordering


def comparable_ordering(table: pa.Table, fields: Sequence[str]) -> Ordering:
    """Return the ordering values of a table's rows.

    Args:
        table: the rows.
        fields: the ordering fields, nested ones by their dotted names; () if rows have none.

    Raises:
        CorruptTableError: the table lacks an ordering field.
        UnsupportedTableError: an ordering field has a type that Apache Hudi does not order.
    """
    return tuple(comparable(ordering_field(table, name), name) for name in fields)


def ordering_columns(fields: Sequence[str], schema: pa.Schema) -> list[str]:
    """Return the columns that have the ordering fields, each once."""
    paths = (find_path(name, schema) for name in fields)
    return list(dict.fromkeys(path[0] for path in paths if path))


def ordering_field(table: pa.Table, name: str) -> pa.Array:
    """Return the values of an ordering field as they are in the table.

    Raises:
        CorruptTableError: the table lacks it.
    """
    return field_array(table, spelled(name, table.schema), role="ordering field")


def comparable(values: pa.Array, name: str) -> pa.Array:
    """Convert values to a type whose Arrow order is Hudi's order.

    Args:
        values: of an ordering field.
        name: of the field, for errors.

    Raises:
        UnsupportedTableError: Hudi does not order the type, for example arrays.
    """
    data_type = values.type
    if pa.types.is_int32(data_type):
        return values.fill_null(ZERO).cast(pa.int64())
    if _IS_ORDERED_AS_IN_JAVA(data_type):
        return values
    if pa.types.is_timestamp(data_type):
        return values.cast(pa.int64())
    if pa.types.is_date32(data_type):
        return values.cast(pa.int32()).cast(pa.int64())
    if pa.types.is_boolean(data_type):
        return values.cast(pa.int8()).cast(pa.int64())
    if pa.types.is_floating(data_type):
        return _floating_order(values.cast(pa.float64()))
    raise UnsupportedTableError(
        f"ordering field {name!r} is of type {data_type}, which Apache Hudi cannot order either",
        advice="Read the base files alone with hoodie.datasource.query.type=read_optimized",
    )


_IS_ORDERED_AS_IN_JAVA = any_of(pa.types.is_int64, pa.types.is_string, pa.types.is_decimal)


def _floating_order(values: pa.Array) -> pa.Array:
    """Convert doubles to integers in the order of ``Double.compareTo``: -0.0 < 0.0, NaN last."""
    filled = np.asarray(pc.fill_null(values, 0.0), np.float64)
    numbers = np.where(np.isnan(filled), np.nan, filled)
    bits = numbers.view(np.int64)
    ordered = np.where(bits < 0, bits ^ np.int64(0x7FFF_FFFF_FFFF_FFFF), bits)
    return pa.array(ordered, mask=is_null(values))


def ranks(ordering: Ordering, length: int) -> RowNumbers:
    """Return an integer for each of ``length`` records, in the order of their values."""
    if not ordering:
        return np.zeros(length, np.int64)
    return reduce(_combine_ranks, map(_rank, ordering))


def are_older(ordering: Ordering, others: Ordering, length: int) -> Mask:
    """Return, for each of ``length`` pairs of records, whether the first value is smaller."""
    older = np.zeros(length, np.bool_)
    tied = np.ones(length, np.bool_)
    for values, other_values in zip(ordering, others, strict=True):
        is_none, is_other_none = is_null(values), is_null(other_values)
        smaller = is_true(pc.less(values, other_values)) | (is_none & ~is_other_none)
        older |= tied & smaller
        tied &= is_true(pc.equal(values, other_values)) | (is_none & is_other_none)
    return older


def _rank(values: pa.Array) -> RowNumbers:
    if pa.types.is_int64(values.type) and not values.null_count:
        return to_numpy(values)
    ranks = to_numpy(pc.rank(values, sort_keys="ascending", tiebreaker="dense")).astype(np.int64)
    ranks[is_null(values)] = 0  # below the lowest rank, which is 1
    return ranks


def _combine_ranks(first: RowNumbers, second: RowNumbers) -> RowNumbers:
    """Rank pairs: the first field decides, the second breaks its ties."""
    order = np.lexsort((second, first))
    changes = np.ones(len(order), np.int64)
    changes[1:] = (np.diff(first[order]) != 0) | (np.diff(second[order]) != 0)
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.cumsum(changes)
    return ranks


def deleting_rows(rows: pa.Table, rule: MergeRule) -> Mask:
    """Return the rows of a data block that delete their key.

    Raises:
        CorruptTableError: the delete field is nested, and the rows lack it.
    """
    deletes = flagged_rows(rows)
    if OPERATION_COLUMN in rows.schema.names:
        operation = rows.column(OPERATION_COLUMN)
        deletes = deletes | is_true(pc.is_in(operation, pa.array(_DELETING_OPERATIONS)))
    if {rule.delete_field, rule.delete_field.partition(".")[0]} & set(rows.schema.names):
        marked = field_array(rows, rule.delete_field, role="delete field")
        deletes = deletes | is_true(pc.equal(spark_value_text(marked), rule.delete_marker))
    return deletes


def flagged_rows(rows: pa.Table) -> Mask:
    """Return the rows whose ``_hoodie_is_deleted`` is true."""
    flag = find_field(rows.schema, DELETED_COLUMN)
    if flag is None or not pa.types.is_boolean(flag.type):
        return np.zeros(rows.num_rows, np.bool_)
    return is_true(rows.column(DELETED_COLUMN))
