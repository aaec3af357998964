"""File slices that cannot have rows of a query, by the indexes of the metadata table."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hudi_pyspark.errors import HudiError
from hudi_pyspark.query.metadata_table.column_stats import slices_within_bounds
from hudi_pyspark.query.metadata_table.record_index import locate, why_keys_may_repeat
from hudi_pyspark.query.metadata_table.table import COLUMN_STATS, RECORD_INDEX, MetadataTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from hudi_pyspark.query.filter.predicate import Predicate
    from hudi_pyspark.table.file_group import FileSlice
    from hudi_pyspark.table.view import TableView

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class DataSkipping:
    """Narrows file slices by a filter, and keeps account of it.

    Attributes:
        table: the table; its metadata table is opened when an index may help.
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
        """Return the slices that can have rows for which the filter is true.

        Args:
            slices: as of the latest instant.
            predicate: the filter.
            record_keys: no other keys can pass it; None for any.
        """
        partitions = self.table.config.metadata_partitions
        uses_keys = record_keys is not None and RECORD_INDEX in partitions
        if len(slices) < 2 or not (uses_keys or COLUMN_STATS in partitions):
            return slices
        try:
            metadata = MetadataTable.open(self.table)
            if metadata.lags_behind:
                self._note(f"not the metadata table, which lacks commit {metadata.lags_behind}")
                return slices
            if record_keys is not None and uses_keys:
                slices = self._by_record_index(metadata, slices, record_keys)
            if COLUMN_STATS in partitions:
                slices = self._by_column_stats(metadata, slices, predicate)
        except HudiError as error:
            _log.warning("the metadata table's indexes are not used: %s", error.reason())
            self._note(f"not the metadata table's indexes: {error.reason()}")
        return slices

    def _by_record_index(
        self, metadata: MetadataTable, slices: Sequence[FileSlice], keys: Sequence[str]
    ) -> Sequence[FileSlice]:
        reason = "" if self.trusts_record_index else why_keys_may_repeat(self.table)
        if reason:
            self._note(f"not the record index: {reason}")
            return slices
        groups = {group for of_key in locate(metadata, keys).values() for group in of_key}
        kept = [s for s in slices if (s.partition_path, s.file_id) in groups]
        self._note(f"{len(slices) - len(kept)} of {len(slices)} file slices by the record index")
        return kept

    def _by_column_stats(
        self, metadata: MetadataTable, slices: Sequence[FileSlice], predicate: Predicate
    ) -> Sequence[FileSlice]:
        not_stored = self.table.config.partition_fields
        kept = slices_within_bounds(metadata, slices, predicate, self.schema, not_stored)
        self._note(f"{len(slices) - len(kept)} of {len(slices)} file slices by column statistics")
        return kept

    def _note(self, text: str) -> None:
        self.notes.append(text)
