"""What conditions on a column say of an expression of it.

Values are those of Spark's functions; `test_expression_index_in_spark.py` asks Spark.
"""

import datetime as dt

import pyarrow as pa
import pytest

from hudi_pyspark.filter.sql_text import parse_filter
from tests.metadata_table.expressions import DAY, NAME, NUMBER, SCHEMA, TIME, expression


@pytest.mark.parametrize(
    ("function", "options", "value", "expected"),
    [
        ("lower", {}, "Ab1", "ab1"),
        ("upper", {}, "Ab1", "AB1"),
        ("trim", {}, "  a b \t", "a b \t"),
        ("ltrim", {}, "  a ", "a "),
        ("rtrim", {"trimString": "xy"}, "axbyyx", "axb"),
        ("substring", {"pos": "2", "len": "3"}, "abcdef", "bcd"),
        ("substring", {"pos": "0", "len": "2"}, "abcdef", "ab"),
        ("substring", {"pos": "-2", "len": "5"}, "abcdef", "ef"),
        ("substring", {"pos": "-9", "len": "5"}, "abcdef", "ab"),
        ("substring", {"pos": "9", "len": "5"}, "abcdef", ""),
        ("length", {}, "abc", 3),
        ("year", {}, dt.date(2024, 2, 29), 2024),
        ("month", {}, dt.date(2024, 2, 29), 2),
        ("day", {}, dt.date(2024, 2, 29), 29),
        ("identity", {}, "Ä", "Ä"),
    ],
)
def test_values_of_an_expression(function, options, value, expected):
    column = NAME if isinstance(value, str) else DAY
    of = expression(function, column, **options)
    assert of is not None
    values = of.values_of(pa.array([value, value], column.type))
    assert values is not None
    assert set(values.to_pylist()) == {expected}


@pytest.mark.parametrize(
    ("function", "column", "options"),
    [
        ("date_format", TIME, {"format": "yyyy-MM-dd"}),
        ("from_unixtime", NUMBER, {"format": "yyyy-MM-dd HH"}),
        ("to_date", NAME, {"format": "yyyy-MM-dd"}),
        ("hour", TIME, {}),
        ("year", TIME, {}),
        ("day", NAME, {}),
        ("lower", NUMBER, {}),
        ("regexp_extract", NAME, {"pattern": "a", "idx": "0"}),
        ("lower", NAME, {"timeZone": "Asia/Tokyo"}),
        ("year", DAY, {"timeZone": "Asia/Tokyo"}),
        ("identity", NAME, {"timeZone": "Asia/Tokyo"}),
    ],
)
def test_expressions_that_depend_on_a_session_are_not_used(function, column, options):
    assert expression(function, column, **options) is None


@pytest.mark.parametrize(
    ("function", "column", "options", "value"),
    [
        ("lower", NAME, {}, "İ"),
        ("substring", NAME, {"pos": "x", "len": "1"}, "abc"),
        ("substring", NAME, {"pos": "1"}, "abc"),
        ("substring", NAME, {"pos": "1", "len": []}, "abc"),
        ("trim", NAME, {"trimString": 3}, "abc"),
    ],
)
def test_values_that_are_not_certain_say_nothing(function, column, options, value):
    of = expression(function, column, **options)
    assert of is not None
    assert of.values_of(pa.array([value])) is None
    condition = of.condition(parse_filter(f"{column.name} = '{value}'", SCHEMA))
    assert str(condition) == f"\0 = '{value}'"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("day = DATE '2024-01-31'", "day IN (2024)"),
        ("day IN (DATE '2024-01-31', DATE '2024-05-01')", "day IN (2024)"),
        ("day > DATE '2024-01-31'", "\0 > '2024-01-31'"),
        ("day IS NULL", "\0 IS NULL"),
        ("day != DATE '2024-01-31'", "\0 != '2024-01-31'"),
        ("NOT day IN (DATE '2024-01-31')", "\0 NOT IN ('2024-01-31')"),
        ("day = DATE '2024-01-31' OR n = 3", "day IN (2024) OR n = 3"),
        ("day = DATE '2024-01-31' AND (n = 3 OR n = 4)", "(n = 3 OR n = 4) AND day IN (2024)"),
    ],
)
def test_condition_on_an_expression(text, expected):
    of = expression("year", DAY)
    assert of is not None
    assert str(of.condition(parse_filter(text, SCHEMA))) == expected


def test_identity_keeps_every_condition():
    of = expression("identity", NAME)
    assert of is not None
    for text in ("name > 'a'", "name IS NULL", "name LIKE 'a%' OR n = 3"):
        predicate = parse_filter(text, SCHEMA)
        assert str(of.condition(predicate)) == str(predicate)
    assert of.field == NAME


@pytest.mark.parametrize("function", ["year", "month", "day"])
def test_days_that_files_may_have_in_another_calendar_are_not_computed(function):
    of = expression(function, DAY)
    assert of is not None
    assert of.values_of(pa.array([dt.date(1582, 10, 14)], DAY.type)) is None
    assert of.values_of(pa.array([dt.date(1582, 10, 15)], DAY.type)) is not None
