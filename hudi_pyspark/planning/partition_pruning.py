"""Which partitions can have rows for which a filter is true, by the values in their paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.errors import CorruptTableError
from hudi_pyspark.filter.bounds import ColumnBounds, may_match_merged
from hudi_pyspark.filter.predicate import Predicate, columns_of, conjuncts, holds
from hudi_pyspark.planning.partition_values import (
    NULL_PARTITION_VALUE,
    decided_by_path,
    narrow_by_path,
    partition_folders,
    resolve_partition_values,
    without_name,
)

if TYPE_CHECKING:
    from hudi_pyspark.table.config import TableConfig

_AFTER_SLASH = "0"  # the character that follows the slash


@dataclass(frozen=True, eq=False)
class PartitionPruner:
    """Chooses partitions by the values that their paths give to rows.

    `choose` decides about partitions: those whose paths are plain text all at once by columns
    (`_known`), the others one by one (`_can_pass`). Both decide alike; the first is the fast twin.
    `containing` decides about folders above partitions, of which only the first values are known.
    """

    predicate: Predicate
    config: TableConfig
    schema: pa.Schema  # of the table
    always_from_path: bool  # the path decides all partition values

    def choose(self, partition_paths: Sequence[str]) -> list[str]:
        """Return the partitions that can have rows for which the filter is true, in their order."""
        if not self._parts:
            return list(partition_paths)
        known = self._known(partition_paths)
        return [
            path
            for path, can_pass in zip(partition_paths, known, strict=True)
            if can_pass or (can_pass is None and self._can_pass(path))
        ]

    def containing(self, folders: Sequence[str]) -> list[str]:
        """Return the folders that may contain a partition that passes the filter, in their order.

        The folders are of one depth, and may be partitions themselves. It decides by names of plain
        text: a folder that cannot be decided about stays.
        """
        if not self._parts or not folders:
            return list(folders)
        depth = len(partition_folders(folders[0], self.config))
        plain = self._plain(folders, depth)
        bounds = {
            name: self._bounds_below(values)
            for name, values in self._plain_values([*plain.values()], depth).items()
        }
        numbers = np.arange(len(plain))
        masks = [may_match_merged(part, bounds, numbers, len(plain)) for part in self._parts]
        may = dict(zip(plain, np.logical_and.reduce(masks).tolist(), strict=True))
        return [folder for folder in folders if may.get(folder, True)]

    def _bounds_below(self, values: pa.Array) -> ColumnBounds:
        """Return the bounds of a column in folders that have these values, and below them."""
        beyond = values
        if pa.types.is_string(values.type) and not self.config.url_encode_partitions:
            # Where slashes are not encoded, the value may go on in the folders below.
            beyond = pc.binary_join_element_wise(values, _AFTER_SLASH, "")
        is_so = np.ones(len(values), np.bool_)
        return ColumnBounds(values, beyond, may_be_null=~is_so, may_have_value=is_so)

    @cached_property
    def _parts(self) -> tuple[Predicate, ...]:
        """The parts of the filter that compare partition columns only."""
        fields = {name for name in self.config.partition_fields if name in self.schema.names}
        return tuple(part for part in conjuncts(self.predicate) if columns_of(part) <= fields)

    def _can_pass(self, path: str) -> bool:
        try:
            values = resolve_partition_values(
                path, self.config, self.schema, always_from_path=self.always_from_path
            )
        except CorruptTableError:
            return True  # to be refused where it has files
        return narrow_by_path(values, self.predicate)[0]

    def _known(self, paths: Sequence[str]) -> list[bool | None]:
        """Decide about all paths at once; None for those that have to be looked at singly.

        Paths of plain text, whose values need no decoding, are the rule.
        """
        depth = len(self.config.partition_fields)
        plain = self._plain(paths, depth)
        values = pa.table(self._plain_values([*plain.values()], depth))
        parts = [part for part in self._parts if columns_of(part) <= set(values.schema.names)]
        if not parts or not plain:
            return [None] * len(paths)
        masks = [holds(part, values) for part in parts]
        can_pass = dict(zip(plain, np.logical_and.reduce(masks).tolist(), strict=True))
        if len(parts) == len(self._parts):
            return [can_pass.get(path) for path in paths]
        return [None if can_pass.get(path, True) else False for path in paths]

    def _plain(self, paths: Sequence[str], depth: int) -> dict[str, list[str]]:
        """Return the folders of the paths of plain text that have as many as ``depth``, by path."""
        if self.config.slash_separated_dates:
            return {}
        folders = {path: partition_folders(path, self.config) for path in paths}
        return {
            path: of_path
            for path, of_path in folders.items()
            if len(of_path) == depth and "%" not in path and NULL_PARTITION_VALUE not in path
        }

    def _plain_values(self, folders: Sequence[Sequence[str]], depth: int) -> dict[str, pa.Array]:
        """Return the values of the columns that paths of plain text decide, down to a depth."""
        decided = set(decided_by_path("", self.config, self.schema))
        columns = {}
        for index, name in enumerate(self.config.partition_fields[:depth]):
            if name in decided:
                texts = pa.array([without_name(f[index], name) for f in folders], pa.string())
                data_type = self.schema.field(name).type
                if pa.types.is_string(data_type):
                    columns[name] = texts
                elif pa.types.is_integer(data_type):
                    try:
                        columns[name] = texts.cast(data_type)
                    except pa.ArrowInvalid:
                        continue  # some are not numbers
        return columns
