"""The values of read options that are words."""

from __future__ import annotations

import enum


class Index(enum.Enum):
    """The indexes of the metadata table that leave out files; values as Hudi names partitions."""

    COLUMN_STATS = "column_stats"
    BLOOM_FILTERS = "bloom_filters"
    RECORD_INDEX = "record_index"


class QueryType(enum.Enum):
    """``hoodie.datasource.query.type``."""

    SNAPSHOT = "snapshot"
    READ_OPTIMIZED = "read_optimized"
    INCREMENTAL = "incremental"


class MergeType(enum.Enum):
    """``hoodie.datasource.merge.type``."""

    PAYLOAD_COMBINE = "payload_combine"
    SKIP_MERGE = "skip_merge"


class CdcFormat(enum.Enum):
    """How a CDC query shows the images of a row."""

    JSON = "json"
    STRUCT = "struct"


class OnMissing(enum.Enum):
    """What to do if commits or files of an incremental query's range are gone."""

    FULL_SCAN = "full_scan"
    FAIL = "fail"
    EARLIEST = "earliest"


class RangeMerge(enum.Enum):
    """With which rows an incremental query merges those that its range wrote."""

    RANGE = "range"
    TABLE = "table"


class HollowCommits(enum.Enum):
    """What to do if a commit inside a range of requested times is still pending."""

    FAIL = "fail"
    BLOCK = "block"  # end before it
    USE_TRANSITION_TIME = "use_transition_time"  # read on
