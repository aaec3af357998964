"""Sets of columns that records have: rows of partial updates have only some."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    SetNumbers = npt.NDArray[np.int32]

ALL_COLUMNS = -1  # number of the set of all columns


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

    def lacking(self, name: str, numbers: SetNumbers) -> npt.NDArray[np.bool_]:
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
