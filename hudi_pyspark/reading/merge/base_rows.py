"""Find the base rows that match log records, and decide which of the two wins."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.arrow_values import to_arrow, to_numpy
from hudi_pyspark.columns.arrays import Mask, RowNumbers, as_one_array
from hudi_pyspark.errors import CorruptTableError
from hudi_pyspark.reading.log_records.marks import (
    Marks,
    Ordering,
    are_older,
    comparable_ordering,
    ordering_columns,
)
from hudi_pyspark.reading.log_records.records import NO_ROW, LogRecords
from hudi_pyspark.table.merge_mode import MergeRule, RecordMergeMode
from hudi_pyspark.table.meta_columns import RECORD_KEY_COLUMN

_NO_ROW = to_arrow(np.array([NO_ROW], np.int32))[0]
RowFilter = Callable[[pa.Table], Mask]


class Match(NamedTuple):
    """The rows of a base table that match a log record; the two arrays are parallel."""

    table: pa.Table
    takes_part: Mask | None  # rows that take part in the merge; None for all
    rows: RowNumbers  # ordinals in the table
    winners: RowNumbers  # ordinals of the log records that they match

    def without(self, rows: RowNumbers) -> Mask:
        """Return a mask of the rows that take part in the merge, without some of them."""
        everything = np.ones(self.table.num_rows, np.bool_)
        others = everything if self.takes_part is None else self.takes_part.copy()
        others[rows] = False
        return others


class BaseRowMatcher:
    """Finds the base rows that match log records, in base tables that come in file order.

    The matcher counts the rows that it has seen, since positions are row numbers in the file. It
    remembers which log records have a base row: the other records are inserts.
    """

    def __init__(self, winners: LogRecords, row_filter: RowFilter | None = None) -> None:
        """Prepare to match.

        Args:
            winners: log records, each of another key; with ascending positions, unless keys
                identify the records.
            row_filter: returns the base rows that take part in the merge; None for all.
        """
        self.winners = winners
        self.row_count = 0  # of all base tables so far
        self._row_filter = row_filter
        self._is_matched = np.zeros(len(winners), np.bool_)  # per log record, so far

    @property
    def inserted_rows(self) -> RowNumbers:
        """Ordinals of the log rows that match no base row and are not deletes."""
        winners = self.winners
        is_row = (winners.row != NO_ROW) & ~winners.marks.is_delete
        inserted: RowNumbers = winners.row[is_row & ~self._is_matched]
        return inserted

    def match(self, table: pa.Table) -> Match:
        """Find the rows of the next base table that match log records.

        A log record matches one base row only: if a base file has its key twice, the first.

        Raises:
            CorruptTableError: a base row has no record key.
        """
        takes_part = self._row_filter(table) if self._row_filter is not None else None
        first_row = self.row_count
        self.row_count += table.num_rows
        if self.winners.positions is None:
            rows, winners = self._match_keys(table, takes_part)
        else:
            rows, winners = self._match_positions(self.winners.positions, first_row, takes_part)
        is_new = ~self._is_matched[winners]
        self._is_matched[winners] = True
        return Match(table, takes_part, rows[is_new], winners[is_new])

    def _match_positions(
        self, positions: RowNumbers, first_row: int, takes_part: Mask | None
    ) -> tuple[RowNumbers, RowNumbers]:
        begin, end = np.searchsorted(positions, (first_row, self.row_count))
        rows = positions[begin:end] - first_row
        winners = np.arange(begin, end)
        if takes_part is None:
            return rows, winners
        return rows[takes_part[rows]], winners[takes_part[rows]]

    def _match_keys(
        self, table: pa.Table, takes_part: Mask | None
    ) -> tuple[RowNumbers, RowNumbers]:
        """Return the first row of each log record that the table has, and these records."""
        if takes_part is not None:
            rows, winners = self._match_keys(table.filter(to_arrow(takes_part)), None)
            return np.flatnonzero(takes_part)[rows], winners
        keys = record_keys(table)
        log_keys = self.winners.keys
        # The value set is hashed anew for each table, so use the smaller side: with
        # a million log records that is ten times faster.
        if len(keys) < len(log_keys):
            first_rows = _index_in(log_keys, keys)
        else:
            records = _index_in(keys, log_keys)
            rows = np.flatnonzero(records != NO_ROW)[::-1]
            first_rows = np.full(len(log_keys), NO_ROW, np.int64)
            first_rows[records[rows]] = rows  # of a key in two rows, the first row comes last
        winners = np.flatnonzero(first_rows != NO_ROW)
        return first_rows[winners], winners


def compared_ordering(match: Match, rule: MergeRule) -> Ordering:
    """Return the ordering values of matched base rows; without fields if these are not compared."""
    fields = rule.compared_fields
    if not fields:
        return ()
    columns = match.table.select(ordering_columns(fields, match.table.schema))
    return comparable_ordering(columns.take(to_arrow(match.rows)), fields)


def base_wins(marks: Marks, base_ordering: Ordering, rule: MergeRule) -> Mask:
    """Return a mask of the log records that lose to the base row that they match.

    Args:
        marks: of the log records.
        base_ordering: ordering values of their base rows.
        rule: that takes no values from both sides.
    """
    if rule.mode is not RecordMergeMode.EVENT_TIME_ORDERING:
        return np.zeros(len(marks.is_delete), np.bool_)
    is_older = are_older(marks.ordering, base_ordering, len(marks.is_delete))
    return is_older & ~marks.is_commit_time_delete


def record_keys(table: pa.Table) -> pa.Array:
    """Return the record keys of a base table as one array.

    Raises:
        CorruptTableError: a row has no record key.
    """
    keys = as_one_array(table.column(RECORD_KEY_COLUMN))
    if keys.null_count:
        raise CorruptTableError(
            "a base file has a record without record key, so log records cannot be matched"
        )
    return keys


def _index_in(values: pa.Array, value_set: pa.Array) -> RowNumbers:
    """Return, for each value, its first index in the set, or NO_ROW."""
    indices = pc.index_in(values, value_set=value_set)
    return to_numpy(pc.fill_null(indices, _NO_ROW)).astype(np.int64)
