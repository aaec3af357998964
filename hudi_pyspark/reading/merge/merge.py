"""Merge base tables with log records.

The merge has two phases. First the log records of a key are folded, oldest to newest, into one
winner (`fold.py`); then that winner meets the base row. This differs from taking the greatest
ordering value of all: a delete without ordering value beats everything before it, including a
record that would beat the base row later (see "Worked consequences" in the tests' oracle).

One of three algorithms runs:

    whole records    each side stays as it is                COMMIT_TIME_, EVENT_TIME_ORDERING
    mixed records    the winner takes values of the loser    partial updates, payload classes
    folded base      base rows are the oldest log records    storage layout lsm_tree
"""

from collections.abc import Generator, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.arrow_values import to_arrow, to_numpy
from hudi_pyspark.columns.arrays import Mask, RowNumbers, differing_rows
from hudi_pyspark.reading.log_records.records import LogRecords, Records
from hudi_pyspark.reading.merge import base_rows
from hudi_pyspark.reading.merge.fold import combines_records, fold_log
from hudi_pyspark.reading.merge.payload import merge_pairs
from hudi_pyspark.reading.merge.whole_records import MergeDecision, WholeRecords
from hudi_pyspark.table.merge_mode import MergeRule


class MergedTable(NamedTuple):
    """Some rows of a merged slice."""

    rows: pa.Table
    is_of_base: bool  # rows that stay as the base file has them


class MergePass:
    """One merge of log records with the base tables of a slice.

    `rows` streams the merged rows; after the last one, `decision` says what became of both sides.
    """

    def __init__(
        self, log: LogRecords, rule: MergeRule, row_filter: base_rows.RowFilter | None = None
    ) -> None:
        """Prepare a merge.

        Args:
            log: records of the slice, oldest first.
            rule: of the table.
            row_filter: base rows that take part in the merge; None for all. Row positions count the
                other rows, but the result lacks them, and there is no decision.
        """
        self._log = log
        self._rule = rule
        self._row_filter = row_filter
        self._dropped: list[Mask] = []  # per base table
        self._kept_log_rows: Mask | None = None  # None if a row may be made of several records

    def rows(self, base: Iterable[pa.Table], batch_rows: int) -> Iterator[MergedTable]:
        """Yield the remaining rows of each base table, then the remaining log rows.

        Args:
            base: tables in file order, with the log records' schema; read one at a time.
            batch_rows: maximum rows per table of log rows.

        Raises:
            CorruptTableError: a base row has no record key, or a record lacks a value by which its
                payload class orders records.
            UnsupportedMergeError, InvalidOptionError: as `fold_log`.
        """
        if self._rule.folds_base_rows:
            log_rows, is_kept = yield from self._fold_base_rows(base)
        elif combines_records(self._log, self._rule):
            log_rows, is_kept = yield from self._merge_mixed_records(base)
        else:
            log_rows, is_kept = yield from self._merge_whole_records(base)
            self._kept_log_rows = is_kept
        # In log order, and never all at once, since a slice may have gigabytes.
        for start in range(0, len(is_kept), batch_rows):
            mask = to_arrow(is_kept[start : start + batch_rows])
            table = log_rows.slice(start, batch_rows).filter(mask).combine_chunks()
            if table.num_rows:
                yield MergedTable(table, is_of_base=False)

    def decision(self) -> MergeDecision:
        """Return what the merge decided, once `rows` is used up."""
        dropped = np.concatenate([np.empty(0, np.bool_), *self._dropped])
        return MergeDecision(dropped, self._kept_log_rows)

    def _merge_whole_records(
        self, base: Iterable[pa.Table]
    ) -> Generator[MergedTable, None, tuple[pa.Table, Mask]]:
        """Run the second phase if either side stays as it is; return which log rows remain."""
        merge = WholeRecords(self._log, self._rule, row_filter=self._row_filter)
        for table in base:
            yield self._kept(table, merge.keep(table))
        _, is_kept = merge.finish()[0]
        assert is_kept is not None  # as for all whole records
        return self._log.rows, is_kept

    def _merge_mixed_records(
        self, base: Iterable[pa.Table]
    ) -> Generator[MergedTable, None, tuple[pa.Table, Mask]]:
        """Run the second phase if the winner takes values; return the folded rows that remain."""
        winners = fold_log(self._log, self._rule)
        matcher = base_rows.BaseRowMatcher(winners, self._row_filter)
        for table in base:
            match = matcher.match(table)
            order = np.argsort(match.rows)  # that of the base file, whatever its tables
            match = match._replace(rows=match.rows[order], winners=match.winners[order])
            _, merged = _merge_match(match, winners, self._rule)
            yield self._kept(table, match.without(match.rows))
            remaining = to_arrow(~merged.marks.is_delete)
            yield MergedTable(merged.rows.filter(remaining), is_of_base=False)
        return winners.rows, _mask(matcher.inserted_rows, winners.rows.num_rows)

    def _fold_base_rows(
        self, base: Iterable[pa.Table]
    ) -> Generator[MergedTable, None, tuple[pa.Table, Mask]]:
        """Fold base rows like log records; return the folded rows, and which of them remain.

        Apache Hudi merges the files of an LSM tree like that. Base rows without a log record are
        yielded at once.
        """
        log = self._log
        rule = self._rule
        no_rows = pa.Table.from_batches([], log.rows.schema)
        matched = [LogRecords.of_base_rows(no_rows, rule, log.column_sets)]
        for table in base:
            rows = table if self._row_filter is None else _filtered(table, self._row_filter(table))
            is_matched = to_numpy(pc.is_in(base_rows.record_keys(rows), value_set=log.keys))
            matched_rows = _filtered(rows, is_matched)
            matched.append(LogRecords.of_base_rows(matched_rows, rule, log.column_sets))
            yield self._kept(rows, ~is_matched)
        records = LogRecords.concat([*matched, log])
        winners = fold_log(records, rule)
        remaining = winners.row[~winners.marks.is_delete]
        return winners.rows, _mask(remaining, winners.rows.num_rows)

    def _kept(self, table: pa.Table, is_kept: Mask) -> MergedTable:
        """Return the rows of a base table that stay, and remember the others for the decision."""
        self._dropped.append(~is_kept)
        rows = table if is_kept.all() else _filtered(table, is_kept)
        return MergedTable(rows, is_of_base=True)


def changed_rows(
    before: Iterable[pa.Table], log: LogRecords, rule: MergeRule
) -> Iterator[tuple[str, pa.Table | None, pa.Table | None]]:
    """List the inserts, updates and deletes that log records make to the rows of a slice.

    Yields ``i``, ``u`` or ``d``, the rows before (None for inserts) and after (None for deletes). A
    record that loses against the base row changes nothing and does not appear.

    Raises:
        CorruptTableError, UnsupportedMergeError, InvalidOptionError: as `MergePass.rows`.
    """
    winners = fold_log(log, rule)
    matcher = base_rows.BaseRowMatcher(winners)
    for table in before:
        matched_rows, merged = _merge_match(matcher.match(table), winners, rule)
        is_delete = merged.marks.is_delete
        yield "d", _filtered(matched_rows, is_delete), None
        is_update = ~is_delete & differing_rows(matched_rows, merged.rows)
        yield "u", _filtered(matched_rows, is_update), _filtered(merged.rows, is_update)
    yield "i", None, winners.rows.take(to_arrow(matcher.inserted_rows))


def _merge_match(
    match: base_rows.Match, winners: LogRecords, rule: MergeRule
) -> tuple[pa.Table, Records]:
    """Return the base rows that meet a log record, and the merged records of both."""
    matched_rows = match.table.take(to_arrow(match.rows))
    newer = winners.records(match.winners)
    # Java classes are compared among log records only.
    marks = replace(newer.marks, has_other_class=np.zeros(len(newer), np.bool_))
    older = Records.of_rows(matched_rows, rule.ordering_fields)
    newer = replace(newer, marks=marks)
    return matched_rows, merge_pairs(older, newer, rule, winners.column_sets)


def _mask(rows: RowNumbers, row_count: int) -> Mask:
    mask = np.zeros(row_count, np.bool_)
    mask[rows] = True
    return mask


def _filtered(table: pa.Table, mask: Mask) -> pa.Table:
    return table.filter(to_arrow(mask))
