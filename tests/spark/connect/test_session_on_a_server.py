"""The source through Spark Connect.

PySpark's own package ships the Connect server (``jars/spark-connect_*.jar``) as a plugin of a
classic session; the client needs grpcio and protobuf (the extra ``connect``). So nothing is
downloaded.
"""

from pathlib import Path

import pyarrow.compute as pc
import pyspark
import pytest

from tests.conftest import GOLDEN
from tests.golden.case import load_case
from tests.spark.deployment import client

pytestmark = pytest.mark.spark

CLIENT = """
import json, sys
from pyspark.sql import SparkSession

port, path = sys.argv[1:]
spark = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").getOrCreate()
assert ".connect." in type(spark).__module__, type(spark)
answers = {}


def answer(name, ask):
    try:
        answers[name] = ask()
    except Exception as error:
        answers[name] = f"{type(error).__name__}: {error}"


def keys(frame):
    return sorted(row._hoodie_record_key for row in frame.select("_hoodie_record_key").collect())


def load(where=path, **options):
    return spark.read.format("hudi-py").options(**options).load(where)


answer("unregistered", lambda: keys(load()))
import hudi_pyspark
hudi_pyspark.register(spark)
answer("registered", lambda: keys(load()))
answer("as_of", lambda: keys(load(as_of="20261121062657910")))
answer("types", lambda: [field.simpleString() for field in load().schema])
answer("pruned", lambda: load(columns="id,amount").columns)
answer("schema", lambda: spark.read.format("hudi-py").schema("id string").load(path).count())
answer("read", lambda: hudi_pyspark.read(spark, path, ["id"], query_type="read_optimized").count())
answer("read all", lambda: keys(hudi_pyspark.read(spark, path)))
answer("sum", lambda: load().groupBy().sum("qty").first()[0])
answer("limit", lambda: len(load(batch_rows="1").limit(2).collect()))
answer("arrow", lambda: load().toArrow().num_rows)
spark.sql(
    f"CREATE TEMPORARY VIEW instants USING `hudi-py` OPTIONS (path '{path}', inspect 'timeline')"
)
timeline = "SELECT count(*) FROM instants WHERE state = 'completed'"
answer("timeline", lambda: spark.sql(timeline).first()[0])
answer("missing", lambda: load("/nowhere").count())
answer("bad_option", lambda: load(query_type="foo").count())
print("ANSWERS", json.dumps(answers))
spark.stop()
"""
CASE = "v9_mor_compaction_inline"


@pytest.fixture(scope="module")
def answers(connect_port, golden_table):
    """What a Connect client in a separate process is answered."""
    return client(CLIENT, connect_port, str(golden_table(CASE)))


def expected(query: str):
    """Apache Hudi's rows."""
    return next(q for q in load_case(GOLDEN / CASE).queries if q.name == query).expected_rows()


def expected_keys(query: str) -> list[str]:
    return sorted(expected(query)["_hoodie_record_key"].to_pylist())


def test_pyspark_ships_the_connect_server():
    assert list((Path(pyspark.__file__).parent / "jars").glob("spark-connect_*.jar"))


def test_source_is_found_without_a_register_call(answers):
    assert answers["unregistered"] == expected_keys("snapshot")


def test_source_works_after_a_register_call(answers):
    assert answers["registered"] == expected_keys("snapshot")


def test_time_travel(answers):
    assert answers["as_of"] == expected_keys("as_of_c1")


def test_schema_has_the_types_of_the_table(answers):
    assert answers["types"][5:] == [
        "id:string", "name:string", "amount:double", "qty:int", "ts:bigint", "region:string",
    ]  # fmt: skip


def test_columns_are_pruned_by_option_and_by_schema(answers):
    assert answers["pruned"] == ["id", "amount"]
    assert answers["schema"] == expected("snapshot").num_rows


def test_read_function_takes_a_connect_session(answers):
    assert answers["read"] == expected("read_optimized").num_rows


def test_read_function_merges_log_files(answers):
    assert answers["read all"] == expected_keys("snapshot")


def test_aggregation_limit_and_arrow(answers):
    assert answers["sum"] == pc.sum(expected("snapshot")["qty"]).as_py()
    assert answers["limit"] == 2
    assert answers["arrow"] == expected("snapshot").num_rows


def test_functions(answers):
    files = load_case(GOLDEN / CASE).facts["timeline"]
    assert answers["timeline"] == sum("_" in file for file in files)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("missing", "[HUDI_PATH_NOT_FOUND] /nowhere does not exist"),
        (
            "bad_option",
            "[HUDI_UNKNOWN_QUERY_TYPE] query_type (hoodie.datasource.query.type) is 'foo'",
        ),
    ],
)
def test_error_reaches_the_client_with_its_code(answers, question, text):
    assert answers[question].startswith("AnalysisException: ")
    assert text in answers[question]


OTHER_PYTHON = """
import json, sys
from pyspark.sql import SparkSession
from pyspark.sql.connect import plan

port, path = sys.argv[1:]
spark = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").getOrCreate()
known = plan.PythonDataSource.__init__
plan.PythonDataSource.__init__ = lambda self, data_source, python_ver: known(
    self, data_source, "3.9"
)


def rows():
    try:
        return spark.read.format("hudi-py").load(path).count()
    except Exception as error:
        return str(error)


answers = {"before": rows()}
import hudi_pyspark
hudi_pyspark.register(spark)
answers["after"] = rows()
print("ANSWERS", json.dumps(answers))
spark.stop()
"""


def test_client_with_another_python_reads_without_register(connect_port, golden_table):
    answers = client(OTHER_PYTHON, connect_port, str(golden_table(CASE)))
    assert answers["before"] == len(expected_keys("snapshot"))
    assert "PYTHON_VERSION_MISMATCH" in answers["after"]
