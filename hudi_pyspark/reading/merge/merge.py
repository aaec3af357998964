"""Base tables and log records to merged tables.

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
from hudi_pyspark.reading.merge.fold import PairRule, fold_log
from hudi_pyspark.reading.merge.outcome import MergeDecision


class MergedTable(NamedTuple):
    """Some rows of a merged slice."""

    rows: pa.Table
    is_of_base: bool  # rows that stay as the base file has them


class MergePass:
    """One merge of log records with the base tables of a slice.

    `rows` streams the merged rows; after the last one, `decision` says what became of both sides.
    """

    def __init__(
        self, log: LogRecords, pair_rule: PairRule, row_filter: base_rows.RowFilter | None = None
    ) -> None:
        """Prepare a merge.

        Args:
            log: records of the slice, oldest first.
            pair_rule: how two records of one key become one.
            row_filter: base rows that take part in the merge; None for all. Row positions count the
                other rows, but the result lacks them, and there is no decision.
        """
        self._log = log
        self._pair_rule = pair_rule
        self._row_filter = row_filter
        self._dropped: list[Mask] = []  # per base table
        self._is_kept: Mask = np.empty(0, np.bool_)  # per log row

    def rows(self, base: Iterable[pa.Table], batch_rows: int) -> Iterator[MergedTable]:
        """Yield the remaining rows of each base table, then the log rows that met no base row.

        Args:
            base: tables in file order, with the log records' schema; read one at a time.
            batch_rows: maximum rows per table of log rows.

        Raises:
            CorruptTableError: a base row has no record key, or a record lacks a value by which its
                payload class orders records.
            UnsupportedMergeError, InvalidOptionError: as `fold_log`.
        """
        if self._pair_rule.rule.folds_base_rows:
            log_rows, remaining = yield from self._fold_base_rows(base)
        else:
            winners = fold_log(self._log, self._pair_rule)
            matcher = base_rows.BaseRowMatcher(winners, self._row_filter)
            combines = self._pair_rule.combines
            merge = self._merge_mixed_records if combines else self._merge_whole_records
            log_rows, remaining = winners.rows, (yield from merge(base, matcher))
        self._is_kept = np.zeros(log_rows.num_rows, np.bool_)
        self._is_kept[remaining] = True
        # In log order, and never all at once, since a slice may have gigabytes.
        for start in range(0, len(self._is_kept), batch_rows):
            mask = to_arrow(self._is_kept[start : start + batch_rows])
            table = log_rows.slice(start, batch_rows).filter(mask).combine_chunks()
            if table.num_rows:
                yield MergedTable(table, is_of_base=False)

    def decision(self) -> MergeDecision:
        """Return what the merge decided, once `rows` is used up."""
        dropped = np.concatenate([np.empty(0, np.bool_), *self._dropped])
        is_whole = self._pair_rule.wins_whole_records
        return MergeDecision(dropped, self._is_kept if is_whole else None)

    def _merge_whole_records(
        self, base: Iterable[pa.Table], matcher: base_rows.BaseRowMatcher
    ) -> Generator[MergedTable, None, RowNumbers]:
        """Run the second phase if either side stays as it is; return the remaining log rows."""
        winners = matcher.winners
        is_remaining = ~winners.marks.is_delete  # and no base row has won against it yet
        for table in base:
            match = matcher.match(table)
            ordering = base_rows.compared_ordering(match, self._pair_rule.rule)
            marks = winners.marks.take(match.winners)
            base_won = base_rows.base_wins(marks, ordering, self._pair_rule.rule)
            is_remaining[match.winners[base_won]] = False
            yield self._without(match.table, match.rows[~base_won])
        return winners.row[is_remaining]

    def _merge_mixed_records(
        self, base: Iterable[pa.Table], matcher: base_rows.BaseRowMatcher
    ) -> Generator[MergedTable, None, RowNumbers]:
        """Run the second phase if the winner takes values; return the remaining log rows."""
        for table in base:
            match = matcher.match(table)
            order = np.argsort(match.rows)  # that of the base file, whatever its tables
            match = base_rows.Match(match.table, match.rows[order], match.winners[order])
            _, merged = _merge_match(match, matcher.winners, self._pair_rule)
            yield self._without(match.table, match.rows)
            remaining = to_arrow(~merged.marks.is_delete)
            yield MergedTable(merged.rows.filter(remaining), is_of_base=False)
        return matcher.unmet_rows

    def _fold_base_rows(
        self, base: Iterable[pa.Table]
    ) -> Generator[MergedTable, None, tuple[pa.Table, RowNumbers]]:
        """Fold base rows like log records; return the folded rows, and which of them remain.

        Apache Hudi merges the files of an LSM tree like that. Base rows without a log record are
        yielded at once.
        """
        log, rule = self._log, self._pair_rule.rule
        no_rows = pa.Table.from_batches([], log.rows.schema)
        matched = [LogRecords.of_base_rows(no_rows, rule, log.column_sets)]
        for table in base:
            rows = table if self._row_filter is None else _filtered(table, self._row_filter(table))
            is_matched = to_numpy(pc.is_in(base_rows.record_keys(rows), value_set=log.keys))
            matched_rows = _filtered(rows, is_matched)
            matched.append(LogRecords.of_base_rows(matched_rows, rule, log.column_sets))
            yield self._without(rows, np.flatnonzero(is_matched))
        records = LogRecords.concat([*matched, replace(log, positions=None)])
        winners = fold_log(records, self._pair_rule)
        return winners.rows, winners.row[~winners.marks.is_delete]

    def _without(self, table: pa.Table, rows: RowNumbers) -> MergedTable:
        """Drop rows of a base table, and remember them for the decision."""
        is_dropped = np.zeros(table.num_rows, np.bool_)
        is_dropped[rows] = True
        self._dropped.append(is_dropped)
        return MergedTable(_filtered(table, ~is_dropped) if len(rows) else table, is_of_base=True)


def changed_rows(
    before: Iterable[pa.Table], log: LogRecords, pair_rule: PairRule
) -> Iterator[tuple[str, pa.Table | None, pa.Table | None]]:
    """List the inserts, updates and deletes that log records make to the rows of a slice.

    Yields ``i``, ``u`` or ``d``, the rows before (None for inserts) and after (None for deletes). A
    record that loses against the base row changes nothing and does not appear.

    Raises:
        CorruptTableError, UnsupportedMergeError, InvalidOptionError: as `MergePass.rows`.
    """
    winners = fold_log(log, pair_rule)
    matcher = base_rows.BaseRowMatcher(winners)
    for table in before:
        matched_rows, merged = _merge_match(matcher.match(table), winners, pair_rule)
        is_delete = merged.marks.is_delete
        yield "d", _filtered(matched_rows, is_delete), None
        is_update = ~is_delete & differing_rows(matched_rows, merged.rows)
        yield "u", _filtered(matched_rows, is_update), _filtered(merged.rows, is_update)
    yield "i", None, winners.rows.take(to_arrow(matcher.unmet_rows))


def _merge_match(
    match: base_rows.Match, winners: LogRecords, pair_rule: PairRule
) -> tuple[pa.Table, Records]:
    """Return the base rows that meet a log record, and the merged records of both."""
    matched_rows = match.table.take(to_arrow(match.rows))
    newer = winners.records(match.winners)
    # Java classes are compared among log records only.
    marks = replace(newer.marks, has_other_class=np.zeros(len(newer), np.bool_))
    older = Records.of_rows(matched_rows, pair_rule.rule.ordering_fields)
    return matched_rows, pair_rule.merge(older, replace(newer, marks=marks))


def _filtered(table: pa.Table, mask: Mask) -> pa.Table:
    return table.filter(to_arrow(mask))
