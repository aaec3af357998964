"""Spark may read the Arrow vectors of Python workers, with the rows of Apache Hudi."""

import pytest
from pyspark.sql import functions as sf

from hudi_pyspark.spark import optimizer
from hudi_pyspark.spark.optimizer import COLUMNAR
from tests.spark import frames
from tests.spark.frames import assert_same_rows, hudi_rows

pytestmark = pytest.mark.spark

TYPES = "v9_mor_all_types"
CASES = [
    TYPES,
    "v10_mor_all_types",
    "v9_mor_timestamp_ntz",
    "v9_mor_schema_on_read",
    "v9_mor_empty_table",
    "hudi_trips_logical_types_json_mor_read_v9_parquet_log",
]


def load(session, path):
    """Few rows in a batch: Spark reads the next one into the same vectors."""
    return frames.load(session, path, batch_rows=3)


def is_columnar(frame):
    scans = frame._jdf.queryExecution().sparkPlan().collectLeaves()
    return all(scans.apply(number).supportsColumnar() for number in range(scans.size()))


def extremes(frame):
    """The least and greatest value of each column, which outlive the batches that they came in."""
    kinds = {field.name: field.dataType.typeName() for field in frame.schema}
    names = [name for name, kind in kinds.items() if kind not in ("map", "variant")]
    return frame.agg(*(of(f"`{n}`") for of in (sf.min, sf.max, sf.count) for n in names))


@pytest.mark.parametrize(
    ("case", "generates_code"), [*((case, "true") for case in CASES), (TYPES, "false")]
)
def test_columnar_readers_have_the_rows_of_apache_hudi(ruled, golden_table, case, generates_code):
    ruled.conf.set("spark.sql.codegen.wholeStage", generates_code)
    frame = load(ruled, golden_table(case))
    expected = hudi_rows(ruled, case)
    assert is_columnar(frame)
    assert_same_rows(frame, expected)
    assert_same_rows(extremes(frame), extremes(expected.select(*frame.columns)))
    assert frame.count() == expected.count()


@pytest.mark.parametrize(
    "query",
    [
        lambda t: t.where("c_struct.f3.g2 > 1").select("c_struct.f1"),
        lambda t: t.select("id", sf.explode("c_arr_arr").alias("item")),
        lambda t: t.select("id", sf.explode("c_map").alias("key", "value")),
        lambda t: t.groupBy("part").agg(sf.sort_array(sf.collect_list("c_struct"))),
        lambda t: t.join(t.select("id", "c_dec"), "id").select("id", "c_str"),
        lambda t: t.orderBy("id").limit(7).select("c_ts", "c_bin"),
    ],
)
def test_queries_on_columnar_readers_answer_as_on_rows(ruled, golden_table, query):
    frame = query(load(ruled, golden_table(TYPES)))
    assert is_columnar(frame)
    assert_same_rows(frame, query(hudi_rows(ruled, TYPES)))


def test_decimals_of_every_width_are_those_of_apache_hudi(ruled, golden_table):
    """Spark's vectors make the longer ones by themselves."""
    frame = load(ruled, golden_table(TYPES))
    expected = hudi_rows(ruled, TYPES)
    names = [f.name for f in expected.schema if f.dataType.typeName() == "decimal"]
    assert len(names) > 1
    changed = [(sf.col(name) * -1).alias(name) for name in names]
    assert_same_rows(frame.select("id", *changed), expected.select("id", *changed))


def test_a_setting_switches_columnar_readers_off(ruled, golden_table):
    table = load(ruled, golden_table(TYPES))
    before = table.select("id")
    assert is_columnar(before)
    ruled.conf.set(COLUMNAR, "false")
    after = table.select("id")
    assert not is_columnar(after)
    assert_same_rows(after, before)


def test_a_limit_stops_columnar_readers_early(ruled, golden_table):
    table = load(ruled, golden_table(TYPES))
    for _ in range(3):
        assert len(table.limit(2).collect()) == 2
    assert table.where("id < 0").limit(2).collect() == []


def test_metrics_count_what_python_sent(ruled, golden_table):
    frame = load(ruled, golden_table(TYPES))
    rows = len(frame.collect())
    scan = frame._jdf.queryExecution().executedPlan().collectLeaves().apply(0)
    assert scan.metrics().apply("numOutputRows").value() == rows
    assert scan.metrics().apply("pythonDataReceived").value() > 0


def test_readers_give_rows_where_spark_is_not_as_expected(spark, golden_table, monkeypatch, caplog):
    sources = optimizer.java_sources()
    sources["ArrowReaders"] = sources["ArrowReaders"].replace("PythonCustomMetric", "NoSuchClass")
    caplog.set_level("INFO", logger=optimizer.__name__)
    broken = optimizer.compile_rule(spark._jvm, sources)
    (message,) = caplog.messages
    assert (
        "Spark copies the rows that it reads, since Spark lacks what ArrowReaders needs" in message
    )
    monkeypatch.setattr(optimizer, "rule_classes", lambda _: broken)
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "UTC")
    session.conf.set(optimizer.ENABLED, "true")
    session.conf.set(COLUMNAR, "true")
    assert optimizer.install_optimizer(session) == ""
    frame = load(session, golden_table(TYPES)).select("id")
    assert not is_columnar(frame)
    assert_same_rows(frame, hudi_rows(session, TYPES).select("id"))
    assert "BatchScan hudi-py[id#" in frame._jdf.queryExecution().executedPlan().toString()
