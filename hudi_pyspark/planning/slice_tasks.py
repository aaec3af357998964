"""File slices to tasks: `SlicePlanner` loads what they share, and `plan` is pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from hashlib import sha256
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_pyspark.cached_property import cached_property
from hudi_pyspark.columns.schema_evolution import SchemaOnRead
from hudi_pyspark.custom_mergers import PayloadMerger, find_merger
from hudi_pyspark.errors import InvalidOptionError, UnsupportedTableError
from hudi_pyspark.filter.bounds import wanted_record_keys
from hudi_pyspark.filter.predicate import Predicate, columns_of, top_level_columns
from hudi_pyspark.format.column_names import spelled_path
from hudi_pyspark.format.nested_types import find_field
from hudi_pyspark.metadata_table.pruning import IndexQuestion, prune_slices
from hudi_pyspark.options.option import Index, RangeMerge
from hudi_pyspark.planning.needed_columns import (
    check_ordering_fields,
    merge_columns,
    working_schema,
)
from hudi_pyspark.planning.partition_pruning import PartitionPruner
from hudi_pyspark.planning.partition_values import keep_undecided, resolve_partition_values
from hudi_pyspark.table.bootstrap import BootstrapSources, is_skeleton, load_bootstrap_sources
from hudi_pyspark.table.config import TableConfig, spelled_config
from hudi_pyspark.table.file_group import FileSlice, check_readable
from hudi_pyspark.table.live_blocks import BlockFilter
from hudi_pyspark.table.merge_mode import (
    DELETE_FIELD,
    MergeCache,
    MergeRule,
    check_supported,
    resolve_merge_rule,
)
from hudi_pyspark.table.meta_columns import COMMIT_TIME_COLUMN
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
    from hudi_pyspark.metadata_table.table import MetadataTable
    from hudi_pyspark.options.read_options import ReadOptions
    from hudi_pyspark.table.timeline import CommittedTimes
    from hudi_pyspark.table.view import TableView


@dataclass(frozen=True, slots=True)
class PlanContext:
    """What a scan knows of its table before it chooses file slices."""

    config: TableConfig
    table_schema: pa.Schema
    rule: MergeRule
    committed: CommittedTimes  # instants that count
    options: ReadOptions
    merger: PayloadMerger | None = None  # a user's, for a payload class that Hudi does not have
    schema_on_read: SchemaOnRead | None = None  # None to match columns by name

    @property
    def key_fields(self) -> tuple[str, ...]:
        """The fields that make up the record keys of a table whose files do not hold them."""
        return () if self.config.populate_meta_fields else self.config.record_key_fields


def plan(
    slices: Iterable[FileSlice],
    context: PlanContext,
    *,
    result: pa.Schema,
    until: str,
    commit_range: CommitRange | None = None,
    predicate: Predicate | None = None,
    whole_slices: Mapping[tuple[str, str], FileSlice] = MappingProxyType({}),
    from_files: bool = False,
) -> list[ScanTask]:
    """Make one task per file slice, in order of partition path and file id.

    ``until`` is the newest instant that the query sees, inclusive. A range has the slices below its
    files in ``whole_slices``, by partition path and file id. With ``from_files``, partition
    columns keep the values that the files hold.
    """
    config, table_schema, options = context.config, context.table_schema, context.options
    given = list(slices)
    partitions = _partitions(given, context, predicate, from_files=from_files)
    kept = [file_slice for file_slice in given if file_slice.partition_path in partitions]
    kept.sort(key=attrgetter("partition_path", "file_id", "base_instant_time"))
    for file_slice in kept:
        base = file_slice.base_file
        if base is not None:
            check_readable(base.path)
            if is_skeleton(file_slice, config):
                check_readable(base.bootstrap_source)
    has_logs = any(file_slice.log_files for file_slice in kept)
    if has_logs and not options.skip_merge:
        _check_mergeable(context)
    merges_whole_table = (
        options.incremental is not None and options.incremental.range_merge is RangeMerge.TABLE
    )
    common = SharedPlan(
        settings=read_settings(options),
        result=result,
        working=table_schema,
        rule=context.rule,
        # A log file that has one commit is left out as a whole if that commit does not count.
        block_filter=BlockFilter(until, None if config.has_completion_times else context.committed),
        predicate=predicate,
        key_fields=context.key_fields,
        merger=context.merger,
        schema_on_read=context.schema_on_read,
        commit_range=commit_range,
        record_keys=admitted_record_keys(predicate, context),
        merges_whole_table=merges_whole_table,
    )
    unmerged = _with_columns(common, table_schema, merges=False)
    merged = _with_columns(common, table_schema, merges=True) if has_logs else unmerged
    # A user's merger may decide otherwise the next time.
    is_whole = commit_range is None and context.merger is None and not from_files
    if has_logs and options.merge_cache is not MergeCache.OFF and is_whole:
        merged = replace(merged, merge_basis=_merge_basis(context))
    plans: dict[tuple[bool, tuple[str, ...]], SharedPlan] = {}
    tasks = []
    for file_slice in kept:
        partition, merges = partitions[file_slice.partition_path], bool(file_slice.log_files)
        kind = merges, partition.from_path
        if kind not in plans:
            left = keep_undecided(predicate, partition)
            plans[kind] = replace(merged if merges else unmerged, predicate=left)
        whole_slice = whole_slices.get((file_slice.partition_path, file_slice.file_id))
        tasks.append(ScanTask(file_slice, plans[kind], partition, whole_slice=whole_slice))
    return tasks


def read_settings(options: ReadOptions) -> ReadSettings:
    """Return those of the read options that reading uses."""
    return ReadSettings(**{f.name: getattr(options, f.name) for f in fields(ReadSettings)})


def admitted_record_keys(
    predicate: Predicate | None, context: PlanContext
) -> tuple[str, ...] | None:
    """Return the only record keys that can pass a filter before a merge; None for any.

    A user's merger may change the fields of a key, which Apache Hudi's own never do. Where files do
    not hold the key, delete blocks encode the key differently. Both give None.
    """
    if context.merger is not None or context.key_fields:
        return None
    return wanted_record_keys(predicate, context.config, context.table_schema)


def _partitions(
    slices: Iterable[FileSlice],
    context: PlanContext,
    predicate: Predicate | None,
    *,
    from_files: bool,
) -> dict[str, PartitionValues]:
    """Map the paths of partitions whose rows can pass a filter to their values."""
    config, schema = context.config, context.table_schema
    always = context.options.partition_values_from_path or config.drop_partition_columns
    read_for_merge = merge_columns(schema, context.rule, context.key_fields, context.merger)
    paths = sorted({file_slice.partition_path for file_slice in slices})
    chosen = PartitionPruner(predicate, config, schema, always).choose(paths)
    values = {
        path: resolve_partition_values(
            path, config, schema, always_from_path=always, read_for_merge=read_for_merge
        )
        for path in chosen
    }
    if from_files:
        return {path: PartitionValues(v.columns, v.path_values) for path, v in values.items()}
    return values


def _with_columns(shared: SharedPlan, table_schema: pa.Schema, *, merges: bool) -> SharedPlan:
    """Return a plan with its columns: those of the answer, and after them the others it needs."""
    needed = dict.fromkeys(top_level_columns(shared.predicate, table_schema))
    if shared.commit_range is not None:
        needed[COMMIT_TIME_COLUMN] = None
    rule, key_fields, merger = shared.rule, shared.key_fields if merges else (), shared.merger
    if merges:
        check_ordering_fields(table_schema, rule)
        needed |= dict.fromkeys(merge_columns(table_schema, rule, key_fields, merger))
    # A merge may compare any two values.
    compares_values = merges and (merger is not None or rule.needs_fold)
    whole = tuple(table_schema.names if compares_values else needed)
    working = working_schema(
        table_schema, shared.result, needed, whole=whole, key_fields=key_fields
    )
    return replace(shared, working=working, needed=tuple(needed), whole=whole)


def _merge_basis(context: PlanContext) -> str:
    """Return a digest of everything that the outcome of a merge depends on, except its slice.

    An outcome has decoded values. A release of this package or of pyarrow may decode other values,
    so an upgrade costs one merge of each slice.
    """
    basis = (
        __version__,
        pa.__version__,
        context.rule,
        context.key_fields,
        context.table_schema.serialize().to_pybytes(),
        context.schema_on_read,
        context.options.use_record_positions,
        context.options.verify_checksums,
    )
    return sha256(repr(basis).encode()).hexdigest()


def _check_mergeable(context: PlanContext) -> None:
    config, named = context.config, context.options.delete_field
    check_supported(context.rule, has_merger=context.merger is not None)
    marked = find_field(context.table_schema, context.rule.delete_field)
    if named and (marked is None or pa.types.is_struct(marked.type)):
        raise InvalidOptionError(
            f"{DELETE_FIELD} is {named!r}, and the table has "
            f"{'no such column' if marked is None else 'a struct of that name'}: name a column "
            "whose values are compared with the delete marker"
        )
    if not config.populate_meta_fields and not config.record_key_fields:
        raise UnsupportedTableError(
            "the table has log files, but neither record keys in its files "
            "(hoodie.populate.meta.fields=false) nor hoodie.table.recordkey.fields, so records "
            "cannot be matched. Read the base files alone with "
            "hoodie.datasource.query.type=read_optimized"
        )


class SlicePlanner:
    """Plans file slices of a table, with the schema of ``schema_instant``; None is the latest.

    ``metadata`` returns the metadata table, whose indexes are asked; None where files do not come
    from it.

    Loads the merge rule, the schema history and the sources of a bootstrap once, and only when the
    first slice is planned.
    """

    def __init__(
        self,
        view: TableView,
        options: ReadOptions,
        mergers: Mapping[str, PayloadMerger],
        schema_instant: str | None = None,
        metadata: Callable[[], MetadataTable] | None = None,
    ) -> None:
        self.view = view
        self.options = options
        self.table_schema = resolve_schema(view, schema_instant)
        if options.partition_values_from_path and view.config.key_generator == "TIMESTAMP":
            # The folder is a formatted time, not the column's value: the column is text, as in
            # Apache Hudi. With the custom key generator it keeps its type.
            formatted = spelled_config(view.config, self.table_schema).partition_fields
            self.table_schema = pa.schema(
                f.with_type(pa.string()) if f.name in formatted else f for f in self.table_schema
            )
        self.config = spelled_config(view.config, self.table_schema)
        self._mergers = mergers
        self._schema_instant = schema_instant
        self.metadata = metadata

    def partition_choice(self, predicate: Predicate | None) -> PartitionPruner | None:
        """Return the partitions whose rows can pass a filter, by their paths; None for all."""
        config = self.config
        if predicate is None or columns_of(predicate).isdisjoint(config.partition_fields):
            return None
        from_path = self.options.partition_values_from_path or config.drop_partition_columns
        return PartitionPruner(predicate, config, self.table_schema, from_path)

    def pruned(
        self, slices: Sequence[FileSlice], predicate: Predicate | None, *, by_key: bool
    ) -> tuple[Sequence[FileSlice], Sequence[str]]:
        """Return the latest slices with rows that may pass a filter, and what indexes did.

        Record keys may be looked up if ``by_key``.
        """
        indexes = self._indexes(by_key=by_key)
        if self.metadata is None or predicate is None or not indexes:
            return slices, ()
        key_fields = self.config.record_key_fields
        question = IndexQuestion(
            indexes,
            predicate,
            self.table_schema,
            self.config.partition_fields,
            admitted_record_keys(predicate, self.context),
            key_prefix=f"{key_fields[0]}:" if len(key_fields) == 1 else "",
            keys_are_unique=self.options.unique_keys,
            # Earlier versions append to log files: the statistics may be those of one part.
            logs_have_bounds=(
                self.context.merger is None and self.view.config.has_completion_times
            ),
        )
        return prune_slices(self.metadata, slices, question)

    def _indexes(self, *, by_key: bool) -> frozenset[Index]:
        """Return the indexes of the metadata table that may decide which slices are read."""
        # With a schema on read, files may have other names for the columns.
        options = self.options
        if not options.use_metadata_table or self.context.schema_on_read is not None:
            return frozenset()
        names = self.view.config.metadata_partitions
        asked = {index for index in options.data_skipping if index.value in names}
        # The record index has the place of a row's newest version.
        return frozenset(
            asked if by_key and not options.skip_merge else asked - {Index.RECORD_INDEX}
        )

    @cached_property
    def context(self) -> PlanContext:
        """What the tasks of all slices have in common."""
        view, options = self.view, self.options
        target = latest_internal_schema(view, self._schema_instant)
        by_id = None
        if target is not None and options.schema_on_read is not False:
            by_id = SchemaOnRead(target, internal_schema_versions(view))
        rule = resolve_merge_rule(
            self.config,
            spelled_path(options.delete_field, self.table_schema),
            options.delete_marker,
            column_defaults(view, self._schema_instant),
        )
        return PlanContext(
            config=self.config,
            table_schema=self.table_schema,
            rule=rule,
            committed=view.history.committed,
            options=options,
            merger=find_merger(rule, options.payload_merger, self._mergers),
            schema_on_read=by_id,
        )

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
        sources.check_folder()
        return sources
