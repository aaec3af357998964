"""Decisions of a merge rule: which of two records wins, and what it takes from the other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from hudi_pyspark.query.log_records.ordering import OrderingValues
from hudi_pyspark.query.log_records.records import Records

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hudi_pyspark.query.log_records.column_sets import SetNumbers
    from hudi_pyspark.query.log_records.records import Mask, Rows


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
