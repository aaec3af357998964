"""Decisions on pairs of records: who wins, and which columns the winner takes from the loser.

A decision on whole records comes first. Functions named `fill_*` then add, column by column, the
pairs in which the winner takes the loser's value. A delete takes and gives nothing. `payload.py`
has the rules that make decisions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.columns.arrays import Mask, is_null, is_true

if TYPE_CHECKING:
    from hudi_pyspark.reading.log_records.marks import SetNumbers
    from hudi_pyspark.reading.log_records.records import ColumnSets, Records

UNAVAILABLE_VALUE = "hoodie.write.partial.update.unavailable.value"
DEBEZIUM_UNAVAILABLE = "__debezium_unavailable_value"


@dataclass(frozen=True, slots=True)
class Decision:
    """The winners of pairs of records; all arrays have one entry per pair."""

    newer_wins: Mask
    filled: Mapping[str, Mask]  # column to the pairs in which the winner takes the loser's value
    is_delete: Mask  # the merged record is a delete
    columns: SetNumbers  # set of columns that the merged record has
    without_row: Mask | None = None  # the merged record is a delete without row; None: no pair
    ordering_fields: tuple[str, ...] = ()  # if one is filled, the ordering value is the loser's

    @classmethod
    def pick(cls, older: Records, newer: Records, newer_wins: Mask) -> Decision:
        """Decide for whole records: the winner takes nothing from the loser."""
        return cls(
            newer_wins=newer_wins,
            filled={},
            is_delete=np.where(newer_wins, newer.marks.is_delete, older.marks.is_delete),
            columns=np.where(newer_wins, newer.marks.columns, older.marks.columns),
        )

    def fill(self, names: Iterable[str], mask_of: Callable[[str], Mask]) -> Decision:
        """Return the decision with columns that the winner takes from the loser in some pairs.

        Args:
            names: of the columns.
            mask_of: returns the pairs in which the winner takes a column.
        """
        masks = ((name, mask_of(name)) for name in names)
        return replace(self, filled={name: mask for name, mask in masks if mask.any()})

    def apply(self, older: Records, newer: Records) -> Records:
        """Return the merged record of each pair."""
        chosen = older.choose(newer, self.newer_wins, self.filled, self.ordering_fields)
        has_row = chosen.has_row
        if self.without_row is not None:
            has_row = has_row & ~self.without_row
        marks = replace(chosen.marks, is_delete=self.is_delete, columns=self.columns)
        return replace(chosen, has_row=has_row, marks=marks)


def fill_missing_columns(
    older: Records, newer: Records, decision: Decision, sets: ColumnSets
) -> Decision:
    """Fill the columns that the winner's block lacks, as MERGE INTO and UPDATE write them.

    A null in a column that the block has is a value: it is not filled.
    """
    alive = both_rows(older, newer)
    winner = np.where(decision.newer_wins, newer.marks.columns, older.marks.columns)
    names = older.rows.schema.names
    filled = decision.fill(names, lambda name: alive & sets.lacking(name, winner))
    union = sets.union(older.marks.columns, newer.marks.columns)
    return replace(filled, columns=np.where(alive, union, decision.columns))


def fill_by_mode(
    older: Records, newer: Records, decision: Decision, mode: str, properties: Mapping[str, str]
) -> Decision:
    """Apply ``hoodie.table.partial.update.mode``, one of `PARTIAL_UPDATE_MODES`.

    IGNORE_DEFAULTS fills the winner's nulls, FILL_UNAVAILABLE its texts that equal a marker. Bytes
    are not compared, as in Apache Hudi 1.2.0 (case x_v9_mor_pl_postgres_toast). Source: Hudi's
    PartialUpdateHandler.

    Args:
        older: one record of each pair.
        newer: the other record of each pair.
        decision: on whole records.
        mode: of the table.
        properties: ``hoodie.record.merge.property.*`` of the table, which may name the marker.
    """
    marker = properties.get(UNAVAILABLE_VALUE, DEBEZIUM_UNAVAILABLE)

    alive = both_rows(older, newer)

    def is_open(column: pa.ChunkedArray) -> Mask:
        if mode == "IGNORE_DEFAULTS":
            return is_null(column)
        if pa.types.is_string(column.type):
            return equals_marker(column, marker)
        return np.zeros(len(column), np.bool_)

    def mask_of(name: str) -> Mask:
        open_values = (is_open(records.rows.column(name)) for records in (newer, older))
        return alive & np.where(decision.newer_wins, *open_values)

    return decision.fill(older.rows.schema.names, mask_of)


def equals_marker(column: pa.ChunkedArray, marker: str) -> Mask:
    """Return the rows whose text or bytes equal a marker; no row of columns of other types."""
    data_type = column.type
    if pa.types.is_string(data_type):
        return is_true(pc.equal(column, marker))
    if pa.types.is_binary(data_type):
        return is_true(pc.equal(column, marker.encode()))
    return np.zeros(len(column), np.bool_)


def both_rows(older: Records, newer: Records) -> Mask:
    """Return the pairs of two rows without a delete."""
    return older.has_row & newer.has_row & ~(older.marks.is_delete | newer.marks.is_delete)
