"""Tasks of any file slices of one table, whichever query chose them."""

from __future__ import annotations

from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

from hudi_pyspark.query.columns.schema_on_read import SchemaOnRead
from hudi_pyspark.query.plan import PlanContext, plan
from hudi_pyspark.query.projection import scan_schema
from hudi_pyspark.table.bootstrap import BootstrapSources, is_skeleton, load_bootstrap_sources
from hudi_pyspark.table.merge_mode import resolve_merge_rule
from hudi_pyspark.table.schema import column_defaults
from hudi_pyspark.table.schema_history import internal_schema_versions, latest_internal_schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from hudi_pyspark.query.filter.predicate import Predicate
    from hudi_pyspark.query.incremental import CommitRange
    from hudi_pyspark.query.merge.custom_merger import PayloadMerger
    from hudi_pyspark.query.options import ReadOptions
    from hudi_pyspark.query.plan import ScanTask
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

    def plan(
        self,
        slices: Sequence[FileSlice],
        result: pa.Schema,
        until: str,
        *,
        commit_range: CommitRange | None = None,
        predicate: Predicate | None = None,
        whole_slices: Mapping[tuple[str, str], FileSlice] = MappingProxyType({}),
        from_files: bool = False,
    ) -> list[ScanTask]:
        """Make one task per file slice; see `hudi_pyspark.query.plan.plan`.

        Raises:
            UnsupportedTableError: a slice that cannot be read correctly.
            CorruptTableError: a partition path that the answer needs and that does not parse.
            MissingFileError: the source files of a bootstrapped table are gone.
        """
        return plan(
            self._with_bootstrap_sources(slices),
            self.context,
            result=result,
            until=until,
            commit_range=commit_range,
            predicate=predicate,
            whole_slices=whole_slices,
            from_files=from_files,
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

    def _with_bootstrap_sources(self, slices: Sequence[FileSlice]) -> Sequence[FileSlice]:
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
