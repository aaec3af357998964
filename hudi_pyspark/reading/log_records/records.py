"""Records as parallel arrays, one entry per record: keys, marks, and the columns that they have.

Hudi compares ordering values in Java; here they become Arrow arrays whose own order is the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.columns.arrays import Mask, Rows, as_one_array, field_array, is_null, is_true
from hudi_pyspark.errors import UnsupportedTableError
from hudi_pyspark.format.column_names import spelled_path
from hudi_pyspark.table.meta_columns import RECORD_KEY_COLUMN

if TYPE_CHECKING:
    from hudi_pyspark.table.merge_mode import MergeRule

SetNumbers = npt.NDArray[np.int32]

NO_ROW = -1
ALL_COLUMNS = -1  # number of the set of all columns


@dataclass(frozen=True, slots=True)
class OrderingValues:
    """Ordering values of some records, one comparable array per ordering field.

    Without fields all values are equal. Null is smaller than every value, except that an int column
    reads null as 0 (Hudi's default ordering value is the Integer 0).
    """

    fields: tuple[pa.Array, ...]
    length: int

    @classmethod
    def concat(cls, parts: Sequence[OrderingValues]) -> OrderingValues:
        """Join the values of several parts, which have the same fields."""
        arrays = zip(*(part.fields for part in parts), strict=True)
        return cls(tuple(map(pa.concat_arrays, arrays)), sum(part.length for part in parts))

    def take(self, rows: Rows) -> OrderingValues:
        indices = pa.array(rows)
        return OrderingValues(tuple(f.take(indices) for f in self.fields), len(rows))

    def ranks(self) -> Rows:
        """Return integers in the order of the values, equal where the values are."""
        if not self.fields:
            return np.zeros(self.length, np.int64)
        return reduce(_combine_ranks, (_rank(f) for f in self.fields))

    def older_than(self, other: OrderingValues) -> Mask:
        """Return, row by row, whether this value is smaller than the other."""
        older = np.zeros(self.length, np.bool_)
        tied = np.ones(self.length, np.bool_)
        for mine, theirs in zip(self.fields, other.fields, strict=True):
            mine_null, theirs_null = is_null(mine), is_null(theirs)
            smaller = is_true(pc.less(mine, theirs)) | (mine_null & ~theirs_null)
            older |= tied & smaller
            tied &= is_true(pc.equal(mine, theirs)) | (mine_null & theirs_null)
        return older


@dataclass(frozen=True, slots=True)
class Marks:
    """Properties by which a merge decides between records; all arrays are parallel."""

    ordering: OrderingValues
    is_delete: Mask
    has_default_ordering: Mask  # the Integer 0, with which Hudi marks a missing ordering value
    has_other_class: Mask  # delete whose ordering value has another Java class than the column
    columns: SetNumbers  # number of the set of columns that the row has, ALL_COLUMNS for all

    @classmethod
    def of_rows(cls, ordering: OrderingValues) -> Marks:
        """Mark rows that delete nothing and have all columns."""
        no = np.zeros(ordering.length, np.bool_)
        return cls(ordering, no, no, no, np.full(ordering.length, ALL_COLUMNS, np.int32))

    @classmethod
    def concat(cls, parts: Sequence[Marks]) -> Marks:
        arrays = zip(*(part.arrays() for part in parts), strict=True)
        ordering = OrderingValues.concat([part.ordering for part in parts])
        return cls(ordering, *map(np.concatenate, arrays))

    @classmethod
    def from_spill_columns(cls, columns: Sequence[pa.Array], length: int) -> Marks:
        count = len(fields(cls)) - 1  # ordering values follow, one array per ordering field
        ordering = OrderingValues(tuple(columns[count:]), length)
        return cls(ordering, *map(np.asarray, columns[:count]))

    def to_spill_columns(self) -> list[pa.Array]:
        return [*map(pa.array, self.arrays()), *self.ordering.fields]

    @property
    def nbytes(self) -> int:
        size: int = sum(array.nbytes for array in [*self.arrays(), *self.ordering.fields])
        return size

    @property
    def is_commit_time_delete(self) -> Mask:
        """Deletes that beat every older record."""
        return self.is_delete & self.has_default_ordering

    def take(self, indices: Rows) -> Marks:
        return Marks(self.ordering.take(indices), *(a[indices] for a in self.arrays()))

    def arrays(self) -> list[npt.NDArray[Any]]:
        """List all arrays but the ordering values."""
        return [getattr(self, array.name) for array in fields(self)[1:]]


@dataclass(frozen=True, slots=True)
class Records:
    """Records with their rows side by side, ready to be merged with others pair by pair."""

    rows: pa.Table  # has a column at least; all null where there is no row
    has_row: Mask  # False for the keys of delete blocks
    marks: Marks

    def __len__(self) -> int:
        return len(self.has_row)

    @classmethod
    def of_rows(cls, rows: pa.Table, ordering: OrderingValues) -> Records:
        """Wrap rows that delete nothing, whatever their columns say."""
        return cls(rows, np.ones(len(rows), np.bool_), Marks.of_rows(ordering))

    @classmethod
    def concat(cls, parts: Sequence[Records]) -> Records:
        return cls(
            pa.concat_tables([part.rows for part in parts]),
            np.concatenate([part.has_row for part in parts]),
            Marks.concat([part.marks for part in parts]),
        )

    def take(self, indices: Rows) -> Records:
        rows = self.rows.take(pa.array(indices))
        return Records(rows, self.has_row[indices], self.marks.take(indices))

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
            ordering_fields: where their columns are filled, the ordering value is the loser's, too.
        """
        pairs = Records.concat([self, newer])
        count = len(self)
        winner = np.arange(count) + count * newer_wins
        loser = np.arange(count) + count * ~newer_wins
        chosen = pairs.take(winner)
        sources = {name: pa.array(np.where(mask, loser, winner)) for name, mask in filled.items()}
        rows = chosen.rows
        columns = {name: rows.column(name) for name in rows.schema.names}
        for name, source in sources.items():
            columns[name] = pairs.rows.column(name).take(source)
        ordering = list(chosen.marks.ordering.fields)
        for number, name in enumerate(ordering_fields):
            column = name.partition(".")[0]
            if column in sources:
                ordering[number] = pairs.marks.ordering.fields[number].take(sources[column])
        return Records(
            pa.Table.from_arrays([*columns.values()], schema=rows.schema),
            chosen.has_row,
            replace(chosen.marks, ordering=OrderingValues(tuple(ordering), count)),
        )


@dataclass(frozen=True, slots=True)
class LogRecords:
    """Records of a slice's log files, in the order in which they apply.

    A record is a row of a data block or a key of a delete block. The arrays are parallel; `rows` is
    dense, so that rows are copied only when they are needed.
    """

    rows: pa.Table  # of the schema that the merge works on, with a column at least; data rows only
    row: Rows  # ordinal in `rows`, NO_ROW for a record of a delete block
    keys: pa.Array  # record keys, string; null where only positions identify the records
    positions: Rows | None  # row ordinal in the base file; None to merge by key
    marks: Marks
    column_sets: ColumnSets  # to which `marks.columns` refers

    def __len__(self) -> int:
        return len(self.row)

    @classmethod
    def of(
        cls, records: Records, keys: pa.Array, positions: Rows | None, column_sets: ColumnSets
    ) -> LogRecords:
        """Give records their keys, or positions, in the same order."""
        row = np.where(records.has_row, np.arange(len(records)), NO_ROW)
        return cls(records.rows, row, keys, positions, records.marks, column_sets)

    @classmethod
    def of_base_rows(cls, rows: pa.Table, rule: MergeRule, column_sets: ColumnSets) -> LogRecords:
        """Wrap rows of a base file, which are older than all log records."""
        records = Records.of_rows(rows, comparable_ordering(rows, rule.ordering_fields))
        return cls.of(records, as_one_array(rows.column(RECORD_KEY_COLUMN)), None, column_sets)

    @classmethod
    def concat(cls, parts: Sequence[LogRecords]) -> LogRecords:
        """Join parts of one slice, at least one; the records keep their order.

        Positions count only if all records have them: otherwise all are merged by key.
        """
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
        """Return the records of a table that `to_spill_table` made; it inverts that."""
        has_row, keys, positions, *marks = map(as_one_array, table.columns[len(schema) :])
        records = Records(
            pa.Table.from_arrays(table.columns[: len(schema)], schema=schema),
            np.asarray(has_row),
            Marks.from_spill_columns(marks, table.num_rows),
        )
        has_positions = not pa.types.is_null(positions.type)
        return cls.of(records, keys, np.asarray(positions) if has_positions else None, column_sets)

    def to_spill_table(self) -> pa.Table:
        """Return the records as one table: a row for each, its columns by ordinal."""
        records = self.records(np.arange(len(self)))
        arrays = [
            *records.rows.columns,
            pa.array(records.has_row),
            self.keys,
            pa.nulls(len(self)) if self.positions is None else pa.array(self.positions),
            *records.marks.to_spill_columns(),
        ]
        return pa.Table.from_arrays(arrays, names=[str(place) for place in range(len(arrays))])

    @property
    def nbytes(self) -> int:
        arrays = [self.rows, self.row, self.keys, self.marks]
        size: int = sum(array.nbytes for array in arrays)
        return size + (self.positions.nbytes if self.positions is not None else 0)

    def take(self, indices: Rows) -> LogRecords:
        """Return some of the records, in that order; they share all rows."""
        return LogRecords(
            self.rows,
            self.row[indices],
            self.keys.take(pa.array(indices)),
            self.positions[indices] if self.positions is not None else None,
            self.marks.take(indices),
            self.column_sets,
        )

    def records(self, indices: Rows) -> Records:
        """Return some of the records with their rows, in that order."""
        row = self.row[indices]
        rows = self.rows.take(pa.array(row, mask=row == NO_ROW))
        return Records(rows, row != NO_ROW, self.marks.take(indices))

    def without_unused_rows(self) -> LogRecords:
        """Return the same records with a copy of the rows that they refer to, and no others."""
        records = self.records(np.arange(len(self)))
        return LogRecords.of(records, self.keys, self.positions, self.column_sets)


class ColumnSets:
    """Numbers the sets of columns that occur in a slice: few, however many records.

    Grows as blocks are decoded and records merged; a number never changes its meaning.
    """

    def __init__(self) -> None:
        self._sets: list[frozenset[str]] = []

    def __len__(self) -> int:
        return len(self._sets)

    def number(self, names: frozenset[str]) -> int:
        """Return the number of a set; a new set gets the next one."""
        if names not in self._sets:
            self._sets.append(names)
        return self._sets.index(names)

    def lacking(self, name: str, numbers: SetNumbers) -> Mask:
        """Return, for each of some sets, whether it lacks a column."""
        # The last entry, which -1 indexes, is that of ALL_COLUMNS.
        table = np.array([*(name not in names for names in self._sets), False], np.bool_)
        return table[numbers]

    def union(self, first: SetNumbers, second: SetNumbers) -> SetNumbers:
        """Return the number of the union of two sets, pair by pair."""
        pairs, inverse = np.unique(np.stack((first, second)), axis=1, return_inverse=True)
        unions = [self._union(int(a), int(b)) for a, b in pairs.T]
        return np.array(unions, np.int32)[inverse.reshape(-1)]

    def _union(self, first: int, second: int) -> int:
        if ALL_COLUMNS in (first, second):
            return ALL_COLUMNS
        return self.number(self._sets[first] | self._sets[second])


def comparable_ordering(table: pa.Table, fields: Sequence[str]) -> OrderingValues:
    """Return the ordering values of a table's rows."""
    return OrderingValues(
        tuple(comparable(ordering_field(table, name), name) for name in fields), table.num_rows
    )


def ordering_field(table: pa.Table, name: str) -> pa.Array:
    """Return the values of an ordering field as they are in the table."""
    return field_array(table, spelled_path(name, table.schema), role="ordering field")


def comparable(values: pa.Array, name: str) -> pa.Array:
    """Return values in a type whose Arrow order is Hudi's order.

    Raises:
        UnsupportedTableError: values of a type that Hudi does not order, such as arrays; it names
            the ordering field.
    """
    data_type = values.type
    if pa.types.is_int32(data_type):
        return pc.fill_null(values, pa.scalar(0, data_type)).cast(pa.int64())
    if (
        pa.types.is_int64(data_type)
        or pa.types.is_string(data_type)
        or pa.types.is_decimal(data_type)
    ):
        return values
    if pa.types.is_timestamp(data_type):
        return values.cast(pa.int64())
    if pa.types.is_date32(data_type):
        return values.cast(pa.int32()).cast(pa.int64())
    if pa.types.is_boolean(data_type):
        return values.cast(pa.int8()).cast(pa.int64())
    if pa.types.is_floating(data_type):
        return _floating_order(values.cast(pa.float64()))
    raise UnsupportedTableError(
        f"ordering field {name!r} is of type {data_type}, which Apache Hudi cannot order either. "
        "Read the base files alone with hoodie.datasource.query.type=read_optimized"
    )


def _floating_order(values: pa.Array) -> pa.Array:
    """Convert doubles to integers in the order of ``Double.compareTo``: -0.0 < 0.0, NaN last."""
    filled = np.asarray(pc.fill_null(values, 0.0), np.float64)
    numbers = np.where(np.isnan(filled), np.nan, filled)
    bits = numbers.view(np.int64)
    ordered = np.where(bits < 0, bits ^ np.int64(0x7FFF_FFFF_FFFF_FFFF), bits)
    return pa.array(ordered, mask=is_null(values))


def _rank(values: pa.Array) -> Rows:
    if pa.types.is_int64(values.type) and not values.null_count:
        return np.asarray(values)
    ranks = np.array(pc.rank(values, sort_keys="ascending", tiebreaker="dense"), np.int64)
    ranks[is_null(values)] = 0  # below the lowest rank, which is 1
    return ranks


def _combine_ranks(first: Rows, second: Rows) -> Rows:
    """Rank pairs: the first field decides, the second breaks its ties."""
    order = np.lexsort((second, first))
    changes = np.ones(len(order), np.int64)
    changes[1:] = (np.diff(first[order]) != 0) | (np.diff(second[order]) != 0)
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.cumsum(changes)
    return ranks
