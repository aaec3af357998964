"""Spark knows how much a scan reads, and the keys of one side of a join filter the other side."""

import pytest
from pyspark.sql import functions as sf

from tests.spark.frames import assert_same_rows, hudi_rows, load

pytestmark = pytest.mark.spark

MOR = "v9_mor_compaction_inline"
TYPES = "v9_mor_all_types"
ADAPTIVE = "spark.sql.adaptive.enabled"
LEAST_BYTES = "spark.hudi-py.optimizer.joins.leastBytes"


@pytest.fixture
def ruled(ruled):
    ruled.conf.set(ADAPTIVE, "false")
    ruled.conf.set(LEAST_BYTES, "0")  # the tables of these tests are small
    return ruled


def plan_of(frame):
    return frame._jdf.queryExecution().executedPlan().toString()


def rows_read(frame):
    """The rows that each scan of a collected frame gave Spark, in the order of the plan."""
    plan = frame._jdf.queryExecution().executedPlan()
    return [leaf.metrics().apply("numOutputRows").value() for leaf in scans_below(plan)]


def scans_below(plan):
    name = plan.getClass().getSimpleName()
    if name == "BatchScanExec":
        yield plan
    elif name == "AdaptiveSparkPlanExec":
        yield from scans_below(plan.executedPlan())
    elif name.endswith("QueryStageExec"):
        yield from scans_below(plan.plan())
    else:
        children = plan.children()
        for place in range(children.size()):
            yield from scans_below(children.apply(place))


@pytest.mark.parametrize(
    ("setting", "value"),
    [("autoBroadcastJoinThreshold", "1"), ("sources.fileCompressionFactor", "1000000.0")],
)
def test_small_side_of_a_join_is_broadcast(ruled, golden_table, setting, value):
    table = load(ruled, golden_table(MOR))
    joined = table.join(table.select("id", sf.col("ts").alias("other")), "id")
    assert "BroadcastHashJoin" in plan_of(joined)
    ruled.conf.set(f"spark.sql.{setting}", value)
    assert "SortMergeJoin" in plan_of(joined.select("id"))
    assert joined.count() == table.count() > 0


def test_size_is_that_of_the_columns_and_partitions_that_are_read(ruled, golden_table):
    def size(frame):
        return int(str(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))

    table = load(ruled, golden_table(MOR))
    found = [file for file in golden_table(MOR).rglob("*.*") if ".hoodie/" not in str(file)]
    files = sum(file.stat().st_size for file in found)
    whole = size(table)
    assert 0 < whole <= files
    assert size(table.select("id")) < whole / 2
    assert size(table.where("region = 'emea'")) < whole


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_keys_of_the_small_side_filter_the_large_side(ruled, golden_table, adaptive):
    ruled.conf.set(ADAPTIVE, adaptive)
    table = load(ruled, golden_table(MOR))
    some = table.where("region = 'emea'").select("id")
    joined = table.join(sf.broadcast(some), "id")
    found = {row["id"] for row in joined.collect()}
    everything = {row["id"]: row["region"] for row in hudi_rows(ruled, MOR).collect()}
    assert found == {key for key, region in everything.items() if region == "emea"}
    assert 0 < len(found) < len(everything)
    assert rows_read(joined)[0] == len(found)
    # The next query of the same scan is not filtered.
    assert table.join(table.select("id"), "id").count() == len(everything)
    assert table.count() == len(everything)
    joined.count()
    assert len(joined.collect()) == len(found)


def test_one_side_of_a_join_with_itself_stays_whole(ruled, golden_table):
    table = load(ruled, golden_table(MOR)).select("id", "region")
    some = table.where("region = 'emea'").withColumnRenamed("region", "known")
    joined = table.join(sf.broadcast(some), "id", "left").select("id", "known")
    known = {row["id"]: row["region"] for row in hudi_rows(ruled, MOR).collect()}
    expected = {key: region if region == "emea" else None for key, region in known.items()}
    assert {row[0]: row[1] for row in joined.collect()} == expected


QUERIES = {
    "semi": lambda fact, keys: fact.join(keys, fact["key"] == keys["k"], "left_semi"),
    "inner": lambda fact, keys: fact.join(keys, fact["key"] == keys["k"]),
    "null-safe": lambda fact, keys: fact.join(keys, fact["key"].eqNullSafe(keys["k"])),
    "anti": lambda fact, keys: fact.join(keys, fact["key"] == keys["k"], "left_anti"),
    "outer": lambda fact, keys: fact.join(keys, fact["key"] == keys["k"], "full"),
    "twice": lambda fact, keys: fact.join(keys, fact["key"] == keys["k"]).unionByName(
        fact.crossJoin(keys.limit(1))
    ),
    "limited": lambda fact, keys: fact.orderBy("id").limit(4).join(keys, fact["key"] == keys["k"]),
    "counted": lambda fact, keys: (
        fact.groupBy("key").count().join(keys, sf.col("key") == keys["k"])
    ),
}


@pytest.mark.parametrize(
    "name",
    # It joins on each column in turn.
    [pytest.param(name, marks=pytest.mark.cluster) if name == "semi" else name for name in QUERIES],
)
def test_joins_on_columns_of_every_type_have_the_rows_of_apache_hudi(
    spark, ruled, golden_table, name
):
    """The expected answer is the same join over Apache Hudi's own rows."""
    known = hudi_rows(spark, TYPES)
    simple = [
        f.name
        for f in known.schema
        if f.dataType.typeName() not in ("map", "array", "struct", "variant")
        and not f.name.startswith("_hoodie")
    ]
    filtered = 0
    # One kind of join has columns of all types, the others have one column each.
    others = ["id", "c_int", "c_date"]
    columns = simple if name == "semi" else [others[list(QUERIES).index(name) % 3]]
    for column in columns:
        answers = []
        for table in (load(ruled, golden_table(TYPES)), known):
            keys = table.where("c_int > 0 OR id LIKE '1%'").select(sf.col(column).alias("k"))
            fact = table.select("id", sf.col(column).alias("key"))
            keys = keys.distinct().orderBy("k") if name == "twice" else keys.distinct()
            answers.append(QUERIES[name](fact, sf.broadcast(keys)))
        filtered += "dynamicpruning" in plan_of(answers[0]).lower()
        assert_same_rows(*answers)
    assert filtered == {"semi": len(columns) - 2, "inner": 1, "twice": 1, "counted": 1}.get(name, 0)


def test_small_scan_is_read_without_waiting_for_keys(ruled, golden_table):
    table = load(ruled, golden_table(MOR))
    joined = table.join(sf.broadcast(table.where("region = 'emea'").select("id")), "id")
    assert "dynamicpruning" in plan_of(joined).lower()
    ruled.conf.unset(LEAST_BYTES)
    joined = joined.select("id")
    assert "dynamicpruning" not in plan_of(joined).lower()
    regions = [row["region"] for row in hudi_rows(ruled, MOR).collect()]
    assert joined.count() == regions.count("emea") > 0


@pytest.mark.parametrize("is_filtered", [True, False])
def test_keys_that_are_likely_too_many_are_not_collected(
    ruled, golden_table, tmp_path, is_filtered
):
    table = load(ruled, golden_table(MOR))
    ruled.range(100_000).select(sf.col("id").alias("ts")).write.parquet(str(tmp_path / "many"))
    size = sum(file.stat().st_size for file in (tmp_path / "many").glob("*.parquet"))
    # Spark takes a row of one long for 16 bytes.
    factor = (0.9 if is_filtered else 1.1) * 50_000 * 16 / size
    ruled.conf.set("spark.sql.sources.fileCompressionFactor", str(factor))
    keys = ruled.read.parquet(str(tmp_path / "many")).where("ts < 90000")
    joined = table.join(sf.broadcast(keys), "ts", "left_semi")
    assert ("dynamicpruning" in plan_of(joined).lower()) == is_filtered
    known = [row["ts"] for row in hudi_rows(ruled, MOR).collect()]
    assert joined.count() == sum(0 <= time < 90_000 for time in known) > 0


def test_more_keys_than_a_filter_takes_filter_nothing(ruled, golden_table, tmp_path):
    table = load(ruled, golden_table(MOR))
    ruled.range(20_000).select(sf.col("id").alias("ts")).write.parquet(str(tmp_path / "many"))
    keys = ruled.read.parquet(str(tmp_path / "many")).where("ts >= 0")
    joined = table.join(sf.broadcast(keys), "ts", "left_semi")
    assert "RuntimeFilters" in plan_of(joined)
    known = [row["ts"] for row in hudi_rows(ruled, MOR).collect()]
    assert len(joined.collect()) == sum(0 <= time < 20_000 for time in known) > 0
    assert rows_read(joined) == [len(known)]


def test_keys_of_two_joins_by_one_computed_column_need_no_generated_code(ruled, golden_table):
    """Spark keeps both filters above the projection, where a task would not have the keys."""
    ruled.conf.set(ADAPTIVE, "false")
    ruled.conf.set("spark.sql.codegen.wholeStage", "false")
    ruled.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    ruled.conf.set(LEAST_BYTES, "1")

    def joined(table):
        sizes = table.selectExpr("length(id) AS size", "region")
        emea = sf.broadcast(table.where("region = 'emea'").selectExpr("length(id) AS size"))
        apac = sf.broadcast(table.where("region = 'apac'").selectExpr("length(id) AS size"))
        return sizes.join(emea, "size").join(apac, "size")

    expected = joined(hudi_rows(ruled, MOR)).count()
    assert expected
    assert joined(load(ruled, golden_table(MOR))).count() == expected
