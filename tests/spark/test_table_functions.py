"""Apache Hudi's table functions, in SQL and as Python functions that return DataFrames."""

import pytest

import hudi_pyspark
from hudi_pyspark import InvalidOptionError
from tests.conftest import GOLDEN
from tests.golden.case import load_case
from tests.golden.procedures import answers
from tests.golden.run import judge
from tests.spark.deployment import client
from tests.spark.frames import assert_same_rows

pytestmark = pytest.mark.spark

CASE = "v9_mor_compaction_inline"
QUERIES = {
    query.name: query
    for query in load_case(GOLDEN / CASE).queries
    if query.name in ("snapshot", "read_optimized", "incr_all", "incr_mid")
}
BEGIN, END = "hoodie.datasource.read.begin.instanttime", "hoodie.datasource.read.end.instanttime"


@pytest.fixture
def session(spark, golden_table):
    """A session with a table ``called`` that SQL reads."""
    session = spark.newSession()
    hudi_pyspark.register(session, tables=True)
    session.sql(f"CREATE TABLE called USING hudi LOCATION '{golden_table(CASE)}'")
    yield session
    session.sql("DROP TABLE called")


def frame_rows(frame, path):
    return sorted(
        (
            [
                value.replace(f"file:{path}", "<table>") if isinstance(value, str) else value
                for value in row
            ]
            for row in frame.collect()
        ),
        key=repr,
    )


@pytest.mark.parametrize("function", ["hudi_query_timeline", "hudi_filesystem_view"])
def test_functions_about_a_table_answer_as_apache_hudi(session, golden_table, function):
    path = str(golden_table(CASE))
    asked = list(answers(CASE, function))
    assert len(asked) >= 2
    for given, hudi in asked:
        expected = sorted(([*row.values()] for row in hudi), key=repr)
        arguments = "".join(f", '{text}'" for text in given.values())
        for table in (path, "called", "default.called"):
            frame = session.sql(f"SELECT * FROM {function}('{table}'{arguments})")
            assert frame_rows(frame, path) == expected
            if expected:
                assert frame.columns == list(hudi[0])
            typed = {name: text == "true" for name, text in given.items() if name == "archived"}
            frame = getattr(hudi_pyspark, function)(session, table, **{**given, **typed})
            assert frame_rows(frame, path) == expected


@pytest.mark.parametrize("query", QUERIES)
def test_functions_of_rows_answer_as_apache_hudi(session, golden_table, query):
    known = QUERIES[query]
    options = known.options
    for table in (str(golden_table(CASE)), "called"):
        if query.startswith("incr"):
            frame = hudi_pyspark.hudi_table_changes(
                session, table, "latest_state", begin=options[BEGIN], end=options.get(END)
            )
        else:
            frame = hudi_pyspark.hudi_query(session, table, query)
        assert judge(load_case(GOLDEN / CASE), known, frame.toArrow()).problems == ()


def test_images_of_changes_are_those_of_a_cdc_read(session, golden_table):
    path = str(golden_table("v9_cow_cdc_data_before"))
    frame = hudi_pyspark.hudi_table_changes(session, path, "cdc", begin="earliest")
    expected = hudi_pyspark.read(
        session, path, query_type="incremental", cdc=True, begin="earliest"
    )
    assert frame.count() > 0
    assert_same_rows(frame, expected)


def test_names_need_tables_by_name(spark):
    session = spark.newSession()
    with pytest.raises(InvalidOptionError, match=r"'called' has no slash.*tables=True"):
        hudi_pyspark.hudi_query(session, "called")


def test_wrong_arguments_are_refused(spark):
    with pytest.raises(InvalidOptionError, match="hudi_query does not take the arguments"):
        hudi_pyspark.hudi_query(spark, "/a/b", "incremental")


CLIENT = """
import json, sys
from pyspark.sql import SparkSession
import hudi_pyspark

port, path = sys.argv[1:]
spark = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").getOrCreate()
frames = {
    "hudi_query": hudi_pyspark.hudi_query(spark, path, "read_optimized"),
    "hudi_table_changes": hudi_pyspark.hudi_table_changes(
        spark, path, "latest_state", begin="earliest"
    ),
    "hudi_query_timeline": hudi_pyspark.hudi_query_timeline(spark, path),
    "hudi_filesystem_view": hudi_pyspark.hudi_filesystem_view(spark, path, "*"),
}
answers = {name: frame.count() for name, frame in frames.items()}
try:
    hudi_pyspark.hudi_query(spark, "orders")
except hudi_pyspark.InvalidOptionError as error:
    answers["name"] = str(error)
print("ANSWERS", json.dumps(answers))
spark.stop()
"""


def test_clients_of_spark_connect_have_the_functions(connect_port, golden_table):
    found = client(CLIENT, connect_port, str(golden_table(CASE)))
    ((_, instants),) = answers(CASE, "hudi_query_timeline", archived="false")
    ((_, slices),) = answers(CASE, "hudi_filesystem_view", folders="*")
    assert "has no slash" in found.pop("name")
    assert found == {
        "hudi_query": QUERIES["read_optimized"].expected_rows().num_rows,
        "hudi_table_changes": QUERIES["incr_all"].expected_rows().num_rows,
        "hudi_query_timeline": len(instants),
        "hudi_filesystem_view": len(slices),
    }
