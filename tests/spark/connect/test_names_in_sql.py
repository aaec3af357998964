"""Names in texts of SQL."""

import pytest

from hudi_pyspark.spark.connect.names_in_sql import UnclearError, scan_sql, view_definition


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
    ],
)
def test_words_are_paths(text, paths):
    assert scan_sql(text).paths == paths


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
    assert scan_sql(text).has_star == has_star


@pytest.mark.parametrize(
    "text",
    [
        "FROM t",
        "SELECT 1 UNION ALL FROM t",
        "WITH x AS (SELECT 1) FROM t",
        "SELECT a FROM (FROM t)",
        "SELECT a FROM t |> LIMIT 1",
        "TABLE t",
        "SELECT a FROM t NATURAL JOIN u",
        "SELECT a FROM t PIVOT (count(*) FOR b IN (1))",
        "SELECT identifier('a') FROM t",
        "SELECT `(a|b)?` FROM t",
        "SELECT 'a FROM t",
        "SELECT a -- more \\\nb FROM t",
        "SELECT a /* /* */ */ FROM t",
        "SELECT $$a$$",
    ],
)
def test_what_may_use_other_columns_is_refused(text):
    with pytest.raises(UnclearError):
        scan_sql(text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT extract(YEAR FROM a), trim(BOTH FROM b) FROM t WHERE a IS NOT DISTINCT FROM b",
        "SELECT a FROM (SELECT b FROM t) UNION SELECT c FROM (SELECT 1 AS c)",
        "INSERT INTO TABLE u SELECT a FROM t",
    ],
)
def test_from_belongs_to_a_select(text):
    assert ("a",) in scan_sql(text).paths


@pytest.mark.parametrize(
    ("text", "is_read"),
    [
        ("SELECT a FROM t", True),
        ("SELECT a FROM u JOIN `T` AS o ON (o.x = 1)", True),
        ("SELECT a FROM t WHERE (b)", True),
        ("SELECT t.a FROM u AS t1, s.t", False),
        ("SELECT a FROM t AS o (a, b)", False),
        ("SELECT a FROM t o(a, b)", False),
        ("WITH t AS (SELECT 1 AS a) SELECT a FROM t", False),
        ("SELECT t(1), a FROM t", False),
    ],
)
def test_view_is_read_by_its_name(text, is_read):
    assert scan_sql(text).reads("t") == is_read


@pytest.mark.parametrize(
    ("text", "is_shown"),
    [
        ("SELECT b, a FROM t", True),
        ("SELECT b, T.`A` FROM t WHERE b > 1", True),
        ("SELECT max(b) AS a, c FROM t", True),
        ("WITH x AS (SELECT b FROM t) SELECT b FROM x", True),
        ("SELECT b FROM t WHERE a > 1", False),
        ("SELECT f(a), (a), b = a, a.b FROM t", False),
        ("SELECT (SELECT max(b) AS c, a FROM t) FROM t", False),
        ("(SELECT a FROM t)", False),
    ],
)
def test_names_above_a_query_are_columns_of_it(text, is_shown):
    assert scan_sql(text).shows([("a", "field"), ("1",)]) == is_shown


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        (" SELECT a FROM t", " WITH `t` AS (SELECT * FROM `x`) SELECT a FROM t"),
        ("WITH u AS (SELECT 1)", "WITH `t` AS (SELECT * FROM `x`), u AS (SELECT 1)"),
        ("WITH RECURSIVE u AS (1)", "WITH RECURSIVE `t` AS (SELECT * FROM `x`), u AS (1)"),
        ("INSERT INTO u SELECT a", "INSERT INTO u WITH `t` AS (SELECT * FROM `x`) SELECT a"),
        ("CREATE VIEW u AS SELECT a FROM t", None),
        ("SHOW COLUMNS IN t", None),
    ],
)
def test_views_are_hidden_by_common_table_expressions(text, changed):
    assert scan_sql(text).with_views({"t": "x"}) == changed


def test_definition_of_a_view_is_read():
    create = "CREATE OR REPLACE TEMP VIEW `My View` USING `hudi-py` OPTIONS"
    options = "(path '/a/b', 'as.of.instant' = '2024', columns \"a\")"
    assert view_definition(f"{create} (path '/a/b', `as.of.instant` = '2024')") == (
        "my view", {"path": "/a/b", "as.of.instant": "2024"},
    )  # fmt: skip
    assert view_definition(f"{create} {options}") is None
    once = create.replace("OR REPLACE ", "") + " (path '/a/b')"
    assert view_definition(once) == ("my view", {"path": "/a/b"})
    assert view_definition(once.replace("VIEW", "VIEW IF NOT EXISTS")) is None
    assert view_definition(once.replace("USING", "(a STRING) USING")) is None
