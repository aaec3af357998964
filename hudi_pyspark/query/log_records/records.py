"""Records of some keys side by side: the older and the newer ones that a merge compares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from hudi_pyspark.query.log_records.ordering import OrderingValues

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    Mask = npt.NDArray[np.bool_]
    Rows = npt.NDArray[np.int64]

ALL_COLUMNS = -1


@dataclass(frozen=True, slots=True)
class Records:
    """One record per entry; all arrays are parallel."""

    rows: pa.Table  # all null where there is no row
    has_row: Mask  # False for the keys of delete blocks
    is_delete: Mask
    has_default_ordering: Mask  # the Integer 0 that stands for "no value"
    has_other_class: Mask  # ordering value of another Java class than the column's
    ordering: OrderingValues
    columns: Rows  # ordinal of the set of columns that the row has, ALL_COLUMNS for all

    def __len__(self) -> int:
        return len(self.has_row)

    @property
    def is_commit_time_delete(self) -> Mask:
        """Deletes that beat every older record."""
        return self.is_delete & self.has_default_ordering

    def take(self, indices: Rows) -> Records:
        """The records at some places, in that order."""
        return Records(
            rows=self.rows.take(pa.array(indices)),
            has_row=self.has_row[indices],
            is_delete=self.is_delete[indices],
            has_default_ordering=self.has_default_ordering[indices],
            has_other_class=self.has_other_class[indices],
            ordering=self.ordering.take(indices),
            columns=self.columns[indices],
        )


def concat(first: Records, second: Records) -> Records:
    """The records of both, first those of the first."""
    length = len(first) + len(second)
    fields = zip(first.ordering.fields, second.ordering.fields, strict=True)
    return Records(
        rows=pa.concat_tables([first.rows, second.rows]),
        has_row=np.concatenate((first.has_row, second.has_row)),
        is_delete=np.concatenate((first.is_delete, second.is_delete)),
        has_default_ordering=np.concatenate(
            (first.has_default_ordering, second.has_default_ordering)
        ),
        has_other_class=np.concatenate((first.has_other_class, second.has_other_class)),
        ordering=OrderingValues(tuple(pa.concat_arrays(pair) for pair in fields), length),
        columns=np.concatenate((first.columns, second.columns)),
    )


def base_records(rows: pa.Table, ordering: OrderingValues) -> Records:
    """Rows of a base file: never deletes, whatever their columns say."""
    no, yes = np.zeros(len(rows), np.bool_), np.ones(len(rows), np.bool_)
    return Records(rows, yes, no, no, no, ordering, np.full(len(rows), ALL_COLUMNS, np.int64))


@dataclass(frozen=True, slots=True)
class Decision:
    """Which of two records wins, pair by pair, and what it takes from the other."""

    newer_wins: Mask
    filled: Mapping[str, Mask]  # column to the pairs in which the loser's value stands in
    is_delete: Mask  # outcome is a delete
    columns: Rows  # set of columns that the outcome has
    without_row: Mask | None = None  # outcome is a delete that keeps no row; None for none
    ordering_fields: tuple[str, ...] = ()  # where filled, the ordering value is the loser's too

    @classmethod
    def pick(cls, older: Records, newer: Records, newer_wins: Mask) -> Decision:
        """The winner as it is."""
        return cls(
            newer_wins=newer_wins,
            filled={},
            is_delete=np.where(newer_wins, newer.is_delete, older.is_delete),
            columns=np.where(newer_wins, newer.columns, older.columns),
        )

    def apply(self, older: Records, newer: Records) -> Records:
        """The outcome of each pair."""
        pairs = concat(older, newer)
        count = len(older)
        winner = np.arange(count) + count * self.newer_wins
        chosen = pairs.take(winner)
        if not self.filled:
            rows = chosen.rows
        else:
            loser = np.arange(count) + count * ~self.newer_wins
            rows = _fill(pairs.rows, chosen.rows, self.filled, winner, loser)
        return Records(
            rows=rows,
            has_row=chosen.has_row
            if self.without_row is None
            else chosen.has_row & ~self.without_row,
            is_delete=self.is_delete,
            has_default_ordering=chosen.has_default_ordering,
            has_other_class=chosen.has_other_class,
            ordering=self._ordering(pairs, chosen, count),
            columns=self.columns,
        )

    def _ordering(self, pairs: Records, chosen: Records, count: int) -> OrderingValues:
        fields = list(chosen.ordering.fields)
        for number, name in enumerate(self.ordering_fields):
            filled = self.filled.get(name.partition(".")[0])
            if filled is not None:
                source = np.arange(count) + count * (self.newer_wins ^ filled)
                fields[number] = pairs.ordering.fields[number].take(pa.array(source))
        return OrderingValues(tuple(fields), count)


def _fill(
    pairs: pa.Table, chosen: pa.Table, filled: Mapping[str, Mask], winner: Rows, loser: Rows
) -> pa.Table:
    columns: Sequence[pa.ChunkedArray] = [
        pairs.column(name).take(pa.array(np.where(filled[name], loser, winner)))
        if name in filled
        else chosen.column(name)
        for name in chosen.schema.names
    ]
    return pa.Table.from_arrays(columns, schema=chosen.schema)
