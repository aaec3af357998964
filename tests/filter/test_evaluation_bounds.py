from datetime import date
from itertools import chain, combinations, product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hudi_pyspark.filter.evaluation import ColumnBounds, may_match, may_match_merged
from hudi_pyspark.filter.predicate import IsIn, Like, negate
from hudi_pyspark.filter.sql_text import parse_filter

SCHEMA = pa.schema(
    {"id": pa.int64(), "name": pa.string(), "fare": pa.float64(), "day": pa.date32()}
)


def bounds(kind, low, high, *, nulls=False, values=True):
    first, last = (None if end is None else pa.scalar(end, kind) for end in (low, high))
    return ColumnBounds.of(first, last, may_be_null=nulls, may_have_value=values)


KNOWN = {
    "id": bounds(pa.int64(), 10, 20),
    "name": bounds(pa.string(), "f", "m", nulls=True),
    "fare": bounds(pa.float64(), 1.0, 2.0),
}


@pytest.mark.parametrize(
    ("text", "may"),
    [
        ("id = 9", False),
        ("id = 10", True),
        ("id = 15", True),
        ("id < 10", False),
        ("id <= 10", True),
        ("id > 20", False),
        ("id >= 20", True),
        ("id != 15", True),
        ("id > 20.5", False),
        ("id IN (1, 2, 30)", False),
        ("id IN (1, 15)", True),
        ("id NOT IN (15)", True),
        ("id IS NULL", False),
        ("id IS NOT NULL", True),
        ("name IS NULL", True),
        ("name LIKE 'g%'", True),
        ("name LIKE 'z%'", False),
        ("name LIKE 'a%'", False),
        ("name LIKE '%a'", True),
        ("name NOT LIKE 'z%'", True),
        ("fare = 3", False),
        ("fare < 1", False),
        # Bounds leave out NaN, which is greater than all.
        ("fare > 3", True),
        ("id = 9 OR name = 'g'", True),
        ("id = 9 AND name = 'g'", False),
        ("id = 9 OR name = 'z'", False),
        ("day = '2024-01-01'", True),
    ],
)
def test_rows_within_bounds_may_match(text, may):
    assert may_match(parse_filter(text, SCHEMA), KNOWN.get) is may


def test_constant_column_cannot_differ_from_its_value():
    constant = {"id": bounds(pa.int64(), 5, 5)}
    assert not may_match(parse_filter("id != 5", SCHEMA), constant.get)
    assert may_match(parse_filter("id != 6", SCHEMA), constant.get)


def test_column_of_nulls_matches_nothing_but_null():
    nulls = {"id": bounds(pa.int64(), None, None, nulls=True, values=False)}
    assert not may_match(parse_filter("id != 5", SCHEMA), nulls.get)
    assert not may_match(parse_filter("id IS NOT NULL", SCHEMA), nulls.get)
    assert may_match(parse_filter("id IS NULL", SCHEMA), nulls.get)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name = 'b'", [True, True, False]),
        ("name IN ('b', 'z')", [True, True, False]),
        ("name LIKE 'b%'", [True, True, False]),
        ("name = 'b' AND id = 2", [True, False, False]),
        ("name = 'b' OR id = 3", [True, True, True]),
        ("name = 'b' AND fare = 1", [True, True, False]),
    ],
)
def test_file_without_a_bound_may_hold_any_value(text, expected):
    # A set of one file, each: the first has no bounds of `name`, and none has bounds of `fare`.
    yes = np.ones(3, np.bool_)
    names = pa.array([None, "a", "p"]), pa.array([None, "c", "q"])
    numbers = pa.array([1, 3, 3]), pa.array([2, 4, 4])
    columns = {"name": ColumnBounds(*names, ~yes, yes), "id": ColumnBounds(*numbers, ~yes, yes)}
    predicate = parse_filter(text, SCHEMA)
    assert may_match_merged(predicate, columns, np.arange(3), 3).tolist() == expected


LISTED: dict[str, list[Any]] = {
    "id": [-7, 0, 3, 12, 1 << 40],
    "name": ["", "a", "ab", "é", "\U0001f600", "\uffff"],
    "fare": [-1e300, -0.0, 0.0, 1.5, float("inf")],
    "day": [date(1969, 12, 31), date(2024, 1, 1), date(2024, 2, 29)],
}


def every_pair(column, values):
    """Return the ordered pairs of some values, and them as a column's bounds in one file each."""
    # Code points are in the order of their UTF-8 bytes.
    ends = [(low, high) for low, high in product(values, values) if low <= high]
    low, high = (pa.array(of_end, SCHEMA.field(column).type) for of_end in zip(*ends, strict=True))
    yes = np.ones(len(ends), np.bool_)
    return ends, {column: ColumnBounds(low, high, ~yes, yes)}


def may_match_each(predicate, columns, count):
    return may_match_merged(predicate, columns, np.arange(count), count).tolist()


@pytest.mark.parametrize("column", LISTED)
def test_list_matches_where_one_of_its_values_is_within_bounds(column):
    values = LISTED[column]
    ends, columns = every_pair(column, values)
    for listed in chain.from_iterable(combinations(values, count) for count in (0, 1, 2, 3)):
        predicate = IsIn(column, pa.array(listed, SCHEMA.field(column).type))
        expected = [any(first <= value <= last for value in listed) for first, last in ends]
        assert may_match_each(predicate, columns, len(ends)) == expected, listed
        assert all(may_match_each(negate(predicate), columns, len(ends)))


def test_pattern_matches_where_its_prefix_is_within_bounds():
    texts = ["", "a", "ab", "abc", "b", "é", "\U0001f600"]
    ends, columns = every_pair("name", texts)
    for prefix in texts:
        # Texts begin with the prefix from it on, up to the last one of the greatest letters.
        after = prefix + "\U0010ffff" * 4
        expected = [first <= after and prefix <= last for first, last in ends]
        assert may_match_each(Like("name", prefix + "%"), columns, len(ends)) == expected, prefix
