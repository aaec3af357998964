"""File slices that cannot have rows of a query, by the indexes of the metadata table."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hudi_pyspark.errors import HudiError
from hudi_pyspark.query.metadata_table.column_stats import (
    columns_with_bounds,
    is_base_alone,
    slices_within_bounds,
)
from hudi_pyspark.query.metadata_table.listing import MetadataListing
from hudi_pyspark.query.metadata_table.record_index import locate, why_keys_may_repeat
from hudi_pyspark.query.metadata_table.table import COLUMN_STATS, RECORD_INDEX

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from hudi_pyspark.query.filter.predicate import Predicate
    from hudi_pyspark.query.metadata_table.table import MetadataTable
    from hudi_pyspark.table.file_group import FileSlice
    from hudi_pyspark.table.view import TableView

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class DataSkipping:
    """Narrows file slices by a filter, and keeps account of it.

    Attributes:
        table: the table; its indexes are used if its files come from the metadata table.
        schema: the table's columns.
        trusts_record_index: use it although its keys may repeat in file groups.
        notes: what each index did, or why it was not used.
    """

    table: TableView
    schema: pa.Schema
    trusts_record_index: bool = False
    notes: list[str] = field(default_factory=list)

    def narrow(
        self,
        slices: Sequence[FileSlice],
        predicate: Predicate,
        record_keys: Sequence[str] | None,
    ) -> Sequence[FileSlice]:
        """Return the slices that can have rows for which the filter is true; begins new notes.

        Args:
            slices: as of the latest instant.
            predicate: the filter.
            record_keys: no other keys can pass it; None for any.
        """
        self.notes.clear()
        config = self.table.config
        uses_keys = record_keys is not None and RECORD_INDEX in config.metadata_partitions
        kinds = {}
        if COLUMN_STATS in config.metadata_partitions and any(map(is_base_alone, slices)):
            kinds = columns_with_bounds(predicate, self.schema, config.partition_fields)
        listing = self.table.listing
        if len(slices) < 2 or not (uses_keys or kinds) or not isinstance(listing, MetadataListing):
            return slices
        try:
            metadata = listing.indexed_by
            if record_keys is not None and uses_keys:
                slices = self._by_record_index(metadata, slices, record_keys)
            if kinds:
                kept = slices_within_bounds(metadata, slices, predicate, kinds)
                self._note(len(slices) - len(kept), len(slices), "column statistics")
                slices = kept
        except HudiError as error:
            _log.warning("the metadata table's indexes are not used: %s", error.reason())
            self.notes.append(f"not the metadata table's indexes: {error.reason()}")
        return slices

    def _by_record_index(
        self, metadata: MetadataTable, slices: Sequence[FileSlice], keys: Sequence[str]
    ) -> Sequence[FileSlice]:
        reason = "" if self.trusts_record_index else why_keys_may_repeat(self.table)
        if reason:
            self.notes.append(f"not the record index: {reason}")
            return slices
        groups = {group for of_key in locate(metadata, keys).values() for group in of_key}
        kept = [s for s in slices if (s.partition_path, s.file_id) in groups]
        self._note(len(slices) - len(kept), len(slices), "the record index")
        return kept

    def _note(self, left_out: int, of: int, index: str) -> None:
        self.notes.append(f"{left_out} of {of} file slices by {index}")
