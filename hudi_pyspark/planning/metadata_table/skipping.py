"""Partitions and file slices that cannot have rows of a query, by indexes of the metadata table."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from hudi_pyspark.errors import HudiError
from hudi_pyspark.filter.keys_of_predicate import listed_texts
from hudi_pyspark.filter.predicate import conjuncts
from hudi_pyspark.options.indexes import Index
from hudi_pyspark.planning.metadata_table.bloom_filters import slices_that_may_hold
from hudi_pyspark.planning.metadata_table.column_stats import (
    columns_with_bounds,
    is_base_alone,
    slices_within_bounds,
)
from hudi_pyspark.planning.metadata_table.listing import MetadataListing
from hudi_pyspark.planning.metadata_table.partition_stats import is_exact, partitions_within_bounds
from hudi_pyspark.planning.metadata_table.record_index import locate
from hudi_pyspark.planning.metadata_table.secondary_index import record_keys_with, secondary_indexes
from hudi_pyspark.planning.metadata_table.trust import (
    why_keys_may_repeat,
    why_rows_may_have_moved,
    why_slices_may_have_differed,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    import pyarrow as pa

    from hudi_pyspark.filter.predicate import Predicate
    from hudi_pyspark.planning.metadata_table.record_index import FileGroupId
    from hudi_pyspark.planning.metadata_table.table import MetadataTable
    from hudi_pyspark.table.file_group import FileSlice
    from hudi_pyspark.table.view import TableView

    Slices = Sequence[FileSlice]
    Step = Callable[[Slices, MetadataTable], Slices]

_Answer = TypeVar("_Answer")
_log = logging.getLogger(__name__)
# Bloom filters are large. Of more files than these, tasks read them from the footers, in parallel.
_MOST_BLOOM_FILTERS = 1_000


@dataclass(frozen=True, eq=False)
class DataSkipping:
    """Narrows partitions and file slices by a filter, and keeps account of it.

    Attributes:
        table: the table; its indexes are used if its files come from the metadata table.
        schema: the table's columns.
        allowed: the indexes that may be used.
        trusts_keys: use record and secondary indexes although keys may repeat in file groups.
        values_are_stored: each value of a row is in a file; false with a user's merger.
        notes: what each index did to the file slices, or why it was not used.
        partition_notes: the same of partitions.
    """

    table: TableView
    schema: pa.Schema
    allowed: Collection[Index]
    trusts_keys: bool = False
    values_are_stored: bool = True
    notes: list[str] = field(default_factory=list)
    partition_notes: list[str] = field(default_factory=list)

    def partitions(self, partition_paths: Sequence[str], predicate: Predicate) -> Sequence[str]:
        """Return the partitions that can have rows for which the filter is true, in their order.

        Args:
            partition_paths: of the latest state.
            predicate: the filter.
        """
        notes = self.partition_notes
        if len(partition_paths) < 2 or not self.has(Index.PARTITION_STATS):
            return partition_paths
        notes.clear()

        def narrowed(metadata: MetadataTable) -> Sequence[str]:
            columns = self._columns_with_bounds(predicate)
            kinds = {name: kind for name, kind in columns.items() if is_exact(name, kind)}
            if not kinds:
                return partition_paths
            reason = why_slices_may_have_differed(self.table)
            if reason:
                notes.append(f"not partition statistics: {reason}")
                return partition_paths
            kept = partitions_within_bounds(metadata, partition_paths, predicate, kinds)
            count = len(partition_paths)
            notes.append(f"{count - len(kept)} of {count} partitions by partition statistics")
            return kept

        return self._ask(narrowed, partition_paths, notes)

    def narrow(
        self,
        slices: Slices,
        predicate: Predicate,
        record_keys: Sequence[str] | None,
        *,
        by_key: bool,
    ) -> Slices:
        """Return the slices that can have rows for which the filter is true; begins new notes.

        Args:
            slices: as of the latest instant.
            predicate: the filter.
            record_keys: no other keys can pass it; None for any.
            by_key: a key has rows in its latest file group only.
        """
        self.notes.clear()
        for step in self._steps(predicate, record_keys, by_key=by_key):
            if len(slices) < 2:
                break
            slices = self._ask(partial(step, slices), slices, self.notes)
        return slices

    def _steps(
        self, predicate: Predicate, record_keys: Sequence[str] | None, *, by_key: bool
    ) -> Iterator[Step]:
        """Yield the indexes that may narrow the slices, those that leave fewest first."""
        if by_key and record_keys is not None and self.has(Index.RECORD_INDEX):
            yield partial(self._by_record_index, keys=record_keys)
        elif by_key and self.has(Index.SECONDARY_INDEX) and self.has(Index.RECORD_INDEX):
            yield partial(self._by_secondary_index, predicate=predicate)
        if self.has(Index.COLUMN_STATS):
            yield partial(self._by_column_stats, predicate=predicate)
        if record_keys is not None and self.has(Index.BLOOM_FILTERS):
            yield partial(self._by_bloom_filters, keys=record_keys)

    def _by_record_index(
        self, slices: Slices, metadata: MetadataTable, keys: Sequence[str]
    ) -> Slices:
        reason = "" if self.trusts_keys else why_keys_may_repeat(self.table)
        if reason:
            self.notes.append(f"not the record index: {reason}")
            return slices
        groups = _groups(metadata, keys)
        kept = [s for s in slices if (s.partition_path, s.file_id) in groups]
        return self._noted(slices, kept, "the record index")

    def _by_secondary_index(
        self, slices: Slices, metadata: MetadataTable, predicate: Predicate
    ) -> Slices:
        """Narrow slices without log files, whose rows are as the index has them."""
        parts = conjuncts(predicate)
        for column, index in secondary_indexes(self.table).items():
            values = listed_texts(parts, column, self.schema)
            if values is None or not any(map(is_base_alone, slices)):
                continue
            reason = "" if self.trusts_keys else self._why_secondary_keys_may_lack()
            if reason:
                self.notes.append(f"not the secondary index of {column}: {reason}")
                return slices
            groups = _groups(metadata, record_keys_with(metadata, index, values))
            kept = [
                s for s in slices if not is_base_alone(s) or (s.partition_path, s.file_id) in groups
            ]
            return self._noted(slices, kept, f"the secondary index of {column}")
        return slices

    def _why_secondary_keys_may_lack(self) -> str:
        return (
            why_keys_may_repeat(self.table)
            or why_rows_may_have_moved(self.table)
            or why_slices_may_have_differed(self.table)
        )

    def _by_column_stats(
        self, slices: Slices, metadata: MetadataTable, predicate: Predicate
    ) -> Slices:
        kinds = self._columns_with_bounds(predicate)
        # Earlier versions append to log files, and the statistics may be those of one part.
        has_logs_with_bounds = self.values_are_stored and self.table.config.version >= 8
        asked = [s for s in slices if has_logs_with_bounds or is_base_alone(s)]
        if not kinds or not asked:
            return slices
        within = {id(s) for s in slices_within_bounds(metadata, asked, predicate, kinds)}
        ruled_out = {id(s) for s in asked} - within
        kept = [s for s in slices if id(s) not in ruled_out]
        return self._noted(slices, kept, "column statistics")

    def _by_bloom_filters(
        self, slices: Slices, metadata: MetadataTable, keys: Sequence[str]
    ) -> Slices:
        files = [s for s in slices if is_base_alone(s)]
        if not files or len(files) > _MOST_BLOOM_FILTERS:
            return slices
        may_hold = {id(s) for s in slices_that_may_hold(metadata, files, keys)}
        kept = [s for s in slices if not is_base_alone(s) or id(s) in may_hold]
        return self._noted(slices, kept, "Bloom filters")

    def _noted(self, slices: Slices, kept: Slices, index: str) -> Slices:
        self.notes.append(f"{len(slices) - len(kept)} of {len(slices)} file slices by {index}")
        return kept

    def _columns_with_bounds(self, predicate: Predicate) -> Mapping[str, pa.DataType]:
        return columns_with_bounds(predicate, self.schema, self.table.config.partition_fields)

    def has(self, index: Index) -> bool:
        """Return whether an index may be used and the table has it."""
        names = self.table.config.metadata_partitions
        if index is Index.SECONDARY_INDEX:
            return index in self.allowed and any(n.startswith(index.value) for n in names)
        return index in self.allowed and index.value in names

    def _ask(
        self, question: Callable[[MetadataTable], _Answer], otherwise: _Answer, notes: list[str]
    ) -> _Answer:
        """Ask the metadata table, if it can be relied upon; another answer, if it cannot."""
        listing = self.table.listing
        if not isinstance(listing, MetadataListing):
            return otherwise
        try:
            return question(listing.indexed_by)
        except HudiError as error:
            _log.warning("an index of the metadata table is not used: %s", error.reason())
            notes.append(f"not the metadata table's indexes: {error.reason()}")
            return otherwise


def _groups(metadata: MetadataTable, keys: Sequence[str]) -> set[FileGroupId]:
    """Return the file groups that hold some record keys."""
    return {group for of_key in locate(metadata, keys).values() for group in of_key}
