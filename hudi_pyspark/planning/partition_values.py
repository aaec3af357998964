"""Values of partition columns: from the path, or from the data files if it cannot hold them.

A global index may leave a row whose partition value changed in its old folder. Apache Hudi 1.x
shows the folder's value for such a row, so that pruning by the path and the rows agree.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pyarrow as pa

from hudi_pyspark.columns.arrays import any_of, repeat
from hudi_pyspark.errors import CorruptTableError
from hudi_pyspark.filter.bounds import Bounds, may_match
from hudi_pyspark.filter.predicate import columns_of, conjunction, conjuncts, holds
from hudi_pyspark.format.avro.schema import counts_milliseconds
from hudi_pyspark.table.partition import partition_folders, partition_scalars
from hudi_pyspark.tasks import PartitionValues

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from hudi_pyspark.filter.predicate import Predicate
    from hudi_pyspark.table.config import TableConfig

_EMPTY = pa.scalar("")


def resolve_partition_values(
    partition_path: str,
    config: TableConfig,
    schema: pa.Schema,
    *,
    always_from_path: bool,
    ordering_fields: Collection[str] = (),
    read_for_merge: Collection[str] = (),
) -> PartitionValues:
    """Decide, for the slices of one partition, which partition columns come from its path.

    ``ordering_fields`` are stored values that order records, so these are shown, too; of
    ``read_for_merge`` the merge needs the stored values.
    """
    names = [name for name in config.partition_fields if name in schema.names]
    types = {name: path_type(schema.field(name)) for name in names}
    try:
        values = partition_scalars(partition_path, config, types)
    except CorruptTableError:
        if always_from_path:
            raise
        return PartitionValues(columns=config.partition_fields)
    if always_from_path:
        # A merge may have rewritten files of such a table with the columns, as nulls.
        given = tuple(values)
        return PartitionValues(config.partition_fields, tuple(values.items()), given, (), given)
    certain = decided_by_path(names, partition_path, config, schema, ordering_fields)
    ambiguous = tuple(n for n in certain if not values[n].is_valid and pa.types.is_string(types[n]))
    from_path = tuple(n for n in certain if n not in ambiguous)
    return PartitionValues(
        columns=config.partition_fields,
        path_values=tuple(values.items()),
        from_path=from_path,
        null_or_empty=ambiguous,
        never_read=tuple(n for n in from_path if n not in read_for_merge),
    )


def stored_partition_values(partition: PartitionValues) -> PartitionValues:
    """Return the same values for files that lack the columns; other files keep their own."""
    return PartitionValues(partition.columns, partition.path_values)


def narrow_by_path(
    partition: PartitionValues, predicate: Predicate | None
) -> tuple[bool, Predicate | None]:
    """Return whether a partition's rows can pass a filter, and what is left to evaluate."""
    known = {n: value for n, value in partition.path_values if n in partition.from_path}
    bounds = partial(_bounds, partition)
    remaining = []
    for part in conjuncts(predicate):
        if columns_of(part) <= known.keys():
            row = pa.table({name: repeat(known[name], 1) for name in columns_of(part)})
            if not holds(part, row).all():
                return False, None
        elif may_match(part, bounds):
            remaining.append(part)
        else:
            return False, None
    return True, conjunction(remaining)


def _bounds(partition: PartitionValues, name: str) -> Bounds | None:
    if name in partition.null_or_empty:
        return Bounds(_EMPTY, _EMPTY, may_be_null=True, may_have_value=True)
    if name not in partition.from_path:
        return None
    value = partition.constants[name]
    if not value.is_valid:
        return Bounds(None, None, may_be_null=True, may_have_value=False)
    return Bounds.of(value)


def decided_by_path(
    names: Iterable[str],
    partition_path: str,
    config: TableConfig,
    schema: pa.Schema,
    ordering_fields: Collection[str],
) -> list[str]:
    """Return the columns whose value the text of their folder gives without loss."""
    folders = partition_folders(partition_path, config)
    unclear: set[str] = set()
    if not config.url_encode_partitions:  # a value itself may hold what looks like an escape
        of_fields = zip(config.partition_fields, folders, strict=False)
        unclear = {name for name, folder in of_fields if unquote(folder) != folder}
    return [
        name
        for name in names
        if name not in unclear
        and name not in config.timestamp_partition_fields
        and name not in ordering_fields
        and _is_exact(schema.field(name).type)
    ]


# Whether the text of a value in a path is the whole value.
_is_exact = any_of(
    pa.types.is_string,
    pa.types.is_integer,
    pa.types.is_boolean,
    pa.types.is_date,
    pa.types.is_decimal,
    pa.types.is_floating,
)


def path_type(field: pa.Field) -> pa.DataType:
    """Return the type of the number that a partition path shows."""
    if pa.types.is_timestamp(field.type) and counts_milliseconds(field):
        return pa.timestamp("ms", field.type.tz)
    return field.type
