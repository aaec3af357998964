"""Small slices, of which fixed costs prevail: find them, and merge them together.

A merge of twenty rows takes as long as a merge of a thousand. So small slices are merged as if they
were one slice: the number of its slice stands before each record key.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark import thresholds
from hudi_pyspark.arrow_values import to_arrow
from hudi_pyspark.columns.arrays import repeat
from hudi_pyspark.errors import HudiError
from hudi_pyspark.filter.evaluation import filter_rows
from hudi_pyspark.format.log.log_block import LogBlock, LogBlockType
from hudi_pyspark.format.nested_types import replace_columns
from hudi_pyspark.reading.base_files.base_file import read_base_rows
from hudi_pyspark.reading.log_records.record_keys import (
    MOST_SLICES,
    split_numbered_keys,
    with_numbered_keys,
)
from hudi_pyspark.reading.merge.base_rows import record_keys
from hudi_pyspark.reading.merge.fold import wins_whole_records
from hudi_pyspark.reading.merge.merge import MergePass
from hudi_pyspark.reading.merge_sides import log_decoder, slice_blocks
from hudi_pyspark.storage.protocol import Storage
from hudi_pyspark.table.log_files import LogFiles
from hudi_pyspark.table.meta_columns import RECORD_KEY_COLUMN
from hudi_pyspark.tasks import ReadTask, ScanTask, SharedPlan


def join_tasks(tasks: Iterable[ReadTask], storage: Storage) -> Iterator[list[ReadTask]]:
    """Group neighbouring tasks for `merge_together`; most groups have one task.

    The first groups are smaller, so the first rows come soon.

    Args:
        tasks: in any order; tasks of small slices that share a plan are grouped.
        storage: of the table.
    """
    group: list[ReadTask] = []
    most = 1
    plan: SharedPlan | None = None  # of the group
    for task in tasks:
        plan_before = plan
        plan = None
        if isinstance(task, ScanTask) and _is_small(task, storage):
            plan = task.shared
        if group and (plan is None or plan is not plan_before or len(group) == most):
            yield group
            most = min(2 * most, MOST_SLICES)
            group = []
        group.append(task)
    if group:
        yield group


def merge_together(group: Sequence[ReadTask], storage: Storage) -> list[pa.Table] | None:
    """Read the rows of a group of small slices with one merge.

    Args:
        group: as `join_tasks` made it.
        storage: of the table.

    Returns:
        The rows in no promised order; None if each task has to be read by itself: the slices are
        few, they are not alike, or one of them cannot be read, and reading it says why.
    """
    if len(group) >= thresholds.FEWEST_JOINED_SLICES:
        slices = [t for t in group if isinstance(t, ScanTask) and _is_small(t, storage)]
        with suppress(HudiError):
            return _merged(slices, storage) if len(slices) == len(group) else None
    return None


def _is_small(task: ScanTask, storage: Storage) -> bool:
    """Decide whether a slice is tiny, and merged by whole records with their keys.

    To merge a tiny slice with its neighbours costs about what a kept outcome costs to find. With
    any option that changes rows, slices are merged one by one: `read_slice` follows all of them.
    """
    shared = task.shared
    return (
        bool(task.file_slice.log_files)
        and task.file_slice.is_tiny
        and not shared.row_options
        and not (shared.rule.needs_fold or shared.rule.folds_base_rows)
        and shared.schema_on_read is None
        and shared.commit_range is None
        and shared.record_keys is None
        and not task.partition.in_shared_folder
        and shared.planned_columns.working.get_field_index(RECORD_KEY_COLUMN) >= 0
        and storage.is_local
    )


def _merged(tasks: Sequence[ScanTask], storage: Storage) -> list[pa.Table] | None:
    """Merge the slices of tasks that share a plan; None if each has to be merged by itself.

    Raises:
        HudiError: a slice cannot be read, or its records cannot be merged.
    """
    shared = tasks[0].shared
    settings = tasks[0].settings
    slices = [task.file_slice for task in tasks]
    numbers = {file.path: number for number, each in enumerate(slices) for file in each.log_files}
    with closing(LogFiles(storage)) as files:
        scans = [
            slice_blocks(each.log_files, settings, each.base_file).read(files, shared.block_filter)
            for each in slices
        ]
        blocks = [block for scan in scans for block in scan.blocks]
        if not _are_alike(tasks[0], blocks):
            return None
        decoder = log_decoder(tasks[0], by_position=False, slice_numbers=numbers)
        log = decoder.concatenate([*decoder.decode(blocks)])
    base = _base_tables(tasks, storage) if wins_whole_records(log, shared.rule) else None
    if base is None:
        return None
    # Positions tell rows with the same key apart, and find rows whose keys are not stored.
    has_positions = any(block.record_positions_text for block in blocks)
    if has_positions and (shared.key_fields or _has_key_twice(base)):
        return None
    merged = MergePass(log, shared.rule).rows(base, settings.batch_rows)
    tables = (_with_partition_values(table.rows, tasks) for table in merged)
    names = shared.planned_columns.result.names
    return [filter_rows(shared.predicate, table).select(names) for table in tables]


def _are_alike(task: ScanTask, blocks: Sequence[LogBlock]) -> bool:
    """Return whether blocks of several slices can be decoded together, for tasks of one plan."""
    if any(
        block.native_extension
        or block.block_type not in (LogBlockType.AVRO_DATA_BLOCK, LogBlockType.DELETE_BLOCK)
        for block in blocks
    ):
        return False
    # A block that lacks one of these columns would take its value from the path of its slice.
    columns = {*task.stored_columns} & {*task.partition.names}
    schemas = {block.schema_text: block for block in blocks if block.schema_text}.values()
    return all(columns <= {f.name for f in block.avro_schema().fields} for block in schemas)


def _base_tables(tasks: Sequence[ScanTask], storage: Storage) -> list[pa.Table] | None:
    """Read the base rows of all slices, with numbered keys; None if they are large."""
    tables: list[pa.Table] = []
    numbers: list[int] = []  # of the slice of each row
    nbytes = 0
    for number, task in enumerate(tasks):
        for table in read_base_rows(task, storage):
            tables.append(table)
            numbers += [number] * table.num_rows
            nbytes += table.nbytes
            if nbytes > thresholds.MOST_JOINED_BYTES:
                return None
    if not numbers:
        return []
    rows = with_numbered_keys(pa.concat_tables(tables).combine_chunks(), np.array(numbers))
    most = tasks[0].settings.batch_rows
    return [rows.slice(start, most) for start in range(0, rows.num_rows, most)]


def _has_key_twice(base: Iterable[pa.Table]) -> bool:
    """Return whether two rows of a slice have the same key.

    Raises:
        CorruptTableError: a row has no key.
    """
    keys = pa.chunked_array([record_keys(table) for table in base], pa.string())
    return bool(pc.count_distinct(keys).as_py() < len(keys))


def _with_partition_values(rows: pa.Table, tasks: Sequence[ScanTask]) -> pa.Table:
    """Return rows with their own keys, and with the partition values of their slices."""
    index = rows.schema.get_field_index(RECORD_KEY_COLUMN)
    numbers, keys = split_numbered_keys(rows.column(index))
    columns = {index: (rows.schema.field(index), keys)}
    for name in {*tasks[0].partition.from_path} & {*rows.schema.names}:
        index = rows.schema.get_field_index(name)
        field = rows.schema.field(index)
        values = pa.chunked_array([repeat(t.partition.constants[name], 1) for t in tasks])
        columns[index] = field, values.cast(field.type).take(to_arrow(numbers))
    return replace_columns(rows, columns)
