"""Literals that Spark would convert, and dates and decimals that a comparison has to keep exact."""

from datetime import date
from decimal import Decimal

import pyarrow as pa
import pytest

from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.filter.evaluation import holds
from hudi_pyspark.filter.sql_text import parse_filter

TYPES = pa.schema(
    {
        "i": pa.int32(),
        "f": pa.float32(),
        "d": pa.float64(),
        "p": pa.decimal128(10, 2),
        "t": pa.timestamp("us", "UTC"),
        "day": pa.date32(),
        "s": pa.string(),
    }
)


@pytest.mark.parametrize(
    "text",
    [
        "day = '2024-01-05'",
        "day <=> '20240105'",
        "t = '2024-01-05 10:00:00Z'",
        "t IN ('2024-01-05 10:00:00Z')",
        "f = 16777217",
        "i = 1.5",
        "i IN (1, 1e0)",
        "p = 1.5e0",
        "NOT (f < 16777217)",
    ],
)
def test_hint_that_spark_would_convert_is_left_out(text):
    with pytest.raises(InvalidOptionError, match="would convert"):
        parse_filter(text, TYPES, is_exact=True)


@pytest.mark.parametrize(
    "text",
    [
        "day = DATE '2024-01-05'",
        "t < TIMESTAMP '2024-01-05 10:00:00+00:00'",
        "i = 1 AND i IN (2, 3)",
        "d = 5 OR d = 5.0 OR d = 5e0",
        "f = 0.5",
        "p = 5 OR p = 5.00",
        "s = 'a' AND s LIKE 'a%'",
    ],
)
def test_hint_of_one_type_passes(text):
    assert str(parse_filter(text, TYPES, is_exact=True))


def test_hint_with_a_name_in_another_case_is_left_out():
    """With spark.sql.caseSensitive it may be a column of the query around this one."""
    with pytest.raises(InvalidOptionError, match="I is spelled i"):
        parse_filter("I = 1", TYPES, is_exact=True)
    assert str(parse_filter("I = 1", TYPES))


@pytest.mark.parametrize("text", ["20240105", "2024-W01-5", "2024-1-5", "05.01.2024"])
def test_dates_are_written_in_one_form(text):
    with pytest.raises(InvalidOptionError, match="expected a date such as"):
        parse_filter(f"day = '{text}'", TYPES)


def test_decimals_are_compared_with_floats_as_correctly_rounded_doubles():
    values = [Decimal(f"{n}E-2") for n in range(54_674_000, 54_675_000)]
    rows = pa.table({"p": pa.array(values, pa.decimal128(10, 2))})
    for value in values[::50]:
        equal = holds(parse_filter(f"p = {float(value)!r}e0", rows.schema), rows)
        assert equal.nonzero()[0].tolist() == [values.index(value)]


def test_dates_of_all_years_are_compared():
    days = pa.array([date.min, date.max, None], pa.date32())
    rows = pa.table({"day": days})
    assert holds(parse_filter("day > DATE '9999-12-30'", rows.schema), rows).tolist() == [
        False,
        True,
        False,
    ]
