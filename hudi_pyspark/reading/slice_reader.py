"""Read the rows of a file slice: base rows alone, unmerged rows, or merged rows.

`base_file` reads base rows. `slice_merge` loads both sides of a merge, and `merge` merges them. If
`kept_merges` finds the outcome of an earlier merge, the slice is read without a merge.
"""

from collections.abc import Iterator
from contextlib import closing

import pyarrow as pa

from hudi_pyspark.filter.evaluation import filter_rows
from hudi_pyspark.reading import slice_log
from hudi_pyspark.reading.base_files.base_file import read_base_rows
from hudi_pyspark.reading.carried_merges import carried_outcome, merge_whole_slice
from hudi_pyspark.reading.kept_merges import KeptMerge
from hudi_pyspark.reading.merge.outcome import MergeOutcome, OutcomeStore
from hudi_pyspark.reading.merge.spilled_merge import LogInMemory
from hudi_pyspark.reading.slice_merge import load_merge_sides
from hudi_pyspark.storage.protocol import Storage
from hudi_pyspark.tasks import ScanTask, with_case_variants


def read(task: ScanTask, storage: Storage, store: OutcomeStore | None = None) -> Iterator[pa.Table]:
    """Read the rows of a file slice that a task asks for, in no promised order.

    Args:
        task: what to read; its result schema is the tables' schema.
        storage: of the table.
        store: outcomes of earlier merges; None to merge anew, unless the task keeps them on disk.

    Raises:
        CorruptTableError, UnsupportedMergeError: as `slice_tables`.
    """
    for table in slice_tables(task, storage, store):
        rows = filter_rows(task.shared.predicate, task.partition.show(table))
        if task.shared.commit_range is not None:
            rows = rows.filter(pa.array(task.shared.commit_range.wrote(rows)))
        yield rows.select(task.shared.result.names)


def slice_tables(
    task: ScanTask, storage: Storage, store: OutcomeStore | None = None
) -> Iterator[pa.Table]:
    """Read the rows of a slice, with the columns that the task works on.

    The record key column may be missing, and rows for which the task's predicate is not true may be
    among the rows. Arguments are as for `read`.

    Raises:
        MissingFileError: a file of the slice is gone.
        CorruptBaseFileError, CorruptLogBlockError: a file cannot be decoded.
        CorruptTableError: a record has no key, or a partition column has no value.
        SchemaEvolutionError: a column has a type that cannot be converted.
        UnsupportedMergeError: the records cannot be merged by the table's rule.
        SpillError: the log records need the disk, and it is full.
    """
    if not task.file_slice.log_files:
        yield from read_base_rows(task, storage, task.shared.predicate)
    elif task.settings.skip_merge:
        yield from _unmerged_tables(task, storage)
    else:
        kept_merge = KeptMerge.of(task, storage, store)
        outcome = _find_outcome(kept_merge) if kept_merge else None
        if kept_merge and outcome and (yield from kept_merge.tables(outcome)):
            return
        yield from _merged_tables(task, storage, kept_merge)


def merge_outcome(task: ScanTask, storage: Storage, store: OutcomeStore) -> MergeOutcome | None:
    """Return the outcome of a slice's merge with all columns of the task; merge if need be.

    None if the outcome is not kept, for example of a merge in several passes.

    Raises:
        CorruptTableError, UnsupportedMergeError: as `slice_tables`.
    """
    kept_merge = KeptMerge.of(task, storage, store)
    if kept_merge is None:
        return None
    outcome = _find_outcome(kept_merge)
    tables = _merged_tables(task, storage, kept_merge) if outcome is None else ()
    for _ in tables:  # an outcome of whole records is kept before the first row
        outcome = _find_outcome(kept_merge)
        if outcome is not None:
            return outcome
    return outcome or _find_outcome(kept_merge)


def _find_outcome(kept_merge: KeptMerge) -> MergeOutcome | None:
    """Find the outcome of an earlier merge with all columns that the task requests.

    The merge of earlier log files is carried on. Columns that the outcome lacks are decoded from
    the log. None if only a new merge has them.
    """
    task, requested = kept_merge.task, kept_merge.task.shared.requested_columns
    outcome = kept_merge.find(requested.names) or carried_outcome(kept_merge)
    if outcome is None:
        return None
    lacking = with_case_variants(outcome.lacking(requested).names, requested)
    kept_log_rows = outcome.decision.kept_log_rows
    if not lacking.names:
        return outcome
    if kept_log_rows is None:
        return None
    columns = slice_log.decode_kept_rows(task, kept_merge.storage, lacking, kept_log_rows)
    return kept_merge.complete(outcome, columns) if columns is not None else None


def _unmerged_tables(task: ScanTask, storage: Storage) -> Iterator[pa.Table]:
    """Chain base rows and all rows of data blocks, even deletes."""
    with slice_log.live_blocks(task, storage) as scan:
        if slice_log.lacks_older_values(task, scan.blocks):
            yield from _unmerged_tables(task.of_whole_slice(), storage)
            return
        yield from read_base_rows(task, storage, task.shared.predicate)
        batch_rows = task.settings.batch_rows
        for records in slice_log.log_decoder(task).decode(scan.blocks):
            for start in range(0, records.rows.num_rows, batch_rows):
                yield records.rows.slice(start, batch_rows).combine_chunks()


def _merged_tables(
    task: ScanTask, storage: Storage, kept_merge: KeptMerge | None
) -> Iterator[pa.Table]:
    """Merge a slice, and keep the outcome of a merge in one pass."""
    sides = load_merge_sides(task, storage)
    with closing(sides.log) as log:
        if isinstance(log, LogInMemory) and kept_merge and kept_merge.can_record(log.records):
            # Each merged row is a whole row of one side, and no base row is left out.
            if sides.row_filter is None and log.pair_rule.wins_whole_records:
                yield from merge_whole_slice(kept_merge, log, sides.scan, sides.base)
                return
            merge_pass = sides.merge_pass(log.records)
            yield from kept_merge.record(merge_pass, sides.base, sides.scan.seen)
            return
        batch_rows = task.settings.batch_rows
        tables = log.merge(
            sides.base, lambda base, records: sides.merge_pass(records).rows(base, batch_rows)
        )
        yield from (table.rows for table in tables)
