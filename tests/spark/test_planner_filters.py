"""Filters through Spark: given as an option, or pushed down by Spark."""

import pytest

import hudi_pyspark
from tests.conftest import GOLDEN
from tests.golden.case import load_case
from tests.spark.frames import assert_same_rows, hudi_rows

pytestmark = pytest.mark.spark

MOR = "v9_mor_compaction_inline"
TYPES = "v9_mor_all_types"


@pytest.fixture
def pushdown(spark):
    """Without it, which is Spark's default, Spark filters whole rows by itself."""
    key = "spark.sql.python.filterPushdown.enabled"
    spark.conf.set(key, "true")
    yield
    spark.conf.unset(key)


def expected(case):
    query = next(q for q in load_case(GOLDEN / case).queries if q.name == "snapshot")
    return query.expected_rows().to_pylist()


def test_option_filters_rows(spark, golden_table):
    rows = expected(MOR)
    key = rows[0]["_hoodie_record_key"]
    read = spark.read.format("hudi-py").option("filter", f"_hoodie_record_key = '{key}'")
    found = read.load(str(golden_table(MOR))).collect()
    assert [row["_hoodie_record_key"] for row in found] == [key]


@pytest.mark.usefixtures("pushdown")
@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("c_int > 0", lambda row: row["c_int"] is not None and row["c_int"] > 0),
        ("c_int <=> NULL", lambda row: row["c_int"] is None),
        ("c_str LIKE '%1%'", lambda row: row["c_str"] is not None and "1" in row["c_str"]),
        ("c_str LIKE 'h%'", lambda row: row["c_str"] is not None and row["c_str"].startswith("h")),
        ("c_bool", lambda row: row["c_bool"] is True),
        ("NOT (c_bool <=> true)", lambda row: row["c_bool"] is not True),
        ("c_float >= 3", lambda row: row["c_float"] is not None and not row["c_float"] < 3),
        ("c_dec > 0 OR c_int < 0", None),
        ("c_date > DATE '2000-01-01'", None),
        ("c_ts > TIMESTAMP '2000-01-01 00:00:00'", None),
        ("id IN (1, 2, 3) AND c_struct.f1 IS NOT NULL", None),
        ("c_dec NOT IN (1.25, 2.50)", None),
    ],
)
def test_where_keeps_the_same_rows_when_it_is_pushed_down(spark, golden_table, condition, holds):
    frame = spark.read.format("hudi-py").load(str(golden_table(TYPES)))
    found = frame.where(condition).select("id")
    assert_same_rows(found, hudi_rows(spark, TYPES).where(condition).select("id"))
    if holds is not None:
        kept = [[row["id"]] for row in expected(TYPES) if holds(row)]
        assert_same_rows(found, spark.createDataFrame(kept, "id int"))


@pytest.mark.usefixtures("pushdown")
def test_frame_that_was_filtered_has_all_rows_again(spark, golden_table):
    """Spark keeps the plan of a source that takes filters, also for queries without them."""
    frame = spark.read.format("hudi-py").load(str(golden_table(MOR)))
    rows = expected(MOR)
    few = sum(row["qty"] is not None and row["qty"] > 90 for row in rows)
    assert 0 < few < len(rows)
    counts = [f.count() for f in (frame, frame.where("qty > 90"), frame)]
    assert counts == [len(rows), few, len(rows)]
    assert frame.where("qty > 90").union(frame).count() == few + len(rows)


def test_small_slices_share_a_task(spark, golden_table):
    path = str(golden_table(MOR))
    frame = spark.read.format("hudi-py").load(path)
    assert frame.rdd.getNumPartitions() == 1
    apart = spark.read.format("hudi-py").option("task_bytes", 1).load(path)
    assert apart.rdd.getNumPartitions() == 5
    assert_same_rows(frame, apart)


@pytest.mark.parametrize("optimizer", ["true", "false"])
def test_register_leaves_filter_pushdown_as_it_is(spark, golden_table, optimizer):
    session = spark.newSession()
    session.conf.set("spark.hudi-py.optimizer.enabled", optimizer)
    name = expected(MOR)[0]["_hoodie_record_key"]
    condition = f"_hoodie_record_key = '{name}'"
    frame = hudi_pyspark.read(session, str(golden_table(MOR)), ["id"], filter=condition)
    assert session.conf.get("spark.sql.python.filterPushdown.enabled") == "false"
    assert frame.columns == ["id"]
    assert frame.count() == 1
