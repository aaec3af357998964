"""Tables about a table through Spark: the same rows as without it."""

import pytest
from pyspark.errors import AnalysisException, PythonException

from hudi_pyspark import HudiTable, InvalidOptionError
from hudi_pyspark.spark.datasource import HudiDataSource
from tests.spark.frames import assert_same_rows

pytestmark = pytest.mark.spark

CASE = "v9_mor_compaction_inline"


@pytest.fixture
def path(golden_table):
    return str(golden_table(CASE))


@pytest.fixture
def inspect(spark, path):
    def inspect(name: str, **arguments: str):
        options = {f"inspect.{key}": value for key, value in arguments.items()}
        reader = spark.read.format("hudi-py").option("inspect", name).options(**options)
        return reader.load(path)

    return inspect


@pytest.mark.parametrize(
    "name",
    ["timeline", "commits", "file_slices", "files", "partitions", "statistics", "log_blocks"],
)
def test_rows_are_those_without_spark(spark, inspect, path, name):
    expected = getattr(HudiTable(path).inspect, name)()
    assert_same_rows(inspect(name), spark.createDataFrame(expected))


def test_arguments_are_options(inspect, path):
    table = HudiTable(path)
    instant = table.inspect.commits().column("requested_time")[0].as_py()
    assert inspect("commit_files", instant=instant).count() == 3
    log = next(f["path"] for f in table.inspect.files().to_pylist() if f["kind"] == "log")
    found = inspect("log_records", file=log, merge="true").select("key", "record.amount").collect()
    merged = table.inspect.log_records(log, merge=True)
    assert sorted(row["key"] for row in found) == sorted(merged.column("key").to_pylist())


def test_sql_filters_and_projects(inspect, spark):
    inspect("commits").createOrReplaceTempView("commits")
    found = spark.sql("SELECT action FROM commits WHERE operation = 'COMPACT'").collect()
    assert [row["action"] for row in found] == ["commit"]


def test_unknown_table_is_refused_with_the_nearest(inspect):
    with pytest.raises(AnalysisException, match="did you mean timeline"):
        inspect("timelines").count()


def test_unknown_column_is_refused(spark, path):
    reader = spark.read.format("hudi-py").option("inspect", "timeline").schema("nonsense string")
    with pytest.raises((AnalysisException, PythonException), match="nonsense"):
        reader.load(path).count()


def test_stream_is_refused(path):
    source = HudiDataSource({"path": path, "inspect": "timeline"})
    with pytest.raises(InvalidOptionError, match="belongs to batch reads"):
        source.streamReader(source.schema())
