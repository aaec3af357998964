"""Bounds of the columns of whole partitions, from the metadata table's partition statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hudi_pyspark.filter.bounds import Bounds, may_match
from hudi_pyspark.options.indexes import Index
from hudi_pyspark.planning.metadata_table.column_stats import column_bounds
from hudi_pyspark.planning.metadata_table.index_keys import column_keys, partition_keys
from hudi_pyspark.planning.metadata_table.records import merged_values
from hudi_pyspark.table.schema import META_COLUMNS, RECORD_KEY_COLUMN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hudi_pyspark.filter.predicate import Predicate
    from hudi_pyspark.planning.metadata_table.table import MetadataTable


def is_exact(name: str, kind: pa.DataType) -> bool:
    """Return whether partition statistics of a column have the bounds of all of its files.

    A file whose footer has no bounds adds none: Parquet's Java library leaves out those of long
    texts and binary values and of old timestamps. Decimals of another scale, and numbers that have
    become text, are merged in an order that is not that of their present type.
    """
    is_certain = pa.types.is_integer(kind) or pa.types.is_date(kind) or pa.types.is_boolean(kind)
    return is_certain and name not in META_COLUMNS


def partitions_within_bounds(
    metadata: MetadataTable,
    partition_paths: Sequence[str],
    predicate: Predicate,
    kinds: Mapping[str, pa.DataType],
) -> list[str]:
    """Return the partitions whose rows can pass a filter by their statistics, in their order.

    Merging never makes up a value, so that merged rows are within the bounds of base and log files.

    Args:
        metadata: has a partition of partition statistics.
        partition_paths: of the table.
        predicate: the filter.
        kinds: type of each column whose statistics are exact; see `is_exact`.

    Raises:
        CorruptTableError: the metadata table cannot be read.
    """
    columns = column_keys([RECORD_KEY_COLUMN, *kinds])
    partitions = partition_keys(partition_paths)
    keys = [column + partition for column in columns.values() for partition in partitions.values()]
    found = {
        key: value
        for entries in metadata.find(Index.PARTITION_STATS.value, keys)
        for key, _, value in merged_values(entries)
    }

    def can_pass(path: str) -> bool:
        def bounds_of(name: str) -> Bounds | None:
            if name not in kinds:
                return None
            statistics = found.get(columns[name] + partitions[path])
            whole = found.get(columns[RECORD_KEY_COLUMN] + partitions[path])
            if statistics is None or not _cover_the_same_files(statistics, whole):
                return None
            return column_bounds(statistics, kinds[name])

        return may_match(predicate, bounds_of)

    return [path for path in partition_paths if can_pass(path)]


def _cover_the_same_files(statistics: Mapping[str, Any], of_keys: Mapping[str, Any] | None) -> bool:
    """Return whether no file lacks the column: every record of every file has a record key."""
    return of_keys is not None and statistics["valueCount"] == of_keys["valueCount"]
