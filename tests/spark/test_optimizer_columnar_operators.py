"""Each operator that takes batches of columns answers as on rows, and as on a Parquet copy."""

import json
import time
from functools import cache
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as sf
from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, DataSourceWriter
from pyspark.sql.types import NullType, StringType

from hudi_pyspark.spark import optimizer
from hudi_pyspark.spark.optimizer import COLUMNAR
from tests.conftest import PATIENCE
from tests.spark.columnar_queries import COLUMNS, QUERIES, SET_QUERIES, SETTINGS, text
from tests.spark.frames import hudi_rows, load

pytestmark = [
    pytest.mark.spark,
    # Spark 4.2 warns so of pandas 3, with which `make matrix` runs it.
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore:The copy keyword is deprecated:DeprecationWarning"),
]

TYPES = "v9_mor_all_types"
BATCHES = {"batch_rows": 3}  # a task has many


def answer(frame):
    """Types and rows, in any order."""
    types = [field.dataType.simpleString() for field in frame.schema]
    rows = sorted(repr(tuple(row)) for row in frame.collect())
    frame.unpersist()
    return types, rows


def read(session, path, columnar="true"):
    session.conf.set(COLUMNAR, columnar)
    table = load(session, path, **BATCHES)
    leaves = table._jdf.queryExecution().sparkPlan().collectLeaves()
    assert leaves.apply(0).supportsColumnar() == (columnar == "true")
    return table


@pytest.fixture(scope="module")
def on_parquet(first_session):
    """What a session without the rule answers on the file of Apache Hudi's rows, by query."""

    @cache
    def ask(name):
        return answer(QUERIES[name](hudi_rows(first_session, TYPES).select(*COLUMNS)))

    return ask


def allocated(spark):
    """The bytes of Arrow vectors that no task has freed."""
    return spark._jvm.org.apache.spark.sql.util.ArrowUtils.rootAllocator().getAllocatedMemory()


def assert_all_is_freed(spark, before):
    """Spark 4.1 keeps some bytes of each grouped pandas UDF, which were there `before`."""
    deadline = time.monotonic() + PATIENCE  # tasks that a limit stops may end after the query
    while allocated(spark) > before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert allocated(spark) <= before


@pytest.mark.parametrize("name", QUERIES)
def test_operators_answer_on_columns_as_on_rows_and_on_parquet(
    ruled, golden_table, on_parquet, name
):
    expected = on_parquet(name)
    assert len(expected[1]) > 1
    for columnar in ("true", "false"):
        table = read(ruled, golden_table(TYPES), columnar).select(*COLUMNS)
        assert answer(QUERIES[name](table)) == expected


@pytest.mark.parametrize("setting", SETTINGS)
def test_operators_answer_alike_with_every_setting(ruled, golden_table, on_parquet, setting):
    for key, value in SETTINGS[setting].items():
        ruled.conf.set(key, value)
    table = read(ruled, golden_table(TYPES)).select(*COLUMNS)
    for name in SET_QUERIES:
        assert answer(QUERIES[name](table)) == on_parquet(name)


@pytest.mark.parametrize("generates_code", ["true", "false"])
def test_a_limit_in_the_middle_of_a_batch_leaves_nothing_allocated(
    ruled, golden_table, generates_code
):
    ruled.conf.set("spark.sql.codegen.wholeStage", generates_code)
    before = allocated(ruled)
    table = load(ruled, golden_table(TYPES), **BATCHES)
    assert len(table.limit(4).collect()) == 4
    assert len(table.select(text("c_str")).limit(4).collect()) == 4
    assert_all_is_freed(ruled, before)


def test_a_consumer_that_fails_leaves_nothing_allocated(ruled, golden_table):
    @sf.udf("int")
    def fail(number):
        if number > 5:
            raise ValueError("a number that nobody expects")
        return number

    before = allocated(ruled)
    table = load(ruled, golden_table(TYPES), **BATCHES)
    with pytest.raises(PySparkException, match="a number that nobody expects"):
        table.select("c_str", fail("id")).collect()
    assert_all_is_freed(ruled, before)


def test_arrow_and_pandas_have_the_rows_of_columns(ruled, golden_table):
    table = load(ruled, golden_table(TYPES), **BATCHES).select("id", "c_str", "c_dec", "c_ts")
    copy = hudi_rows(ruled, TYPES).select(*table.columns)
    assert table.toArrow().sort_by("id") == copy.toArrow().sort_by("id")
    frames: list[Any] = [frame.toPandas() for frame in (table, copy)]
    found, expected = (frame.sort_values("id").to_dict("list") for frame in frames)
    assert repr(found) == repr(expected)


class Lines(DataSource):
    """Writes each row as a line of JSON."""

    @classmethod
    def name(cls) -> str:
        return "lines"

    def writer(self, *_schema_and_mode: Any) -> DataSourceWriter:
        return RowLines(self.options["path"])


class ArrowLines(Lines):
    """The same, from Arrow batches."""

    @classmethod
    def name(cls) -> str:
        return "arrow_lines"

    def writer(self, *_schema_and_mode: Any) -> DataSourceWriter:
        return BatchLines(self.options["path"])


class RowLines(DataSourceWriter):
    def __init__(self, path: str) -> None:
        self.path = path

    def write(self, iterator: Any) -> Any:
        from pyspark.sql.datasource import WriterCommitMessage

        with open(self.path, "a", encoding="utf-8") as file:  # noqa: PTH123
            file.writelines(json.dumps([row.id, row.c_str]) + "\n" for row in iterator)
        return WriterCommitMessage()


class BatchLines(DataSourceArrowWriter):
    def __init__(self, path: str) -> None:
        self.path = path

    def write(self, iterator: Any) -> Any:
        from pyspark.sql.datasource import WriterCommitMessage

        with open(self.path, "a", encoding="utf-8") as file:  # noqa: PTH123
            for batch in iterator:
                rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
                file.writelines(json.dumps(row) + "\n" for row in rows)
        return WriterCommitMessage()


@pytest.mark.parametrize("source", [Lines, ArrowLines])
def test_python_writers_get_the_rows_of_columns(ruled, golden_table, tmp_path, source):
    ruled.dataSource.register(source)
    ruled.createDataFrame([(1,)], "a int")  # makes active the session in which Spark looks it up
    table = load(ruled, golden_table(TYPES), **BATCHES).select("id", "c_str")
    path = tmp_path / "rows"
    table.coalesce(1).write.format(source.name()).mode("append").save(str(path))
    written = [tuple(json.loads(line)) for line in path.read_text("utf-8").splitlines()]
    copy = hudi_rows(ruled, TYPES).select("id", "c_str").collect()
    assert sorted(written) == sorted(map(tuple, copy))


def test_a_spark_without_tests_gives_rows_unless_the_user_chooses(
    spark, golden_table, monkeypatch, caplog
):
    monkeypatch.setattr(optimizer, "TESTED_RELEASES", ("3.9",))
    caplog.set_level("INFO", logger=optimizer.__name__)
    columnar = []
    for choice in (None, "true"):
        session = spark.newSession()
        session.conf.set(optimizer.ENABLED, "true")
        session.conf.unset(COLUMNAR) if choice is None else session.conf.set(COLUMNAR, choice)
        assert optimizer.install_optimizer(session) == ""
        leaves = load(session, golden_table(TYPES))._jdf.queryExecution().sparkPlan()
        columnar.append(leaves.collectLeaves().apply(0).supportsColumnar())
    assert columnar == [False, True]
    (message,) = caplog.messages
    untested = f"columnar readers are untested with Spark {spark.version}"
    assert message == f"Spark copies the rows that it reads: {untested}"


@pytest.mark.parametrize("kind", [StringType("UTF8_LCASE"), NullType()], ids=["collated", "void"])
def test_results_of_functions_may_have_types_that_spark_has_in_rows_alone(
    ruled, golden_table, kind
):
    """Spark's columns for such results know fewer types, also over Parquet."""
    is_text = isinstance(kind, StringType)
    marked = sf.udf(lambda number: f"N{number}" if is_text else None, kind)
    ids = [row.id for row in hudi_rows(ruled, TYPES).select("id").collect()]
    expected = sorted(f"N{number}" if is_text else "None" for number in ids)
    for columns in (["id"], ["*"]):
        frame = load(ruled, golden_table(TYPES)).select(*columns, marked("id").alias("marked"))
        assert sorted(str(row.marked) for row in frame.select("marked").collect()) == expected
