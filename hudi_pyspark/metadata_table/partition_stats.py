"""Rule out partitions by the bounds of their columns, from partition statistics.

A record has the bounds of one column in all files of one partition. It names no file, and its
writer does not say which files it has seen: an index that is silent about a file rules out its
rows. So it is asked only if the caller trusts it. It proves less than column statistics:

- Counts of nulls do not count files that lack the column. So nulls are possible anywhere.
- Texts longer than the statistics of Parquet are counted as nulls, and have no bounds. So bounds of
  texts hold only if no null is counted.
- Bounds that a commit has widened (``isTightBound`` is false) are not used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.filter.evaluation import may_match_merged
from hudi_pyspark.metadata_table.column_stats import bounds_of_files, newest_statistics
from hudi_pyspark.metadata_table.records import column_keys, partition_keys
from hudi_pyspark.options.option import Index

if TYPE_CHECKING:
    from hudi_pyspark.filter.predicate import Predicate
    from hudi_pyspark.metadata_table.table import MetadataTable


def partitions_with_matches(
    metadata: MetadataTable,
    paths: Sequence[str],
    predicate: Predicate,
    fields: Mapping[str, pa.Field],
) -> set[str]:
    """Return the partitions that can have rows for which a filter is true.

    Args:
        metadata: whose partition statistics are asked.
        paths: of partitions whose files hold all values that their merged rows can have.
        predicate: the filter.
        fields: the columns that decide, by the names in the filter.

    Raises:
        HudiError: the index cannot be read; the caller then keeps all partitions.
    """
    hashed_paths = partition_keys(paths)
    keys = {
        name: pa.array([hashed + hashed_paths[path] for path in paths], pa.string())
        for name, hashed in column_keys(fields).items()
    }
    all_keys = pa.concat_arrays([*keys.values()]).to_pylist()
    found = metadata.find(Index.PARTITION_STATS.value, all_keys)
    found_keys, statistics = newest_statistics([entries for parts in found for entries in parts])
    bounds = {}
    for name, of_column in keys.items():
        rows = pc.index_in(of_column, value_set=found_keys)
        of_partitions = bounds_of_files(statistics.take(rows), fields[name])
        bounds[name] = replace(of_partitions, may_be_null=np.ones(len(paths), np.bool_))
    may_match = may_match_merged(predicate, bounds, np.arange(len(paths)), len(paths))
    return {path for path, keeps in zip(paths, may_match.tolist(), strict=True) if keeps}
