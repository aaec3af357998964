"""Functions of expression indexes have the values that Spark computes, whatever its zone."""

import datetime as dt

import pyarrow as pa
import pytest

from tests.metadata_table.expressions import DAY, NAME, expression

pytestmark = pytest.mark.spark
TEXTS = ["", " ", "a", "Ab1", "  a b \t\n ", "xyaxbyyx", "abcdef", "ABC def", "0" * 40]
# Earlier days may be of another calendar: an index says nothing of them.
DATES = [dt.date(1582, 10, 15), dt.date(1970, 1, 1), dt.date(2024, 2, 29), dt.date(9999, 12, 31)]
# Function, options of its index, and the same in SQL.
OF_TEXT = [
    *((name, {}, f"{name}(v)") for name in ("lower", "upper", "trim", "ltrim", "rtrim", "length")),
    ("trim", {"trimString": "xy "}, "trim(BOTH 'xy ' FROM v)"),
    ("ltrim", {"trimString": "xy"}, "trim(LEADING 'xy' FROM v)"),
    ("rtrim", {"trimString": "xy"}, "trim(TRAILING 'xy' FROM v)"),
    *(
        ("substring", {"pos": str(position), "len": str(size)}, f"substring(v, {position}, {size})")
        for position in (-50, -3, -1, 0, 1, 2, 7)
        for size in (-1, 0, 1, 3, 50)
    ),
]
OF_DATES: list[tuple[str, dict[str, str], str]] = [
    (name, {}, f"{name}(v)") for name in ("year", "month", "day")
]


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
@pytest.mark.parametrize(
    ("column", "values", "functions"), [(NAME, TEXTS, OF_TEXT), (DAY, DATES, OF_DATES)]
)
def test_functions_agree_with_spark(spark, zone, column, values, functions):
    spark.conf.set("spark.sql.session.timeZone", zone)
    kind = "string" if column is NAME else "date"
    frame = spark.createDataFrame([(value,) for value in values], f"v {kind}").coalesce(1)
    rows = frame.selectExpr("v", *(sql for _, _, sql in functions)).collect()
    assert len(rows) == len(values)
    for number, (function, options, sql) in enumerate(functions):
        of = expression(function, column, **options)
        for row in rows:
            assert of.values_of(pa.array([row[0]])).to_pylist() == [row[number + 1]], (sql, row[0])
