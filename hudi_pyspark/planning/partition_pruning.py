"""Which partitions can have rows for which a filter is true, by the values in their paths."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.columns.arrays import Mask, is_null
from hudi_pyspark.filter.bounds import ColumnBounds, may_match_merged
from hudi_pyspark.filter.predicate import Predicate, columns_of, conjuncts, holds
from hudi_pyspark.planning.partition_values import (
    decided_by_path,
    folder_values,
    partition_folders,
    path_type,
)
from hudi_pyspark.table.config import TableConfig

_AFTER_SLASH = "0"  # the character that follows the slash


@dataclass(frozen=True, slots=True, eq=False)
class _PathColumn:
    """What the paths of some folders say about one column; all arrays have an item per folder."""

    values: pa.Array  # null where the value is null, or not known
    is_exact: Mask  # the value is that of all rows of the folder
    bounds: ColumnBounds  # of the rows of the folder


@dataclass(frozen=True, eq=False)
class PartitionPruner:
    """Chooses partitions by the values that their paths give to rows.

    `choose` decides about partitions, and `containing` about folders on the way to them, of whose
    values only the first are known, and these in part.
    """

    predicate: Predicate | None
    config: TableConfig
    schema: pa.Schema  # of the table
    always_from_path: bool  # the path decides all partition values

    def choose(self, partition_paths: Sequence[str]) -> list[str]:
        """Return the partitions that can have rows for which the filter is true, in their order.

        One whose path has another number of folders than the table has columns stays.
        """
        return list(compress(partition_paths, self._may_pass(partition_paths, is_below=False)))

    def containing(self, folders: Sequence[str]) -> list[str]:
        """Return the folders that may contain a partition that passes the filter, in their order.

        The folders are of one depth, and may be partitions themselves. A folder that cannot be
        decided about stays.
        """
        return list(compress(folders, self._may_pass(folders, is_below=True)))

    def _may_pass(self, paths: Sequence[str], *, is_below: bool) -> Mask:
        """Decide about paths; those of rows that lie ``is_below`` them, or right in them."""
        fields = self.config.partition_fields
        parts = [p for p in conjuncts(self.predicate) if not columns_of(p).isdisjoint(fields)]
        folders = [partition_folders(path, self.config) for path in paths]
        depth = min(map(len, folders), default=0) if is_below else len(fields)
        is_decided = np.array([depth == len(of_path) <= len(fields) for of_path in folders])
        decided = list(compress(folders, is_decided))
        if not parts or not decided:
            return np.ones(len(paths), np.bool_)
        known = decided_by_path("", self.config, self.schema)
        if self.always_from_path:
            known = self.schema.names
        columns = {
            name: self._column(name, [of_path[place] for of_path in decided], is_below=is_below)
            for place, name in enumerate(fields[:depth])
            if name in known
        }
        bounds = {name: column.bounds for name, column in columns.items()}
        values = {name: column.values for name, column in columns.items()}
        count = len(decided)
        mask = np.ones(count, np.bool_)
        for part in parts:
            mask &= may_match_merged(part, bounds, np.arange(count), count)
            if columns_of(part) <= columns.keys():
                # Bounds do not decide a LIKE that is more than a prefix, nor what is negated.
                exact = [columns[name].is_exact for name in columns_of(part)]
                mask &= ~np.logical_and.reduce(exact) | holds(part, pa.table(values))
        is_decided[is_decided] = ~mask
        return ~is_decided

    def _column(self, name: str, folders: Sequence[str], *, is_below: bool) -> _PathColumn:
        data_type = path_type(self.schema.field(name))
        values, is_known = folder_values(name, folders, data_type, self.config)
        may_go_on = pa.types.is_string(data_type) and not self.config.url_encode_partitions
        if not self.always_from_path and not self.config.url_encode_partitions:
            # A value itself may hold what looks like an escape.
            is_known &= np.array(["%" not in f or unquote(f) == f for f in folders], np.bool_)
        has_value = is_known & ~is_null(values)
        low = pc.if_else(pa.array(has_value), values, None)
        every = np.ones(len(folders), np.bool_)
        if is_below:
            # Where slashes are not encoded, the value may go on in the folders below.
            high = pc.binary_join_element_wise(low, _AFTER_SLASH, "") if may_go_on else low
            return _PathColumn(values, ~every, ColumnBounds(low, high, ~has_value, every))
        is_null_value = is_known & ~has_value
        if pa.types.is_string(data_type) and not self.always_from_path:
            # A null and an empty text share a folder.
            low = pc.if_else(pa.array(is_null_value), "", low)
            return _PathColumn(values, has_value, ColumnBounds(low, low, ~has_value, every))
        return _PathColumn(values, is_known, ColumnBounds(low, low, ~has_value, ~is_null_value))
