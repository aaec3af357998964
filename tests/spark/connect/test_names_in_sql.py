"""Names in texts of SQL."""

import pytest

from hudi_pyspark.spark.connect.names_in_sql import UnclearError, scan_expression, scan_statement


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("a + `b c`.d", {("a",), ("b c", "d")}),
        ("A = 'from x, \\' y'", {("a",)}),
        ("a = r'\\' AND b", {("a",), ("and",), ("b",)}),
        ('"a b" < 5', {("a b",), ("5",)}),
        ("a -- isn't b\n, c", {("a",), ("isn",), ("t",), ("b",), ("c",)}),
        ("a /* 'b */, c", {("a",), ("b",), ("c",)}),
        ("x -> x.y", {("x",), ("x", "y")}),
        ("t.a b", {("t", "a"), ("b",)}),
    ],
)
def test_words_are_paths(text, paths):
    assert scan_expression(text).paths == paths


@pytest.mark.parametrize(
    ("text", "has_star"),
    [
        ("SELECT count(*), COUNT( * ), a * b, 2 * c, (a) * 3, 'x' * 2 FROM t", False),
        ("SELECT * FROM t", True),
        ("SELECT /*+ X */ * FROM t", True),
        ("SELECT DISTINCT * FROM t", True),
        ("SELECT a, * FROM t", True),
        ("SELECT t.* FROM t", True),
        ("SELECT struct(*) FROM t", True),
        ("SELECT count(t.*), count(DISTINCT *) FROM t", True),
    ],
)
def test_star_is_not_a_product(text, has_star):
    assert scan_statement(text).has_star == has_star


CLEAR = [
    "-- c\n/* d */ SELECT a FROM t",
    "SELECT a FROM t WHERE b > 1 AND c LIKE 'x%' ORDER BY a DESC NULLS LAST LIMIT 3;",
    "SELECT a, count(*) n, max(o.b) AS m FROM t o GROUP BY 1 HAVING n > 1",
    "SELECT o.a FROM t AS o LEFT JOIN t p ON o.a = p.a LEFT SEMI JOIN u ON p.b = u.b",
    "SELECT a FROM t WHERE d >= DATE '2024-01-01' + INTERVAL '1' YEAR",
    "SELECT CASE WHEN a THEN 1 ELSE b END AS c, CAST(a AS DECIMAL(10, 2)) FROM t",
    "SELECT sum(a) OVER (PARTITION BY b ORDER BY c ROWS 1 PRECEDING) FROM t",
    "SELECT a FROM t LATERAL JOIN (SELECT b FROM u) AS x",
    "WITH x AS (SELECT a FROM t) SELECT a FROM x UNION ALL SELECT b FROM u",
    "SELECT extract(YEAR FROM a), trim(BOTH FROM b) FROM t WHERE a IS NOT DISTINCT FROM b",
    "SELECT a FROM (SELECT b FROM t) UNION SELECT c FROM (SELECT 1 AS c)",
    "INSERT INTO TABLE u SELECT a FROM t",
    "CREATE OR REPLACE TABLE u USING parquet LOCATION '/u' AS SELECT a FROM t",
]
UNCLEAR = [
    "FROM t",
    "TABLE t",
    "(SELECT a FROM t)",
    "VALUES (1)",
    "DESCRIBE QUERY SELECT a FROM t",
    "MERGE INTO u USING t ON t.a = u.a WHEN MATCHED THEN UPDATE SET *",
    "WITH x AS (SELECT a FROM t) MERGE INTO u USING x ON x.a = u.a WHEN MATCHED THEN DELETE",
    "SELECT 1 UNION ALL FROM t",
    "WITH x AS (SELECT 1) FROM t",
    "SELECT a FROM (FROM t)",
    "SELECT a FROM t WHERE a IN (TABLE t)",
    "SELECT a FROM f(TABLE t)",
    "SELECT a FROM f(TABLE(t))",
    "INSERT INTO u TABLE t",
    "INSERT INTO u FROM t",
    "CREATE TABLE u AS TABLE t",
    "SELECT a FROM t |> LIMIT 1",
    "SELECT t.a FROM t NATURAL JOIN u",
    "SELECT a FROM t WHERE TRUE NATURAL JOIN u",
    "SELECT a FROM (SELECT a FROM t) NATURAL JOIN u",
    "SELECT a FROM t PIVOT (count(*) FOR b IN (1))",
    "SELECT a FROM t UNPIVOT (a FOR b IN (c))",
    "SELECT a FROM t EXCEPT SELECT b FROM u",
    "SELECT a FROM t MINUS SELECT b FROM u",
    "SELECT a FROM t QUALIFY row_number() OVER (ORDER BY a) = 1",
    "SELECT t.a FROM t FROBNICATE JOIN u",
    "SELECT FROBNICATE a FROM t",
    "SELECT a FROM FROBNICATE t WHERE t.a > 1",
    "SELECT a FROM t FROBNICATE BY a",
    "SELECT identifier('a') FROM t",
    "SELECT columns('a.*') FROM t",
    "SELECT `(a|b)?` FROM t",
    "SELECT 'a FROM t",
    "SELECT a -- more \\\nb FROM t",
    "SELECT a /* /* */ */ FROM t",
    "SELECT $$a$$",
]


@pytest.mark.parametrize("text", CLEAR)
def test_statement_of_known_words_is_clear(text):
    assert ("t",) in scan_statement(text, ["t"]).paths


@pytest.mark.parametrize("text", UNCLEAR)
def test_what_may_use_other_columns_is_refused(text):
    with pytest.raises(UnclearError):
        scan_statement(text, ["t"])


@pytest.mark.parametrize("text", ["a FROBNICATE b", "id IN (FROM t)", "a |> b"])
def test_expression_with_unknown_words_is_refused(text):
    with pytest.raises(UnclearError):
        scan_expression(text)
