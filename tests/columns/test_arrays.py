from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest

from hudi_pyspark.columns.arrays import (
    ParallelArrays,
    as_one_array,
    field_array,
    is_null,
    is_true,
    nbytes_of,
)
from hudi_pyspark.errors import CorruptTableError

NESTED = pa.table(
    {
        "a": pa.array([{"b": {"c": 1}}, {"b": None}, None]),
        "a.x": pa.array([7, 8, 9]),
    }
)


def test_dotted_name_reaches_a_nested_field():
    assert field_array(NESTED, "a.b.c").to_pylist() == [1, None, None]


def test_column_of_that_very_name_comes_first():
    assert field_array(NESTED, "a.x").to_pylist() == [7, 8, 9]


@pytest.mark.parametrize("name", ["b", "a.q", "a.b.c.d", "a.x.y"])
def test_absent_field_is_named(name):
    with pytest.raises(CorruptTableError, match=f"sort field '{name}' does not exist"):
        field_array(NESTED, name, role="sort field")


@pytest.mark.parametrize("chunks", [[], [[]], [["a"], [], ["b", None]]], ids=["none", "1", "3"])
def test_chunks_become_one_array(chunks):
    column = pa.chunked_array(chunks, pa.string())
    array = as_one_array(column)
    assert isinstance(array, pa.StringArray)
    assert array.to_pylist() == column.to_pylist()


@pytest.mark.parametrize("chunks", [[[True, None], [False]], [[True, None, False]]], ids=["2", "1"])
def test_null_is_not_true(chunks):
    column = pa.chunked_array(chunks, pa.bool_())
    assert is_true(column).tolist() == [True, False, False]
    assert is_null(column).tolist() == [False, True, False]


@dataclass(frozen=True, slots=True)
class Inner(ParallelArrays):
    texts: pa.Array


@dataclass(frozen=True, slots=True)
class Outer(ParallelArrays):
    numbers: np.ndarray
    columns: tuple[pa.Array, ...]
    rows: pa.Table
    inner: Inner


def outer(*numbers: int) -> Outer:
    array = pa.array(numbers)
    texts = Inner(array.cast(pa.string()))
    return Outer(np.array(numbers), (array,), pa.table({"a": array}), texts)


def numbers_of(value: Outer) -> list[list[object]]:
    lists = [value.columns[0], value.rows["a"], value.inner.texts.cast(pa.int64())]
    return [value.numbers.tolist(), *(each.to_pylist() for each in lists)]


def test_all_parts_of_a_value_are_taken_and_joined():
    joined = Outer.concat([outer(4, 5), outer(6)])
    assert numbers_of(joined) == [[4, 5, 6]] * 4
    assert numbers_of(joined.take(np.array([2, 0, 0]))) == [[6, 4, 4]] * 4


def test_bytes_of_a_value_are_those_of_all_its_parts():
    assert nbytes_of(outer(7, 8)) == 3 * 16 + pa.array(["7", "8"]).nbytes
