"""The indexes of the metadata table that a read can use."""

from __future__ import annotations

import enum


class Index(enum.Enum):
    """The indexes of the metadata table that leave out files; values as Hudi names partitions."""

    COLUMN_STATS = "column_stats"
    BLOOM_FILTERS = "bloom_filters"
    RECORD_INDEX = "record_index"
