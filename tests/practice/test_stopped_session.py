"""Sessions that are stopped and started in one process, as in a notebook.

A frame that is used after ``spark.stop()`` fails as a frame over Parquet does. The next session has
the rows that the table has by then: between two sessions another table takes its place.
"""

import pytest

from tests.conftest import GOLDEN
from tests.golden.case import load_case
from tests.spark.deployment import client

pytestmark = pytest.mark.spark

CASES = ["v9_mor_compaction_inline", "v6_mor_part_basic"]
ROUNDS = 5  # each starts and stops two classic sessions, or one of Connect
SHARED = """
import json, shutil, sys
from pyspark.sql import SparkSession
import hudi_pyspark

target, folder, rounds, *tables = sys.argv[1:]
path, answers = f"{folder}/table", []


def replace_table(number):
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(tables[number % 2], path)


def load(spark):
    return spark.read.format("hudi-py").load(path)


def error_of(use):
    try:
        use()
    except Exception as error:
        java = getattr(error, "java_exception", None)
        return type(error).__name__ if java is None else java.getClass().getName()


def refusal_of(spark):
    try:
        hudi_pyspark.register(spark)
    except hudi_pyspark.UnsupportedQueryError as error:
        return str(error)


USES = {
    "count": lambda frame: frame.count(),
    "collect": lambda frame: frame.collect(),
    "first": lambda frame: frame.select("*").first(),
    "cache": lambda frame: frame.cache().count(),
    "write": lambda frame: frame.write.csv(f"{folder}/never"),
}


def errors_of(ours, sparks):
    return {name: [error_of(lambda: use(frame)) for frame in (ours, sparks)]
            for name, use in USES.items()}
"""
CLASSIC = """
def new_session():
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.warehouse.dir", f"{folder}/warehouse")
    return builder.config("spark.log.level", "OFF").getOrCreate()


def streamed(spark, number):
    query = (spark.readStream.format("hudi-py").load(path).select("ts").writeStream
             .format("memory").queryName("streamed").trigger(availableNow=True)
             .option("checkpointLocation", f"{folder}/checkpoint{number}").start())
    query.awaitTermination()
    return spark.table("streamed").count()


new_session().range(3).write.parquet(f"{folder}/parquet")
for number in range(int(rounds)):
    replace_table(number)
    spark = new_session()
    hudi_pyspark.register(spark, tables=True)
    frame, parquet = load(spark), spark.read.parquet(f"{folder}/parquet")
    frame.createOrReplaceTempView("view")
    spark.sql(f"CREATE TABLE entry USING hudi LOCATION '{path}'")
    counts = {
        "frame": frame.count(),
        "condition": frame.where("ts IS NOT NULL").select("id").count(),
        "view": spark.table("view").count(),
        "name": spark.table("entry").count(),
        "path": spark.sql(f"SELECT * FROM hudi.`{path}`").count(),
        "function": spark.sql(f"SELECT * FROM hudi_query('{path}', 'snapshot')").count(),
        "stream": streamed(spark, number),
    }
    scan = frame.select("ts")._jdf.queryExecution().sparkPlan().collectLeaves().apply(0)
    plan = [list(scan.scan().readSchema().fieldNames()), scan.supportsColumnar()]
    spark.stop()
    errors = [errors_of(frame, parquet), errors_of(spark.table("view"), parquet)]
    refusal = refusal_of(spark)
    later = new_session()
    hudi_pyspark.register(later)
    errors.append(errors_of(frame, parquet))
    counts["later"] = load(later).count()
    later.stop()
    answers.append([counts, plan, errors, refusal])
print("ANSWERS", json.dumps({"rounds": answers}))
"""
CONNECT = """
for number in range(int(rounds)):
    replace_table(number)
    spark = SparkSession.builder.remote(target).create()
    hudi_pyspark.register(spark)
    frame, sparks = load(spark), spark.range(3)
    frame.createOrReplaceTempView("view")
    counts = {
        "frame": frame.count(),
        "condition": frame.where("ts IS NOT NULL").select("id").count(),
        "view": spark.table("view").count(),
    }
    columns = hudi_pyspark.explain(frame.select("ts")).splitlines()[1]
    spark.stop()
    answers.append([counts, columns, [errors_of(frame, sparks)], refusal_of(spark)])
print("ANSWERS", json.dumps({"rounds": answers}))
"""


@pytest.fixture(scope="module")
def tables(golden_table):
    return [str(golden_table(case)) for case in CASES]


def numbers_of_rows():
    """Numbers of rows that Apache Hudi returns, by round."""
    snapshots = [
        next(query for query in load_case(GOLDEN / case).queries if query.name == "snapshot")
        for case in CASES
    ]
    return [snapshots[n % 2].expected_rows().num_rows for n in range(ROUNDS)]


def assert_errors_are_those_of_spark(errors):
    for each in errors:
        for ours, sparks in each.values():
            assert ours == sparks is not None


@pytest.fixture(scope="module")
def classic(spark_environment, tables, tmp_path_factory):  # noqa: ARG001
    folder = str(tmp_path_factory.mktemp("classic"))
    return client(SHARED + CLASSIC, "", folder, str(ROUNDS), *tables)["rounds"]


@pytest.fixture(scope="module")
def connect(connect_port, tables, tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("connect"))
    target = f"sc://127.0.0.1:{connect_port}"
    return client(SHARED + CONNECT, target, folder, str(ROUNDS), *tables)["rounds"]


def test_each_session_has_the_rows_that_the_table_has_by_then(classic):
    for (counts, *_), rows in zip(classic, numbers_of_rows(), strict=True):
        assert set(counts.values()) == {rows}, counts


def test_scans_of_each_session_are_narrow_and_columnar(classic):
    assert [plan for _, plan, *_ in classic] == [[["ts"], True]] * ROUNDS


def test_frames_of_a_stopped_session_fail_as_those_of_parquet(classic):
    for _, _, errors, _ in classic:
        assert_errors_are_those_of_spark(errors)


def test_register_says_that_a_session_is_stopped_classic_or_connect(classic, connect):
    for *_, refusal in classic + connect:
        assert "this session is stopped" in refusal


def test_each_session_of_connect_has_the_rows_that_the_table_has_by_then(connect):
    for (counts, *_), rows in zip(connect, numbers_of_rows(), strict=True):
        assert set(counts.values()) == {rows}, counts


def test_frames_of_a_stopped_session_of_connect_fail_as_those_of_spark(connect):
    for _, columns, errors, _ in connect:
        assert columns == "  columns: ts"
        assert_errors_are_those_of_spark(errors)
