"""What SQL can do with a Python data source, and what is refused with a word about it."""

from pathlib import Path

import pytest

from hudi_pyspark import HudiTable
from tests.conftest import GOLDEN
from tests.golden.case import load_case
from tests.spark.frames import assert_same_rows, hudi_rows
from tests.storage.s3_server import serve

pytestmark = pytest.mark.spark

MOR = "v9_mor_compaction_inline"
C1 = "20261121062657910"


def rows(query):
    """Number of rows that Apache Hudi returns."""
    return (
        next(q for q in load_case(GOLDEN / MOR).queries if q.name == query).expected_rows().num_rows
    )


@pytest.fixture
def path(golden_table):
    return str(golden_table(MOR))


@pytest.fixture
def count(spark):
    def ask(source):
        return spark.sql(f"SELECT count(*) FROM {source}").head()[0]

    return ask


@pytest.mark.parametrize(
    ("options", "query"),
    [
        ("", "snapshot"),
        (", 'hoodie.datasource.query.type' 'read_optimized'", "read_optimized"),
        (", query_type 'read_optimized'", "read_optimized"),
        (f", as.of.instant '{C1}'", "as_of_c1"),
        (", as_of '2026-11-21 06:27:00.103'", "as_of_c2_formatted"),
    ],
)
def test_temporary_view_takes_the_options_of_a_read(spark, count, path, options, query):
    spark.sql(
        f"CREATE OR REPLACE TEMPORARY VIEW v USING `hudi-py` OPTIONS (path '{path}'{options})"
    )
    assert count("v") == rows(query)


def test_temporary_view_of_some_columns_reads_only_those(spark, path):
    spark.sql(
        "CREATE OR REPLACE TEMPORARY VIEW some (id STRING, ts BIGINT) "
        f"USING `hudi-py` OPTIONS (path '{path}')"
    )
    assert_same_rows(spark.table("some"), hudi_rows(spark, MOR).select("id", "ts"))


def test_view_follows_the_table_to_new_statements(spark, count, path):
    spark.sql(f"CREATE OR REPLACE GLOBAL TEMPORARY VIEW g USING `hudi-py` OPTIONS (path '{path}')")
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW busy AS SELECT * FROM global_temp.g WHERE qty > 5")
    assert 0 < count("busy") < count("global_temp.g") == rows("snapshot")


def test_rows_are_copied_into_a_table(spark, count, path):
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW v USING `hudi-py` OPTIONS (path '{path}')")
    spark.sql("CREATE TABLE copied USING parquet AS SELECT id, ts FROM v")
    try:
        assert count("copied") == rows("snapshot")
    finally:
        spark.sql("DROP TABLE copied")


@pytest.mark.parametrize("where", ["OPTIONS (path '{}')", "LOCATION '{}'"])
def test_catalog_table_is_refused_with_the_way_that_works(spark, path, where):
    with pytest.raises(Exception, match="CREATE TEMPORARY VIEW") as caught:
        spark.sql(f"CREATE TABLE t USING `hudi-py` {where.format(path)}")
    assert "does not pass the path of a catalog table to a Python data source" in str(caught.value)


def test_catalog_table_with_columns_of_its_own_says_what_is_missing(spark, count, path):
    spark.sql(f"CREATE TABLE declared (id STRING) USING `hudi-py` LOCATION '{path}'")
    try:
        with pytest.raises(Exception, match="OPTIONS of a temporary view"):
            count("declared")
    finally:
        spark.sql("DROP TABLE declared")


def test_path_in_the_place_of_a_table_is_refused_by_spark(count, path):
    with pytest.raises(Exception, match="UNSUPPORTED_DATASOURCE_FOR_DIRECT_QUERY"):
        count(f"`hudi-py`.`{path}`")


def test_time_travel_clause_is_refused_by_spark(spark, count, path):
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW v USING `hudi-py` OPTIONS (path '{path}')")
    with pytest.raises(Exception, match="TIME_TRAVEL"):
        count("v TIMESTAMP AS OF '2026-11-21 06:27:00'")


def test_scan_becomes_a_data_frame(spark, path, monkeypatch):
    monkeypatch.chdir(GOLDEN)  # the path that Spark gets must not depend on the working directory
    table = HudiTable(path)
    assert table.scan(as_of=C1).to_spark(spark).count() == rows("as_of_c1")
    frame = table.scan(["id", "ts"], query_type="read_optimized").to_spark(spark)
    assert (frame.columns, frame.count()) == (["id", "ts"], rows("read_optimized"))
    assert table.scan(limit=3).to_spark(spark).count() == 3


def test_scan_of_a_relative_path_becomes_a_data_frame(spark, path, monkeypatch):
    monkeypatch.chdir(path)
    assert HudiTable(f"../{MOR}").scan().to_spark(spark).count() == rows("snapshot")


def test_storage_options_reach_executors(spark, path):

    with serve(Path(path).parent) as server:
        table = HudiTable(
            f"s3a://lake/{MOR}",
            storage_options={
                "access_key": "AKID",
                "secret_key": "s",
                "region": "eu-west-3",
                "endpoint_override": server.endpoint,
            },
        )
        assert table.scan().to_spark(spark).count() == rows("snapshot")
        assert server.credentials == {"AKID eu-west-3"}
        commits = len(table.inspect.commits())
        server.credentials.clear()
        frame = spark.read.format("hudi-py").option("fs.s3a.access.key", "HADOOP")
        frame = frame.option("fs.s3a.secret.key", "s").option("fs.s3a.endpoint", server.endpoint)
        frame = frame.option("fs.s3a.endpoint.region", "eu-west-3")
        assert frame.load(f"s3a://lake/{MOR}").count() == rows("snapshot")
        inspected = frame.option("inspect", "commits").load(f"s3a://lake/{MOR}")
        assert inspected.count() == commits
        assert server.credentials == {"HADOOP eu-west-3"}
