"""Choose the partitions that can have rows for which a filter is true, by their paths."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.columns.arrays import Mask, is_null
from hudi_pyspark.filter.bounds import ColumnBounds, may_match_merged
from hudi_pyspark.filter.evaluation import holds
from hudi_pyspark.filter.predicate import Predicate, columns_of, conjuncts
from hudi_pyspark.planning import partition_values
from hudi_pyspark.table.config import TableConfig

_AFTER_SLASH = "0"  # the character that follows the slash


@dataclass(frozen=True, slots=True, eq=False)
class _PathColumn:
    """What folder names say about one column. Each array has one item per folder."""

    values: pa.Array  # null if the value is null or unknown
    is_exact: Mask  # all rows below the folder have the value
    bounds: ColumnBounds  # of the rows below the folder


@dataclass(frozen=True, eq=False)
class PartitionPruner:
    """Chooses partitions by the values that their paths give to rows.

    `choose` decides about partitions, `containing` about the folders above them, which show only
    the first values, and perhaps only a part of the last one.
    """

    predicate: Predicate | None  # None chooses all partitions
    config: TableConfig
    schema: pa.Schema  # of the table
    always_from_path: bool  # the path gives all partition values

    def choose(self, partition_paths: Sequence[str]) -> list[str]:
        """Return the partitions that can have rows for which the filter is true, in their order.

        A partition stays if its path does not have one folder per partition column.
        """
        return list(compress(partition_paths, self._may_pass(partition_paths, is_below=False)))

    def containing(self, folders: Sequence[str]) -> list[str]:
        """Return the folders that may contain a partition that passes the filter, in their order.

        The folders have the same depth, and may be partitions themselves. A folder stays if its
        name does not decide.
        """
        return list(compress(folders, self._may_pass(folders, is_below=True)))

    def _may_pass(self, paths: Sequence[str], *, is_below: bool) -> Mask:
        """Decide for each path whether rows may pass: rows in its folder, or ``is_below`` it."""
        fields = self.config.partition_fields
        parts = [p for p in conjuncts(self.predicate) if not columns_of(p).isdisjoint(fields)]
        paths_folders = [partition_values.partition_folders(path, self.config) for path in paths]
        depth = min(map(len, paths_folders), default=0) if is_below else len(fields)
        is_decided = np.array([depth == len(folders) <= len(fields) for folders in paths_folders])
        decided = list(compress(paths_folders, is_decided))
        if not parts or not decided:
            return np.ones(len(paths), np.bool_)
        usable_columns = partition_values.decided_by_path("", self.config, self.schema)
        if self.always_from_path:
            usable_columns = self.schema.names
        columns = {
            name: self._column(name, [folders[place] for folders in decided], is_below=is_below)
            for place, name in enumerate(fields[:depth])
            if name in usable_columns
        }
        bounds = {name: column.bounds for name, column in columns.items()}
        values = {name: column.values for name, column in columns.items()}
        count = len(decided)
        mask = np.ones(count, np.bool_)
        for part in parts:
            mask &= may_match_merged(part, bounds, np.arange(count), count)
            if columns_of(part) <= columns.keys():
                # Bounds decide no LIKE beyond its prefix, and no negated condition.
                exact = [columns[name].is_exact for name in columns_of(part)]
                mask &= ~np.logical_and.reduce(exact) | holds(part, pa.table(values))
        is_decided[is_decided] = ~mask
        return ~is_decided

    def _column(self, name: str, folders: Sequence[str], *, is_below: bool) -> _PathColumn:
        data_type = partition_values.path_type(self.schema.field(name))
        values, is_known = partition_values.folder_values(name, folders, data_type, self.config)
        may_continue = pa.types.is_string(data_type) and not self.config.url_encode_partitions
        if not self.always_from_path and not self.config.url_encode_partitions:
            # The value itself may contain what looks like an escape.
            is_known &= np.array(["%" not in f or unquote(f) == f for f in folders], np.bool_)
        has_value = is_known & ~is_null(values)
        low = high = pc.if_else(pa.array(has_value), values, None)
        is_shared = self._is_shared(values) & is_known
        if is_shared.any():  # by null, "", and the value that the folder shows, if any
            low = pc.if_else(pa.array(is_shared & has_value), "", low)
        all_folders = np.ones(len(folders), np.bool_)
        may_be_null = ~has_value | is_shared
        if is_below:
            # If slashes are not encoded, the value may continue in the folders below.
            high = pc.binary_join_element_wise(high, _AFTER_SLASH, "") if may_continue else high
            bounds = ColumnBounds(low, high, may_be_null, all_folders)
            return _PathColumn(values, ~all_folders, bounds)
        is_null_value = is_known & ~has_value
        if is_shared.any():
            shows_null = pa.array(is_shared & is_null_value)
            low, high = (pc.if_else(shows_null, "", bound) for bound in (low, high))
        bounds = ColumnBounds(low, high, may_be_null, ~is_null_value | is_shared)
        return _PathColumn(values, is_known & ~is_shared, bounds)

    def _is_shared(self, values: pa.Array) -> Mask:
        """Say for each folder of a column whether rows with other values lie in it."""
        if self.always_from_path or not pa.types.is_string(values.type):
            return np.zeros(len(values), np.bool_)
        shared = [partition_values.shares_folder(value, self.config) for value in values]
        return np.array(shared, np.bool_)
