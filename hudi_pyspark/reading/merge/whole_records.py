"""Merge records that win as a whole: each merged row is a log row, or a row of the base file.

    merge = WholeRecords(log, rule)
    for table in base:                            # all base tables, in file order
        remaining = table.filter(merge.keep(table))
    decision, winners = merge.finish()            # with the log rows that remain

Who needs only the decision calls `match` instead of `keep`. Tables of record keys and ordering
values are enough for it.

With the decision and the `Winners`, a merge is resumed when later log records come. Folding is
associative (`fold.py`), so the winners stand for all records that were folded. Only winners whose
key a later record has are folded again, and only keys that are new to the log are looked up in the
base file. A first merge resumes from no winners.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.arrow_values import to_arrow, to_numpy
from hudi_pyspark.columns.arrays import (
    Mask,
    ParallelArrays,
    RowNumbers,
    as_one_array,
    is_true,
)
from hudi_pyspark.reading.log_records.marks import Ordering
from hudi_pyspark.reading.log_records.records import NO_ROW, ColumnSets, LogRecords
from hudi_pyspark.reading.merge.base_rows import (
    BaseRowMatcher,
    Match,
    RowFilter,
    base_wins,
    compared_ordering,
)
from hudi_pyspark.reading.merge.fold import fold_log
from hudi_pyspark.table.merge_mode import MergeRule

_ORDINALS = pa.schema({"": pa.int64()})
_NO_ROW = to_arrow(np.array([NO_ROW], np.int64))[0]


class MergeDecision(NamedTuple):
    """What a merge decided about the rows on both sides."""

    dropped_base_rows: Mask  # by row number in the base file
    # By ordinal of the log row; None if a remaining record may be made of several records.
    kept_log_rows: Mask | None


@dataclass(frozen=True, slots=True)
class MatchedRows(ParallelArrays):
    """The base row that each of some log records meets."""

    row: RowNumbers  # row number in the base file, NO_ROW if the record meets none
    ordering: Ordering  # of the base row, null if there is none; no fields in commit order

    @classmethod
    def none(cls, log: LogRecords, rule: MergeRule) -> MatchedRows:
        """Return a single entry, for records that meet no base row."""
        compared = log.marks.ordering if rule.compared_fields else ()
        return cls(np.array([NO_ROW]), tuple(pa.nulls(1, field.type) for field in compared))


@dataclass(frozen=True, slots=True)
class Winners:
    """What the log records of a slice were folded into: one record per key, and its base row.

    Deletes and records that lost against their base row stay: a later record may change who wins.
    """

    log: LogRecords  # its rows have one column: the ordinal of the row among all data rows
    matched: MatchedRows
    row_count: int  # of all data rows
    compacted_instants: tuple[str, ...] = ()  # that log compactions among the blocks name

    @classmethod
    def none(cls, log: LogRecords, rule: MergeRule) -> Winners:
        """Return the winners of no records, with which the merge of log records begins."""
        nothing = np.empty(0, np.int64)
        no_records = replace(log.take(nothing), rows=log.rows.slice(0, 0))
        return cls(_number_rows(no_records, 0), MatchedRows.none(log, rule).take(nothing), 0)

    def to_table(self) -> pa.Table:
        """Return the winners as one table, a row for each, without the compacted instants."""
        table = self.log.to_spill_table()
        fields = self.matched.ordering
        for array in (to_arrow(self.matched.row), *fields):
            table = table.append_column(str(table.num_columns), array)
        counts = {"rows": str(self.row_count), "ordering_fields": str(len(fields))}
        return table.replace_schema_metadata(counts)

    @classmethod
    def from_table(cls, table: pa.Table, compacted_instants: tuple[str, ...] = ()) -> Winners:
        """Return the winners that `to_table` has made this table of."""
        counts = {name: int(count) for name, count in table.schema.metadata.items()}
        end = table.num_columns - counts[b"ordering_fields"]
        row, *fields = map(as_one_array, table.columns[end - 1 :])
        log = LogRecords.from_spill_table(table.select(range(end - 1)), _ORDINALS, ColumnSets())
        matched = MatchedRows(to_numpy(row), tuple(fields))
        return cls(log, matched, counts[b"rows"], compacted_instants)


def _number_rows(log: LogRecords, first: int) -> LogRecords:
    """Return log records whose rows are their ordinals, from ``first`` on, instead of columns.

    Records that positions identify lose their keys.
    """
    numbers = to_arrow(np.arange(first, first + log.rows.num_rows))
    ordinals = pa.table([numbers], schema=_ORDINALS)
    keys = log.keys if log.positions is None else pa.nulls(len(log), pa.string())
    return replace(log, rows=ordinals, keys=keys)


def _ordinals_of(log: LogRecords) -> RowNumbers:
    """Return the ordinal of each record's row, as `_number_rows` has numbered it, or NO_ROW."""
    ordinals = as_one_array(log.rows.column(0)).fill_null(_NO_ROW)
    return np.append(to_numpy(ordinals), NO_ROW)[log.row]


NOTHING_DECIDED = MergeDecision(np.empty(0, np.bool_), np.empty(0, np.bool_))


class WholeRecords:
    """One merge of log records with the base tables of a slice, from the start or resumed."""

    def __init__(
        self,
        log: LogRecords,
        rule: MergeRule,
        decision: MergeDecision = NOTHING_DECIDED,
        winners: Winners | None = None,
        row_filter: RowFilter | None = None,
    ) -> None:
        """Fold the log records.

        Args:
            log: records of the slice, oldest first. A resumed merge takes the later records, which
                are identified like the winners.
            rule: of the table; it takes no values from two records.
            decision: on the earlier log records; it has ``kept_log_rows``. Stays as it is.
            winners: of the earlier log records; None if there are none.
            row_filter: returns the base rows that take part in the merge; None for all.

        Raises:
            CorruptTableError, UnsupportedMergeError: as `fold_log`.
        """
        self._rule = rule
        self._decision = decision
        self._winners = Winners.none(log, rule) if winners is None else winners
        self._log_row_count = log.rows.num_rows
        older = self._winners.log
        self._is_refolded = _has_keys_of(older, log)  # per winner
        refolded = np.flatnonzero(self._is_refolded)
        records = _number_rows(log, self._winners.row_count)
        if len(refolded):
            records = LogRecords.concat([older.take(refolded), records])
        self._folded = fold_log(records, rule)
        # Per folded record, the ordinal of the winner of its key, whose base row it has.
        self._source = _ordinals_of_winners(self._folded, older, refolded)
        self._new_keys = np.flatnonzero(self._source == NO_ROW)
        self.needs_base_rows = len(self._new_keys) > 0
        """Whether the decision depends on base tables: the log has new keys."""
        is_first = len(self._new_keys) == len(self._folded)
        looked_up = self._folded if is_first else self._folded.take(self._new_keys)
        self._matcher = BaseRowMatcher(looked_up, row_filter)
        # One place for records without a base row, then the base rows in the order of the tables.
        self._matched = [MatchedRows.none(log, rule)]
        self._matched_keys = [np.empty(0, np.int64)]  # of base rows: ordinals of matcher's records

    def match(self, table: pa.Table) -> Match:
        """Look up the new keys of the log in the next base table.

        Args:
            table: with the record key column unless positions identify the records, and in
                event-time order with the ordering fields.

        Raises:
            CorruptTableError: a base row has no record key.
        """
        first_row = self._matcher.row_count
        match = self._matcher.match(table)
        ordering = compared_ordering(match, self._rule)
        self._matched.append(MatchedRows(match.rows + first_row, ordering))
        self._matched_keys.append(match.winners)
        return match

    def keep(self, table: pa.Table) -> Mask:
        """Match the next base table, and return a mask of its rows that stay.

        In a resumed merge, only rows with new keys are decided here; `finish` has all of them.
        Arguments and errors are as for `match`.
        """
        match = self.match(table)
        marks = self._matcher.winners.marks.take(match.winners)
        base_won = base_wins(marks, self._matched[-1].ordering, self._rule)
        return match.without(match.rows[~base_won])

    def finish(self) -> tuple[MergeDecision, Winners]:
        """Return the decision on all base rows and log rows, and the winners to resume from."""
        matched = self._matched_rows()
        has_row = matched.row != NO_ROW
        base_won = base_wins(self._folded.marks, matched.ordering, self._rule) & has_row
        dropped_before, kept_before = self._decision
        assert kept_before is not None  # as documented
        row_count = max(len(dropped_before), self._matcher.row_count)
        dropped = np.zeros(row_count, np.bool_)
        dropped[: len(dropped_before)] = dropped_before
        dropped[matched.row[has_row]] = ~base_won[has_row]

        kept = np.append(kept_before, np.zeros(self._log_row_count, np.bool_))
        rows_before = _ordinals_of(self._winners.log)[self._is_refolded]
        kept[rows_before[rows_before != NO_ROW]] = False
        log_rows = _ordinals_of(self._folded)
        stays = (log_rows != NO_ROW) & ~self._folded.marks.is_delete & ~base_won
        kept[log_rows[stays]] = True
        return MergeDecision(dropped, kept), self._all_winners(matched)

    def _matched_rows(self) -> MatchedRows:
        """Return the base row of each folded record."""
        place_of_new = np.zeros(len(self._new_keys), np.int64)  # the first place: no base row
        in_order = np.concatenate(self._matched_keys)
        place_of_new[in_order] = 1 + np.arange(len(in_order))
        new = MatchedRows.concat(self._matched).take(place_of_new)
        if len(self._new_keys) == len(self._folded):
            return new
        source = self._source.copy()
        source[self._new_keys] = len(self._winners.log) + np.arange(len(self._new_keys))
        return MatchedRows.concat([self._winners.matched, new]).take(source)

    def _all_winners(self, matched: MatchedRows) -> Winners:
        """Return the folded records, behind the earlier winners whose keys no later record has."""
        earlier = self._winners
        row_count = earlier.row_count + self._log_row_count
        if not len(earlier.log):
            return Winners(self._folded, matched, row_count)
        others = np.flatnonzero(~self._is_refolded)
        log = LogRecords.concat([earlier.log.take(others), self._folded]).without_unused_rows()
        matched = MatchedRows.concat([earlier.matched.take(others), matched])
        return Winners(log, matched, row_count)


def _has_keys_of(older: LogRecords, newer: LogRecords) -> Mask:
    """Return the older records whose key or position a newer record has."""
    if not len(older):
        return np.empty(0, np.bool_)  # and the newer keys need not be hashed
    if older.positions is not None and newer.positions is not None:
        return np.isin(older.positions, newer.positions)
    return is_true(pc.is_in(older.keys, value_set=newer.keys))


def _ordinals_of_winners(folded: LogRecords, older: LogRecords, refolded: RowNumbers) -> RowNumbers:
    """Return, for each folded record, the ordinal of the older record of its key, or NO_ROW."""
    source = np.full(len(folded), NO_ROW, np.int64)
    if folded.positions is not None and older.positions is not None:
        source[np.searchsorted(folded.positions, older.positions[refolded])] = refolded
    else:  # keys are numbered in the order of their first records
        source[: len(refolded)] = refolded
    return source
