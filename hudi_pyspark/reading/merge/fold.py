"""First phase of a merge: the log records of each key become one, oldest to newest.

Where the winner is always one whole record, this is a sort. Where it takes values from the loser,
one round merges the next record of every key that still has one: all keys at once, as many rounds
as the most frequent key has records.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.columns.arrays import RowNumbers
from hudi_pyspark.custom_mergers import PayloadMerger
from hudi_pyspark.errors import UnsupportedMergeError
from hudi_pyspark.reading.log_records.records import NO_ROW, ColumnSets, LogRecords, Records
from hudi_pyspark.reading.merge.custom_merger import merge_by_function
from hudi_pyspark.reading.merge.payload import decide
from hudi_pyspark.table.merge_mode import MergeRule, RecordMergeMode

# Older and newer records, pair by pair of the same key, to the merged ones.
PairRule: TypeAlias = Callable[[Records, Records], Records]


def fold_log(log: LogRecords, rule: MergeRule, merger: PayloadMerger | None = None) -> LogRecords:
    """Fold the log records of each key into one, whose rows may be those of all log records.

    Records that were written later may follow: folding the result with them gives the same as
    folding all at once.

    Args:
        log: records of one slice, oldest first.
        rule: the table's rule of merging.
        merger: a user's function, for payload classes that are not known; None to merge by the
            rule.

    Raises:
        UnsupportedMergeError: partial updates in the log of a table whose rule takes values from
            both records: what Apache Hudi makes of them is not known.
        InvalidOptionError: a user's merger returned something other than rows of its arguments'
            types.
    """
    codes, keys, positions = _identify(log)
    if not winners_take_values(log, rule):
        if rule.mode is RecordMergeMode.COMMIT_TIME_ORDERING:
            winners = _last_of_each(codes, np.arange(len(codes)), len(keys))
        else:
            winners = _newest_of_each(codes, log)
        row, marks = log.row[winners], log.marks.take(winners)
        return replace(log, row=row, keys=keys, positions=positions, marks=marks)
    if rule.needs_fold and len(log.column_sets):
        # Apache Hudi's payload classes do not know of them, and a partial update mode counts only
        # until the first of them in the log: no table is known that shows what comes out.
        named = rule.payload_class or rule.merge_strategy_id or rule.partial_update_mode
        raise UnsupportedMergeError(
            f"the log files hold partial updates (MERGE INTO, UPDATE), and the table merges by "
            f"{named}: the two together are not covered. Run a compaction with Apache Hudi"
        )
    pair_rule = rule_of_pairs(rule, log.column_sets, merger)
    folded, order = fold_in_rounds(codes, log.records, pair_rule)
    return LogRecords.of(folded.take(np.argsort(order)), keys, positions, log.column_sets)


def winners_take_values(log: LogRecords, rule: MergeRule) -> bool:
    """Decide whether a winner may take values from the record that it beats."""
    return rule.needs_fold or len(log.column_sets) > 0


def rule_of_pairs(rule: MergeRule, sets: ColumnSets, merger: PayloadMerger | None) -> PairRule:
    """Return the function that merges older and newer records by a table's rule."""
    if merger is not None:
        return lambda older, newer: merge_by_function(merger, older, newer, rule)
    return lambda older, newer: decide(older, newer, rule, sets).apply(older, newer)


def fold_in_rounds(
    codes: RowNumbers, records: Callable[[RowNumbers], Records], pair_rule: PairRule
) -> tuple[Records, RowNumbers]:
    """Fold the records of each key in rounds, oldest to newest.

    ``codes`` number the keys of the records, in order of arrival, from 0 on without gaps;
    ``records`` returns the records at some places. Returns one record per key, and the codes of
    their keys.
    """
    arrival = np.argsort(codes, kind="stable")
    counts = np.bincount(codes)
    first = np.concatenate(([0], np.cumsum(counts)[:-1])) if len(counts) else counts
    # Keys with many records come first, so that those still to be merged are always a prefix.
    keys = np.argsort(-counts, kind="stable")
    counts, first = counts[keys], first[keys]
    state = records(arrival[first])
    for turn in range(1, int(counts.max(initial=0))):
        open_keys = int(np.searchsorted(-counts, -turn, side="left"))
        newer = records(arrival[first[:open_keys] + turn])
        merged = pair_rule(state.take(np.arange(open_keys)), newer)
        state = Records.concat([merged, state.take(np.arange(open_keys, len(state)))])
    return state, keys


def _identify(log: LogRecords) -> tuple[RowNumbers, pa.Array, RowNumbers | None]:
    """Number the keys: the number of each record's key, and keys and positions by that number."""
    if log.positions is not None:
        positions, codes = np.unique(log.positions, return_inverse=True)
        return codes.astype(np.int64), pa.nulls(len(positions), pa.string()), positions
    encoded = pc.dictionary_encode(log.keys)
    return np.asarray(encoded.indices).astype(np.int64), encoded.dictionary, None


def _last_of_each(
    codes: RowNumbers, records: RowNumbers, count: int, none: int = NO_ROW
) -> RowNumbers:
    """Return, for each code below a count, the last of some records that has it.

    ``none`` is the answer for a code that none of these records has.
    """
    last = np.full(count, none, np.int64)
    last[codes[records]] = records
    return last


def _newest_of_each(codes: RowNumbers, log: LogRecords) -> RowNumbers:
    """Return, for each code from 0 on, the record that wins in event-time order."""
    candidates = _after_resets(codes, log)
    ranks = log.marks.ordering.ranks()[candidates]
    order = np.lexsort((candidates, ranks, codes[candidates]))
    sorted_codes = codes[candidates][order]
    is_last = np.ones(len(order), np.bool_)
    is_last[:-1] = sorted_codes[1:] != sorted_codes[:-1]
    return candidates[order[is_last]]


def _after_resets(codes: RowNumbers, log: LogRecords) -> RowNumbers:
    """Return the records that still matter after deletes that beat everything before them.

    A delete without ordering value beats every older record of its key and loses against any newer
    row; further delete-block records right after it change nothing. A delete-block record whose
    ordering value has another Java class than the column beats every older record, too.
    """
    everything = np.arange(len(codes))
    commit_time = log.marks.is_commit_time_delete
    if not commit_time.any() and not log.marks.has_other_class.any():
        return everything
    count = int(codes.max()) + 1
    last_commit_time = _last_of_each(codes, np.flatnonzero(commit_time), count)[codes]
    is_candidate = everything >= last_commit_time
    # The first row after such a delete replaces it; delete-block records in between change nothing.
    later_rows = np.flatnonzero((log.row != NO_ROW) & (everything > last_commit_time))
    first_row = _last_of_each(codes, later_rows[::-1], count, none=len(codes))[codes]
    has_reset = last_commit_time != NO_ROW
    is_reset_itself = everything == last_commit_time
    replaced = has_reset & (first_row < len(codes))
    is_candidate &= ~(is_reset_itself & replaced)
    is_candidate &= ~(has_reset & ~is_reset_itself & (everything < first_row))
    other_class = log.marks.has_other_class & ~commit_time & is_candidate
    last_other_class = _last_of_each(codes, np.flatnonzero(other_class), count)[codes]
    return everything[is_candidate & (everything >= last_other_class)]
