"""Carry a merge on: fold later log records onto the winners of the log records before them.

Folding is associative (`fold.py`), so the winners stand for all records that were folded. Only
winners whose key a later record has are folded again, and only keys that are new to the log are
looked up in the base file. The merge of a whole slice is carried on from no winners.
"""

from collections.abc import Callable, Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.columns.arrays import Mask, RowNumbers, is_true
from hudi_pyspark.reading.log_records.records import NO_ROW, LogRecords
from hudi_pyspark.reading.merge.base_rows import BaseRowMatcher, base_wins, compared_ordering
from hudi_pyspark.reading.merge.fold import PairRule, fold_log
from hudi_pyspark.reading.merge.outcome import MergeDecision
from hudi_pyspark.reading.merge.winners import MetRows, Winners, number_rows, ordinals_of
from hudi_pyspark.table.merge_mode import MergeRule

FindBaseRows = Callable[[LogRecords], MetRows]


def carry_on(
    decision: MergeDecision,
    winners: Winners,
    log: LogRecords,
    pair_rule: PairRule,
    find_base_rows: FindBaseRows,
) -> tuple[MergeDecision, Winners]:
    """Merge later log records onto what earlier log records have become.

    Args:
        decision: on the earlier log records; it has ``kept_log_rows``.
        winners: of the earlier log records.
        log: the later records, oldest first; they are identified like the winners.
        pair_rule: that takes no values from both of two records.
        find_base_rows: returns the base rows of log records, each of which has another key.

    Returns:
        The decision on all log records, and their winners. The arguments stay as they are.

    Raises:
        CorruptTableError: a base row has no record key.
        UnsupportedMergeError: as `fold_log`, if the pair rule takes values from both records.
    """
    older, kept = winners.log, decision.kept_log_rows
    assert kept is not None  # as documented
    is_touched = _has_keys_of(older, log) if len(older) else np.empty(0, np.bool_)
    touched = np.flatnonzero(is_touched)
    newer = number_rows(log, winners.row_count)
    if len(touched):
        newer = LogRecords.concat([older.take(touched), newer])
    folded = fold_log(newer, pair_rule)
    if len(older):  # a winner's key has the same base row as before
        place = _places(folded, older, touched)
        new_keys = np.flatnonzero(place == NO_ROW)
        place[new_keys] = len(older) + np.arange(len(new_keys))
        met = MetRows.concat([winners.met, find_base_rows(folded.take(new_keys))]).take(place)
    else:
        met = find_base_rows(folded)

    base_won = base_wins(folded.marks, met.ordering, pair_rule.rule) & (met.row != NO_ROW)
    dropped = decision.dropped_base_rows.copy()
    dropped[met.row[met.row != NO_ROW]] = ~base_won[met.row != NO_ROW]
    row_count = winners.row_count + log.rows.num_rows
    kept = np.append(kept, np.zeros(log.rows.num_rows, np.bool_))
    lost = ordinals_of(winners.log)[touched]
    kept[lost[lost != NO_ROW]] = False
    log_rows = ordinals_of(folded)
    kept[log_rows[(log_rows != NO_ROW) & ~folded.marks.is_delete & ~base_won]] = True

    if len(older):
        untouched = np.flatnonzero(~is_touched)
        folded = LogRecords.concat([older.take(untouched), folded]).without_unused_rows()
        met = MetRows.concat([winners.met.take(untouched), met])
    return MergeDecision(dropped, kept), Winners(folded, met, row_count)


def match_base_rows(log: LogRecords, tables: Iterable[pa.Table], rule: MergeRule) -> MetRows:
    """Find the base rows of log records, each of which has another key.

    Args:
        log: with ascending positions, unless keys identify the records.
        tables: all rows of the base file, in file order: the record key column unless positions
            identify the records, and in event-time order the ordering fields.
        rule: names the ordering fields.

    Raises:
        CorruptTableError: a base row has no record key.
    """
    matcher, first_row, met = BaseRowMatcher(log), 0, [MetRows.none(log, rule)]
    place_of_record, count = np.full(len(log), NO_ROW, np.int64), 0
    for table in tables if len(log) else ():
        match = matcher.match(table)
        met.append(MetRows(match.rows + first_row, compared_ordering(match, rule)))
        place_of_record[match.winners] = count + np.arange(len(match.rows))
        first_row, count = first_row + table.num_rows, count + len(match.rows)
    return MetRows.concat(met).take(place_of_record)


def _has_keys_of(older: LogRecords, newer: LogRecords) -> Mask:
    """Return the older records whose key or position a newer record has."""
    if older.positions is not None and newer.positions is not None:
        return np.isin(older.positions, newer.positions)
    return is_true(pc.is_in(older.keys, value_set=newer.keys))


def _places(folded: LogRecords, older: LogRecords, touched: RowNumbers) -> RowNumbers:
    """Return, for each folded record, the ordinal of the older record of its key, or NO_ROW."""
    place = np.full(len(folded), NO_ROW, np.int64)
    if folded.positions is not None and older.positions is not None:
        place[np.searchsorted(folded.positions, older.positions[touched])] = touched
    else:  # keys are numbered in the order of their first records
        place[: len(touched)] = touched
    return place
