"""First phase of a merge: the log records of each key become one, oldest to newest.

If the winner is always one whole record, folding is a sort. If the winner takes values from the
record that it beats, folding goes in rounds: each round merges the next record of every key that
still has one, so there are as many rounds as the most frequent key has records.

In event-time order, these rules decide what a delete does to the other records of its key:

    ordering value of the delete    older records       newer records
    none, or Hudi's default (0)     lose to it          the next row replaces it, whatever its
                                                        value; deletes in between do nothing
    of another Java class           lose to it          are compared with it by ordering value
    any other                       are compared with it by ordering value

The first rule needs a delete without a value; the second needs a delete block, since the values of
rows always have the class of their column.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.arrow_values import to_numpy
from hudi_pyspark.columns.arrays import Mask, RowNumbers
from hudi_pyspark.errors import UnsupportedMergeError
from hudi_pyspark.reading.log_records.marks import ranks
from hudi_pyspark.reading.log_records.records import NO_ROW, LogRecords, Records
from hudi_pyspark.reading.merge.payload import merge_pairs
from hudi_pyspark.table.merge_mode import MergeRule, RecordMergeMode


def combines_records(log: LogRecords, rule: MergeRule) -> bool:
    """Return whether a winner may take values from the record that it beats."""
    return rule.needs_fold or len(log.column_sets) > 0


def wins_whole_records(log: LogRecords, rule: MergeRule) -> bool:
    """Return whether each merged row is a whole log record, or a whole row of the base file."""
    return not (combines_records(log, rule) or rule.folds_base_rows)


def fold_log(log: LogRecords, rule: MergeRule) -> LogRecords:
    """Fold the log records of each key into one; the result may share the rows of all records.

    Folding is associative: folding the result with later records gives the same as folding all
    records at once.

    Args:
        log: records of one slice, oldest first.
        rule: of the table.

    Raises:
        UnsupportedMergeError: partial updates in the log of a table whose rule takes values from
            both records: what Apache Hudi makes of them is not known.
        CorruptTableError, InvalidOptionError: as `merge_pairs`.
    """
    codes, keys, positions = _number_keys(log)
    if not combines_records(log, rule):
        if positions is None and len(keys) == len(codes):
            return log  # no key occurs twice
        if rule.mode is RecordMergeMode.COMMIT_TIME_ORDERING:
            winners = _last_of_each(codes, np.arange(len(codes)), len(keys))
        else:
            winners = _newest_of_each(codes, log, len(keys))
        row = log.row[winners]
        marks = log.marks.take(winners)
        return replace(log, row=row, keys=keys, positions=positions, marks=marks)
    if rule.needs_fold and len(log.column_sets):
        # Apache Hudi's payload classes do not know partial updates, and a partial update mode
        # counts only until the first of them in the log. No known table shows the result.
        named = rule.payload_class or rule.merge_strategy_id or rule.partial_update_mode
        raise UnsupportedMergeError(
            "the log files hold partial updates (MERGE INTO, UPDATE), and the table merges by "
            f"{named}: the two together are not covered",
            advice="Run a compaction with Apache Hudi",
        )
    merge = partial(merge_pairs, rule=rule, sets=log.column_sets)
    folded, order = fold_in_rounds(codes, log.records, merge)
    return LogRecords.of(folded.take(np.argsort(order)), keys, positions, log.column_sets)


def fold_in_rounds(
    codes: RowNumbers,
    records: Callable[[RowNumbers], Records],
    merge: Callable[[Records, Records], Records],
) -> tuple[Records, RowNumbers]:
    """Fold the records of each key in rounds, oldest to newest.

    Args:
        codes: number of each record's key, in order of arrival: from 0 on, without gaps.
        records: returns the records at some places.
        merge: merges older and newer records, pair by pair.

    Returns:
        One record per key, and the codes of their keys.
    """
    arrival = np.argsort(codes, kind="stable")
    counts = np.bincount(codes)
    first = np.concatenate(([0], np.cumsum(counts)[:-1])) if len(counts) else counts
    # Keys with many records come first, so that those still to be merged are always a prefix.
    keys = np.argsort(-counts, kind="stable")
    counts, first = counts[keys], first[keys]
    state = records(arrival[first])
    for turn in range(1, int(counts.max(initial=0))):
        open_keys = int(np.searchsorted(-counts, -turn))
        newer = records(arrival[first[:open_keys] + turn])
        merged = merge(state.take(np.arange(open_keys)), newer)
        state = Records.concat([merged, state.take(np.arange(open_keys, len(state)))])
    return state, keys


def _number_keys(log: LogRecords) -> tuple[RowNumbers, pa.Array, RowNumbers | None]:
    """Number the keys: the number of each record's key, and keys and positions by that number."""
    if log.positions is not None:
        positions, codes = np.unique(log.positions, return_inverse=True)
        return codes.astype(np.int64), pa.nulls(len(positions), pa.string()), positions
    encoded = pc.dictionary_encode(log.keys)
    return to_numpy(encoded.indices).astype(np.int64), encoded.dictionary, None


def _last_of_each(
    codes: RowNumbers, records: RowNumbers, count: int, none: int = NO_ROW
) -> RowNumbers:
    """Return the last of some records for each code below a count; ``none`` if no record has it."""
    last = np.full(count, none, np.int64)
    last[codes[records]] = records
    return last


def _newest_of_each(codes: RowNumbers, log: LogRecords, count: int) -> RowNumbers:
    """Return, for each code below a count, the record that wins in event-time order."""
    candidates = _candidates(codes, log)
    # Sorting is stable: of equal ordering values, the record that arrived last stays the last one.
    by_value = np.argsort(ranks(log.marks.ordering, len(log))[candidates], kind="stable")
    return _last_of_each(codes, candidates[by_value], count)


def _candidates(codes: RowNumbers, log: LogRecords) -> RowNumbers:
    """Return the records that deletes leave to be compared; see the table above."""
    arrival = np.arange(len(codes))
    has_no_value = log.marks.is_commit_time_delete
    if not (has_no_value | log.marks.has_other_class).any():
        return arrival
    count = int(codes.max()) + 1
    last_without_value = _last_of_each(codes, np.flatnonzero(has_no_value), count)[codes]
    later_rows = np.flatnonzero((log.row != NO_ROW) & (arrival > last_without_value))
    next_row = _last_of_each(codes, later_rows[::-1], count, none=len(codes))[codes]
    is_delete_itself = arrival == last_without_value
    is_candidate: Mask = (
        (last_without_value == NO_ROW)
        | (arrival >= next_row)
        | (is_delete_itself & (next_row == len(codes)))
    )
    has_other_class = log.marks.has_other_class & ~has_no_value & is_candidate
    last_of_other_class = _last_of_each(codes, np.flatnonzero(has_other_class), count)[codes]
    return arrival[is_candidate & (arrival >= last_of_other_class)]
