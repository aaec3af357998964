"""Records of log files as parallel arrays: rows, keys, positions and marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from hudi_pyspark.arrow_values import to_arrow, to_numpy
from hudi_pyspark.columns.arrays import Mask, ParallelArrays, RowNumbers, as_one_array
from hudi_pyspark.reading.log_records.marks import (
    ALL_COLUMNS,
    Marks,
    SetNumbers,
    comparable_ordering,
)
from hudi_pyspark.table.merge_mode import MergeRule
from hudi_pyspark.table.meta_columns import RECORD_KEY_COLUMN

NO_ROW = -1


@dataclass(frozen=True, slots=True)
class Records(ParallelArrays):
    """Records with their rows side by side, ready to be merged pair by pair."""

    rows: pa.Table  # has a column at least; all columns are null for a record without row
    has_row: Mask  # False for the keys of delete blocks
    marks: Marks

    def __len__(self) -> int:
        return len(self.has_row)

    @classmethod
    def of_rows(cls, rows: pa.Table, ordering_fields: Sequence[str]) -> Records:
        """Wrap rows that delete nothing, whatever their columns say, and have all columns.

        Raises:
            CorruptTableError, UnsupportedTableError: as `comparable_ordering`.
        """
        no = np.zeros(len(rows), np.bool_)
        columns = np.full(len(rows), ALL_COLUMNS, np.int32)
        marks = Marks(comparable_ordering(rows, ordering_fields), no, no, no, columns)
        return cls(rows, ~no, marks)

    def with_rows(
        self, places: RowNumbers, rows: pa.Table, ordering_fields: Sequence[str], is_delete: Mask
    ) -> Records:
        """Return the records with other rows and delete marks at some places.

        Raises:
            CorruptTableError, UnsupportedTableError: as `of_rows`.
        """
        changed = Records.of_rows(rows, ordering_fields)
        changed = replace(changed, marks=replace(changed.marks, is_delete=is_delete))
        source = np.arange(len(self))
        source[places] = len(self) + np.arange(len(places))
        return Records.concat([self, changed]).take(source)

    def choose(
        self,
        newer: Records,
        newer_wins: Mask,
        filled: Mapping[str, Mask],
        ordering_fields: Sequence[str],
    ) -> Records:
        """Return the winner of each pair, with its marks, and some columns of the loser.

        Args:
            newer: the other record of each pair; all arrays have one entry per pair.
            newer_wins: whether the newer record wins.
            filled: column to the pairs in which the winner takes the loser's value.
            ordering_fields: if one of their columns is filled, its ordering value is the loser's.
        """
        pairs = Records.concat([self, newer])
        count = len(self)
        winner = np.arange(count) + count * newer_wins
        loser = np.arange(count) + count * ~newer_wins
        chosen = pairs.take(winner)
        sources = {name: pa.array(np.where(mask, loser, winner)) for name, mask in filled.items()}
        rows = chosen.rows
        columns = {name: rows.column(name) for name in rows.schema.names}
        columns |= {name: pairs.rows.column(name).take(source) for name, source in sources.items()}
        ordering = list(chosen.marks.ordering)
        for number, name in enumerate(ordering_fields):
            column = name.partition(".")[0]
            if column in sources:
                ordering[number] = pairs.marks.ordering[number].take(sources[column])
        return Records(
            pa.Table.from_arrays([*columns.values()], schema=rows.schema),
            chosen.has_row,
            replace(chosen.marks, ordering=tuple(ordering)),
        )


@dataclass(frozen=True, slots=True)
class LogRecords:
    """Records of a slice's log files, in the order in which they apply.

    A record is a row of a data block or a key of a delete block. The arrays are parallel; `rows` is
    dense, so that rows are copied only when they are needed.
    """

    rows: pa.Table  # of the schema that the merge works on, with a column at least; data rows only
    row: RowNumbers  # ordinal in `rows`, NO_ROW for a record of a delete block
    keys: pa.Array  # record keys, string; null if only positions identify the records
    positions: RowNumbers | None  # row ordinal in the base file; None to merge by key
    marks: Marks
    column_sets: ColumnSets  # to which `marks.columns` refers

    def __len__(self) -> int:
        return len(self.row)

    @classmethod
    def of(
        cls, records: Records, keys: pa.Array, positions: RowNumbers | None, column_sets: ColumnSets
    ) -> LogRecords:
        """Give records their keys or positions, which have the same order."""
        row = np.where(records.has_row, np.arange(len(records)), NO_ROW)
        return cls(records.rows, row, keys, positions, records.marks, column_sets)

    @classmethod
    def of_base_rows(cls, rows: pa.Table, rule: MergeRule, column_sets: ColumnSets) -> LogRecords:
        """Wrap rows of a base file, which are older than all log records."""
        records = Records.of_rows(rows, rule.ordering_fields)
        return cls.of(records, as_one_array(rows.column(RECORD_KEY_COLUMN)), None, column_sets)

    @classmethod
    def concat(cls, parts: Sequence[LogRecords]) -> LogRecords:
        """Join several parts of one slice, at least one, in their order.

        Positions count only if all records have them. Otherwise all records are merged by key.
        """
        parts = [part for part in parts if len(part) or part.rows.num_rows] or parts[:1]
        if len(parts) == 1:
            return parts[0]
        first = parts[0]
        starts = np.cumsum([0, *(part.rows.num_rows for part in parts[:-1])])
        positions = [part.positions for part in parts if part.positions is not None]
        count = sum(map(len, parts))
        # Parts without records need no positions.
        is_by_key = sum(map(len, positions)) < count or not positions
        return cls(
            rows=pa.concat_tables([p.rows for p in parts if p.rows.num_rows] or [first.rows]),
            row=np.concatenate(
                [
                    np.where(part.row == NO_ROW, NO_ROW, part.row + start)
                    for part, start in zip(parts, starts, strict=True)
                ]
            ),
            keys=pa.concat_arrays([part.keys for part in parts]),
            positions=None if is_by_key else np.concatenate(positions),
            marks=Marks.concat([part.marks for part in parts]),
            column_sets=first.column_sets,
        )

    @classmethod
    def from_spill_table(
        cls, table: pa.Table, schema: pa.Schema, column_sets: ColumnSets
    ) -> LogRecords:
        """Return the records that `to_spill_table` has made this table of."""
        has_row, keys, positions, *marks = map(as_one_array, table.columns[len(schema) :])
        records = Records(
            pa.Table.from_arrays(table.columns[: len(schema)], schema=schema),
            to_numpy(has_row),
            Marks.from_spill_columns(marks),
        )
        has_positions = not pa.types.is_null(positions.type)
        return cls.of(records, keys, to_numpy(positions) if has_positions else None, column_sets)

    def to_spill_table(self) -> pa.Table:
        """Return the records as one table: a row for each, its columns by ordinal."""
        records = self.records(np.arange(len(self)))
        arrays = [
            *records.rows.columns,
            to_arrow(records.has_row),
            self.keys,
            pa.nulls(len(self)) if self.positions is None else to_arrow(self.positions),
            *records.marks.to_spill_columns(),
        ]
        return pa.Table.from_arrays(arrays, names=[str(place) for place in range(len(arrays))])

    def take(self, indices: RowNumbers) -> LogRecords:
        """Return some of the records, in that order; they share all rows."""
        return LogRecords(
            self.rows,
            self.row[indices],
            self.keys.take(to_arrow(indices)),
            self.positions[indices] if self.positions is not None else None,
            self.marks.take(indices),
            self.column_sets,
        )

    def records(self, indices: RowNumbers) -> Records:
        """Return some of the records with copies of their rows, in that order."""
        row = self.row[indices]
        rows = self.rows.take(to_arrow(row, is_valid=row != NO_ROW))
        return Records(rows, row != NO_ROW, self.marks.take(indices))

    def without_unused_rows(self) -> LogRecords:
        """Return the same records with copies of the rows that they refer to, and no other rows."""
        records = self.records(np.arange(len(self)))
        return LogRecords.of(records, self.keys, self.positions, self.column_sets)


class ColumnSets:
    """Numbers the sets of columns that occur in a slice: few, however many records there are.

    Grows as blocks are decoded and records merged; a number never changes its meaning.
    """

    def __init__(self) -> None:
        self._numbers: dict[frozenset[str], int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, names: frozenset[str]) -> int:
        """Return the number of a set; a new set gets the next one."""
        return self._numbers.setdefault(names, len(self._numbers))

    def lacking(self, name: str, numbers: SetNumbers) -> Mask:
        """Return a mask of the sets that lack a column; has one flag for each number."""
        # The last entry, which -1 indexes, belongs to ALL_COLUMNS.
        table = np.array([*(name not in names for names in self._numbers), False], np.bool_)
        return table[numbers]

    def union(self, first: SetNumbers, second: SetNumbers) -> SetNumbers:
        """Return the number of the union of two sets, pair by pair."""
        pairs, inverse = np.unique(np.stack((first, second)), axis=1, return_inverse=True)
        unions = [self._union(int(a), int(b)) for a, b in pairs.T]
        return np.array(unions, np.int32)[inverse.reshape(-1)]

    def _union(self, first: int, second: int) -> int:
        if ALL_COLUMNS in (first, second):
            return ALL_COLUMNS
        sets = list(self._numbers)
        return self.number(sets[first] | sets[second])
