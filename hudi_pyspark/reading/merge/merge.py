"""Base tables and log records to merged tables.

The merge has two phases. First the log records of a key are folded, oldest to newest, into one
winner (`fold.py`); then that winner meets the base row. This is not the same as taking the greatest
ordering value of all: a delete without ordering value beats everything before it, including what
would beat the base row later (see "Worked consequences" in the tests' oracle).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.columns.arrays import Mask, RowNumbers, as_one_array, differing_rows
from hudi_pyspark.custom_mergers import PayloadMerger
from hudi_pyspark.errors import CorruptTableError
from hudi_pyspark.reading.log_records.ordering import comparable_ordering
from hudi_pyspark.reading.log_records.records import NO_ROW, LogRecords, Records
from hudi_pyspark.reading.merge.fold import PairRule, fold_log, rule_of_pairs, winners_take_values
from hudi_pyspark.table.merge_mode import MergeRule, RecordMergeMode
from hudi_pyspark.table.meta_columns import RECORD_KEY_COLUMN

RowFilter = Callable[[pa.Table], Mask]
Keep = Callable[[Mask, Mask | None, list[pa.Table]], None]


def merge(
    base: Iterable[pa.Table],
    log: LogRecords,
    rule: MergeRule,
    *,
    batch_rows: int,
    merger: PayloadMerger | None = None,
    takes_part: RowFilter | None = None,
    keep: Keep | None = None,
) -> Iterator[pa.Table]:
    """Merge a slice: the rows left of each base table, then the log rows that met no base row.

    Base tables have the log records' schema and come in file order, one at a time. Rows that
    ``takes_part`` excludes are left out, but count where log records name row positions.

    Where all rows take part, ``keep`` is called at the end with the base rows that were dropped, by
    row number, with the log rows that stay as they are (None where a record may be made of several)
    and with all records that stay, in an order that does not depend on the base tables' sizes.

    Raises:
        UnsupportedMergeError: the log has partial updates, and the table merges by a payload class
            or the like.
    """
    dropped: list[Mask] = []  # per base table
    kept: list[pa.Table] = []
    is_whole = not (rule.folds_base_rows or winners_take_values(log, rule))
    if rule.folds_base_rows:
        touched: list[LogRecords] = []
        yield from _split_off_touched(
            base, log, rule, touched, takes_part=takes_part, dropped=dropped
        )
        winners = fold_log(
            LogRecords.concat([*touched, replace(log, positions=None)]), rule, merger
        )
        left = winners.row[~winners.marks.is_delete]
    else:
        winners = fold_log(log, rule, merger)
        matcher = BaseRowMatcher(winners, takes_part)
        if is_whole:
            left = yield from _merge_whole_records(base, matcher, rule, dropped)
        else:
            pair_rule = rule_of_pairs(rule, log.column_sets, merger)
            for rest, merged in _merge_mixed_records(base, matcher, pair_rule, rule, dropped):
                yield rest
                if keep is not None:
                    kept.append(merged)
                yield merged
            left = matcher.unmet_rows
    # In log order, and never all at once, since a slice may have gigabytes.
    is_left = np.zeros(winners.rows.num_rows, np.bool_)
    is_left[left] = True
    for start in range(0, len(is_left), batch_rows):
        mask = pa.array(is_left[start : start + batch_rows])
        table = winners.rows.slice(start, batch_rows).filter(mask).combine_chunks()
        if table.num_rows:
            if keep is not None:
                kept.append(table)
            yield table
    if keep is not None:
        all_dropped = np.concatenate([np.empty(0, np.bool_), *dropped])
        keep(all_dropped, is_left if is_whole else None, kept)


def changed_rows(
    before: Iterable[pa.Table],
    log: LogRecords,
    rule: MergeRule,
    *,
    merger: PayloadMerger | None = None,
) -> Iterator[tuple[str, pa.Table | None, pa.Table | None]]:
    """List the inserts, updates and deletes that log records make to the rows of a slice.

    Yields ``i``, ``u`` or ``d``, the rows before (None for inserts) and after (None for deletes). A
    record that loses against the base row changes nothing and does not appear.

    Raises:
        UnsupportedMergeError: as `merge` raises it.
    """
    winners = fold_log(log, rule, merger)
    matcher = BaseRowMatcher(winners)
    pair_rule = rule_of_pairs(rule, log.column_sets, merger)
    for table in before:
        touched, merged = _merge_match(matcher.match(table), winners, pair_rule, rule)
        is_delete = merged.marks.is_delete
        yield "d", touched.filter(pa.array(is_delete)), None
        is_update = pa.array(~is_delete & differing_rows(touched, merged.rows))
        yield "u", touched.filter(is_update), merged.rows.filter(is_update)
    yield "i", None, winners.rows.take(pa.array(matcher.unmet_rows))


def unmerged(
    base: Iterable[pa.Table], log: Iterable[LogRecords], *, batch_rows: int
) -> Iterator[pa.Table]:
    """Chain base rows and rows of data blocks, deletes too, as ``skip_merge`` reads them."""
    yield from base
    for records in log:
        for start in range(0, records.rows.num_rows, batch_rows):
            yield records.rows.slice(start, batch_rows).combine_chunks()


def _split_off_touched(
    base: Iterable[pa.Table],
    log: LogRecords,
    rule: MergeRule,
    touched: list[LogRecords],
    *,
    takes_part: RowFilter | None,
    dropped: list[Mask],
) -> Iterator[pa.Table]:
    """Yield the base rows without a log record, and collect the others.

    Apache Hudi merges the files of an LSM tree alike: base rows are the oldest records.
    """
    touched.append(LogRecords.of_base_rows(log.rows.schema.empty_table(), rule, log.column_sets))
    for table in base:
        rows = table if takes_part is None else table.filter(pa.array(takes_part(table)))
        is_touched = pc.is_in(_record_keys(rows), value_set=log.keys)
        touched.append(LogRecords.of_base_rows(rows.filter(is_touched), rule, log.column_sets))
        dropped.append(np.asarray(is_touched))
        yield rows.filter(pc.invert(is_touched))


def _merge_whole_records(
    base: Iterable[pa.Table], matcher: BaseRowMatcher, rule: MergeRule, dropped: list[Mask]
) -> Generator[pa.Table, None, RowNumbers]:
    """Run the second phase where either the base row or the log record stays as it is.

    Returns the ordinals of the log rows that are left.
    """
    winners = matcher.winners
    is_left = ~winners.marks.is_delete  # and no base row has won against it yet
    for table in base:
        match = matcher.match(table)
        base_wins = _base_wins(match, winners, rule)
        is_left[match.winners[base_wins]] = False
        yield _without(match.table, match.rows[~base_wins], dropped)
    return winners.row[is_left]


def _base_wins(match: Match, winners: LogRecords, rule: MergeRule) -> Mask:
    """Return, for each match, whether the base row wins over the log record."""
    if rule.mode is not RecordMergeMode.EVENT_TIME_ORDERING or not len(match.rows):
        return np.zeros(len(match.rows), np.bool_)
    base_ordering = comparable_ordering(match.table, rule.ordering_fields).take(match.rows)
    marks = winners.marks.take(match.winners)
    return marks.ordering.older_than(base_ordering) & ~marks.is_commit_time_delete


def _merge_mixed_records(
    base: Iterable[pa.Table],
    matcher: BaseRowMatcher,
    pair_rule: PairRule,
    rule: MergeRule,
    dropped: list[Mask],
) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Run the second phase where the winner takes values from the loser.

    Yields the rows that no log record meets, and those merged, in the order of the base file.
    """
    for table in base:
        match = matcher.match(table)
        order = np.argsort(match.rows)
        match = Match(match.table, match.rows[order], match.winners[order])
        _, merged = _merge_match(match, matcher.winners, pair_rule, rule)
        rest = _without(match.table, match.rows, dropped)
        yield rest, merged.rows.filter(pa.array(~merged.marks.is_delete))


def _merge_match(
    match: Match, winners: LogRecords, pair_rule: PairRule, rule: MergeRule
) -> tuple[pa.Table, Records]:
    """Return the base rows that meet a log record, and the merged records of both."""
    touched = match.table.take(pa.array(match.rows))
    older = Records.of_rows(touched, comparable_ordering(touched, rule.ordering_fields))
    newer = winners.records(match.winners)
    # Java classes are compared among log records only.
    marks = replace(newer.marks, has_other_class=np.zeros(len(newer), np.bool_))
    return touched, pair_rule(older, replace(newer, marks=marks))


def _without(table: pa.Table, rows: RowNumbers, dropped: list[Mask]) -> pa.Table:
    mask = np.zeros(table.num_rows, np.bool_)
    mask[rows] = True
    dropped.append(mask)
    return table.filter(pa.array(~mask)) if len(rows) else table


class Match(NamedTuple):
    """Base rows, and which of them meet a log record; the two arrays are parallel."""

    table: pa.Table  # the rows that take part in the merge
    rows: RowNumbers  # ordinals in the table
    winners: RowNumbers  # ordinals of the log records that they meet


class BaseRowMatcher:
    """Stateful matcher of a slice: takes its base tables in file order.

    It counts the rows that it has seen, since positions are those of the file, and remembers which
    log records have met their row.
    """

    def __init__(self, winners: LogRecords, takes_part: RowFilter | None = None) -> None:
        self.winners = winners
        self._takes_part = takes_part
        self._rows_before = 0
        self._is_met = np.zeros(len(winners), np.bool_)  # per log record, so far

    @property
    def unmet_rows(self) -> RowNumbers:
        """Ordinals of the log rows that have met no base row and are not deletes."""
        winners = self.winners
        is_row = (winners.row != NO_ROW) & ~winners.marks.is_delete
        unmet: RowNumbers = winners.row[is_row & ~self._is_met]
        return unmet

    def match(self, table: pa.Table) -> Match:
        """Find the base rows that log records meet, in tables of one slice that come in file order.

        It remembers how many rows it has seen, for records that name positions, and which records
        it has met: the others are inserts.
        """
        # A log record meets one base row only: of duplicate keys in a base file, the first.
        if self.winners.positions is not None:
            first_row, self._rows_before = self._rows_before, self._rows_before + table.num_rows
            begin, end = np.searchsorted(self.winners.positions, (first_row, self._rows_before))
            rows = self.winners.positions[begin:end] - first_row
            winners = np.arange(begin, end)
            if self._takes_part is not None:
                takes_part = self._takes_part(table)
                is_left = takes_part[rows]
                rows, winners = (np.cumsum(takes_part) - 1)[rows[is_left]], winners[is_left]
                table = table.filter(pa.array(takes_part))
        else:
            if self._takes_part is not None:
                table = table.filter(pa.array(self._takes_part(table)))
            rows, winners = self._match_keys(table)
        is_new = ~self._is_met[winners]
        self._is_met[winners] = True
        return Match(table, rows[is_new], winners[is_new])

    def _match_keys(self, table: pa.Table) -> tuple[RowNumbers, RowNumbers]:
        """Return the first row of each log record that the table has, and these records."""
        keys, log_keys = _record_keys(table), self.winners.keys
        # The value set is hashed anew for each table, so use the smaller side: with
        # a million log records that is ten times faster.
        if len(keys) < len(log_keys):
            first_rows = _index_in(log_keys, keys)
            winners = np.flatnonzero(first_rows != NO_ROW)
            return first_rows[winners], winners
        indices = _index_in(keys, log_keys)
        rows = np.flatnonzero(indices != NO_ROW)
        winners, first = np.unique(indices[rows], return_index=True)
        return rows[first], winners


def _record_keys(table: pa.Table) -> pa.Array:
    keys = as_one_array(table.column(RECORD_KEY_COLUMN))
    if keys.null_count:
        raise CorruptTableError(
            "a base file has a record without record key, so log records cannot be matched"
        )
    return keys


def _index_in(values: pa.Array, value_set: pa.Array) -> RowNumbers:
    """Return, for each value, its first index in the set, or NO_ROW."""
    indices = pc.index_in(values, value_set=value_set)
    return np.asarray(pc.fill_null(indices, NO_ROW)).astype(np.int64)
