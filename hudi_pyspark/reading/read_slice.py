"""Read the rows of a file slice.

There are six ways:

    the slice                                       its rows
    ----------------------------------------------  -----------------------------------------------
    has no log files                                base rows
    is read with merge_type=skip_merge              base rows, then the rows of all data blocks
    has a kept outcome, or one of its first log     base rows that the merge keeps, then log rows
    files, which is resumed                         (`merged_slices.outcome_rows`)
    merges whole records that fit into memory       merged into an outcome
                                                    (`merged_slices.merge_slice`), then read so
    combines records into an outcome to be kept     merged table by table, and recorded
                                                    (`merged_slices.combine_slice`)
    any other                                       merged table by table (`merge.MergePass`)

Whole records are neither combined with other records nor filtered before the merge: see
`may_become_outcome`. Only a kept outcome needs a cache: without one, a slice takes the same way.
Small slices are merged together instead (`small_slices`).
"""

from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, closing

import pyarrow as pa

from hudi_pyspark.filter.evaluation import filter_rows
from hudi_pyspark.format.column_names import case_variants
from hudi_pyspark.messages import logger
from hudi_pyspark.reading import merge_sides
from hudi_pyspark.reading.base_files.base_file import read_base_rows, shown_keys
from hudi_pyspark.reading.base_files.page_reads import PagedFile
from hudi_pyspark.reading.kept_merges import KeptMerge
from hudi_pyspark.reading.log_records.records import LogRecords
from hudi_pyspark.reading.merge.fold import wins_whole_records
from hudi_pyspark.reading.merge.merge import MergedTable, MergePass
from hudi_pyspark.reading.merge.outcome import Outcome, OutcomeStore
from hudi_pyspark.reading.merge_sides import MergeSides, load_merge_sides
from hudi_pyspark.reading.merged_slices import (
    MergedSlice,
    combine_slice,
    is_of_file,
    may_become_outcome,
    merge_slice,
    open_needed_file,
    outcome_rows,
    resume_slice,
    rows_of,
)
from hudi_pyspark.storage.protocol import Storage
from hudi_pyspark.tasks import ScanTask

_log = logger(__name__)


def read_slice(
    task: ScanTask, storage: Storage, store: OutcomeStore | None = None
) -> Iterator[pa.Table]:
    """Read the rows of a file slice that a task asks for, in no promised order.

    Args:
        task: what to read; its result schema is the tables' schema.
        storage: of the table.
        store: outcomes of earlier merges; None to merge anew, unless the task keeps them on disk.

    Raises:
        CorruptTableError, UnsupportedMergeError: as `slice_tables`.
    """
    with shown_keys(task, storage) as (searched, file):
        task = searched
        if task.is_merged:
            tables = _merged_tables(task, storage, store, file)
        else:
            tables = slice_tables(task, storage)
        for table in tables:
            rows = filter_rows(task.shared.predicate, task.partition.show(table))
            if task.shared.commit_range is not None:
                rows = rows.filter(pa.array(task.shared.commit_range.wrote(rows)))
            yield rows.select(task.shared.planned_columns.result.names)


def slice_tables(task: ScanTask, storage: Storage) -> Iterator[pa.Table]:
    """Read the rows of a slice with all columns that the task works on, for example record keys.

    Rows for which the task's predicate is not true may be among the rows. No outcome is used, since
    outcomes have the columns of answers.

    Raises:
        MissingFileError: a file of the slice is gone.
        CorruptBaseFileError, CorruptLogBlockError: a file cannot be decoded.
        CorruptTableError: a record has no key, or a partition column has no value.
        SchemaEvolutionError: a column has a type that cannot be converted.
        UnsupportedMergeError: the records cannot be merged by the table's rule.
        SpillError: the log records need the disk, and it is full.
    """
    if not task.file_slice.log_files:
        yield from read_base_rows(task, storage)
    elif task.settings.skip_merge:
        yield from _unmerged_tables(task, storage)
    else:
        sides = load_merge_sides(task, storage)
        with closing(sides.log):
            yield from _streamed_tables(task, sides)


def merge_outcome(task: ScanTask, storage: Storage, store: OutcomeStore) -> Outcome | None:
    """Return the outcome of a slice's merge with all columns of the task; merge if need be.

    None if no outcome may be kept, for example of a merge in several passes.

    Raises:
        CorruptTableError, UnsupportedMergeError: as `slice_tables`.
    """
    kept_merge = KeptMerge.of(task, storage, store)
    if kept_merge is None:
        return None
    outcome = _find_outcome(task, storage, kept_merge)
    if outcome is not None or not kept_merge.is_sound:
        return outcome
    sides = load_merge_sides(task, storage)
    with closing(sides.log), ExitStack() as files:
        if not may_become_outcome(task, sides, is_kept=True):
            return None
        return _returned(_merge_into_outcome(task, storage, sides, kept_merge, files)).outcome


def _merged_tables(
    task: ScanTask, storage: Storage, store: OutcomeStore | None, searched: PagedFile | None
) -> Iterator[pa.Table]:
    """Read a slice with log files, with the columns that the task requests, and perhaps others.

    ``searched`` is the base file if that is open.
    """
    kept_merge = KeptMerge.of(task, storage, store)
    outcome = _find_outcome(task, storage, kept_merge) if kept_merge is not None else None
    if outcome is not None:
        with open_needed_file(task, storage) as file:
            if is_of_file(outcome, file):
                _log.debug("%s: merged before", task.file_slice.file_id)
                yield from outcome_rows(task, storage, outcome, file)
                return
    sides = load_merge_sides(task, storage, searched)
    with closing(sides.log), ExitStack() as files:
        if may_become_outcome(task, sides, is_kept=kept_merge is not None):
            merged = yield from _merge_into_outcome(task, storage, sides, kept_merge, files)
            yield from rows_of(task, storage, merged)
        else:
            yield from _streamed_tables(task, sides)


def _merge_into_outcome(
    task: ScanTask,
    storage: Storage,
    sides: MergeSides,
    kept_merge: KeptMerge | None,
    files: ExitStack,
) -> Generator[pa.Table, None, MergedSlice]:
    """Merge a slice into an outcome, and keep it; see `may_become_outcome`.

    Yields the base rows that remain if records are combined, which reads all columns of the base
    file. `rows_of` has the other rows. ``files`` is as for `merge_slice`.
    """
    if wins_whole_records(sides.records, task.shared.rule):
        merged = merge_slice(task, storage, sides, files)
    else:
        merged = yield from combine_slice(task, sides)
    if kept_merge is not None:
        kept_merge.put(merged.outcome, merged.winners)
    return merged


def _returned(merging: Generator[pa.Table, None, MergedSlice]) -> MergedSlice:
    """Run a merge to its end, without its rows."""
    try:
        while True:
            next(merging)
    except StopIteration as end:
        merged: MergedSlice = end.value
        return merged


def _find_outcome(task: ScanTask, storage: Storage, kept_merge: KeptMerge) -> Outcome | None:
    """Find the outcome of an earlier merge with all columns that the task requests.

    The merge of earlier log files is resumed. Columns that the outcome lacks are decoded from the
    log. None if only a new merge has them.
    """
    requested = task.shared.planned_columns.requested
    kept = kept_merge.find(requested.names)
    outcome = kept.outcome if kept is not None else _resumed_outcome(task, storage, kept_merge)
    if outcome is None:
        return None
    names = case_variants(outcome.lacking(requested).names, requested.names)
    lacking = pa.schema(field for field in requested if field.name in names)
    if not names:
        return outcome
    if outcome.decision.kept_log_rows is None:
        return None
    columns = merge_sides.decode_kept_rows(task, storage, lacking, outcome.decision.kept_log_rows)
    if columns is None:
        return None
    outcome = outcome.with_columns(columns)
    kept_merge.put(outcome)
    return outcome


def _resumed_outcome(task: ScanTask, storage: Storage, kept_merge: KeptMerge) -> Outcome | None:
    """Resume the kept merge of fewer log files, and keep the outcome; None if there is none."""
    merged = resume_slice(task, storage, kept_merge)
    if merged is None:
        return None
    kept_merge.put(merged.outcome, merged.winners, merged.resumed)
    return merged.outcome


def _streamed_tables(task: ScanTask, sides: MergeSides) -> Iterator[pa.Table]:
    """Merge a slice table by table, in several passes if its log records are on disk."""
    batch_rows = task.settings.batch_rows

    def merge(base: Iterable[pa.Table], records: LogRecords) -> Iterator[MergedTable]:
        return MergePass(records, task.shared.rule, sides.row_filter).rows(base, batch_rows)

    yield from (table.rows for table in sides.log.merge(sides.base, merge))


def _unmerged_tables(task: ScanTask, storage: Storage) -> Iterator[pa.Table]:
    """Chain base rows and all rows of data blocks, even deletes."""
    with merge_sides.live_blocks(task, storage) as scan:
        if merge_sides.lacks_older_values(task, scan.blocks):
            yield from _unmerged_tables(task.of_whole_slice(), storage)
            return
        task = merge_sides.with_keys_of_blocks(task, scan.blocks)
        yield from read_base_rows(task, storage)
        batch_rows = task.settings.batch_rows
        for records in merge_sides.log_decoder(task).decode(scan.blocks):
            for start in range(0, records.rows.num_rows, batch_rows):
                yield records.rows.slice(start, batch_rows).combine_chunks()
