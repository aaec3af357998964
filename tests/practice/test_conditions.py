"""Conditions that compare by types in every way to ask them.

In Spark the referee is a Parquet copy of the rows in the same session; without Spark it is Python.
"""

from __future__ import annotations

import math
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow.parquet as pq
import pytest

from hudi_pyspark import HudiTable, InvalidOptionError
from tests.conftest import GOLDEN
from tests.golden.case import load_case
from tests.spark.conftest import ruled
from tests.spark.deployment import client

__all__ = ["ruled"]  # a fixture

CASE = load_case(GOLDEN.with_name("golden_extra") / "x_v9_mor_ty_conditions")
ROWS = CASE.query("snapshot").expected_rows()
TEN = datetime(2024, 1, 5, 10, tzinfo=timezone.utc)
# Arrow casts the first of these decimals to another double than Java does.
FILTERS: dict[str, Any] = {
    "amount = 546740.69": lambda r: r["amount"] == Decimal("546740.69"),
    "amount = 546740.69e0": lambda r: float(r["amount"]) == 546740.69,
    "amount <= 546740.69e0": lambda r: float(r["amount"]) <= 546740.69,
    "NOT (amount < 319390.72e0)": lambda r: float(r["amount"]) >= 319390.72,
    "amount IN (546740.69e0, 41623.27e0)": lambda r: float(r["amount"]) in (546740.69, 41623.27),
    "dt <=> '2024-01-05'": lambda r: r["dt"] == date(2024, 1, 5),
    "dt IN ('2024-01-05', '1582-10-15')": lambda r: (
        r["dt"] in (date(2024, 1, 5), date(1582, 10, 15))
    ),
    "t = '2024-01-05 10:00:00Z'": lambda r: r["t"] == TEN,
    "t IN ('2024-01-05 10:00:00Z')": lambda r: r["t"] == TEN,
    "f = 16777217": lambda r: r["f"] == 16777217,
    "f IN (16777217, 5)": lambda r: r["f"] in (16777217, 5),
    "NOT (f < 16777217)": lambda r: (r["f"] or 0) >= 16777217,
    "n IN (10e0, -9223372036854775808)": lambda r: r["n"] in (10, -(2**63)),
    "n > 9.2e18": lambda r: (r["n"] or 0) > 9.2e18,
    "n = 9007199254740993e0": lambda r: r["n"] is not None and float(r["n"]) == 2.0**53,
    "d18 = 1.000001e0": lambda r: float(r["d18"] or 0) == 1.000001,
    "d18 > 1.0000001": lambda r: (r["d18"] or 0) > Decimal("1.0000001"),
}
# Spark compares some of these, by rules that depend on its ANSI mode.
REFUSED = [
    "dt <=> '20240105'",
    "dt <> '20240105'",
    "dt = '2024-W01-5'",
    "t <=> '20240105T100000Z'",
    "t NOT IN ('2024-01-05 10:00:00Z', 'x')",
    "t > '2024-01-05 10:00:00'",
    "d18 IN (1.00000000000000000001, 1234567890123456789012345.0)",
    "q IN ('5', 3)",
    "id = 5",
]
SCRIPT = '''
from functools import reduce
from decimal import Decimal
from datetime import date, datetime
from pyspark.sql import functions as F

TERMS = 220
FLOATS = [546740.69, 319390.72, 839827.58, 0.5]
CONDITIONS = """
F.col("amount") == 546740.69
F.col("amount") <= 546740.69
F.col("amount").isin(FLOATS)
~(F.col("amount") < 319390.72)
F.col("amount") == Decimal("546740.69")
F.col("f") == 16777217
F.col("f").isin([16777217, 5])
~(F.col("f") < 16777217)
F.col("n") == 10.0
F.col("dt") == date(2024, 1, 5)
F.col("dt").isin([date(2024, 1, 5), date(1582, 10, 15)])
F.col("t") >= datetime(2024, 1, 5, 10)
F.expr("f = 0.1")
F.expr("f <=> 0.1e0")
F.expr("dt <=> '2024-01-05'")
F.expr("t IN ('2024-01-05 10:00:00Z', '2024-01-05')")
F.expr("n IN (10e0, -9223372036854775808)")
F.expr("n = 9007199254740993e0")
F.expr("d18 IN (1.00000000000000000001, 1234567890123456789012345.0)")
F.expr("d18 = 1.000001e0")
F.expr("q IN ('5', 3)")
reduce(lambda a, b: a | b, [(F.col("ts") == i) & (F.col("q") < 5) for i in range(TERMS)])
F.expr(" OR ".join(f"(ts = {i} AND q < 5)" for i in range(220)))
""".strip().splitlines()
WITHOUT_ANSI = """
F.expr("dt <=> '20240105'")
F.expr("dt <=> '2024-W01-5'")
F.expr("NOT (dt <=> '20240105')")
F.expr("dt <> '20240105'")
F.expr("t <=> '20240105T100000Z'")
F.expr("t NOT IN ('2024-01-05 10:00:00Z', '2024-01-05 10:00:00.000001Z')")
F.expr("t NOT IN ('2024-01-05 10:00:00Z', 'x')")
F.expr("q = 'x'")
F.expr("id = 5")
""".strip().splitlines()
COLLATED = """
F.col("name") == "N3"
F.col("name").isin(["N3", "n4"])
F.col("name") > "n3"
F.col("name").startswith("N1")
F.expr("name = 'N3' COLLATE UTF8_BINARY")
""".strip().splitlines()


def asked(frame, conditions):
    """Ask each condition by a scan of its own, all in one query."""
    made = [frame.where(eval(c)).select(F.lit(n).alias("n")) for n, c in enumerate(conditions)]
    whole = reduce(lambda a, b: a.unionAll(b), made)
    found = {row[0]: row[1] for row in whole.groupBy("n").count().collect()}
    return {c: found.get(n, 0) for n, c in enumerate(conditions)}


def wanted(copy, conditions):
    """Count by one aggregation, which pushes no condition."""
    found = copy.agg(*[F.count_if(eval(c)) for c in conditions]).collect()[0]
    return dict(zip(conditions, found))


def compared(spark, path, copied, way):
    """Return what is found and what is wanted, with ANSI mode and without.

    Args:
        spark: session.
        path: table.
        copied: Parquet file with its rows.
        way: number of the way, from 0 to 3, which asks the first condition and each fourth one of
            the others; -1 asks all.
    """
    source = spark.read.format("hudi-py")
    answers = []

    def chosen(conditions):
        return conditions if way < 0 else conditions[way::4]

    of_both = CONDITIONS[:1] + chosen(CONDITIONS[1:])
    try:
        for ansi, conditions in ("true", of_both), ("false", of_both + chosen(WITHOUT_ANSI)):
            spark.conf.set("spark.sql.ansi.enabled", ansi)
            of_copy = wanted(spark.read.parquet(copied), conditions)
            answers.append([asked(source.load(path), conditions), of_copy])
        spark.conf.set("spark.sql.ansi.enabled", "true")
        schema = "id string, name string collate UTF8_LCASE"
        frame = spark.read.format("hudi-py").schema(schema).load(path)
        copy = spark.read.schema(schema).parquet(copied)
        answers.append([asked(frame, COLLATED), wanted(copy, COLLATED)])
        other = F.broadcast(copy.where("name = 'N1'").select("name"))
        answers.append([
            [each.groupBy("name").count().count(), each.join(other, "name").count()]
            for each in (frame, copy)
        ])
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")
    return answers
'''
CLIENT = f"""
import json, sys
from pyspark.sql import SparkSession
{SCRIPT}
TERMS = 40  # PySpark's own client calls itself for each
port, is_registered, path, copied, way = sys.argv[1:]
spark = SparkSession.builder.remote(f"sc://127.0.0.1:{{port}}").getOrCreate()
spark.conf.set("spark.sql.session.timeZone", "UTC")
if is_registered == "True":
    import hudi_pyspark
    hudi_pyspark.register(spark)
print("ANSWERS", json.dumps({{"compared": compared(spark, path, copied, int(way))}}))
spark.stop()
"""


@pytest.fixture
def path(tmp_path):
    return CASE.extract(tmp_path)


@pytest.fixture
def copied(tmp_path):
    """A Parquet copy of the rows."""
    pq.write_table(ROWS, tmp_path / "copy.parquet")
    return tmp_path / "copy.parquet"


@pytest.mark.parametrize("text", FILTERS)
def test_conditions_without_spark(path, text):
    expected = sorted(row["id"] for row in ROWS.to_pylist() if FILTERS[text](row))
    scan = HudiTable(path).scan(["id"], filter=text)
    assert sorted(scan.to_arrow()["id"].to_pylist()) == expected
    assert scan.count() == len(expected)


def test_arrow_would_lose_such_decimals():
    amounts = ROWS["amount"]
    assert not math.isclose(546740.69, amounts.cast("double")[0].as_py(), rel_tol=0, abs_tol=0)


@pytest.mark.parametrize("text", REFUSED)
def test_conditions_that_spark_converts_are_refused_without_spark(path, text):
    with pytest.raises(InvalidOptionError):
        HudiTable(path).scan(filter=text).count()


def check(answers):
    for found, wanted in answers:
        assert found == wanted
    assert answers[0][0]['F.col("amount") == 546740.69'] == 5
    assert answers[2][0]['F.col("name") == "N3"'] > 8  # in both cases


# `make test` asks each condition in one of the four ways, `make test-cluster` in all of them.
SPARK_WAYS = pytest.mark.parametrize(
    "all_conditions",
    [False, pytest.param(True, marks=pytest.mark.cluster)],
    ids=["some-conditions", "all-conditions"],
)
REGISTERED = pytest.mark.parametrize("is_registered", [False, True], ids=["plain", "registered"])


@pytest.mark.spark
@SPARK_WAYS
@REGISTERED
@pytest.mark.usefixtures("spark")
def test_conditions_in_classic_sessions(request, path, copied, is_registered, all_conditions):
    session = request.getfixturevalue("ruled" if is_registered else "spark")
    way = -1 if all_conditions else int(is_registered)
    names: dict[str, Any] = {}
    exec(SCRIPT, names)
    if not all_conditions:
        names["TERMS"] = 40  # each is a call of Java, of which Spark makes many more
    check(names["compared"](session, str(path), str(copied), way))


@pytest.mark.spark
@SPARK_WAYS
@REGISTERED
def test_conditions_over_connect(connect_port, path, copied, is_registered, all_conditions):
    way = -1 if all_conditions else 2 + is_registered
    arguments = (str(is_registered), str(path), str(copied), str(way))
    check(client(CLIENT, connect_port, *arguments)["compared"])
