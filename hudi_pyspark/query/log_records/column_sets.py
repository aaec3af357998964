"""Which columns a record has: blocks of partial updates hold only some."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hudi_pyspark.query.log_records.records import ALL_COLUMNS

if TYPE_CHECKING:
    import numpy.typing as npt

    Ids = npt.NDArray[np.int64]


class ColumnSets:
    """Numbers for the sets of columns that occur in a slice: few, however many records."""

    def __init__(self) -> None:
        self._sets: list[frozenset[str]] = []

    def __len__(self) -> int:
        return len(self._sets)

    def number(self, names: frozenset[str]) -> int:
        """The number of a set, a new one if it has none yet."""
        if names not in self._sets:
            self._sets.append(names)
        return self._sets.index(names)

    def lacking(self, name: str, numbers: Ids) -> npt.NDArray[np.bool_]:
        """Which of some sets do not have a column."""
        # The last entry stands for ALL_COLUMNS, which is -1 and lacks nothing.
        table = np.array([*(name not in names for names in self._sets), False], np.bool_)
        return table[numbers]

    def union(self, first: Ids, second: Ids) -> Ids:
        """Pair by pair, the number of the union of two sets."""
        pairs, inverse = np.unique(np.stack((first, second)), axis=1, return_inverse=True)
        unions = [self._union(int(a), int(b)) for a, b in pairs.T]
        return np.array(unions, np.int64)[inverse.reshape(-1)]

    def _union(self, first: int, second: int) -> int:
        if ALL_COLUMNS in (first, second):
            return ALL_COLUMNS
        return self.number(self._sets[first] | self._sets[second])
