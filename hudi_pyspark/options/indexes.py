"""The indexes of the metadata table that a read can use."""

from __future__ import annotations

import enum


class Index(enum.Enum):
    """The indexes of the metadata table that leave out files; values as Hudi names partitions.

    A secondary index has a partition of its own, whose name begins with this.
    """

    PARTITION_STATS = "partition_stats"
    COLUMN_STATS = "column_stats"
    BLOOM_FILTERS = "bloom_filters"
    RECORD_INDEX = "record_index"
    SECONDARY_INDEX = "secondary_index"
