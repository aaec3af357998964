"""Partition columns come last by name, as Apache Hudi 1.2.0 answered over entries of these tables.

Apache Hudi wrote them by DataFrames: `mid` is partitioned by `region`, `two` and `dropped2`, which
drops partition columns from its files, by `hour,region`, `nested2` by `place.region,day`, and
`evolved` by `region`, with two columns that later commits added.
"""

from typing import Any

import pyspark
import pytest

import hudi_pyspark
from tests.catalogs.rest_server import serve_catalog
from tests.spark.conftest import sql
from tests.spark.frames import new_session
from tests.spark.named_tables import needs_changes, rows_of_stream

pytestmark = pytest.mark.spark
__all__ = ["sql"]  # a fixture

MID = ["id", "region", "name", "ts"]
TWO = ["region", "id", "hour", "name", "ts"]
# By path, by name, and the rows by name in the order of the key.
TABLES: dict[str, tuple[list[str], list[str], list[tuple[Any, ...]]]] = {
    "mid": (
        MID,
        ["id", "name", "ts", "region"],
        [("k1", "Ann", 1, "emea"), ("k2", "Bob", 1, "apac")],
    ),
    "two": (TWO, ["id", "name", "ts", "hour", "region"], [("k1", "Ann", 1, 7, "emea")]),
    "dropped2": (TWO, ["id", "name", "ts", "hour", "region"], [("k1", "Ann", 1, 7, "emea")]),
    "nested2": (
        ["day", "place", "id", "name", "ts"],
        ["place", "id", "name", "ts", "day"],
        [(("emea", 1), "k1", "Ann", 1, "z")],
    ),
    "evolved": (
        [*MID, "extra", "qty"],
        ["id", "name", "ts", "extra", "qty", "region"],
        [
            ("k1", "Ann", 1, None, None, "emea"),
            ("k2", "Bob", 1, None, None, "apac"),
            ("k3", "Cyd", 2, "new", 5, "emea"),
        ],
    ),
}


def own(frame):
    """The columns of a frame that are not Apache Hudi's."""
    return [name for name in frame.columns if not name.startswith("_")]


def rows_of(frame):
    return sorted((tuple(row) for row in frame.select(*own(frame)).collect()), key=str)


@pytest.fixture
def table(request, sql, practice_table):
    """An entry of a table, and the path of the table."""
    path = practice_table(f"column_order_by_name/{request.param}")
    sql.sql(f"CREATE TABLE t USING hudi LOCATION '{path}'")
    return request.param, path


@pytest.mark.parametrize("table", TABLES, indirect=True)
def test_batches_have_partition_columns_last_by_name_and_in_place_by_path(sql, table):
    name, path = table
    by_path, by_name, rows = TABLES[name]
    for frame in (sql.table("t"), sql.sql("SELECT * FROM t"), sql.read.table("t")):
        assert own(frame) == by_name
        assert rows_of(frame) == rows
    optimized = sql.read.option("query_type", "read_optimized").table("t")
    assert own(optimized) == by_name
    assert own(sql.sql(f"SELECT * FROM hudi.`{path}`")) == by_path
    assert own(sql.read.format("hudi").load(str(path))) == by_path
    assert own(sql.read.format("hudi-py").load(str(path))) == by_path


@pytest.mark.parametrize("table", TABLES, indirect=True)
def test_instants_functions_and_streams_have_the_order_of_the_table(sql, table, tmp_path):
    name, _ = table
    by_path, by_name, rows = TABLES[name]
    newest = sql.table("t").agg({"_hoodie_commit_time": "max"}).head()[0]
    time = f"{newest[:4]}-{newest[4:6]}-{newest[6:8]} "
    time += f"{newest[8:10]}:{newest[10:12]}:{newest[12:14]}.{newest[14:]}"
    for source in (
        f"t VERSION AS OF '{newest}'",
        f"t TIMESTAMP AS OF '{time}'",
        "hudi_query('t', 'snapshot')",
        "hudi_table_changes('t', 'latest_state', 'earliest')",
    ):
        frame = sql.sql(f"SELECT * FROM {source}")
        assert own(frame) == by_path, source
        assert rows_of(frame.select(*by_name)) == rows
    stream = sql.readStream.option("start_offset", "earliest").table("t")
    assert own(stream) == by_path
    streamed = rows_of_stream(stream, tmp_path / "checkpoint")
    assert own(streamed) == by_path
    assert {*rows_of(streamed.select(*by_name))} >= {*rows}


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize("table", ["mid"], indirect=True)
def test_positions_mean_the_columns_that_apache_hudi_has(sql):
    _, by_name, rows = TABLES["mid"]
    columns = ", ".join(by_name)
    sql.sql("CREATE TABLE copy (id STRING, name STRING, ts BIGINT, region STRING) USING parquet")
    sql.sql(f"INSERT INTO copy SELECT {columns} FROM t")
    meta = [name for name in sql.table("t").columns if name not in by_name]
    sql.table("t").drop(*meta).write.insertInto("copy")
    assert rows_of(sql.table("copy")) == sorted(rows * 2)
    both = sql.table("t").drop(*meta).union(sql.table("copy")).distinct()
    assert rows_of(both) == rows
    renamed = sql.table("t").drop(*meta).toDF("a", "b", "c", "d")
    assert renamed.where("b = 'Bob' AND d = 'apac'").count() == 1
    sql.sql("CREATE TABLE made USING parquet AS SELECT * FROM t")
    sql.sql("CREATE VIEW shown AS SELECT * FROM t")
    for name in ("made", "shown"):
        assert own(sql.table(name)) == by_name
        assert rows_of(sql.table(name)) == rows


@pytest.mark.skipif(pyspark.__version__ < "4.1", reason="Spark 4.1 introduced STREAM in SQL")
@pytest.mark.parametrize("table", ["mid", "two"], indirect=True)
def test_streams_in_sql_have_the_order_by_name(sql, table, tmp_path):
    name, path = table
    _, by_name, rows = TABLES[name]
    sql.sql(f"CREATE TABLE early USING hudi OPTIONS (path '{path}', start_offset 'earliest')")
    streamed = rows_of_stream(sql.sql("SELECT * FROM STREAM early"), tmp_path / "checkpoint")
    assert own(streamed) == by_name
    assert rows_of(streamed) == rows


@needs_changes
def test_changes_have_the_order_by_name(sql, golden_table):
    path = golden_table("v9_cow_cdc_data_before")
    sql.sql(f"CREATE TABLE t USING hudi LOCATION '{path}'")
    by_name = own(sql.table("t"))
    changes = sql.sql("SELECT * FROM t CHANGES FROM VERSION 20000101000000000")
    assert own(changes) == by_name
    assert changes.columns[-3:] == ["_change_type", "_commit_version", "_commit_timestamp"]


def test_comments_are_those_of_the_statement_and_columns_in_the_order_of_the_table(
    sql, practice_table
):
    path = practice_table("column_order_by_name/mid")
    sql.sql(
        "CREATE TABLE t (ts BIGINT COMMENT 'when\nit is', REGION STRING COMMENT 'where', id STRING)"
        f" USING hudi PARTITIONED BY (id) LOCATION '{path}'"
    )
    _, by_name, rows = TABLES["mid"]
    assert own(sql.table("t")) == by_name
    assert rows_of(sql.sql("SELECT * FROM t WHERE region > 'a' LIMIT 9")) == rows
    described = {row.col_name: row.comment for row in sql.sql("DESCRIBE t").collect()}
    assert {name: described[name] for name in by_name} == {
        "id": None,
        "name": None,
        "ts": "when\nit is",
        "region": "where",
    }
    assert sql.sql("SELECT region FROM t").schema[0].metadata == {"comment": "where"}


@pytest.mark.parametrize("name", TABLES)
def test_tables_of_a_mounted_catalog_have_partition_columns_last(spark, practice_table, name):
    pytest.importorskip("requests")
    path = practice_table(f"column_order_by_name/{name}")
    by_path, by_name, rows = TABLES[name]
    comments = [{"name": "id", "position": 0, "comment": "the key"}]
    answer = {"storage_location": f"file:{path}", "table_id": "t", "columns": comments}
    with serve_catalog("secret") as server:
        request = "GET /api/2.1/unity-catalog/tables/main.sales.t"
        server.answers[request] = lambda _: (200, answer)
        session = new_session(spark)
        settings = {"type": "unity", "uri": server.uri, "token": "secret"}
        hudi_pyspark.register(session, catalogs={"lake": settings})
        frame = session.table("lake.main.sales.t")
        assert own(frame) == by_name
        assert frame.schema["id"].metadata == {"comment": "the key"}
        assert rows_of(frame) == rows
        assert own(session.readStream.table("lake.main.sales.t")) == by_path
        options = {"table": "main.sales.t"} | {f"catalog.{n}": v for n, v in settings.items()}
        read = session.read.format("hudi-py").options(**options)
        assert rows_of(read.load()) == rows
        assert own(read.option("columns", ",".join(by_path)).load()) == by_path
