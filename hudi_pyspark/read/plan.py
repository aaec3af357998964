"""What each task reads: pure, without storage, clock or Spark."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_pyspark.errors import CorruptTableError, UnsupportedTableError
from hudi_pyspark.format.avro_schema import MILLISECONDS
from hudi_pyspark.read.base_file import check_readable
from hudi_pyspark.read.custom_merger import find_merger
from hudi_pyspark.read.key_filter import wanted_record_keys
from hudi_pyspark.read.log_scan import BlockFilter
from hudi_pyspark.read.payload import check_supported
from hudi_pyspark.read.predicate import top_level_columns
from hudi_pyspark.read.projection import merge_schema, with_columns
from hudi_pyspark.read.pruning import may_match, partition_bounds
from hudi_pyspark.table.bootstrap import is_skeleton
from hudi_pyspark.table.partition import partition_scalars
from hudi_pyspark.table.schema import COMMIT_TIME_COLUMN

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hudi_pyspark.read.custom_merger import PayloadMerger
    from hudi_pyspark.read.incremental import CommitRange
    from hudi_pyspark.read.options import OnDamage, ReadOptions
    from hudi_pyspark.read.predicate import Predicate
    from hudi_pyspark.read.schema_on_read import SchemaOnRead
    from hudi_pyspark.table.config import TableConfig
    from hudi_pyspark.table.file_group import FileSlice
    from hudi_pyspark.table.merge_mode import MergeRule
    from hudi_pyspark.table.timeline import CommittedTimes


@dataclass(frozen=True, slots=True)
class ScanTask:
    """One file slice and all that is needed to read it elsewhere; small and picklable."""

    file_slice: FileSlice
    result: pa.Schema  # columns of the answer
    working: pa.Schema  # the result's columns and those that the merge needs
    rule: MergeRule
    block_filter: BlockFilter
    partition_columns: tuple[str, ...]
    partition_values: tuple[tuple[str, pa.Scalar], ...]  # () where the path does not tell them
    values_from_path: bool  # partition columns come from the path even where files hold them
    use_record_positions: bool
    batch_rows: int
    on_damage: OnDamage
    merge_memory: int = 0  # bytes that log records may take; 0 for the worker's default
    spill_folder: str = ""  # "" for the worker's default
    skip_merge: bool = False  # base rows and log rows, not merged
    key_fields: tuple[str, ...] = ()  # make up the record key where files do not hold it
    merger: PayloadMerger | None = None  # a user's, for a payload class that Hudi does not have
    schema_on_read: SchemaOnRead | None = None  # matches columns by id; None to match by name
    commit_range: CommitRange | None = None  # only rows that these commits wrote; None for all
    predicate: Predicate | None = None  # only rows for which it is true; None for all
    record_keys: tuple[str, ...] | None = None  # no other keys can fulfil the predicate; None: any
    byte_range: tuple[int, int] | None = None  # part of a base file without logs; None for all
    # With a range, the whole slice below the range's files: partial updates are no rows without it.
    whole_slice: FileSlice | None = None


def plan(
    slices: Iterable[FileSlice],
    *,
    config: TableConfig,
    table_schema: pa.Schema,
    result: pa.Schema,
    rule: MergeRule,
    committed: CommittedTimes,
    until: str,
    options: ReadOptions,
    mergers: Mapping[str, PayloadMerger] = MappingProxyType({}),
    schema_on_read: SchemaOnRead | None = None,
    commit_range: CommitRange | None = None,
    predicate: Predicate | None = None,
    whole_slices: Mapping[tuple[str, str], FileSlice] = MappingProxyType({}),
) -> list[ScanTask]:
    """One task per file slice, in order of partition path and file id.

    Args:
        slices: file slices that make up the answer, in any order.
        config: the table's properties.
        table_schema: all columns of the table.
        result: columns of the answer.
        rule: how records are merged.
        committed: instants that count.
        until: newest instant that the query sees, inclusive.
        options: read options.
        mergers: users' mergers by the payload class that they stand for.
        schema_on_read: matches columns by id; None to match them by name.
        commit_range: only rows that these commits wrote; None for all.
        predicate: only rows for which it is true; None for all.
        whole_slices: with a range, the slices below its files, by partition path and file id.

    Raises:
        UnsupportedTableError: a slice that cannot be read correctly.
        CorruptTableError: a partition path that the answer needs and that does not parse.
    """
    kept = slices
    if predicate is not None:
        kept = [s for s in slices if _may_match(s, predicate, config, table_schema, options)]
    ordered = sorted(kept, key=lambda s: (s.partition_path, s.file_id, s.base_instant_time))
    merger = find_merger(rule, options.payload_merger, mergers)
    key_fields = () if config.populate_meta_fields else config.record_key_fields
    for file_slice in ordered:
        _check_base_file(file_slice, config)
    unmerged = with_columns(table_schema, result, top_level_columns(predicate, table_schema))
    if commit_range is not None:
        unmerged = with_columns(table_schema, unmerged, [COMMIT_TIME_COLUMN])
    working = unmerged
    if any(s.log_files for s in ordered):
        if not options.skip_merge:
            _check_mergeable(config, rule, merger)
        working = merge_schema(table_schema, unmerged, rule, key_fields, merger)
    # A user's merger may change the fields of a key, which Apache Hudi's own never do. Where files
    # do not hold the key, delete blocks spell it in another way than its fields do.
    has_fixed_keys = merger is None and not key_fields
    record_keys = wanted_record_keys(predicate, config, table_schema) if has_fixed_keys else None
    # In layout 2 a log file has the blocks of one commit and is dropped as a whole without it.
    block_filter = BlockFilter(until, None if config.layout > 1 else committed)
    return [
        ScanTask(
            file_slice=file_slice,
            result=result,
            working=working if file_slice.log_files else unmerged,
            rule=rule,
            block_filter=block_filter,
            partition_columns=config.partition_fields,
            partition_values=_partition_values(file_slice, config, table_schema, options),
            # Files of such a table may hold the columns all the same, null (rewritten by a merge).
            values_from_path=options.partition_values_from_path or config.drop_partition_columns,
            use_record_positions=options.use_record_positions,
            batch_rows=options.batch_rows,
            on_damage=options.on_damage,
            merge_memory=options.merge_memory,
            spill_folder=options.spill_folder,
            skip_merge=options.skip_merge,
            key_fields=key_fields,
            merger=merger,
            schema_on_read=schema_on_read,
            commit_range=commit_range,
            predicate=predicate,
            record_keys=record_keys,
            whole_slice=whole_slices.get((file_slice.partition_path, file_slice.file_id)),
        )
        for file_slice in ordered
    ]


def _may_match(
    file_slice: FileSlice,
    predicate: Predicate,
    config: TableConfig,
    schema: pa.Schema,
    options: ReadOptions,
) -> bool:
    """Whether rows of the slice's partition can fulfil the predicate."""
    from_path = options.partition_values_from_path or config.drop_partition_columns
    bounds = partition_bounds(file_slice.partition_path, config, schema, values_from_path=from_path)
    return may_match(predicate, bounds)


def _check_base_file(file_slice: FileSlice, config: TableConfig) -> None:
    base = file_slice.base_file
    if base is not None:
        check_readable(base.path)
        if is_skeleton(file_slice, config):
            check_readable(base.bootstrap_source)


def _check_mergeable(config: TableConfig, rule: MergeRule, merger: PayloadMerger | None) -> None:
    check_supported(rule, merger)
    if not config.populate_meta_fields and not config.record_key_fields:
        raise UnsupportedTableError(
            "the table has log files, but neither record keys in its files "
            "(hoodie.populate.meta.fields=false) nor hoodie.table.recordkey.fields, so records "
            "cannot be matched. Read the base files alone with "
            "hoodie.datasource.query.type=read_optimized"
        )


def _path_type(field: pa.Field) -> pa.DataType:
    """The type of the number that a partition path shows."""
    if pa.types.is_timestamp(field.type) and (field.metadata or {}).items() >= MILLISECONDS.items():
        return pa.timestamp("ms", field.type.tz)
    return field.type


def _partition_values(
    file_slice: FileSlice, config: TableConfig, table_schema: pa.Schema, options: ReadOptions
) -> tuple[tuple[str, pa.Scalar], ...]:
    """Values of the partition columns by the path, () where only the files need to tell them."""
    named = [name for name in config.partition_fields if name in table_schema.names]
    types = {name: _path_type(table_schema.field(name)) for name in named}
    try:
        return tuple(partition_scalars(file_slice.partition_path, config, types).items())
    except CorruptTableError:
        if config.drop_partition_columns or options.partition_values_from_path:
            raise
        return ()
