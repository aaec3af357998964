"""Tasks of any file slices of one table, whichever query chose them."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING

from hudi_pyspark.columns.schema_evolution import SchemaOnRead
from hudi_pyspark.filter.predicate import columns_of
from hudi_pyspark.options.indexes import Index
from hudi_pyspark.options.option_table import RecordIndexUse
from hudi_pyspark.planning.metadata_table.skipping import DataSkipping
from hudi_pyspark.planning.needed_columns import scan_schema
from hudi_pyspark.planning.partition_pruning import PartitionPruner, StatisticsPruner
from hudi_pyspark.planning.slice_tasks import PlanContext, admitted_record_keys
from hudi_pyspark.reading.merge.custom_merger import find_merger
from hudi_pyspark.table.bootstrap import BootstrapSources, is_skeleton, load_bootstrap_sources
from hudi_pyspark.table.merge_mode import resolve_merge_rule
from hudi_pyspark.table.schema import (
    column_defaults,
    internal_schema_versions,
    latest_internal_schema,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hudi_pyspark.filter.predicate import Predicate
    from hudi_pyspark.options.read_options import ReadOptions
    from hudi_pyspark.planning.partition_pruning import QueryChoice
    from hudi_pyspark.reading.merge.custom_merger import PayloadMerger
    from hudi_pyspark.table.file_group import FileSlice
    from hudi_pyspark.table.view import TableView


class SlicePlanner:
    """Plans file slices of a table.

    Loads the merge rule, the schema history and the sources of a bootstrap once, and only when the
    first slice is planned.

    Args:
        view: the table.
        options: read options.
        mergers: users' mergers by payload class.
        schema_instant: instant whose schema the table has; None for the latest.

    Raises:
        UnsupportedTableError: the table has no schema yet.
        UnsupportedTypeError: a column has a type without counterpart.
    """

    def __init__(
        self,
        view: TableView,
        options: ReadOptions,
        mergers: Mapping[str, PayloadMerger],
        schema_instant: str | None = None,
    ) -> None:
        self.view = view
        self.options = options
        self.table_schema = scan_schema(
            view, schema_instant, values_from_path=options.partition_values_from_path
        )
        self._mergers = mergers
        self._schema_instant = schema_instant

    def partition_choice(self, predicate: Predicate | None, *, latest: bool) -> QueryChoice | None:
        """Return the partitions whose rows can pass a filter; None for all.

        Args:
            predicate: the filter; None for all rows.
            latest: the query is one of the table's rows as they are now.
        """
        if predicate is None:
            return None
        config, by_path = self.view.config, None
        if not columns_of(predicate).isdisjoint(config.partition_fields):
            from_path = self.options.partition_values_from_path or config.drop_partition_columns
            by_path = PartitionPruner(predicate, config, self.table_schema, from_path)
        may_use = self.options.use_metadata_table and self.skipping.has(Index.PARTITION_STATS)
        if not latest or not may_use:
            return by_path
        within_statistics = partial(self._within_statistics, predicate=predicate)
        return StatisticsPruner(by_path, within_statistics, self.skipping.partition_notes)

    def _within_statistics(
        self, partition_paths: Sequence[str], predicate: Predicate
    ) -> Sequence[str]:
        """Return the partitions whose rows are not ruled out by their statistics.

        A user's merger may make up values that no file has.
        """
        if not self._uses_indexes or self._merger is not None:
            return partition_paths
        return self.skipping.partitions(partition_paths, predicate)

    def narrowed(
        self, slices: Sequence[FileSlice], predicate: Predicate | None, *, by_key: bool
    ) -> Sequence[FileSlice]:
        """Return the slices of the latest state that can have rows which pass a filter.

        Args:
            slices: of the latest state.
            predicate: the filter; None for all rows.
            by_key: a key has rows in its latest file group only.
        """
        if predicate is None or not self._uses_indexes:
            return slices
        keys = admitted_record_keys(predicate, self.context, self._merger)
        by_key = by_key and not self.options.skip_merge
        return self.skipping.narrow(slices, predicate, keys, by_key=by_key)

    @property
    def _uses_indexes(self) -> bool:
        """Whether indexes of the metadata table may decide what is read.

        With a schema on read, files may have other names for the columns.
        """
        options = self.options
        is_on = options.use_metadata_table and bool(options.data_skipping)
        return is_on and self.context.schema_on_read is None

    @property
    def _merger(self) -> PayloadMerger | None:
        """The user's merger for the table's payload class; None if Hudi has the class."""
        return find_merger(self.context.rule, self.options.payload_merger, self.context.mergers)

    @cached_property
    def skipping(self) -> DataSkipping:
        """How indexes of the metadata table narrow partitions and slices, and what they did."""
        trusts_keys = self.options.record_index is RecordIndexUse.ALWAYS
        return DataSkipping(
            self.view,
            self.table_schema,
            self.options.data_skipping,
            trusts_keys=trusts_keys,
            values_are_stored=self._merger is None,
        )

    @cached_property
    def context(self) -> PlanContext:
        """What the tasks of all slices have in common.

        Raises:
            CorruptTableError: the merge mode is unknown, or the schema history cannot be read.
        """
        view, options = self.view, self.options
        return PlanContext(
            config=view.config,
            table_schema=self.table_schema,
            rule=resolve_merge_rule(
                view.config,
                options.delete_field,
                options.delete_marker,
                column_defaults(view, self._schema_instant),
            ),
            committed=view.committed,
            options=options,
            mergers=self._mergers,
            schema_on_read=self._schema_on_read(),
        )

    def _schema_on_read(self) -> SchemaOnRead | None:
        """Return how columns are matched by id, if the table needs it and the options allow it."""
        target = latest_internal_schema(self.view, self._schema_instant)
        if target is None or self.options.schema_on_read is False:
            return None
        return SchemaOnRead(target, internal_schema_versions(self.view))

    def with_sources(self, slices: Sequence[FileSlice]) -> Sequence[FileSlice]:
        """Return the slices, with the source files of those that a bootstrap made.

        Raises:
            MissingFileError: the source files of a bootstrapped table are gone.
            CorruptTableError: the index does not name them.
        """
        if not any(is_skeleton(s, self.view.config) for s in slices):
            return slices
        return self._bootstrap_sources.attach(slices)

    @cached_property
    def _bootstrap_sources(self) -> BootstrapSources:
        view = self.view
        folder = self.options.bootstrap_base_path
        sources = load_bootstrap_sources(view.storage, view.config, folder)
        sources.check_folder(view.storage)
        return sources
