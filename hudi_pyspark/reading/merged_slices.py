"""Merge slices into outcomes.

If records win as a whole, a small base file is read once (`merge_slice`). Of a larger one, keys and
ordering values are read first, to find the rows that match log records. Then the columns that a
query requests are read, without the dropped rows (`outcome_rows`).

Such a merge is resumed when a slice has got more log files: only these are decoded, and only keys
that are new to the log are looked up in the base file (`resume_slice`).

If records are combined, all columns of the base file take part in the merge. So it yields the base
rows that remain (`combine_slice`), and is not resumed.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from hudi_pyspark import thresholds
from hudi_pyspark.arrow_values import to_arrow
from hudi_pyspark.columns.arrays import ONLY_ROW_COUNT
from hudi_pyspark.format.column_names import case_variants
from hudi_pyspark.reading import merge_sides
from hudi_pyspark.reading.base_files.base_file import open_base_file, read_base_rows
from hudi_pyspark.reading.base_files.page_reads import PagedFile
from hudi_pyspark.reading.log_records.marks import ordering_columns
from hudi_pyspark.reading.merge.fold import combines_records, wins_whole_records
from hudi_pyspark.reading.merge.loaded_log import LogInMemory
from hudi_pyspark.reading.merge.merge import MergePass
from hudi_pyspark.reading.merge.outcome import Outcome, Resumed
from hudi_pyspark.reading.merge.whole_records import MergeDecision, WholeRecords, Winners
from hudi_pyspark.table.meta_columns import RECORD_KEY_COLUMN
from hudi_pyspark.tasks import ScanTask

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from hudi_pyspark.reading.kept_merges import EarlierMerge, KeptMerge
    from hudi_pyspark.reading.log_records.records import LogRecords
    from hudi_pyspark.reading.merge_sides import MergeSides
    from hudi_pyspark.storage.protocol import Storage
    from hudi_pyspark.table.log_files import LogScan

_ROWS_AT_ONCE = 1 << 20  # of a base file: the keys of each group of rows are hashed once


class MergedSlice(NamedTuple):
    """What the merge of a slice results in."""

    outcome: Outcome
    winners: Winners | None = None  # to resume the merge from; None if records are combined
    # Rows of the base file, of which `rows_of` leaves out dropped ones; None to read `file`.
    base: Sequence[pa.Table] | None = None
    file: PagedFile | None = None  # the base file, open
    resumed: Resumed | None = None  # None if the merge began anew


def may_become_outcome(task: ScanTask, sides: MergeSides, *, is_kept: bool) -> bool:
    """Return whether a merge decides about all rows of a slice, and takes one pass.

    A filter on record keys leaves records out, and a commit range base rows. Combined records
    become an outcome only if that is kept.
    """
    return (
        isinstance(sides.log, LogInMemory)
        and (is_kept or wins_whole_records(sides.log.records, task.shared.rule))
        and sides.log.nbytes <= thresholds.OUTCOME_BYTES
        and task.shared.record_keys is None
        and sides.row_filter is None
        and task.file_slice.has_plain_base
    )


def merge_slice(
    task: ScanTask, storage: Storage, sides: MergeSides, files: ExitStack
) -> MergedSlice:
    """Merge a slice whose records win as a whole.

    Args:
        task: of the slice.
        storage: of the table.
        sides: of the merge.
        files: closes the base file, if that is still to be read, after the result has been used.

    Raises:
        CorruptTableError: a base row has no record key.
        CorruptBaseFileError: the base file cannot be decoded.
    """
    base_file = task.file_slice.base_file
    if base_file is None or base_file.size < thresholds.SMALL_BASE_FILE:
        tables = _whole_if_small(sides.base)
        if tables is not None:
            row_count = sum(table.num_rows for table in tables)
            at_once = [pa.concat_tables(tables)] if tables else []  # all keys are hashed once
            merged = _merge_anew(task, sides, at_once, row_count)
            return merged._replace(base=tables)
    file = files.enter_context(open_base_file(task, storage))
    assert file is not None  # there is a base file
    identities = read_identities(task, storage, file, by_position=sides.log.by_position)
    merged = _merge_anew(task, sides, identities, file.row_count)
    return merged._replace(file=file)


def combine_slice(task: ScanTask, sides: MergeSides) -> Generator[pa.Table, None, MergedSlice]:
    """Merge a slice whose records are combined, and yield the base rows that remain.

    Arguments are as for `merge_slice`. The result has the other rows.

    Raises:
        CorruptTableError, UnsupportedMergeError, InvalidOptionError: as `MergePass.rows`.
        CorruptBaseFileError: the base file cannot be decoded.
    """
    requested = task.shared.planned_columns.requested
    merge_pass = MergePass(sides.records, task.shared.rule)
    tables = [pa.Table.from_batches([], requested)]
    record_count = 0
    for rows, is_of_base in merge_pass.rows(sides.base, task.settings.batch_rows):
        if is_of_base:
            yield rows
        else:
            tables.append(rows.select(requested.names))
            record_count += rows.num_rows
    instants = tuple(sorted(sides.scan.seen))
    outcome = Outcome(
        decision=merge_pass.decision(),
        records=pa.concat_tables(tables),
        record_count=record_count,
        block_instants=instants,
        counting_instants=tuple(filter(task.shared.block_filter.counts, instants)),
    )
    return MergedSlice(outcome, base=())


def rows_of(task: ScanTask, storage: Storage, merged: MergedSlice) -> Iterator[pa.Table]:
    """Yield the rows of a merged slice, except those that `combine_slice` has yielded.

    Raises:
        MissingFileError, CorruptBaseFileError: as `read_base_rows`.
    """
    outcome = merged.outcome
    tables = merged.base
    if tables is None:
        yield from outcome_rows(task, storage, outcome, merged.file)
        return
    is_kept = ~outcome.decision.dropped_base_rows
    ends = accumulate(table.num_rows for table in tables)
    for table, end in zip(tables, ends, strict=True):
        yield table.filter(to_arrow(is_kept[end - table.num_rows : end]))
    yield from log_rows(task, outcome)


def _whole_if_small(base: Iterable[pa.Table]) -> list[pa.Table] | None:
    """Return all tables; None if they are large: repeated values can make a small file large."""
    tables: list[pa.Table] = []
    nbytes = 0
    for table in base:
        tables.append(table)
        nbytes += table.nbytes
        if nbytes > thresholds.OUTCOME_BYTES:
            return None
    return tables


def _merge_anew(
    task: ScanTask, sides: MergeSides, base_rows: Iterable[pa.Table], row_count: int
) -> MergedSlice:
    keeps_all = MergeDecision(np.zeros(row_count, np.bool_), np.empty(0, np.bool_))
    merge = WholeRecords(sides.records, task.shared.rule, keeps_all)
    if merge.needs_base_rows:
        for table in base_rows:
            merge.match(table)
    no_records = pa.Table.from_batches([], task.shared.planned_columns.requested)
    before = Outcome(keeps_all, no_records, 0, (), ())
    return _finished(task, merge, before, sides.records, sides.scan)


def resume_slice(task: ScanTask, storage: Storage, kept_merge: KeptMerge) -> MergedSlice | None:
    """Resume the kept merge of fewer log files of a slice.

    Args:
        task: of the slice.
        storage: of the table.
        kept_merge: of the slice; has what the first log files were merged into, and keeps what
            identifies the base rows.

    Returns:
        None if there is no such merge, or if the later log files change what earlier files say:
        then the slice is merged anew.

    Raises:
        MissingFileError: a file of the slice is gone.
        CorruptLogBlockError, CorruptBaseFileError: a file cannot be decoded.
        CorruptTableError, SchemaEvolutionError: as `read_slice.read_slice`.
    """
    earlier = kept_merge.find_earlier()
    if earlier is None:
        return None
    loaded = _load_later_log(task, storage, earlier)
    if loaded is None:
        return None
    records, scan = loaded
    outcome = earlier.outcome
    winners = earlier.winners
    merge = WholeRecords(records, task.shared.rule, outcome.decision, winners)
    if merge.needs_base_rows:
        by_position = winners.log.positions is not None
        with _base_keys(task, storage, kept_merge, outcome, by_position=by_position) as tables:
            if tables is None:
                return None
            for table in tables:
                merge.match(table)
    growth = len(records) / len(winners.log)
    merged = _finished(
        task, merge, outcome, records, scan, compacted_before=winners.compacted_instants
    )
    return merged._replace(resumed=Resumed(earlier.key, growth))


def _load_later_log(
    task: ScanTask, storage: Storage, earlier: EarlierMerge
) -> tuple[LogRecords, LogScan] | None:
    """Load the records of the log files that an earlier merge lacks.

    None if the merge cannot be resumed with them: they change which earlier blocks count, take
    values of earlier records, are identified in another way, or are too many.
    """
    outcome = earlier.outcome
    by_position = earlier.winners.log.positions is not None
    columns = _columns_to_decode(outcome, task, by_position=by_position)
    if columns is None:
        return None
    later_files = task.file_slice.log_files[earlier.log_count :]
    later_slice = replace(task.file_slice, log_files=later_files)
    key_fields = () if by_position else task.shared.key_fields
    later = replace(task, file_slice=later_slice).with_columns(
        columns, record_keys=None, key_fields=key_fields
    )
    with merge_sides.live_blocks(later, storage) as scan:
        instants = {*outcome.block_instants, *earlier.winners.compacted_instants}
        if not scan.follows(instants, outcome.counting_instants):
            return None
        log = merge_sides.load_log_records(later, scan.blocks, by_position=by_position)
    if not isinstance(log, LogInMemory) or log.nbytes > thresholds.OUTCOME_BYTES:
        log.close()
        return None
    is_identified_otherwise = len(log.records) > 0 and log.by_position != by_position
    if combines_records(log.records, task.shared.rule) or is_identified_otherwise:
        return None
    return log.records, scan


@contextmanager
def _base_keys(
    task: ScanTask,
    storage: Storage,
    kept_merge: KeptMerge,
    outcome: Outcome,
    *,
    by_position: bool,
) -> Iterator[Iterable[pa.Table] | None]:
    """Yield what identifies the base rows to new log records: kept tables, or those of the file.

    To read kept tables takes a tenth of the time of decoding keys in a Parquet file. None if the
    outcome is not that of the base file.
    """
    row_count = len(outcome.decision.dropped_base_rows)
    kept_tables = kept_merge.find_base_keys(row_count, by_position=by_position)
    if kept_tables is not None:
        yield kept_tables
        return
    with open_base_file(task, storage) as file:
        if file is None:
            yield ()
        elif not is_of_file(outcome, file):
            yield None
        elif row_count > _ROWS_AT_ONCE:
            yield read_identities(task, storage, file, by_position=by_position)
        else:
            tables = tuple(read_identities(task, storage, file, by_position=by_position))
            kept_merge.put_base_keys(row_count, tables, by_position=by_position)
            yield tables


def _finished(
    task: ScanTask,
    merge: WholeRecords,
    outcome: Outcome,
    log: LogRecords,
    scan: LogScan,
    *,
    compacted_before: Iterable[str] = (),
) -> MergedSlice:
    """Return the result of a merge that has met all base rows, on top of an earlier outcome."""
    decision, winners = merge.finish()
    kept_before = outcome.decision.kept_log_rows
    assert kept_before is not None  # as of all whole records
    assert decision.kept_log_rows is not None
    before, later = np.split(decision.kept_log_rows, [len(kept_before)])
    records = outcome.records
    if records.num_columns:
        later_rows = log.rows.select(records.schema.names).filter(to_arrow(later))
        records = pa.concat_tables([records.filter(to_arrow(before[kept_before])), later_rows])
    instants = tuple(sorted({*outcome.block_instants, *scan.seen}))
    return MergedSlice(
        Outcome(
            decision=decision,
            records=records,
            record_count=int(decision.kept_log_rows.sum()),
            block_instants=instants,
            counting_instants=tuple(filter(task.shared.block_filter.counts, instants)),
        ),
        replace(winners, compacted_instants=tuple(sorted({*compacted_before, *scan.compacted}))),
    )


def _columns_to_decode(outcome: Outcome, task: ScanTask, *, by_position: bool) -> pa.Schema | None:
    """Return the outcome's columns, and columns that the merge needs.

    None if an earlier query has asked for a part of a column's nested fields only.
    """
    planned = task.shared.planned_columns
    names = {*planned.filter.names, *planned.merge.names}
    if by_position:
        names.discard(RECORD_KEY_COLUMN)
    needed = pa.schema(field for field in planned.working if field.name in names)
    kept = outcome.records.schema
    if outcome.lacking(pa.schema(f for f in needed if f.name in kept.names)).names:
        return None
    return pa.schema([*kept, *(field for field in needed if field.name not in kept.names)])


def read_identities(
    task: ScanTask, storage: Storage, file: PagedFile, *, by_position: bool
) -> Iterator[pa.Table]:
    """Read what identifies base rows to log records, and the values by which they are compared."""
    names = set(ordering_columns(task.shared.rule.compared_fields, task.working))
    key_fields = () if by_position else task.shared.key_fields
    names |= set() if by_position else {RECORD_KEY_COLUMN, *key_fields}
    variants = case_variants(names, task.working.names)
    columns = pa.schema(field for field in task.working if field.name in variants)
    lookup = task.with_columns(
        columns,
        key_fields=key_fields,
        record_keys=None,
        settings=replace(task.settings, batch_rows=_ROWS_AT_ONCE),
    )
    yield from read_base_rows(lookup, storage, file=file)


def open_needed_file(task: ScanTask, storage: Storage) -> AbstractContextManager[PagedFile | None]:
    """Open the base file of a merged slice; None if the slice has none, or no column is read.

    Raises:
        MissingFileError, CorruptBaseFileError: as `read_base_rows`.
    """
    reads_columns = bool(task.shared.planned_columns.requested.names)
    return open_base_file(task, storage) if reads_columns else nullcontext()


def is_of_file(outcome: Outcome, file: PagedFile | None) -> bool:
    """Return whether an outcome may be that of an open base file: it has as many rows."""
    return file is None or file.row_count == len(outcome.decision.dropped_base_rows)


def outcome_rows(
    task: ScanTask, storage: Storage, outcome: Outcome, file: PagedFile | None
) -> Iterator[pa.Table]:
    """Yield the base rows that remain, then the log rows that remain.

    The tables have the columns that the task requests.

    Args:
        task: of the slice.
        storage: of the table.
        outcome: of the merge of the slice.
        file: the base file; None if the slice has none, or no column is read.

    Raises:
        MissingFileError, CorruptBaseFileError: as `read_base_rows`.
    """
    requested = task.shared.planned_columns.requested
    if not requested.names:
        yield from _batches(task, pa.table([pa.nulls(outcome.row_count)], schema=ONLY_ROW_COUNT))
        return
    if file is not None:
        base_only = replace(task, file_slice=replace(task.file_slice, log_files=()))
        yield from read_base_rows(
            base_only.with_columns(requested, key_fields=()),
            storage,
            file=file,
            dropped=outcome.decision.dropped_base_rows,
        )
    yield from log_rows(task, outcome)


def log_rows(task: ScanTask, outcome: Outcome) -> Iterator[pa.Table]:
    """Yield the log rows that remain, with the columns that the task requests."""
    names = task.shared.planned_columns.requested.names
    only_count = pa.table([pa.nulls(outcome.record_count)], schema=ONLY_ROW_COUNT)
    yield from _batches(task, outcome.records.select(names) if names else only_count)


def _batches(task: ScanTask, rows: pa.Table) -> Iterator[pa.Table]:
    for batch in rows.to_batches(task.settings.batch_rows):
        yield pa.Table.from_batches([batch])
