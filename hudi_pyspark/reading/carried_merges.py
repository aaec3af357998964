"""Merge whole records of a slice into an outcome: from no log files, or carried on from some.

A small base file is read once. Of a larger one, keys and ordering values are read first, to find
the rows that log records meet. Then the columns that a query requests are read, without the dropped
rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from hudi_pyspark.arrow_values import to_arrow
from hudi_pyspark.columns.arrays import ONLY_ROW_COUNT
from hudi_pyspark.reading import slice_log
from hudi_pyspark.reading.base_files.base_file import open_base_file, read_base_rows
from hudi_pyspark.reading.base_files.page_reads import PagedFile
from hudi_pyspark.reading.merge.outcome import MOST_BYTES, MergeOutcome
from hudi_pyspark.reading.merge.spilled_merge import LogInMemory
from hudi_pyspark.reading.merge.whole_records import WholeRecords
from hudi_pyspark.reading.merge.winners import Winners
from hudi_pyspark.table.live_blocks import LogScan
from hudi_pyspark.table.meta_columns import RECORD_KEY_COLUMN
from hudi_pyspark.tasks import ScanTask, with_case_variants

if TYPE_CHECKING:
    from hudi_pyspark.reading.kept_merges import KeptMerge

_SMALL_FILE = 1 << 20  # bytes; to open a file and read it twice would cost more than its columns
_ROWS_AT_ONCE = 1 << 20  # of a base file: the keys of each group of rows are hashed once


def merge_whole_slice(
    kept_merge: KeptMerge, log: LogInMemory, scan: LogScan, base: Iterable[pa.Table]
) -> Iterator[pa.Table]:
    """Merge a slice whose records win as a whole; keep the outcome before the first row.

    Args:
        kept_merge: of the slice.
        log: records of all log files, with the task's columns.
        scan: of all log files.
        base: rows of the base file, with the same columns.

    Raises:
        CorruptTableError: a base row has no record key.
        CorruptBaseFileError: the base file cannot be decoded.
    """
    base_file = kept_merge.task.file_slice.base_file
    tables = _whole_if_small(base) if base_file is None or base_file.size < _SMALL_FILE else None
    if tables is not None:
        count = sum(table.num_rows for table in tables)
        outcome = _merge_anew(kept_merge, log, scan, tables, count)
        is_kept, begin = ~outcome.decision.dropped_base_rows, 0
        for table in tables:
            yield table.filter(to_arrow(is_kept[begin : begin + table.num_rows]))
            begin += table.num_rows
        yield from kept_merge.log_rows(outcome)
        return
    with open_base_file(kept_merge.task, kept_merge.storage) as file:
        assert file is not None  # there is a base file
        tables_of_keys = _read_identities(kept_merge, file, by_position=log.by_position)
        outcome = _merge_anew(kept_merge, log, scan, tables_of_keys, file.row_count)
        yield from kept_merge.rows(outcome, file)


def _whole_if_small(base: Iterable[pa.Table]) -> list[pa.Table] | None:
    """Return all tables; None if they are large, as columns of few values in a small file are."""
    tables, nbytes = [], 0
    for table in base:
        tables.append(table)
        nbytes += table.nbytes
        if nbytes > MOST_BYTES:
            return None
    return tables


def _merge_anew(
    kept_merge: KeptMerge,
    log: LogInMemory,
    scan: LogScan,
    base_rows: Iterable[pa.Table],
    count: int,
) -> MergeOutcome:
    of_no_logs = replace(
        MergeOutcome.of_base_file(count, kept_merge.task.shared.requested_columns),
        winners=Winners.none(log.records, log.pair_rule.rule),
    )
    outcome = _carry_on(kept_merge, of_no_logs, log, scan, base_rows)
    kept_merge.put(outcome)
    return outcome


def carried_outcome(kept_merge: KeptMerge) -> MergeOutcome | None:
    """Carry on the merge of fewer log files of a slice, and keep the outcome.

    Returns:
        None if no such merge is kept, or the later log files change what earlier files say: then
        the slice is merged anew.

    Raises:
        MissingFileError: a file of the slice is gone.
        CorruptLogBlockError, CorruptBaseFileError: a file cannot be decoded.
        CorruptTableError, SchemaEvolutionError: as `slice_reader.slice_tables`.
    """
    for earlier in kept_merge.earlier() if kept_merge.is_sound else ():
        outcome = earlier.find(to_carry_on=True)
        if outcome is not None and outcome.winners is not None and len(outcome.winners.log):
            return _with_later_files(kept_merge, earlier, outcome, outcome.winners)
    return None


def _with_later_files(
    kept_merge: KeptMerge, earlier: KeptMerge, outcome: MergeOutcome, winners: Winners
) -> MergeOutcome | None:
    task, storage = kept_merge.task, kept_merge.storage
    by_position = winners.log.positions is not None
    columns = _columns_to_decode(outcome, task, by_position=by_position)
    if columns is None:
        return None
    count = len(earlier.task.file_slice.log_files)
    later_slice = replace(task.file_slice, log_files=task.file_slice.log_files[count:])
    later = replace(task, file_slice=later_slice).with_plan(
        working=columns, record_keys=None, key_fields=() if by_position else task.shared.key_fields
    )
    with slice_log.live_blocks(later, storage) as scan:
        instants = {*outcome.block_instants, *outcome.compacted_instants}
        if not scan.follows(instants, outcome.counting_instants):
            return None
        log = slice_log.load_log_records(later, scan.blocks, by_position=by_position)
    if not isinstance(log, LogInMemory) or log.records.nbytes > MOST_BYTES:
        log.close()
        return None
    if log.pair_rule.combines or (len(log.records) and log.by_position != by_position):
        return None
    with nullcontext() if outcome.base_rows else open_base_file(task, storage) as file:
        if file is not None and file.row_count != len(outcome.decision.dropped_base_rows):
            return None
        base_rows: Iterable[pa.Table] = outcome.base_rows
        if file is not None:
            base_rows = _read_identities(kept_merge, file, by_position=by_position)
            if file.row_count <= _ROWS_AT_ONCE:
                base_rows = (
                    kept_merge.stored_base_rows(base_rows, file.row_count, by_position=by_position)
                    if kept_merge.store.is_shared
                    else tuple(base_rows)
                )
        carried = _carry_on(kept_merge, outcome, log, scan, base_rows)
    if isinstance(base_rows, tuple):
        carried = replace(carried, base_rows=base_rows)
    if kept_merge.store.is_shared and 4 * len(log.records) < len(winners.log):
        # To write all winners for each commit would cost more than to fold a few records again.
        kept_merge.put(replace(carried, winners=None))
    else:
        kept_merge.put(carried, earlier.key)
    return carried


def _carry_on(
    kept_merge: KeptMerge,
    outcome: MergeOutcome,
    log: LogInMemory,
    scan: LogScan,
    base_rows: Iterable[pa.Table],
) -> MergeOutcome:
    """Return the outcome of a slice after the records of some more log files."""
    merge = WholeRecords(log.records, log.pair_rule, outcome.decision, outcome.winners)
    if merge.needs_base_rows:
        for table in base_rows:
            merge.keep(table)
    decision, winners = merge.finish()
    kept_before = outcome.decision.kept_log_rows
    assert kept_before is not None
    assert decision.kept_log_rows is not None  # as of every outcome that is carried on
    before, later = np.split(decision.kept_log_rows, [len(kept_before)])
    records = outcome.records
    if records.num_columns:
        later_rows = log.records.rows.select(records.schema.names).filter(to_arrow(later))
        records = pa.concat_tables([records.filter(to_arrow(before[kept_before])), later_rows])
    instants = tuple(sorted({*outcome.block_instants, *scan.seen}))
    return MergeOutcome(
        decision,
        records,
        int(decision.kept_log_rows.sum()),
        instants,
        kept_merge.counting(instants),
        kept_merge.versions(),
        tuple(sorted({*outcome.compacted_instants, *scan.compacted})),
        winners,
    )


def _columns_to_decode(
    outcome: MergeOutcome, task: ScanTask, *, by_position: bool
) -> pa.Schema | None:
    """Return the outcome's columns, and columns that the merge needs.

    None if an earlier query has asked for a part of a column's nested fields only.
    """
    names = {*task.shared.needed, *task.shared.key_fields}
    if by_position:
        names.discard(RECORD_KEY_COLUMN)
    needed, carried = with_case_variants(names, task.working), outcome.records.schema
    if outcome.lacking(pa.schema(f for f in needed if f.name in carried.names)).names:
        return None
    columns = [*carried, *(field for field in needed if field.name not in carried.names)]
    return pa.schema(columns) if columns else ONLY_ROW_COUNT


def _read_identities(
    kept_merge: KeptMerge, file: PagedFile, *, by_position: bool
) -> Iterator[pa.Table]:
    """Read what identifies base rows to log records, and the values by which they are compared."""
    task = kept_merge.task
    fields = task.shared.rule.compared_fields
    names = {*fields, *(name.partition(".")[0] for name in fields)}
    key_fields = () if by_position else task.shared.key_fields
    names |= set() if by_position else {RECORD_KEY_COLUMN, *key_fields}
    columns = with_case_variants(names, task.working)
    lookup = task.with_plan(
        working=columns if columns.names else ONLY_ROW_COUNT,
        key_fields=key_fields,
        record_keys=None,
        settings=replace(task.settings, batch_rows=_ROWS_AT_ONCE),
    )
    yield from read_base_rows(lookup, kept_merge.storage, file=file)
