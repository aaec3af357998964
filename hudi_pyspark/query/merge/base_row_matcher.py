"""Matching of base rows with the log records that meet them, by key or by position."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.errors import CorruptTableError
from hudi_pyspark.query.columns.arrays import as_one_array
from hudi_pyspark.query.log_records.records import NO_ROW
from hudi_pyspark.table.schema import RECORD_KEY_COLUMN

if TYPE_CHECKING:
    from collections.abc import Callable

    from hudi_pyspark.query.log_records.records import LogRecords, Mask, Rows

    RowFilter = Callable[[pa.Table], Mask]


class Match(NamedTuple):
    """Base rows, and which of them meet a log record; the two arrays are parallel."""

    table: pa.Table  # the rows that take part in the merge
    rows: Rows  # ordinals in the table
    winners: Rows  # ordinals of the log records that they meet


class BaseRowMatcher:
    """Stateful matcher of a slice: takes its base tables in file order.

    It counts the rows that it has seen, since positions are those of the file, and remembers which
    log records have met their row.

    Args:
        winners: log records, one per key.
        takes_part: which rows of a base table are merged; None for all.
    """

    def __init__(self, winners: LogRecords, takes_part: RowFilter | None = None) -> None:
        self._keys = winners.keys
        self._positions = winners.positions
        self._takes_part = takes_part
        self._rows_before = 0
        self.is_met = np.zeros(len(winners), np.bool_)  # per log record, so far

    def match(self, table: pa.Table) -> Match:
        """Match the next base table.

        A log record meets one base row only: of duplicate keys in a base file, the first.

        Raises:
            CorruptTableError: a row without record key.
        """
        if self._positions is not None:
            rows, winners = self._match_positions(self._positions, table.num_rows)
            if self._takes_part is not None:
                takes_part = self._takes_part(table)
                is_left = takes_part[rows]
                rows, winners = (np.cumsum(takes_part) - 1)[rows[is_left]], winners[is_left]
                table = table.filter(pa.array(takes_part))
        else:
            if self._takes_part is not None:
                table = table.filter(pa.array(self._takes_part(table)))
            rows, winners = self._match_keys(table)
        is_new = ~self.is_met[winners]
        self.is_met[winners] = True
        return Match(table, rows[is_new], winners[is_new])

    def _match_positions(self, positions: Rows, length: int) -> tuple[Rows, Rows]:
        first_row, self._rows_before = self._rows_before, self._rows_before + length
        begin, end = np.searchsorted(positions, (first_row, first_row + length))
        return positions[begin:end] - first_row, np.arange(begin, end)

    def _match_keys(self, table: pa.Table) -> tuple[Rows, Rows]:
        """Return the first row of each log record that the table has, and these records."""
        keys = as_one_array(table.column(RECORD_KEY_COLUMN))
        if keys.null_count:
            raise CorruptTableError(
                "a base file has a record without record key, so log records cannot be matched"
            )
        # The value set is hashed anew for each table, so it had better be the smaller side: with
        # a million log records that is ten times faster.
        if len(keys) < len(self._keys):
            first_rows = _index_in(self._keys, keys)
            winners = np.flatnonzero(first_rows != NO_ROW)
            return first_rows[winners], winners
        indices = _index_in(keys, self._keys)
        rows = np.flatnonzero(indices != NO_ROW)
        winners, first = np.unique(indices[rows], return_index=True)
        return rows[first], winners


def _index_in(values: pa.Array, value_set: pa.Array) -> Rows:
    """Return, for each value, its first index in the set, or NO_ROW."""
    indices = pc.index_in(values, value_set=value_set)
    return np.asarray(pc.fill_null(indices, NO_ROW)).astype(np.int64)
