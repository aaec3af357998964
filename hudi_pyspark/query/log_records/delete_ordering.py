"""Ordering values of delete blocks, which carry their own Java class, in the column's type."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.format.log.delete_block import OrderingWrapper
from hudi_pyspark.query.log_records.ordering import OrderingValues, comparable, ordering_field

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from hudi_pyspark.format.log.delete_block import DeleteRecords, OrderingGroup

# Wrapper of the ordering value that a writer puts into a delete block, by the column's type.
_WRAPPERS = {
    pa.int32(): (OrderingWrapper.INT,),
    pa.int64(): (OrderingWrapper.LONG, OrderingWrapper.TIME_MICROS),
    pa.float32(): (OrderingWrapper.FLOAT,),
    pa.float64(): (OrderingWrapper.DOUBLE,),
    pa.bool_(): (OrderingWrapper.BOOLEAN,),
    pa.string(): (OrderingWrapper.STRING,),
    pa.date32(): (OrderingWrapper.DATE, OrderingWrapper.LOCAL_DATE, OrderingWrapper.INT),
    pa.timestamp("us", "UTC"): (OrderingWrapper.TIMESTAMP_MICROS, OrderingWrapper.LONG),
    pa.timestamp("us"): (OrderingWrapper.TIMESTAMP_MICROS, OrderingWrapper.LONG),
}


def delete_ordering(
    records: DeleteRecords, schema: pa.Schema, names: Sequence[str]
) -> tuple[OrderingValues, npt.NDArray[np.bool_]]:
    """Make the ordering values of deleted records comparable with those of rows.

    Args:
        records: of a delete block.
        schema: of the rows.
        names: ordering fields, dotted for nested ones.

    Returns:
        The values, null where one does not fit its column, and a mask of the records that have a
        value of another Java class than the column.

    Raises:
        CorruptTableError: an ordering field does not exist in the schema.
        UnsupportedTableError: an ordering field has a type without an order in Hudi.
    """
    length = len(records.record_keys)
    groups_of_field: Sequence[Sequence[OrderingGroup]] = [records.ordering]
    if len(names) > 1:
        array_ordering = records.array_ordering
        groups_of_field = array_ordering.fields if array_ordering else [()] * len(names)
    has_other_class = np.zeros(length, np.bool_)
    fields = []
    for name, groups in zip(names, groups_of_field, strict=False):
        kind = ordering_field(schema.empty_table(), name).type
        values = pa.nulls(length, kind)
        for group in groups:
            if group.wrapper not in _wrappers(kind):
                has_other_class[np.asarray(group.rows)] = True
            values = _scatter(values, group, kind)
        fields.append(comparable(values, name))
    return OrderingValues(tuple(fields), length), has_other_class


def _wrappers(kind: pa.DataType) -> tuple[OrderingWrapper, ...]:
    return (OrderingWrapper.DECIMAL,) if pa.types.is_decimal(kind) else _WRAPPERS.get(kind, ())


def _scatter(values: pa.Array, group: OrderingGroup, kind: pa.DataType) -> pa.Array:
    """Put a group's values at its rows; values that do not fit the type become null."""
    converted = _to_column_type(group.values, kind)
    if converted is None:
        return values
    mask = np.zeros(len(values), np.bool_)
    mask[np.asarray(group.rows)] = True
    return pc.replace_with_mask(values, pa.array(mask), converted)


def _to_column_type(values: pa.Array, kind: pa.DataType) -> pa.Array | None:
    try:
        if pa.types.is_date32(kind) and pa.types.is_int32(values.type):
            return values.cast(kind)
        if pa.types.is_timestamp(kind) and pa.types.is_int64(values.type):
            return values.cast(pa.timestamp("us")).cast(kind)
        return pc.cast(values, kind, safe=not pa.types.is_floating(kind))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
