"""Slices without log files are read by Spark itself, and the answer is the same."""

from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hudi_pyspark
from hudi_pyspark import HudiError, HudiTable, InvalidOptionError, UnsupportedQueryError
from hudi_pyspark.spark.native import NativePlan, native_frame
from tests.conftest import GOLDEN
from tests.golden.case import load_case, load_cases
from tests.golden.compare import arrow_type_name, spark_type_name
from tests.golden.run import judge
from tests.growing_table import table_at
from tests.test_growing_table import BEFORE_COMPACTION, differs_from

pytestmark = pytest.mark.spark

HALF = "v9_mor_compaction_inline"
NATIVE_KINDS = ("snapshot", "read", "as", "default")


def plan_of(path, options):
    try:
        return NativePlan.of(HudiTable(str(path)).scan_with(options), str(path))
    except HudiError:
        return None


def one_query_of_each(cases):
    """By turns the first, second, third … query of the kinds that Spark may read in part."""
    chosen = []
    for turn, case in enumerate(cases):
        known = [
            query
            for query in case.queries
            if query.name.split("_")[0] in NATIVE_KINDS and query.rows is not None
        ]
        chosen += [(case, known[turn % len(known)])] if known else []
    return chosen


CHOSEN = one_query_of_each(load_cases(GOLDEN))
read_natively = {"wholly": 0, "partly": 0}


def is_scanned_by_spark(frame):
    return "FileScan parquet" in frame._jdf.queryExecution().executedPlan().toString()


@pytest.mark.parametrize(
    ("case", "query"), CHOSEN, ids=[f"{case.name}-{query.name}" for case, query in CHOSEN]
)
def test_answer_is_that_of_apache_hudi(spark, golden_table, case, query):
    path = golden_table(case.name)
    plan = plan_of(path, query.options)
    frame = native_frame(spark, str(path), query.options)
    assert (frame is None) == (plan is None)
    if frame is None or plan is None:
        return  # test_golden_through_spark.py reads it
    read_natively["wholly" if plan.as_of is None else "partly"] += 1
    answer = frame.toArrow()
    assert judge(case, query, answer).problems == ()
    declared = [spark_type_name(field.dataType.jsonValue()) for field in frame.schema]
    assert declared == [arrow_type_name(field.type) for field in answer.schema]


def test_many_of_these_answers_were_read_natively():
    assert read_natively["wholly"] > 20
    assert read_natively["partly"] > 0


def expected(query, case=HALF):
    return next(q for q in load_case(GOLDEN / case).queries if q.name == query).expected_rows()


def test_read_uses_both_readers(spark, golden_table):
    path = str(golden_table(HALF))
    frame = hudi_pyspark.read(spark, path, query_type="read_optimized")
    assert is_scanned_by_spark(frame)
    assert frame.count() == expected("read_optimized").num_rows
    never = hudi_pyspark.read(spark, path, query_type="read_optimized", native="never")
    assert not is_scanned_by_spark(never)
    assert never.schema.simpleString() == frame.schema.simpleString()
    with pytest.raises(InvalidOptionError, match="native is 'maybe'; known: auto, never"):
        hudi_pyspark.read(spark, path, native="maybe")


def test_column_of_the_path_alone_has_a_row_for_each(spark, golden_table):
    options = {"query_type": "read_optimized", "columns": "region"}
    frame = native_frame(spark, str(golden_table(HALF)), options)
    assert frame is not None
    assert is_scanned_by_spark(frame)
    regions = expected("read_optimized")["region"].to_pylist()
    assert Counter(row["region"] for row in frame.collect()) == Counter(regions)
    assert frame.count() == len(regions)


@pytest.mark.parametrize(
    "options",
    [
        {"filter": "id IS NOT NULL"},
        {"query_type": "incremental", "begin": "earliest"},
        {"inspect": "commits"},
        {"fs.s3a.access.key": "key"},
        {"columns": "nowhere"},
    ],
    ids=str,
)
def test_source_answers_what_spark_may_read_otherwise(spark, golden_table, options):
    options = {"query_type": "read_optimized", **options}
    assert native_frame(spark, str(golden_table(HALF)), options) is None


def test_path_that_spark_takes_for_a_pattern_is_left_to_the_source(spark, tmp_path):
    case = load_case(GOLDEN / HALF)
    path = case.extract(tmp_path / "a[b]c").as_posix()
    assert native_frame(spark, path, {"query_type": "read_optimized"}) is None
    frame = hudi_pyspark.read(spark, path, query_type="read_optimized")
    assert frame.count() == expected("read_optimized").num_rows


@pytest.mark.parametrize(
    ("case", "instant", "query"),
    [BEFORE_COMPACTION, ("v6_mor_compaction_inline", "20261121061744639", "as_of_c2_formatted")],
    ids=["v9", "v6"],
)
def test_frame_of_both_readers_stays_as_it_was_loaded(spark, tmp_path, case, instant, query):
    growing = table_at(case, instant, tmp_path)
    path = str(growing.path)
    frame = native_frame(spark, path, {})
    assert frame is not None
    plan = frame._jdf.queryExecution().executedPlan().toString()
    assert "FileScan parquet" in plan
    assert "BatchScan hudi-py" in plan
    growing.grow()
    assert differs_from(frame.toArrow(), case, query) == []
    again = hudi_pyspark.read(spark, path)
    assert differs_from(again.toArrow(), case, "snapshot") == []


def test_file_that_is_no_longer_of_the_table_is_an_error(golden_table):
    scan = HudiTable(str(golden_table(HALF))).scan()
    with pytest.raises(UnsupportedQueryError, match=r"emea/gone.parquet is not part of it any"):
        scan.plan_groups(without=["emea/gone.parquet"])


def rewritten(path, *, change=lambda table: table, metadata=None, store_schema=False):
    """Write every base file of a table anew."""
    for file in path.rglob("*.parquet"):
        if ".hoodie" in file.parts:
            continue
        table = change(pq.read_table(file).replace_schema_metadata(None))
        with pq.ParquetWriter(file, table.schema, store_schema=store_schema) as writer:
            writer.write_table(table)
            writer.add_key_value_metadata(metadata or {})


def other_case(table):
    return table.rename_columns([n.upper() if n == "name" else n for n in table.column_names])


def both_cases(table):
    return table.append_column("NAME", table["name"])


def narrower(table):
    index = table.schema.get_field_index("ts")
    return table.set_column(index, "ts", table["ts"].cast(pa.int32()))


@pytest.mark.parametrize(
    ("made", "is_native"),
    [
        ({}, True),
        ({"change": lambda table: table.drop_columns("amount")}, True),
        ({"metadata": {"org.apache.spark.version": "3.5.1"}}, True),
        ({"change": other_case}, False),
        ({"change": both_cases}, False),
        ({"change": narrower}, False),
        ({"metadata": {"org.apache.spark.legacyDateTime": ""}}, False),
        ({"metadata": {"org.apache.spark.version": "2.4.8"}}, False),
        ({"store_schema": True}, False),
    ],
    ids=str,
)
def test_file_that_spark_could_read_otherwise_is_left_to_the_source(
    spark, tmp_path, made, is_native
):
    path = load_case(GOLDEN / HALF).extract(tmp_path)
    rewritten(path, **made)
    options = {"query_type": "read_optimized"}
    assert (plan_of(path, options) is not None) == is_native
    frames = [hudi_pyspark.read(spark, str(path), native=n, **options) for n in ("auto", "never")]
    assert Counter(map(str, frames[0].collect())) == Counter(map(str, frames[1].collect()))
