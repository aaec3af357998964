"""Tasks of any file slices of one table, whichever query chose them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from hudi_pyspark.columns.schema_evolution import SchemaOnRead
from hudi_pyspark.custom_mergers import find_merger
from hudi_pyspark.filter.predicate import columns_of
from hudi_pyspark.options.values import Index
from hudi_pyspark.planning.metadata_table.skipping import IndexQuestion, prune_slices
from hudi_pyspark.planning.needed_columns import scan_schema
from hudi_pyspark.planning.partition_pruning import PartitionPruner
from hudi_pyspark.planning.slice_tasks import PlanContext, admitted_record_keys
from hudi_pyspark.table.bootstrap import BootstrapSources, is_skeleton, load_bootstrap_sources
from hudi_pyspark.table.merge_mode import resolve_merge_rule
from hudi_pyspark.table.schema import (
    column_defaults,
    internal_schema_versions,
    latest_internal_schema,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hudi_pyspark.custom_mergers import PayloadMerger
    from hudi_pyspark.filter.predicate import Predicate
    from hudi_pyspark.options.read_options import ReadOptions
    from hudi_pyspark.table.file_group import FileSlice
    from hudi_pyspark.table.view import TableView

_PLACES = Index.RECORD_INDEX


class SlicePlanner:
    """Plans file slices of a table, with the schema of ``schema_instant``; None is the latest."""

    # Loads the merge rule, the schema history and the sources of a bootstrap once, and only when
    # the first slice is planned.

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
        self.index_notes: Sequence[str] = []  # what indexes did to the slices last planned
        self._mergers = mergers
        self._schema_instant = schema_instant

    def partition_choice(self, predicate: Predicate | None) -> PartitionPruner | None:
        """Return the partitions whose rows can pass a filter, by their paths; None for all."""
        config = self.view.config
        if predicate is None or columns_of(predicate).isdisjoint(config.partition_fields):
            return None
        from_path = self.options.partition_values_from_path or config.drop_partition_columns
        return PartitionPruner(predicate, config, self.table_schema, from_path)

    def pruned(
        self, slices: Sequence[FileSlice], predicate: Predicate | None, *, by_key: bool
    ) -> Sequence[FileSlice]:
        """Return the latest slices with rows that may pass; keys may be looked up if ``by_key``."""
        self.index_notes = []
        if predicate is None or not (indexes := self._indexes(by_key=by_key)):
            return slices
        merger = find_merger(self.context.rule, self.options.payload_merger, self.context.mergers)
        question = IndexQuestion(
            indexes,
            predicate,
            self.table_schema,
            admitted_record_keys(predicate, self.context, merger),
            # Earlier versions append to log files: the statistics may be those of one part.
            logs_have_bounds=merger is None and self.view.config.log_file_has_one_commit,
        )
        slices, self.index_notes = prune_slices(self.view, slices, question)
        return slices

    def _indexes(self, *, by_key: bool) -> frozenset[Index]:
        """Return the indexes of the metadata table that may decide which slices are read."""
        # With a schema on read, files may have other names for the columns.
        options = self.options
        if not options.use_metadata_table or self.context.schema_on_read is not None:
            return frozenset()
        has_places = by_key and not options.skip_merge
        allowed = options.data_skipping if has_places else options.data_skipping - {_PLACES}
        names = self.view.config.metadata_partitions
        return frozenset(index for index in allowed if index.value in names)

    @cached_property
    def context(self) -> PlanContext:
        """What the tasks of all slices have in common."""
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
        """Return the slices, with the source files of those that a bootstrap made."""
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
