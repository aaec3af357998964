"""Pipeline of a read: one task to Arrow tables.

Base rows come from `base_files`, log records from `log_records`; `merge` merges them. Log records
find their base rows by record key. Positions, where log blocks have them, identify the row even if
the base file has its key twice, and save reading the keys.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.columns.arrays import Mask
from hudi_pyspark.columns.schema_evolution import conform, stored_columns
from hudi_pyspark.columns.timestamp_repair import repair_timestamps
from hudi_pyspark.errors import CorruptTableError
from hudi_pyspark.filter.bounds import keys_array
from hudi_pyspark.filter.evaluation import filter_rows
from hudi_pyspark.filter.predicate import Predicate, top_level_columns
from hudi_pyspark.format.log.log_block import LogBlock, LogBlockType
from hudi_pyspark.messages import logger
from hudi_pyspark.reading.base_files.base_file import read_base_file, read_bootstrap_file
from hudi_pyspark.reading.base_files.committed_file import CommittedFile
from hudi_pyspark.reading.base_files.row_groups import OtherFileError, RowGroupFilter
from hudi_pyspark.reading.log_records.decoder import LogDecoder
from hudi_pyspark.reading.log_records.record_keys import with_record_key
from hudi_pyspark.reading.merge.merge import changed_rows, merge, unmerged
from hudi_pyspark.reading.merge.outcome import (
    MOST_BYTES,
    MergeOutcome,
    OutcomeStore,
    SliceOutcome,
    may_be_kept,
)
from hudi_pyspark.reading.merge.outcome_files import OutcomesOnDisk
from hudi_pyspark.reading.merge.spill_file import MemoryLimits
from hudi_pyspark.reading.merge.spilled_merge import LoadedLog, LogInMemory, load_log
from hudi_pyspark.storage.protocol import Storage
from hudi_pyspark.table.file_group import LogFile
from hudi_pyspark.table.live_blocks import LogScan
from hudi_pyspark.table.log_files import LogFiles, SliceBlocks
from hudi_pyspark.table.merge_mode import MergeCache
from hudi_pyspark.table.meta_columns import COMMIT_TIME_COLUMN, RECORD_KEY_COLUMN
from hudi_pyspark.tasks import CommitRange, ReadSettings, ReadTask, ScanTask

_log = logger(__name__)
# A column that no file has, where a merge needs none: pyarrow's `take` and `concat_tables` lose the
# number of rows of a table without columns.
_ONLY_NULLS = pa.field("", pa.null())
_MOST_SOUGHT = 1000  # slices, each for about 0.1 ms


@dataclass(frozen=True, slots=True)
class _MergeSides:
    """Both sides of a slice's merge: the log records, loaded, and the base rows."""

    log: LoadedLog  # to be closed
    base: Iterable[pa.Table]  # of the same schema; read when it is iterated
    task: ScanTask  # of the slice that both belong to
    seen: frozenset[str] = frozenset()  # instants of all blocks of the log


def read(task: ScanTask, storage: Storage, store: OutcomeStore | None = None) -> Iterator[pa.Table]:
    """Read one file slice: tables of the task's result schema, in no promised order of rows."""
    for table in slice_tables(task, storage, store):
        rows = filter_rows(task.predicate, task.partition.show(table))
        if task.shared.commit_range is not None:
            rows = rows.filter(pa.array(_is_written(task.shared.commit_range, rows)))
        yield rows.select(task.shared.result.names)


def slice_tables(
    task: ScanTask, storage: Storage, store: OutcomeStore | None = None
) -> Iterator[pa.Table]:
    """Read the rows of a slice, with the columns that the task works on.

    The record key column may be missing, and rows for which the task's predicate is not true may be
    among them: the caller drops both.

    Raises:
        MissingFileError: a file of the slice is gone.
        CorruptBaseFileError, CorruptLogBlockError: a file cannot be decoded.
        UnsupportedMergeError: the records cannot be merged by the table's rule.
    """
    if not task.file_slice.log_files:
        yield from read_base_rows(task, storage, task.predicate)
    elif task.settings.skip_merge:
        yield from _unmerged_tables(task, storage)
    else:
        yield from _merged_tables(task, storage, store)


def changes_of_log(
    task: ScanTask, storage: Storage, before: Iterable[pa.Table]
) -> Iterator[tuple[str, pa.Table | None, pa.Table | None]]:
    """List the changes that the log files of a task make to a slice; see `changed_rows`."""
    with closing(LogFiles(storage)) as files:
        log = load_log_records(task, read_live_blocks(task, storage, files).blocks)
    with closing(log):
        rule, merger = task.shared.rule, task.shared.merger
        yield from log.merge(before, partial(changed_rows, rule=rule, merger=merger))


def _unmerged_tables(task: ScanTask, storage: Storage) -> Iterator[pa.Table]:
    with closing(LogFiles(storage)) as files:
        blocks = read_live_blocks(task, storage, files).blocks
        if _lacks_older_values(task, blocks):
            yield from _unmerged_tables(task.of_whole_slice(), storage)
            return
        base = read_base_rows(task, storage, task.predicate)
        log = map(log_decoder(task).decode, blocks)
        yield from unmerged(base, log, batch_rows=task.settings.batch_rows)


def _merged_tables(
    task: ScanTask, storage: Storage, store: OutcomeStore | None
) -> Iterator[pa.Table]:
    """Read the base rows that a merge leaves and the records that stay; merge if need be."""
    place = _place_of(task, storage, store)
    wanted = _wanted_columns(task)
    known = place.find(wanted.names) if place is not None else None
    if known is not None and place is not None and known.lacking(wanted).names:
        known = _with_columns(known, wanted, task, storage, place)
    try:
        if known is not None:
            _log.debug("%s: merged before", task.file_slice.file_id)
            yield from _known_tables(task, storage, wanted, known)
            return
    except OtherFileError:  # before the first row
        pass
    yield from _tables_of_merge(task, storage, wanted, place)


def _place_of(task: ReadTask, storage: Storage, store: OutcomeStore | None) -> SliceOutcome | None:
    """Return where the outcome of a task's merge is kept; None where it is not."""
    if not isinstance(task, ScanTask) or not task.file_slice.log_files:
        return None
    if task.settings.merge_cache is MergeCache.DISK:
        store = OutcomesOnDisk.of(task.settings, os.environ)
    return SliceOutcome.of(task, storage, store) if store is not None else None


def count_merged(
    tasks: Iterable[ReadTask], storage: Storage, store: OutcomeStore | None = None
) -> tuple[int, int]:
    """Count the slices whose outcome seems to be kept, and those where it may be."""
    places = [place for t in tasks if (place := _place_of(t, storage, store)) is not None]
    merged = [place for place in places if place.find([], check_files=False) is not None]
    return len(merged), len(places)


def merged_on_disk(tasks: Sequence[ReadTask], storage: Storage) -> list[bool | None]:
    """Say of each task whether the outcome of its merge seems to lie on a disk of this machine.

    None where there is no merge, or it is not kept on a disk. No file is opened. Of more than 1,000
    tasks nothing is looked for: [].
    """
    sought = tasks if len(tasks) <= _MOST_SOUGHT else ()
    return [_is_on_disk(_place_of(task, storage, None)) for task in sought]


def _is_on_disk(place: SliceOutcome | None) -> bool | None:
    if place is None or not isinstance(place.store, OutcomesOnDisk):
        return None
    return place.store.has(place.key)


def merge_outcome(task: ScanTask, storage: Storage, store: OutcomeStore) -> MergeOutcome | None:
    """Return what a slice's merge decided, with all columns of the task; merges it if need be.

    None where it is not kept: a merge in several passes, say, or one that a filter narrowed.
    Raises what `slice_tables` does.
    """
    place, wanted = _place_of(task, storage, store), _wanted_columns(task)
    if place is None:
        return None
    known = place.find(wanted.names)
    if known is None or known.lacking(wanted).names:
        for _ in slice_tables(task, storage, store):
            pass
        known = place.find(wanted.names)
    return known if known is not None and not known.lacking(wanted).names else None


def _wanted_columns(task: ScanTask) -> pa.Schema:
    """Return the working columns that the answer or the filter has."""
    names = {*task.shared.result.names, *top_level_columns(task.predicate, task.working)}
    return _with_siblings(names, task.working)


def _with_siblings(names: Iterable[str], columns: pa.Schema) -> pa.Schema:
    """Return some columns, and those whose names differ in case alone: a file may have one."""
    lower = {name.lower() for name in names}
    return pa.schema(field for field in columns if field.name.lower() in lower)


def _with_columns(
    known: MergeOutcome, wanted: pa.Schema, task: ScanTask, storage: Storage, place: SliceOutcome
) -> MergeOutcome | None:
    """Decode columns that an outcome lacks from the log; None where only a merge has them."""
    if known.kept is None:
        return None
    lacking = _with_siblings(known.lacking(wanted).names, wanted)
    # What the merge looks at need not be decoded. All records are, whatever keys the task asks for,
    # so that later reads find their columns.
    rule = replace(task.shared.rule, ordering_fields=(), delete_field="", delete_marker="")
    shared = replace(task.shared, working=lacking, rule=rule, key_fields=(), record_keys=None)
    task = replace(task, shared=shared)
    decoder = log_decoder(task, by_position=False)
    tables, begin = [lacking.empty_table()], 0
    with closing(LogFiles(storage)) as files:
        for block in read_live_blocks(task, storage, files).blocks:
            if block.block_type is LogBlockType.DELETE_BLOCK:
                continue
            rows = decoder.decode(block).rows
            mask = known.kept[begin : begin + rows.num_rows]
            begin += rows.num_rows
            if len(mask) < rows.num_rows:
                return None  # the file is another one
            tables.append(rows.filter(pa.array(mask)))
    if begin != len(known.kept):
        return None
    known = known.with_columns(pa.concat_tables(tables).combine_chunks())
    if may_be_kept(task):
        place.add(known)
    return known


def _known_tables(
    task: ScanTask, storage: Storage, wanted: pa.Schema, known: MergeOutcome
) -> Iterator[pa.Table]:
    """Read the base rows that are left as of a slice without log files, and the other records."""
    if not wanted.names:
        whole = pa.table([pa.nulls(known.row_count)], schema=pa.schema([_ONLY_NULLS]))
    else:
        shared = replace(task.shared, working=wanted, key_fields=())
        bare = replace(task, shared=shared, file_slice=replace(task.file_slice, log_files=()))
        yield from read_base_rows(bare, storage, task.predicate, known.dropped)
        whole = known.records.select(wanted.names)
    for batch in whole.to_batches(task.settings.batch_rows):
        yield pa.Table.from_batches([batch])


def _tables_of_merge(
    task: ScanTask, storage: Storage, wanted: pa.Schema, place: SliceOutcome | None
) -> Iterator[pa.Table]:
    sides = _load_sides(task, storage)
    shared = sides.task.shared
    merge_pass = partial(
        merge, rule=shared.rule, batch_rows=shared.settings.batch_rows, merger=shared.merger
    )
    if shared.commit_range is not None and not shared.merges_whole_table:
        # As in Apache Hudi, base rows that a range's commits did not write have no part in its
        # merge: a compaction, a clustering or an insert into a small file may have copied them into
        # the range's files, where they could beat a record of the range.
        merge_pass = partial(merge_pass, takes_part=partial(_is_written, shared.commit_range))
    with closing(sides.log) as log:
        # Not what is merged in several passes.
        is_one_pass = isinstance(log, LogInMemory) and log.records.nbytes <= MOST_BYTES
        if place is not None and is_one_pass and may_be_kept(task):
            keep = partial(place.keep, wanted=wanted, seen=sides.seen)
            merge_pass = partial(merge_pass, keep=keep)
        yield from log.merge(sides.base, merge_pass)


def _load_sides(task: ScanTask, storage: Storage) -> _MergeSides:
    # Blocks and log files are let go of here, before the merge begins.
    with closing(LogFiles(storage)) as files:
        scan = read_live_blocks(task, storage, files)
        if _lacks_older_values(task, scan.blocks):
            return _load_sides(task.of_whole_slice(), storage)
        return replace(_load_merge_sides(task, scan.blocks, storage), seen=scan.seen)


def _lacks_older_values(task: ScanTask, blocks: Sequence[LogBlock]) -> bool:
    """Decide whether a range's files have partial updates, and not the values these leave alone."""
    return task.whole_slice is not None and any(
        block.is_partial and block.block_type is not LogBlockType.DELETE_BLOCK for block in blocks
    )


def _is_written(commit_range: CommitRange, rows: pa.Table) -> Mask:
    return commit_range.contains(rows.column(COMMIT_TIME_COLUMN))


def _load_merge_sides(task: ScanTask, blocks: Sequence[LogBlock], storage: Storage) -> _MergeSides:
    """Choose how log records find their base rows, and load them accordingly.

    Base rows are left out by their keys only. Those that the predicate rules out otherwise may
    still beat a log record, lend it values, or, where a base file has a key twice, be the one of
    the two that is replaced.
    """
    if task.shared.record_keys is not None and _has_positions(task, blocks, any):
        # Positions identify one of several rows with the same key, and keys do not. Where no key
        # occurs twice, both identify the same row.
        rows = list(read_base_rows(task, storage))
        keys = [key for table in rows for key in table.column(RECORD_KEY_COLUMN).to_pylist()]
        if len(set(keys)) == len(keys):
            return _MergeSides(load_log_records(task, blocks, by_position=False), rows, task)
        task = replace(task, shared=replace(task.shared, record_keys=None))
    if _needs_no_keys(task, blocks):
        columns = [field for field in task.working if field.name != RECORD_KEY_COLUMN]
        working = pa.schema(columns or [_ONLY_NULLS])
        without_keys = replace(task, shared=replace(task.shared, working=working, key_fields=()))
        log = load_log_records(without_keys, blocks)
        if log.by_position:
            return _MergeSides(log, read_base_rows(without_keys, storage), task)
        log.close()  # a block has more or fewer positions than records: its header does not say so
    return _MergeSides(load_log_records(task, blocks), read_base_rows(task, storage), task)


def _has_positions(
    task: ScanTask, blocks: Sequence[LogBlock], any_or_all: Callable[[Iterable[bool]], bool]
) -> bool:
    """Decide whether any or all log blocks have the positions of their records in the base file."""
    base = task.file_slice.base_file
    return (
        base is not None
        and _may_use_positions(task)
        and any_or_all(
            bool(block.record_positions_text) and block.positions_base_instant == base.instant_time
            for block in blocks
        )
    )


def _may_use_positions(task: ScanTask) -> bool:
    return task.settings.use_record_positions and not task.shared.rule.folds_base_rows


def _needs_no_keys(task: ScanTask, blocks: Sequence[LogBlock]) -> bool:
    """Decide, by the headers of the log blocks, whether record keys need not be read."""
    return (
        bool(blocks)
        and task.shared.merger is None
        and task.shared.record_keys is None
        and RECORD_KEY_COLUMN not in _wanted_columns(task).names
        and _has_positions(task, blocks, all)
    )


def read_live_blocks(task: ScanTask, storage: Storage, files: LogFiles) -> LogScan:
    """Return the log blocks of a slice that the query sees; see `SliceBlocks.read`."""
    blocks = slice_blocks(task.file_slice.log_files, task.settings)
    return blocks.read(storage, files, task.shared.block_filter)


def slice_blocks(log_files: Sequence[LogFile], settings: ReadSettings) -> SliceBlocks:
    """Return the reader of the blocks of some log files."""
    return SliceBlocks(log_files, settings.on_damage, _memory(settings).files)


def log_decoder(task: ScanTask, *, by_position: bool = True) -> LogDecoder:
    """Return the decoder of log blocks to the columns that the task works on."""
    base, shared = task.file_slice.base_file, task.shared
    by_position = by_position and _may_use_positions(task)
    return LogDecoder(
        task.working,
        task.partition.constants,
        shared.rule,
        positions_of=base.instant_time if base is not None and by_position else None,
        columns=task.stored_columns,
        key_fields=shared.key_fields,
        schema_on_read=shared.schema_on_read,
        wanted_keys=keys_array(shared.record_keys),
    )


def load_log_records(
    task: ScanTask, blocks: Sequence[LogBlock], *, by_position: bool = True
) -> LoadedLog:
    """Decode blocks of a task, into memory or onto local disk; see `load_log`."""
    decoder = log_decoder(task, by_position=by_position)
    return load_log(blocks, decoder, _memory(task.settings), task.shared.merger)


def _memory(settings: ReadSettings) -> MemoryLimits:
    return MemoryLimits.resolve(settings.merge_memory, settings.spill_folder, os.environ)


def read_base_rows(
    task: ScanTask,
    storage: Storage,
    predicate: Predicate | None = None,
    dropped: Mask | None = None,
) -> Iterator[pa.Table]:
    """Read a task's base rows in file order; a predicate leaves out row groups and pages."""
    base = task.file_slice.base_file
    if base is None:
        return
    shared = task.shared
    stored = stored_columns(shared.schema_on_read, task.stored_columns, base.instant_time)
    filterable = {name: stored[name] for name in stored if task.partition.is_as_stored(name)}
    row_groups = RowGroupFilter(
        predicate, task.working, filterable, shared.record_keys, _part_to_read(task), dropped
    )
    keys = keys_array(shared.record_keys)
    storage = CommittedFile(storage, base, task.settings.on_damage)
    read = partial(
        read_base_file,
        storage,
        base.path,
        row_groups=row_groups,
        # With schema on read the file may have other names for the nested fields.
        fields=task.working if shared.schema_on_read is None else pa.schema([]),
    )
    if base.bootstrap_source:
        read = partial(read_bootstrap_file, storage, base.path, base.bootstrap_source)
    columns, settings = list(stored.values()), task.settings
    for stored_table in read(
        columns=columns, batch_rows=settings.batch_rows, verify_checksums=settings.verify_checksums
    ):
        table = stored_table
        if shared.schema_on_read is not None:
            table = shared.schema_on_read.rename(stored_table, stored, base.instant_time)
        _check_partition_columns(task, table, base.path)
        table = repair_timestamps(table, task.working)
        rows = conform(table, task.working, task.partition.constants, source=base.path, casts=True)
        if task.file_slice.log_files:
            rows = with_record_key(rows, shared.key_fields)
            if keys is not None:
                rows = rows.filter(pc.is_in(rows.column(RECORD_KEY_COLUMN), value_set=keys))
        yield rows


def _check_partition_columns(task: ScanTask, table: pa.Table, path: str) -> None:
    wanted = task.stored_columns
    known = {*table.schema.names, *task.partition.constants}
    missing = [n for n in task.partition.columns if n in wanted and n not in known]
    if missing:
        raise CorruptTableError(
            f"{path}: partition column {', '.join(missing)} is not in the file, and cannot be "
            f"taken from the partition path {task.file_slice.partition_path!r}"
        )


def _part_to_read(task: ScanTask) -> tuple[int, int] | None:
    """Return the bytes of a task; the last part of a file goes on to its end, whatever its size."""
    # The size was recorded by the writer, where files come from the metadata table.
    base = task.file_slice.base_file
    if task.byte_range is None or base is None or task.byte_range[1] < base.size:
        return task.byte_range
    return task.byte_range[0], sys.maxsize
