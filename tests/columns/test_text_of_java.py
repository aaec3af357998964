import datetime as dt
import decimal
import math

import numpy as np
import pyarrow as pa
import pytest

from hudi_pyspark.columns.text import java_text, spark_value_text, widen_floats

# As the documentation of java.lang.Double and java.lang.Float has them, or follows from its rules:
# shortest digits that identify the value, at least one after the point, "E" outside [10^-3, 10^7).
DOUBLES = [
    (0.0, "0.0"),
    (-0.0, "-0.0"),
    (1.0, "1.0"),
    (-1.0, "-1.0"),
    (0.1, "0.1"),
    (100.0, "100.0"),
    (123456.789, "123456.789"),
    (0.001, "0.001"),
    (0.00123, "0.00123"),
    (0.0009999, "9.999E-4"),
    (1e-5, "1.0E-5"),
    (9999999.0, "9999999.0"),
    (9999999.999, "9999999.999"),
    (1e7, "1.0E7"),
    (-12345678.0, "-1.2345678E7"),
    (1e21, "1.0E21"),
    (3.141592653589793, "3.141592653589793"),
    (1 / 3, "0.3333333333333333"),
    (0.1 + 0.2, "0.30000000000000004"),
    (1.7976931348623157e308, "1.7976931348623157E308"),  # Double.MAX_VALUE
    (2.2250738585072014e-308, "2.2250738585072014E-308"),  # Double.MIN_NORMAL
    (5e-324, "4.9E-324"),  # Double.MIN_VALUE
    (9007199254740993.0, "9.007199254740992E15"),
    (math.inf, "Infinity"),
    (-math.inf, "-Infinity"),
    (math.nan, "NaN"),
]
FLOATS = [
    (0.0, "0.0"),
    (-0.0, "-0.0"),
    (1.0, "1.0"),
    (0.1, "0.1"),
    (1.1, "1.1"),
    (-2.5, "-2.5"),
    (0.001, "0.001"),
    (0.0001, "1.0E-4"),
    (3.1415927, "3.1415927"),
    (1 / 3, "0.33333334"),
    (16777216.0, "1.6777216E7"),
    (9999999.0, "9999999.0"),
    (1e10, "1.0E10"),
    (3.4028234663852886e38, "3.4028235E38"),  # Float.MAX_VALUE
    (1.401298464324817e-45, "1.4E-45"),  # Float.MIN_VALUE
    (math.inf, "Infinity"),
    (-math.inf, "-Infinity"),
    (math.nan, "NaN"),
]

# Floats whose digits Java 17 prints in another way than the fewest that identify them, and the
# doubles that it parses these digits as: Double.valueOf(Float.toString(f)).
OF_JAVA_17 = [
    (1.401298464324817e-45, 1.4e-45),
    (2.802596928649634e-45, 2.8e-45),
    (9.809089250273719e-45, 9.8e-45),
    (9.949219096706201e-44, 1e-43),
    (33554436.0, 33554436.0),
    (-3998896896.0, -3998896900.0),
    (11385061376.0, 11385061400.0),
    (-2461119545344.0, -2461119550000.0),
    (138429610000000000.0, 138429613000000000.0),
    (9.2233714871e18, 9.2233715e18),
]


@pytest.mark.parametrize(("value", "text"), DOUBLES, ids=[text for _, text in DOUBLES])
def test_double_reads_as_in_java(value, text):
    assert java_text(pa.array([value, None])).to_pylist() == [text, None]


@pytest.mark.parametrize(("value", "text"), FLOATS, ids=[text for _, text in FLOATS])
def test_float_reads_as_in_java(value, text):
    assert java_text(pa.array([value, None], pa.float32())).to_pylist() == [text, None]


@pytest.mark.parametrize(("value", "double"), OF_JAVA_17)
def test_float_becomes_the_double_of_its_digits_in_java(value, double):
    floats = pa.array([value, None, 0.1, -value], pa.float32())
    assert widen_floats(floats).to_pylist() == [double, None, 0.1, -double]
    assert float(java_text(floats)[0].as_py()) == double


@pytest.mark.parametrize(
    ("bits", "double"),
    [(1, 1.4e-45), (0x000116C2, 1.0e-40), (0x7F800001, math.nan), (0xFF800001, math.nan)],
    ids=["smallest", "tiny", "signalling NaN", "negative signalling NaN"],
)
def test_floats_are_converted_where_numpy_raises_errors(bits, double):
    floats = pa.array([bits, bits], pa.uint32()).view(pa.float32())
    with np.errstate(all="raise"):
        found = widen_floats(floats).to_pylist()
    assert found == pytest.approx([double] * 2, rel=0, abs=0, nan_ok=True)


def test_float_that_is_not_finite_or_zero_keeps_its_sign():
    found = widen_floats(pa.array([math.inf, -math.inf, -0.0, math.nan], pa.float32())).to_pylist()
    assert found[:3] == [math.inf, -math.inf, 0.0]
    assert math.copysign(1, found[2]) == -1
    assert math.isnan(found[3])


def test_nothing_stays_nothing():
    assert java_text(pa.array([], pa.float64())).type == pa.string()
    assert java_text(pa.array([], pa.float32())).equals(pa.array([], pa.string()))


# Arrow's type, Python's value, and the text that Apache Hudi 1.2.0 finds equal to it.
SPARK_VALUES = [
    (pa.float64(), 1.0, "1.0"),
    (pa.float64(), 1e10, "1.0E10"),
    (pa.float64(), -0.0, "-0.0"),
    (pa.float32(), 0.1, "0.1"),
    (pa.int64(), 10**10, "10000000000"),
    (pa.bool_(), True, "true"),
    (pa.date32(), dt.date(1970, 1, 2), "1"),
    (pa.date32(), dt.date(1969, 12, 31), "-1"),
    (pa.timestamp("us", "UTC"), 1_000_000, "1000000"),
    (pa.timestamp("ms"), 1_000, "1000000"),
    (pa.decimal128(20, 10), decimal.Decimal("1E-10"), "1E-10"),
    (pa.decimal128(20, 10), decimal.Decimal(0), "0E-10"),
    (pa.decimal128(10, 2), decimal.Decimal(1), "1.00"),
    (pa.string(), "D", "D"),
    (pa.binary(), b"D", None),
    (pa.list_(pa.int32()), [1], None),
    (pa.struct({"x": pa.int32()}), {"x": 1}, None),
    (pa.null(), None, None),
]


@pytest.mark.parametrize(("data_type", "value", "text"), SPARK_VALUES, ids=str)
def test_value_of_spark_reads_as_in_java(data_type, value, text):
    texts = spark_value_text(pa.array([None, value, value], data_type))
    assert texts.equals(pa.array([None, text, text], pa.string()))


def test_zeros_of_both_signs_have_their_own_text():
    texts = spark_value_text(pa.array([0.0, -0.0, 0.0, None]))
    assert texts.to_pylist() == ["0.0", "-0.0", "0.0", None]
