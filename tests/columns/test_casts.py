"""Casts of columns that were dropped and added again with another type.

Expected values are those of Apache Hudi 1.2.0 on Spark 3.5, with rows of base files that were
written by one and read by the other type (`spark.sql.parquet.enableVectorizedReader=false`, since
the vectorised reader fails on most of them).
"""

from decimal import Decimal
from math import inf, isnan, nan
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hudi_pyspark.columns.schema_evolution import conform
from hudi_pyspark.columns.text import java_text
from hudi_pyspark.errors import SchemaEvolutionError

TEXTS = ["1", "-7", " 42 ", "1.5", "abc", "", "99999999999", "1e3", "NaN", "2024-02-29",
         "2024-02-30", "true", "2024-02-29 12:34:56.789", "3000000000.126", "0x1F", "+5",
         "2024-2-9", "1.5f", "0.005", "t", "-0.995", "Infinity",
         "1969-12-31T23:59:59", None]  # fmt: skip
DECIMAL, LONG_DECIMAL = pa.decimal128(10, 2), pa.decimal128(24, 8)
OF_TEXTS: dict[pa.DataType, dict[str | None, Any]] = {
    pa.bool_(): {"1": True, "true": True, "t": True},
    pa.int32(): {"1": 1, "-7": -7, " 42 ": 42, "1.5": 1, "+5": 5, "0.005": 0, "-0.995": 0},
    pa.int64(): {
        "1": 1, "-7": -7, " 42 ": 42, "1.5": 1, "99999999999": 99999999999,
        "3000000000.126": 3000000000, "+5": 5, "0.005": 0, "-0.995": 0,
    },
    pa.float64(): {
        "1": 1.0, "-7": -7.0, " 42 ": 42.0, "1.5": 1.5, "99999999999": 99999999999.0, "1e3": 1000.0,
        "NaN": nan, "3000000000.126": 3000000000.126, "+5": 5.0, "1.5f": 1.5, "0.005": 0.005,
        "-0.995": -0.995, "Infinity": inf,
    },
    DECIMAL: {
        "1": "1.00", "-7": "-7.00", " 42 ": "42.00", "1.5": "1.50", "1e3": "1000.00", "+5": "5.00",
        "0.005": "0.01", "-0.995": "-1.00",
    },
    LONG_DECIMAL: {
        "1": "1", "-7": "-7", " 42 ": "42", "1.5": "1.5", "99999999999": "99999999999",
        "1e3": "1000", "3000000000.126": "3000000000.126", "+5": "5", "0.005": "0.005",
        "-0.995": "-0.995",
    },
    pa.date32(): {
        "2024-02-29": 19782, "2024-02-29 12:34:56.789": 19782, "2024-2-9": 19762,
        "1969-12-31T23:59:59": -1,
    },
}  # fmt: skip


def cast(values, stored, target):
    table = pa.table({"x": pa.array(values, stored)})
    schema = pa.schema({"x": target})
    return conform(table, schema, {}, source="f", casts=True).column("x")


@pytest.mark.parametrize("target", OF_TEXTS, ids=str)
def test_text_is_cast_as_by_hudi(target):
    found = cast(TEXTS, pa.string(), target)
    if pa.types.is_date(target):
        found = found.cast(pa.int32())
    expected = [OF_TEXTS[target].get(text) for text in TEXTS]
    if pa.types.is_decimal(target):
        expected = [None if text is None else Decimal(text) for text in expected]
    for text, value, other in zip(TEXTS, found.to_pylist(), expected, strict=True):
        is_nan = isinstance(other, float) and isnan(other)
        assert isnan(value) if is_nan else value == other, text


def test_float_is_cast_from_text_with_its_own_digits():
    found = cast(["99999999999", "1234567.891"], pa.string(), pa.float32()).to_pylist()
    assert found == pa.array([9.9999998e10, 1234567.9], pa.float32()).to_pylist()


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("0001-01-01", -719162),
        ("2024", 19723),
        ("2024-03", 19783),
        ("10000-01-01", 2932897),
        ("-0001-01-01", -719893),
        ("2023-02-29", None),
        ("24-01-01", None),
    ],
)
def test_dates_of_any_year_are_cast(text, days):
    # Apache Spark 3.5: SELECT unix_date(CAST('...' AS date))
    assert cast([text], pa.string(), pa.date32()).cast(pa.int32()).to_pylist() == [days]


@pytest.mark.parametrize(
    ("values", "stored", "target", "expected"),
    [
        ([True, False, None], pa.bool_(), pa.string(), ["true", "false", None]),
        ([True, False, None], pa.bool_(), pa.int32(), [1, 0, None]),
        ([True, False, None], pa.bool_(), pa.float64(), [1.0, 0.0, None]),
        ([True, False], pa.bool_(), DECIMAL, [Decimal("1.00"), Decimal("0.00")]),
        ([1, -7, 0, None], pa.int32(), pa.bool_(), [True, True, False, None]),
        ([nan, -0.0, 1.4e-45], pa.float32(), pa.bool_(), [True, False, True]),
        ([3000000000, 0], pa.int64(), pa.bool_(), [True, False]),
        ([1.5, -2.7, 16777216.0, None], pa.float32(), pa.int32(), [1, -2, 16777216, None]),
        ([1.5, 1234567.891], pa.float64(), pa.int64(), [1, 1234567]),
        ([2.005, -2.7, 4.9e-324], pa.float64(), DECIMAL, [Decimal("2.01"), Decimal("-2.70"), 0]),
        ([-2.7, 0.1], pa.float32(), LONG_DECIMAL, [Decimal("-2.7"), Decimal("0.1")]),
        ([Decimal("1.50"), Decimal("-2.70")], DECIMAL, pa.int32(), [1, -2]),
        ([Decimal("99999999.99")], DECIMAL, pa.float64(), [99999999.99]),
        ([Decimal("99999999.99")], DECIMAL, pa.float32(), [1e8]),
        ([Decimal("0.05"), Decimal(0)], DECIMAL, pa.bool_(), [True, False]),
        (
            [Decimal("-1E-8"), Decimal("16777217.25"), Decimal("0.12345678")],
            LONG_DECIMAL,
            DECIMAL,
            [Decimal("0.00"), Decimal("16777217.25"), Decimal("0.12")],
        ),
        ([Decimal("0.30"), Decimal("-0.01")], DECIMAL, pa.decimal128(8, 1), [Decimal("0.3"), 0]),
        ([1e20, 1234567.891], pa.float64(), pa.float32(), [1.00000002004087734272e20, 1234567.875]),
        ([1, -7, None], pa.int64(), pa.int32(), [1, -7, None]),
    ],
)
def test_numbers_are_cast_as_by_hudi(values, stored, target, expected):
    assert cast(values, stored, target).to_pylist() == expected


@pytest.mark.parametrize(
    ("values", "stored", "target", "expected"),
    [
        ([nan, inf, 1e20, 99999999.995, 1e300], pa.float64(), DECIMAL, [None] * 5),
        (
            [99999999.99, -99999999.994],
            pa.float64(),
            DECIMAL,
            [Decimal("99999999.99"), Decimal("-99999999.99")],
        ),
        ([3.4e38, 1e10, 1.5], pa.float32(), DECIMAL, [None, None, Decimal("1.5")]),
        (
            [Decimal("16777217.25"), Decimal("-0.05")],
            DECIMAL,
            pa.decimal128(8, 1),
            [None, Decimal("-0.1")],
        ),
        (
            [Decimal("9999999.94"), Decimal("9999999.95")],
            DECIMAL,
            pa.decimal128(8, 1),
            [Decimal("9999999.9"), None],
        ),
        ([Decimal("99999999.95")], DECIMAL, pa.decimal128(9, 1), [None]),
        ([Decimal("-99.5")], pa.decimal128(3, 1), pa.decimal128(2, 0), [None]),
        ([Decimal("9" * 38), None], pa.decimal128(38, 0), pa.decimal128(38, 38), [None, None]),
        (
            [Decimal(0), Decimal("0." + "9" * 38)],
            pa.decimal128(38, 38),
            pa.decimal128(38, 0),
            [Decimal(0), Decimal(1)],
        ),
        (
            [999, 1000, -1000, -(2**63), None],
            pa.int64(),
            pa.decimal128(5, 2),
            [Decimal("999"), None, None, None, None],
        ),
        ([True, False], pa.bool_(), pa.decimal128(1, 1), [None, Decimal(0)]),
    ],
)
def test_numbers_that_do_not_fit_a_decimal_become_null(values, stored, target, expected):
    assert cast(values, stored, target).to_pylist() == expected


@pytest.mark.parametrize(
    ("value", "stored", "target"),
    [
        (1e20, pa.float64(), DECIMAL),
        (10**9, pa.int64(), DECIMAL),
        (Decimal("16777217.25"), DECIMAL, pa.decimal128(8, 1)),
    ],
)
def test_a_user_schema_refuses_numbers_that_do_not_fit(value, stored, target):
    table = pa.table({"x": pa.array([value], stored)})
    with pytest.raises(SchemaEvolutionError):
        conform(table, pa.schema([("x", target)]), {}, source="f")


@pytest.mark.parametrize(
    ("values", "stored", "target"),
    [
        ([3000000000], pa.int64(), pa.int32()),  # Apache Hudi wraps it around
        ([nan], pa.float64(), pa.int32()),
        ([1], pa.int64(), pa.timestamp("us", "UTC")),  # seconds in Parquet, microseconds in Avro
        ([0], pa.timestamp("us", "UTC"), pa.string()),
        (["2024-01-01 00:00:00"], pa.string(), pa.timestamp("us", "UTC")),  # by the session's zone
        ([0], pa.date32(), pa.int32()),
        ([b"1"], pa.binary(), pa.int32()),
    ],
)
def test_others_are_refused_with_advice(values, stored, target):
    with pytest.raises(
        SchemaEvolutionError, match=r"f: column 'x' is stored as .* write these rows"
    ):
        cast(values, stored, target)


@pytest.mark.parametrize("target", [DECIMAL, pa.decimal128(38, 10), pa.decimal128(38, 38)], ids=str)
@pytest.mark.parametrize("stored", [pa.float32(), pa.float64()], ids=str)
def test_floats_become_decimals_as_their_texts_do(stored, target):
    random = np.random.default_rng(7)
    largest = 0.9 * 10.0 ** (target.precision - target.scale)
    numbers = np.concatenate(
        [
            random.standard_normal(500),
            10.0 ** random.uniform(-50, 37, 500) * random.choice([-1, 1], 500),
            (random.integers(-500, 500, 500) + 0.5) * 10.0**-target.scale,
            random.integers(2**52, 2**62, 100).astype(np.float64),
            [0.0, -0.0, 4.9e-324, 1.4e-45],
        ]
    )
    floats = numbers[np.abs(numbers) < largest].astype(stored.to_pandas_dtype())
    array = pa.array(floats, mask=random.random(len(floats)) < 0.1)
    expected = cast(java_text(array), pa.string(), target)
    assert cast(array, stored, target).equals(expected)
    assert cast(array[3:9], stored, target).equals(expected.slice(3, 6))


def test_user_schema_rounds_nothing():
    table = pa.table({"x": pa.array([Decimal("0.55")], DECIMAL)})
    with pytest.raises(SchemaEvolutionError):
        conform(table, pa.schema({"x": pa.decimal128(8, 1)}), {}, source=".schema(...)")


def test_casts_reach_nested_fields():
    stored = pa.list_(pa.struct({"N": pa.string()}))
    target = pa.list_(pa.struct({"n": pa.int32()}))
    assert cast([[{"N": "1"}, {"N": "x"}], None], stored, target).to_pylist() == [
        [{"n": 1}, {"n": None}],
        None,
    ]


def test_user_schema_casts_nothing():
    table = pa.table({"x": ["1"]})
    with pytest.raises(SchemaEvolutionError):
        conform(table, pa.schema({"x": pa.int32()}), {}, source=".schema(...)")
