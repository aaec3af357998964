from datetime import date, datetime, timezone
from decimal import Decimal

import pyarrow as pa
import pytest

from hudi_pyspark import InvalidOptionError
from hudi_pyspark.filter.evaluation import holds
from hudi_pyspark.filter.sql_text import parse_filter

ROWS = pa.table(
    {
        "id": pa.array([1, 2, None, 4], pa.int32()),
        "name": ["x", "Xy", "it's", None],
        "day": pa.array([date(2024, 1, d) for d in (1, 2, 3, 4)]),
        "fare": [1.5, float("nan"), None, -0.0],
        "at": pa.array([1, 2, 3, 4], pa.timestamp("us", "UTC")),
        "wall": pa.array([1, 2, 3, 4], pa.timestamp("us")),
        "inner": [{"n": 1}, {"n": None}, None, {"n": 2}],
        "flag": [True, False, None, True],
        "price": pa.array([Decimal("1.10"), Decimal("2.50"), None, Decimal("-3.00")]),
        "octets": [b"\x00\xff", b"", None, b"a"],
        "select": [1, 2, 3, 4],
        "list": [[1], [], None, [2]],
    }
)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("id = 1", [0]),
        ("id == 1", [0]),
        ("id != 1", [1, 3]),
        ("id <> 1", [1, 3]),
        ("id > 1.5", [1, 3]),
        ("id >= 2 AND id < 4", [1]),
        ("1 < id", [1, 3]),
        ("-1 < id", [0, 1, 3]),
        ("id = -1", []),
        ("id < 99999999999999999999", [0, 1, 3]),
        ("id > 1e0", [1, 3]),
        ("id in (1, 2.0, 7)", [0, 1]),
        ("id NOT IN (1)", [1, 3]),
        ("NOT id IN (1)", [1, 3]),
        ("id <=> NULL", [2]),
        ("id <=> 1", [0]),
        ("NOT (id <=> 1)", [1, 2, 3]),
        ("id IS NULL", [2]),
        ("id IS NOT NULL", [0, 1, 3]),
        ("ID = 1", [0]),
        ("INNER.N = 2", [3]),
        ("id BETWEEN 2 AND 4", [1, 3]),
        ("id NOT BETWEEN 2 AND 4", [0]),
        ("id BETWEEN 1 AND 1 OR flag", [0, 3]),
        ("name = 'it''s'", [2]),
        (r"name = 'it\'s'", [2]),
        ('name = "it\'s"', [2]),
        ("name LIKE 'X%'", [1]),
        ("name LIKE '_'", [0]),
        ("name NOT LIKE '%y'", [0, 2]),
        ("day = '2024-01-02'", [1]),
        ("day < DATE '2024-01-03'", [0, 1]),
        ("at > '1970-01-01 00:00:00.000002Z'", [2, 3]),
        ("at > TIMESTAMP '1970-01-01 01:00:00.000002+01:00'", [2, 3]),
        ("wall <= '1970-01-01T00:00:00.000002'", [0, 1]),
        # Spark's NaN is greater than every other number.
        ("fare > 1", [0, 1]),
        ("NOT fare > 1", [3]),
        ("fare = 0", [3]),
        ("fare IN (0)", [3]),
        ("fare IN (1.5, 7)", [0]),
        ("flag", [0, 3]),
        ("NOT flag", [1]),
        ("!flag", [1]),
        ("flag = false", [1]),
        ("price = 1.1", [0]),
        ("price IN (1.1, 2.500)", [0, 1]),
        ("price < 1", [3]),
        ("price < 12345678901234567890123456.5", [0, 1, 3]),
        ("octets = X'00FF'", [0]),
        ("inner.n = 1", [0]),
        ("`inner`.`n` = 1", [0]),
        ("inner.n IS NULL", [1, 2]),
        ("`select` = 3", [2]),
        ("list IS NULL", [2]),
        ("(id = 1 OR id = 4) AND NOT (name = 'x')", []),
        ("id = 1 OR id = 2 AND flag", [0]),
        ("flag OR id IS NULL", [0, 2, 3]),
    ],
)
def test_filter_is_true_for_the_rows_that_spark_would_keep(text, rows):
    chosen = holds(parse_filter(text, ROWS.schema), ROWS)
    assert [i for i, is_chosen in enumerate(chosen) if is_chosen] == rows


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("zz = 1", "no column 'zz'; it has id, name"),
        ("nmae = 1", r"no column 'nmae' \(did you mean 'name'\?\)"),
        ("inner.x.y = 1", r"no column 'inner.x'"),
        ("id.x = 1", "no column 'id.x' "),
        ("id = 'x'", "'id' of type int32 cannot be compared with 'x': expected a number"),
        ("name = 1", "put the text in quotes"),
        ("at = '2020-01-01'", "name the zone"),
        ("wall = '2020-01-01 00:00:00Z'", "leave out the zone"),
        ("day = 'yesterday'", "cannot be compared with 'yesterday'"),
        ("id =", "character 5, found the end"),
        ("id = 1 name", "expected AND, OR or the end at character 8, found 'name'"),
        ("(id = 1", r"expected '\)' at character 8"),
        ("id = null", "a comparison with NULL is never true; write id IS NULL"),
        ("id IN (1, NULL)", "found 'NULL'"),
        ("id IN ()", r"found '\)'"),
        ("id & 1", "'&' at character 4 is not supported"),
        ("id # 1", "unexpected '# 1'"),
        ("id + 1 > 5", r"'\+' at character 4 is not supported: a filter compares columns with lit"),
        ("name || 'x' = 'yx'", r"'\|' at character 6 is not supported"),
        ("id = 5 * 2", r"'\*' at character 8 is not supported"),
        ("id = -id", "'id' at character 7 is not supported"),
        ("id::string = '1'", "'::' at character 3 is not supported"),
        ("name ilike 'E%'", r"'ilike' at character 6 is not.* in Spark \(where\) or DuckDB"),
        ("name RLIKE 'E.*'", "'RLIKE' at character 6 is not supported"),
        ("name NOT ILIKE 'E%'", "'ILIKE' at character 10 is not supported"),
        ("id IS DISTINCT FROM 1", "'DISTINCT' at character 7 is not supported"),
        ("CASE WHEN id = 1 THEN true END", "'CASE' at character 1 is not supported"),
        ("id > price", "'price' at character 6 is not supported: a filter compares columns"),
        ("not id", "column 'id' of type int32 is not a condition. Compare it with a literal, or"),
        ("flag AND (id)", "column 'id' of type int32 is not a condition"),
        ("name 'x'", "expected a comparison at character 6, found"),
        ("list = 1", "can only be compared with IS NULL and IS NOT NULL"),
        ("id", "column 'id' of type int32 is not a condition.* write id IS NOT NULL"),
        ("flag = 1", "expected true or false"),
        ("DATE 'x' < day", "'x'"),
        ("id LIKE '1%'", "expected a number"),
        ("inner.m = 1", "no column 'inner.m'"),
        (
            "year(Day) = 1998",
            "year are not supported. Compare the column itself, e.g. day >= DATE '1998-01-01' AND",
        ),
        ("id = 1 OR hour(`at`) < 9", "at < TIMESTAMP '1999-01-01 00:00:00Z'"),
        ("to_date(wall) > DATE '2024-01-01'", "wall < TIMESTAMP '1999-01-01 00:00:00'$"),
        ("upper(name) = 'X'", "e.g. name >= 'a' AND name < 'b'"),
        ("now() > at", "e.g. id >= 1 AND id < 10"),
    ],
)
def test_filter_that_makes_no_sense_is_refused(text, problem):
    with pytest.raises(InvalidOptionError, match=problem):
        holds(parse_filter(text, ROWS.schema), ROWS)


@pytest.mark.parametrize(
    ("pattern", "text", "is_like"),
    [
        ("a%b", "a\nb", True),
        (r"a\%b", "a%b", True),
        (r"a\%b", "axb", False),
        (r"a\_b", "a_b", True),
        (r"%\\b", "a\\b", True),
        ("a.b", "axb", False),
        ("__", "日本", True),
        ("", "", True),
        ("", "a", False),
    ],
)
def test_like_matches_the_whole_text(pattern, text, is_like):
    rows = pa.table({"t": [text]})
    written = pattern.replace("\\\\", "\\\\\\\\")
    assert holds(parse_filter(f"t LIKE '{written}'", rows.schema), rows).tolist() == [is_like]


def test_time_with_zone_is_an_instant():
    rows = pa.table({"at": pa.array([datetime(2024, 1, 1, tzinfo=timezone.utc)])})
    predicate = parse_filter("at = '2024-01-01 02:00:00+02:00'", rows.schema)
    assert holds(predicate, rows).tolist() == [True]


@pytest.mark.parametrize("column", ["id", "name", "day", "at", "wall", "price"])
def test_comparison_that_the_error_of_a_function_proposes_is_a_filter(column):
    with pytest.raises(InvalidOptionError) as error:
        parse_filter(f"f({column}) = 1", ROWS.schema)
    holds(parse_filter(str(error.value).partition("e.g. ")[2], ROWS.schema), ROWS)
