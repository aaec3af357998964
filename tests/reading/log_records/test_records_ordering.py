import datetime as dt
import math
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from hudi_pyspark.errors import CorruptTableError, UnsupportedTableError
from hudi_pyspark.reading.log_records.marks import (
    Ordering,
    are_older,
    comparable,
    ordering_field,
    ranks,
)

# Values from the smallest to the greatest, by type.
ASCENDING = [
    pytest.param(pa.int64(), [None, -(2**63), -1, 0, 1, 2**63 - 1], id="long"),
    pytest.param(pa.string(), [None, "", "10", "9", "b", "bc", "é", "\uffee", "𝄞"], id="string"),
    pytest.param(
        pa.float64(),
        [None, -math.inf, -1e300, -5e-324, -0.0, 0.0, 5e-324, 1.5, math.inf, math.nan],
        id="double",
    ),
    pytest.param(
        pa.float32(), [None, -math.inf, -1.5, -0.0, 0.0, 0.25, math.inf, math.nan], id="float"
    ),
    pytest.param(
        pa.decimal128(38, 2),
        [None, Decimal("-9e35"), Decimal("-0.01"), Decimal(0), Decimal("9.5"), Decimal(10)],
        id="decimal",
    ),
    pytest.param(pa.bool_(), [None, False, True], id="boolean"),
    pytest.param(
        pa.date32(),
        [None, dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(1970, 1, 1), dt.date(9999, 12, 31)],
        id="date",
    ),
    pytest.param(
        pa.timestamp("us", "UTC"), [None, -(2**62), -1, 0, 1, 1_700_000_000_000_000], id="timestamp"
    ),
    pytest.param(pa.timestamp("us"), [None, -1, 0, 1], id="local-timestamp"),
    pytest.param(pa.int32(), [-(2**31), -1, None, 1, 2**31 - 1], id="int"),
]


def ordering(*columns: pa.Array) -> Ordering:
    return tuple(comparable(column, "ts") for column in columns)


def ranks_of(*columns: pa.Array) -> np.ndarray:
    return ranks(ordering(*columns), len(columns[0]))


def is_older(left: pa.Array, right: pa.Array) -> list[bool]:
    return [bool(older) for older in are_older(ordering(left), ordering(right), len(left))]


@pytest.mark.parametrize(("kind", "values"), ASCENDING)
def test_each_value_is_older_than_the_next(kind, values):
    array = pa.array(values, kind)
    assert is_older(array[:-1], array[1:]) == [True] * (len(values) - 1)
    assert is_older(array[1:], array[:-1]) == [False] * (len(values) - 1)


@pytest.mark.parametrize(("kind", "values"), ASCENDING)
def test_no_value_is_older_than_itself(kind, values):
    array = pa.array(values, kind)
    assert is_older(array, array) == [False] * len(values)


@pytest.mark.parametrize(("kind", "values"), ASCENDING)
def test_ranks_ascend_with_the_values(kind, values):
    shuffled = [*values[::2], *values[1::2], *values]
    rank_of = dict(zip(map(repr, shuffled), ranks_of(pa.array(shuffled, kind)), strict=True))
    assert all(rank_of[repr(a)] < rank_of[repr(b)] for a, b in pairwise(values))


@pytest.mark.parametrize(("kind", "values"), ASCENDING)
def test_equal_values_have_equal_ranks(kind, values):
    found = ranks_of(pa.array([*values, *values], kind))
    assert found[: len(values)].tolist() == found[len(values) :].tolist()


@pytest.mark.parametrize(("kind", "values"), ASCENDING)
def test_slice_of_an_array_compares_its_own_values(kind, values):
    array = pa.array([values[-1], *values], kind)[1:]
    assert np.all(np.diff(ranks_of(array)) > 0)


def test_null_of_an_int_column_equals_zero():
    assert is_older(pa.array([None, 0], pa.int32()), pa.array([0, None], pa.int32())) == [False] * 2


def test_all_nans_are_equal():
    bits = np.array([0x7FF8000000000000, 0xFFF8000000000000, 0x7FF0000000000001], np.uint64)
    nans = pa.array(bits.view(np.float64))
    assert len(set(ranks_of(nans).tolist())) == 1


def test_first_of_several_fields_decides_and_the_second_breaks_ties():
    first = pa.array([1, 1, 2, None, None])
    second = pa.array(["b", "a", "", "z", None])
    assert np.argsort(ranks_of(first, second)).tolist() == [4, 3, 1, 0, 2]
    left = ordering(first, second)
    right = tuple(field.take(pa.array([1, 0, 0, 0, 3])) for field in left)
    assert are_older(left, right, 5).tolist() == [False, True, False, True, True]


def test_field_that_the_table_lacks_is_named():
    with pytest.raises(CorruptTableError, match="ordering field 'ts'"):
        ordering_field(pa.table({"a": [1]}), "ts")


def test_null_does_not_tie_with_a_value():
    null = pa.array([None], pa.int64())
    one = pa.array([1], pa.int64())
    small, large = pa.array([3]), pa.array([5])
    smaller, greater = ordering(null, large), ordering(one, small)
    assert are_older(greater, smaller, 1).tolist() == [False]
    assert are_older(smaller, greater, 1).tolist() == [True]


def test_without_fields_all_values_are_equal():
    assert ranks((), 3).tolist() == [0, 0, 0]
    assert are_older((), (), 3).tolist() == [False] * 3


def test_values_of_nothing_have_no_ranks():
    assert ranks_of(pa.array([], pa.string()), pa.array([], pa.int32())).tolist() == []


@pytest.mark.parametrize(
    "kind",
    [pa.binary(), pa.list_(pa.int64()), pa.map_(pa.string(), pa.int64()), pa.struct([("a", "i8")])],
    ids=str,
)
def test_types_without_an_order_are_refused_by_name(kind):
    with pytest.raises(UnsupportedTableError, match="ordering field 'ts' is of type"):
        comparable(pa.nulls(1, kind), "ts")
