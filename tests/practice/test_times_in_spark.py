"""Times that neither Python nor Java's old classes hold, in Spark: classic, registered, Connect."""

import json

import pytest

import hudi_pyspark
from tests.practice.ancient_times import BORN, SEEN
from tests.spark.conftest import ruled
from tests.spark.deployment import client
from tests.spark.frames import load

pytestmark = pytest.mark.spark
__all__ = ["ruled"]  # a fixture

QUERIES: dict[str, dict[str, list[str] | list[int]]] = {
    "legacy": {
        **{
            f"born = DATE '{day}'": sorted(k for k in BORN if BORN[k] == day)
            for day in BORN.values()
        },
        **{
            f"seen = TIMESTAMP '{time.replace('T', ' ')}Z'": sorted(
                k for k in SEEN if SEEN[k] == time
            )
            for time in SEEN.values()
        },
        "s.d < DATE '1582-10-05'": ["p0", "p1", "q1"],
    },
    "far": {
        "dt = DATE '2024-01-05'": [2],
        "dt IS NULL": [4],
        "s = 'a' AND dt IS NOT NULL": [1],
        "dt > DATE '+10000-01-01'": [3],
        "unix_micros(t) = 9223372036854775807": [3],
        "t >= TIMESTAMP '+10000-01-01 00:00:00Z'": [1, 3],
    },
    "days": {
        "dt > DATE '2024-01-05'": [2, 3],
        "dt = DATE '+10000-01-01'": [2],
        "dt < DATE '0001-01-01'": [4],
        "dt IS NULL": [5],
    },
}
CLIENT = """
import json, sys
from datetime import date
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf
import hudi_pyspark

port, queries, *paths = sys.argv[1:]
spark = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").getOrCreate()
spark.conf.set("spark.sql.session.timeZone", "UTC")


def ids(path, condition):
    frame = spark.read.format("hudi-py").load(path)
    return sorted(row.id for row in frame.where(condition).select("id").collect())


def ask():
    answers = {name: {c: ids(path, c) for c in conditions}
               for (name, conditions), path in zip(json.loads(queries).items(), paths)}
    answers["column"] = ids(paths[1], sf.col("dt") == sf.date_from_unix_date(sf.lit(2932897)))
    answers["left out"] = ids(paths[0], sf.col("born") == date(1582, 10, 14))
    return answers


answers = {"plain": ask()}
hudi_pyspark.register(spark)
answers["registered"] = ask()
print("ANSWERS", json.dumps(answers))
spark.stop()
"""


@pytest.fixture
def paths(practice_table):
    return {
        "legacy": practice_table("legacy_calendar/legacy_mor"),
        "far": practice_table("year_10000/far"),
        "days": practice_table("year_10000/days"),
    }


def found(frame, condition):
    narrow = frame.where(condition)
    ids = sorted(row.id for row in narrow.select("id").collect())
    assert narrow.count() == len(ids)
    return ids


@pytest.mark.parametrize("name", QUERIES)
def test_classic_sessions_find_the_rows(spark, paths, name):
    frame = load(spark, paths[name])
    assert {c: found(frame, c) for c in QUERIES[name]} == QUERIES[name]


@pytest.mark.parametrize("name", QUERIES)
def test_registered_sessions_find_the_rows(ruled, paths, name):
    frame = load(ruled, paths[name])
    assert {c: found(frame, c) for c in QUERIES[name]} == QUERIES[name]


ZONES = ["UTC", "America/New_York", "Asia/Kolkata"]


@pytest.mark.parametrize("zone", ZONES)
def test_registered_sessions_push_the_days_and_microseconds_that_spark_compares(ruled, paths, zone):
    ruled.conf.set("spark.sql.session.timeZone", zone)
    try:
        frame = load(ruled, paths["legacy"])
        # Each zone has a third of the days and of the times.
        for condition in list(QUERIES["legacy"])[ZONES.index(zone) :: len(ZONES)]:
            narrow = frame.where(condition)
            literal = condition.split("'")[1].replace(" ", "T")
            if not condition.startswith("s."):  # a field of a struct is left to Spark
                assert f"'{literal}" in hudi_pyspark.explain(narrow), condition
            assert found(frame, condition) == QUERIES["legacy"][condition]
    finally:
        ruled.conf.set("spark.sql.session.timeZone", "UTC")


@pytest.mark.parametrize("is_registered", [False, True], ids=["plain", "registered"])
def test_values_in_the_legacy_calendar_are_those_that_were_written(
    spark, request, paths, is_registered
):
    session = request.getfixturevalue("ruled") if is_registered else spark
    frame = load(session, paths["legacy"]).where("born IS NOT NULL")
    rows = frame.selectExpr("id", "CAST(born AS string)", "CAST(seen AS string)").collect()
    assert {row.id: row.born for row in rows} == BORN
    assert {row.id: row.seen for row in rows} == {k: v.replace("T", " ") for k, v in SEEN.items()}


def test_connect_sessions_find_the_rows(connect_port, paths):
    both = client(CLIENT, connect_port, json.dumps(QUERIES), *map(str, paths.values()))
    for answers in both["plain"], both["registered"]:
        assert answers.pop("column") == [1]
        # The server takes a day that the Gregorian calendar left out for the first one after it.
        assert answers.pop("left out") == sorted(k for k in BORN if BORN[k] == "1582-10-15") != []
        assert answers == QUERIES
