"""Decisions of a merge rule: which of two records wins, and what it takes from the other.

Functions named `fill_*` take a decision on whole records and add, column by column, the pairs in
which the winner takes the loser's value. A delete on either side takes and gives nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.columns.arrays import is_null, is_true
from hudi_pyspark.reading.log_records.ordering import OrderingValues
from hudi_pyspark.reading.log_records.records import Records

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hudi_pyspark.columns.arrays import Mask, Rows
    from hudi_pyspark.reading.log_records.records import ColumnSets, SetNumbers

UNAVAILABLE_VALUE = "hoodie.write.partial.update.unavailable.value"
DEBEZIUM_UNAVAILABLE = "__debezium_unavailable_value"


@dataclass(frozen=True, slots=True)
class Decision:
    """The winners of some pairs of records; all arrays have one entry per pair."""

    newer_wins: Mask
    filled: Mapping[str, Mask]  # column to the pairs in which the winner takes the loser's value
    is_delete: Mask  # the merged record is a delete
    columns: SetNumbers  # set of columns that the merged record has
    without_row: Mask | None = None  # the merged record is a delete that keeps no row; None: none
    ordering_fields: tuple[str, ...] = ()  # where filled, the ordering value is the loser's too

    @classmethod
    def pick(cls, older: Records, newer: Records, newer_wins: Mask) -> Decision:
        """Decide for whole records: the winner takes nothing from the loser."""
        return cls(
            newer_wins=newer_wins,
            filled={},
            is_delete=np.where(newer_wins, newer.marks.is_delete, older.marks.is_delete),
            columns=np.where(newer_wins, newer.marks.columns, older.marks.columns),
        )

    def apply(self, older: Records, newer: Records) -> Records:
        """Return the merged record of each pair."""
        pairs = Records.concat([older, newer])
        count = len(older)
        winner = np.arange(count) + count * self.newer_wins
        merged = pairs.take(winner)
        rows = merged.rows
        if self.filled:
            loser = np.arange(count) + count * ~self.newer_wins
            rows = _fill(pairs.rows, rows, self.filled, winner, loser)
        has_row = merged.has_row
        if self.without_row is not None:
            has_row = has_row & ~self.without_row
        ordering = self._ordering(pairs, merged, count)
        return Records(
            rows=rows,
            has_row=has_row,
            marks=replace(
                merged.marks, is_delete=self.is_delete, columns=self.columns, ordering=ordering
            ),
        )

    def _ordering(self, pairs: Records, merged: Records, count: int) -> OrderingValues:
        fields = list(merged.marks.ordering.fields)
        for number, name in enumerate(self.ordering_fields):
            filled = self.filled.get(name.partition(".")[0])
            if filled is not None:
                source = np.arange(count) + count * (self.newer_wins ^ filled)
                fields[number] = pairs.marks.ordering.fields[number].take(pa.array(source))
        return OrderingValues(tuple(fields), count)


def _fill(
    pairs: pa.Table, merged: pa.Table, filled: Mapping[str, Mask], winner: Rows, loser: Rows
) -> pa.Table:
    columns = [
        pairs.column(name).take(pa.array(np.where(filled[name], loser, winner)))
        if name in filled
        else merged.column(name)
        for name in merged.schema.names
    ]
    return pa.Table.from_arrays(columns, schema=merged.schema)


def fill_missing_columns(
    older: Records, newer: Records, decision: Decision, sets: ColumnSets
) -> Decision:
    """Fill the columns that the winner's block lacks, as MERGE INTO and UPDATE write them."""
    # A column that the block has sets null where it is null.
    alive = _both_rows(older, newer)
    winner = np.where(decision.newer_wins, newer.marks.columns, older.marks.columns)
    filled = {
        name: lacking
        for name in older.rows.schema.names
        if (lacking := alive & sets.lacking(name, winner)).any()
    }
    union = sets.union(older.marks.columns, newer.marks.columns)
    return replace(decision, filled=filled, columns=np.where(alive, union, decision.columns))


def fill_defaults(older: Records, newer: Records, decision: Decision) -> Decision:
    """Fill the nulls of the winner (``IGNORE_DEFAULTS``)."""
    return _fill_where(older, newer, decision, is_null)


def fill_unavailable(older: Records, newer: Records, decision: Decision, marker: str) -> Decision:
    """Fill text of the winner that equals the marker (``FILL_UNAVAILABLE``)."""
    # Bytes are left as they are, as by Apache Hudi 1.2.0 (case x_v9_mor_pl_postgres_toast).
    return _fill_where(older, newer, decision, lambda column: _text_equals(column, marker))


def fill_by_mode(
    older: Records, newer: Records, decision: Decision, mode: str, properties: Mapping[str, str]
) -> Decision:
    """Apply ``hoodie.table.partial.update.mode``, one of `PARTIAL_UPDATE_MODES`."""
    if mode == "IGNORE_DEFAULTS":
        return fill_defaults(older, newer, decision)
    marker = properties.get(UNAVAILABLE_VALUE, DEBEZIUM_UNAVAILABLE)
    return fill_unavailable(older, newer, decision, marker)


def equals_marker(column: pa.ChunkedArray, marker: str) -> Mask:
    """Return the rows whose text or bytes equal a marker; none in columns of other types."""
    kind = column.type
    if pa.types.is_string(kind):
        equal = pc.equal(column, marker)
    elif pa.types.is_binary(kind):
        equal = pc.equal(column, pa.scalar(marker.encode(), pa.binary()))
    else:
        return np.zeros(len(column), np.bool_)
    return is_true(equal)


def _text_equals(column: pa.ChunkedArray, marker: str) -> Mask:
    if pa.types.is_string(column.type):
        return equals_marker(column, marker)
    return np.zeros(len(column), np.bool_)


def _both_rows(older: Records, newer: Records) -> Mask:
    deletes = older.marks.is_delete | newer.marks.is_delete
    return older.has_row & newer.has_row & ~deletes


def _fill_where(
    older: Records, newer: Records, decision: Decision, is_open: Callable[[pa.ChunkedArray], Mask]
) -> Decision:
    alive = _both_rows(older, newer)
    filled = dict(decision.filled)
    for name in older.rows.schema.names:
        winner_is_open = np.where(
            decision.newer_wins, is_open(newer.rows.column(name)), is_open(older.rows.column(name))
        )
        mask = alive & winner_is_open
        if mask.any():
            filled[name] = mask | filled.get(name, mask)
    return replace(decision, filled=filled)
