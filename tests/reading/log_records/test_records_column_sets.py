import numpy as np

from hudi_pyspark.reading.log_records.marks import ALL_COLUMNS
from hudi_pyspark.reading.log_records.records import ColumnSets


def sets_of(*names: str) -> ColumnSets:
    """Sets numbered from 0 on, a letter for each column."""
    sets = ColumnSets()
    for number, letters in enumerate(names):
        assert sets.number(frozenset(letters)) == number
    return sets


def test_equal_sets_have_one_number():
    sets = sets_of("ab", "a")
    assert sets.number(frozenset("ba")) == 0
    assert len(sets) == 2


def test_lacking_tells_which_sets_miss_a_column():
    numbers = np.array([0, 1, 2, 1])
    assert sets_of("ab", "a", "").lacking("b", numbers).tolist() == [False, True, True, True]


def test_whole_rows_lack_nothing():
    numbers = np.array([ALL_COLUMNS, 0, ALL_COLUMNS])
    assert sets_of("a").lacking("b", numbers).tolist() == [False, True, False]


def test_union_pair_by_pair():
    sets = sets_of("a", "b", "ab")
    found = sets.union(np.array([0, 0, 2]), np.array([1, 0, 1]))
    assert found.tolist() == [2, 0, 2]


def test_union_makes_new_sets():
    sets = sets_of("a", "b")
    (number,) = sets.union(np.array([0]), np.array([1]))
    assert number == 2
    assert sets.lacking("a", np.array([number])).tolist() == [False]
    assert sets.lacking("c", np.array([number])).tolist() == [True]


def test_union_with_a_whole_row_is_whole():
    sets = sets_of("a")
    first = [0, ALL_COLUMNS, ALL_COLUMNS]
    second = [ALL_COLUMNS, 0, -1]
    found = sets.union(np.array(first, np.int32), np.array(second, np.int32))
    assert found.tolist() == [ALL_COLUMNS] * 3


def test_union_of_nothing():
    none = np.empty(0, np.int32)
    assert sets_of("a").union(none, none).tolist() == []
