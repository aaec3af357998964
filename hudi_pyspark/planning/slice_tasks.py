"""Turn file slices into tasks.

`TablePlanner` knows what all slices of a table have in common, and makes one task per slice. A
query asks it for tasks with a `SliceQuery`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from hashlib import sha256
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hudi_pyspark.cached_property import cached_property
from hudi_pyspark.columns.schema_evolution import SchemaOnRead
from hudi_pyspark.custom_mergers import Mergers, find_merger
from hudi_pyspark.filter.predicate import Predicate, columns_of
from hudi_pyspark.filter.requested_keys import ANY_KEY, RequestedKeys
from hudi_pyspark.format.column_names import spelled
from hudi_pyspark.planning import needed_columns
from hudi_pyspark.planning.partitions import (
    PartitionPruner,
    keep_undecided,
    resolve_partition_values,
)
from hudi_pyspark.table import merge_mode
from hudi_pyspark.table.bootstrap import (
    BootstrapSources,
    check_formats,
    is_skeleton,
    load_bootstrap_sources,
)
from hudi_pyspark.table.file_group import FileSlice
from hudi_pyspark.table.log_files import BlockFilter
from hudi_pyspark.table.schema import (
    column_defaults,
    internal_schema_versions,
    latest_internal_schema,
    resolve_schema,
)
from hudi_pyspark.tasks import (
    CommitRange,
    PartitionValues,
    ReadSettings,
    ScanTask,
    SharedPlan,
)
from hudi_pyspark.version import __version__

if TYPE_CHECKING:
    from hudi_pyspark.format.timeline.instant import RequestedTime
    from hudi_pyspark.metadata_table.table import MetadataTable
    from hudi_pyspark.options.read_options import ReadOptions
    from hudi_pyspark.table.config import TableConfig
    from hudi_pyspark.table.view import TableView


@dataclass(frozen=True, slots=True)
class SliceQuery:
    """What a query asks of file slices."""

    result: pa.Schema  # columns of the answer
    until: str  # newest instant that the query sees, inclusive
    predicate: Predicate | None = None  # only rows for which it is true; None for all
    requested: RequestedKeys = ANY_KEY  # the only record keys that can pass the predicate
    commit_range: CommitRange | None = None  # only rows that its commits wrote; None for all
    # For a commit range: the whole slices below its files, by partition path and file id.
    whole_slices: Mapping[tuple[str, str], FileSlice] = field(default_factory=dict)
    partition_values_from_files: bool = False  # even if the path has the values


@dataclass(eq=False, repr=False)  # the options may contain secrets
class TablePlanner:
    """Plans the file slices of a table.

    What they have in common is loaded once, when it is first needed: the schema, the merge rule,
    the schema history, and the source files of a bootstrap.
    """

    view: TableView
    options: ReadOptions
    mergers: Mergers = field(default_factory=dict)  # by payload class
    schema_instant: RequestedTime | None = None  # whose schema the answer has; None: the latest
    # Returns the metadata table, whose indexes are asked; None if the files do not come from it.
    metadata: Callable[[], MetadataTable] | None = None

    @cached_property
    def table_schema(self) -> pa.Schema:
        """All columns of the table.

        Raises:
            UnsupportedTableError: the table has no schema that can be read.
            CorruptTableError: the schema lacks a partition column.
        """
        schema = resolve_schema(self.view, self.schema_instant)
        config = self.view.config
        if self.options.partition_values_from_path and config.key_generator == "TIMESTAMP":
            # The folder's name is a formatted time, not the column's value. So the column is text,
            # as in Apache Hudi. With the custom key generator it keeps its type.
            formatted = {spelled(name, schema) for name in config.partition_fields}
            schema = pa.schema(
                f.with_type(pa.string()) if f.name in formatted else f for f in schema
            )
        return schema

    @cached_property
    def config(self) -> TableConfig:
        """The table's properties, with ordering and partition fields as its schema spells them.

        Key fields keep their spelling, since record keys may have it: ``ID:1,region:emea``.
        """
        names = ("ordering_fields", "partition_fields", "timestamp_partition_fields")
        fields_of_table: dict[str, Any] = {
            name: tuple(spelled(f, self.table_schema) for f in getattr(self.view.config, name))
            for name in names
        }
        return replace(self.view.config, **fields_of_table)

    @cached_property
    def rule(self) -> merge_mode.MergeRule:
        """How records are merged.

        Raises:
            CorruptTableError: the table's merge properties contradict each other.
            InvalidOptionError: the user's merger cannot be imported, or does not fit the table.
        """
        rule = merge_mode.resolve_merge_rule(
            self.config,
            spelled(self.options.delete_field, self.table_schema),
            self.options.delete_marker,
        )
        merger = find_merger(rule, self.options.payload_merger, self.mergers)
        if not rule.needs_fold:  # merges of whole records look at no default
            return rule
        defaults = column_defaults(self.view, self.schema_instant)
        return replace(rule, column_defaults=tuple(defaults.items()), merger=merger)

    @cached_property
    def schema_on_read(self) -> SchemaOnRead | None:
        """The schema history, to match columns by id; None to match them by name."""
        target = latest_internal_schema(self.view, self.schema_instant)
        if target is None or self.options.schema_on_read is False:
            return None
        return SchemaOnRead(target, internal_schema_versions(self.view))

    @property
    def key_fields(self) -> tuple[str, ...]:
        """The fields that make up a record key; () if the files contain the keys themselves."""
        return () if self.config.populate_meta_fields else self.config.record_key_fields

    @property
    def values_come_from_path(self) -> bool:
        """Whether the path gives all partition values, even if files have other values."""
        return self.options.partition_values_from_path or self.config.drop_partition_columns

    def partition_choice(self, predicate: Predicate | None) -> PartitionPruner | None:
        """Return the choice of partitions whose rows can pass a filter; None for all partitions."""
        config = self.config
        if predicate is None or columns_of(predicate).isdisjoint(config.partition_fields):
            return None
        return PartitionPruner(predicate, config, self.table_schema, self.values_come_from_path)

    def tasks(self, slices: Iterable[FileSlice], query: SliceQuery) -> list[ScanTask]:
        """Plan the slices whose partitions can have rows that pass the filter.

        Slices with log files are merged, so their tasks also need the columns that merging
        compares. Tasks of one kind share one plan, which is pickled only once.

        Returns:
            Tasks in order of partition path, file id and base instant.

        Raises:
            UnsupportedTableError: a base file has a format that cannot be read here, or the slices
                have log files that cannot be merged.
            CorruptTableError: a partition path does not fit the partition columns, the table lacks
                an ordering field, or the index of a bootstrap contradicts the table.
            InvalidOptionError: the delete field is not a column whose values can be compared.
            MissingFileError: the source files of a bootstrap are gone.
        """
        all_slices = list(slices)
        if any(is_skeleton(s, self.config) for s in all_slices):
            all_slices = self._bootstrap_sources.attach(all_slices)
        partitions = self.partition_values({s.partition_path for s in all_slices}, query)
        chosen = [s for s in all_slices if s.partition_path in partitions]
        chosen.sort(key=attrgetter("partition_path", "file_id", "base_instant_time"))
        check_formats(chosen, self.config)
        if not self.options.skip_merge and any(s.log_files for s in chosen):
            merge_mode.check_supported(self.rule)
            delete_field = self.options.delete_field
            needed_columns.check_mergeable(self.table_schema, self.config, self.rule, delete_field)
        from_path = {path: partition.from_path for path, partition in partitions.items()}
        plans: dict[tuple[bool, tuple[str, ...]], SharedPlan] = {}
        tasks = []
        for file_slice in chosen:
            partition = partitions[file_slice.partition_path]
            merges = bool(file_slice.log_files)
            kind = merges, from_path[file_slice.partition_path]
            if kind not in plans:
                plans[kind] = self._shared_plan(query, partition, merges=merges)
            group = file_slice.partition_path, file_slice.file_id
            whole_slice = query.whole_slices.get(group)
            tasks.append(ScanTask(file_slice, plans[kind], partition, whole_slice=whole_slice))
        return tasks

    @cached_property
    def _merge_columns(self) -> list[str]:
        """Names of the columns that merging needs; the table may lack some."""
        return needed_columns.merge_columns(self.table_schema, self.rule, self.key_fields)

    @cached_property
    def _bootstrap_sources(self) -> BootstrapSources:
        view = self.view
        folder = self.options.bootstrap_base_path
        sources = load_bootstrap_sources(view.storage, view.config, folder)
        sources.check_folder()
        return sources

    def partition_values(
        self, paths: Iterable[str], query: SliceQuery
    ) -> dict[str, PartitionValues]:
        """Map the paths of partitions whose rows can pass the filter to their values.

        Raises:
            CorruptTableError: a path does not fit the partition columns.
        """
        sorted_paths = sorted(paths)
        choice = self.partition_choice(query.predicate)
        merge_columns = self._merge_columns
        values = {
            path: resolve_partition_values(
                path,
                self.config,
                self.table_schema,
                always_from_path=self.values_come_from_path,
                read_for_merge=merge_columns,
            )
            for path in (sorted_paths if choice is None else choice.choose(sorted_paths))
        }
        if query.partition_values_from_files:
            return {path: of_path.from_files() for path, of_path in values.items()}
        return values

    def _shared_plan(
        self, query: SliceQuery, partition: PartitionValues, *, merges: bool
    ) -> SharedPlan:
        """Plan what is the same for all slices of a kind."""
        predicate = keep_undecided(query.predicate, partition)
        columns = needed_columns.planned_columns(
            self.table_schema,
            query.result,
            predicate,
            self._merge_columns if merges else (),
            reads_commits=query.commit_range is not None,
            makes_keys=merges and bool(self.key_fields),
            compares_values=merges and self.rule.needs_fold,  # perhaps any two values
        )
        if merges:
            needed_columns.check_ordering_fields(self.table_schema, self.rule)
        return SharedPlan(
            settings=read_settings(self.options),
            planned_columns=columns,
            rule=self.rule,
            # If a log file has only one commit and it does not count, the whole file is left out.
            block_filter=BlockFilter(
                query.until,
                None if self.config.has_completion_times else self.view.history.committed,
            ),
            predicate=predicate,
            key_fields=self.key_fields,
            schema_on_read=self.schema_on_read,
            commit_range=query.commit_range,
            record_keys=query.requested.whole_keys,
            key_texts=query.requested.key_texts,
            merges_whole_table=self.options.merges_whole_table,
            row_options=tuple(name for name, _ in self.options.row_options),
            outcome_key_basis=self._outcome_key_basis(query) if merges else "",
        )

    def _outcome_key_basis(self, query: SliceQuery) -> str:
        """Digest all that the outcome of a merge depends on, except its slice.

        A merge outcome contains decoded values. A release of this package or of pyarrow may decode
        other values, so an upgrade costs one merge of each slice.

        Returns:
            "" if outcomes are not to be kept: they are of a part of the commits, or a user's
            merger decided, which may decide differently the next time.
        """
        is_partial = query.commit_range is not None or query.partition_values_from_files
        is_off = self.options.merge_cache is merge_mode.MergeCache.OFF
        if is_partial or is_off or self.rule.merger is not None:
            return ""
        basis = (
            __version__,
            pa.__version__,
            self.rule,
            self.key_fields,
            self.table_schema.serialize().to_pybytes(),
            self.schema_on_read,
            self.options.row_options,
        )
        return sha256(repr(basis).encode()).hexdigest()


def read_settings(options: ReadOptions) -> ReadSettings:
    """Return the read options that reading, rather than planning, follows."""
    return ReadSettings(**{f.name: getattr(options, f.name) for f in fields(ReadSettings)})
