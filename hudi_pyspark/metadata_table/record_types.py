"""The partitions of the metadata table, and the types of the records that each of them has."""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping

from hudi_pyspark.options.option import Index

FILES = "files"  # the partition that lists the table's files


class RecordType(enum.IntEnum):
    """The type of a record, by the number that the record has."""

    ALL_PARTITIONS = 1
    FILES = 2
    COLUMN_STATS = 3
    BLOOM_FILTERS = 4
    RECORD_INDEX = 5
    PARTITION_STATS = 6
    SECONDARY_INDEX = 7


# The field that holds the value of a record, by its type.
RECORD_FIELDS: Mapping[int, str] = {
    RecordType.ALL_PARTITIONS: "filesystemMetadata",
    RecordType.FILES: "filesystemMetadata",
    RecordType.COLUMN_STATS: "ColumnStatsMetadata",
    RecordType.BLOOM_FILTERS: "BloomFilterMetadata",
    RecordType.RECORD_INDEX: "recordIndexMetadata",
    RecordType.PARTITION_STATS: "ColumnStatsMetadata",
    RecordType.SECONDARY_INDEX: "SecondaryIndexMetadata",
}
# Types whose value has the size of each file by its name.
LISTINGS = frozenset({RecordType.ALL_PARTITIONS, RecordType.FILES})
_TYPES: Mapping[Index, Collection[int]] = {
    Index.COLUMN_STATS: {RecordType.COLUMN_STATS},
    Index.BLOOM_FILTERS: {RecordType.BLOOM_FILTERS},
    Index.RECORD_INDEX: {RecordType.RECORD_INDEX},
    Index.PARTITION_STATS: {RecordType.PARTITION_STATS},
    Index.SECONDARY_INDEX: {RecordType.SECONDARY_INDEX},
    # Bounds of an expression, by file and by partition, or Bloom filters.
    Index.EXPRESSION_INDEX: {
        RecordType.COLUMN_STATS,
        RecordType.PARTITION_STATS,
        RecordType.BLOOM_FILTERS,
    },
}


def types_of(partition: str) -> Collection[int]:
    """Return the types that the records of a partition of the metadata table can have."""
    found = (types for index, types in _TYPES.items() if index.matches(partition))
    return LISTINGS if partition == FILES else next(found, RECORD_FIELDS)
