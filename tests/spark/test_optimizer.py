"""Queries as users write them read only what they need: a rule of Spark's optimizer sees to it."""

import logging
import random
import re

import pyarrow as pa
import pytest
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from hudi_pyspark import HudiTable, explain
from hudi_pyspark.reading.read_task import read_task
from hudi_pyspark.spark import reader as reader_module
from hudi_pyspark.spark.datasource import HudiDataSource
from hudi_pyspark.spark.hints import read_hints
from hudi_pyspark.spark.optimizer import ENABLED, install_optimizer
from hudi_pyspark.spark.planner import Planner
from hudi_pyspark.spark.reader import warn_of_all_columns
from hudi_pyspark.spark.session import given_hints
from tests.conftest import GOLDEN, PATIENCE
from tests.golden.case import load_case
from tests.golden.filters import filters_of
from tests.spark.frames import assert_same_rows, hudi_rows, load

pytestmark = pytest.mark.spark

MOR = "v9_mor_compaction_inline"
TYPES = "v9_mor_all_types"
CASES = [MOR, TYPES, "v6_mor_part_basic", "v8_mor_keygen_complex_hive", "v9_cow_keygen_slashes"]


def scans(frame):
    """The columns of each scan in the physical plan."""
    plan = frame._jdf.queryExecution().executedPlan().toString()
    return [
        re.sub(r"#\d+L?", "", columns).split(", ")
        for columns in re.findall(r"BatchScan hudi-py\[(.*?)\]", plan)
    ]


def test_rule_is_installed_once(ruled):
    assert install_optimizer(ruled) == ""
    assert ruled._jsparkSession.experimental().extraOptimizations().size() == 1


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        (lambda t: t.select("id"), [["id"]]),
        (lambda t: t.groupBy("region").count(), [["region"]]),
        (lambda t: t.agg(sf.sum("ts")), [["ts"]]),
        (lambda t: t.where("region = 'emea'").select("id"), [["id", "region"]]),
        (lambda t: t.select("id").union(t.select("name")), [["id"], ["name"]]),
        (lambda t: t.join(t.select("id", "name").distinct(), "id").select("ts"), None),
        (lambda t: t.orderBy("ts").select("id").limit(3), [["id", "ts"]]),
        (lambda t: t.withColumn("x", sf.upper("region")).select("x"), [["region"]]),
        (lambda t: t.dropDuplicates(["region"]).select("region"), [["region"]]),
        (lambda t: t.where("ts > 100 AND rand() < 2").select("id"), [["id", "ts"]]),
    ],
)
def test_scan_has_the_columns_of_the_query(spark, ruled, golden_table, query, columns):
    path = golden_table(MOR)
    frame = query(load(ruled, path))
    if columns is not None:
        assert scans(frame) == columns
    plain = query(load(spark, path))
    if "LIMIT" not in str(frame._jdf.queryExecution().logical()).upper():
        assert_same_rows(frame, plain)


def test_explanation_of_spark_has_the_facts_of_the_scan(ruled, golden_table, capsys):
    table = HudiTable(str(golden_table(MOR)))
    frame = load(ruled, golden_table(MOR)).where("region = 'emea'").select("id")
    frame.explain("formatted")
    shown = dict(line.partition(": ")[::2] for line in capsys.readouterr().out.splitlines())
    known = table.scan(["id", "region"], filter="region = 'emea'")._grouped_plan().facts()
    for fact in ("table", "query", "instants", "files", "merge", "cost", "columns"):
        assert shown[fact.capitalize()] == known[fact]
    assert shown["Filter"] == "region IS NOT NULL AND region = 'emea'"
    assert frame.count() > 0
    load(ruled, golden_table(MOR)).where("region = 'nowhere'").explain("formatted")
    assert "Files: 0 file slices in 0 partitions" in capsys.readouterr().out


def test_explain_of_a_frame_names_columns_and_conditions_of_its_scans(ruled, golden_table):
    path = str(golden_table(MOR))
    frame = load(ruled, golden_table(MOR)).where("region = 'emea'").select("id")
    assert explain(frame).splitlines() == [
        f"hudi-py {path}",
        "  columns: id, region",
        "  condition: `region` IS NOT NULL",
        "  condition: `region` = 'emea'",
        "  state: the newest one at each action",
    ]
    assert explain(ruled.range(3)).startswith("no scan of hudi-py is known")


def test_a_scan_of_all_columns_warns_once_in_an_application(
    golden_table, monkeypatch, tmp_path, caplog
):
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},elsewhere")
    planner = Planner({"path": str(golden_table(MOR))})
    whole = planner.schema()
    named = StructType(whole.fields[5:7])
    for number in range(3):
        planner.reader(named, {}, planner.hints({}, named)).partitions()
        assert len(caplog.messages) == min(number, 1)  # named columns do not warn
        planner.reader(whole, {}, planner.hints({}, whole)).partitions()
        if number:
            warn_of_all_columns.cache_clear()  # as in another process of the same application
    (message,) = caplog.messages
    assert "hudi_pyspark.register(spark)" in message


def test_whole_rows_come_with_all_columns(ruled, golden_table):
    frame = load(ruled, golden_table(MOR))
    assert scans(frame) == [frame.columns]
    assert_same_rows(frame, hudi_rows(ruled, MOR))


def test_count_is_right_without_any_column(ruled, golden_table):
    frame = load(ruled, golden_table(MOR))
    known = hudi_rows(ruled, MOR)
    assert frame.count() == known.count()
    assert frame.where("region = 'emea'").count() == known.where("region = 'emea'").count() > 0


def test_views_subqueries_and_caches_are_narrow(ruled, golden_table):
    load(ruled, golden_table(MOR)).createOrReplaceTempView("trips")
    frame = ruled.sql(
        "SELECT a.region, count(*) FROM trips a WHERE a.ts >= (SELECT min(ts) FROM trips) "
        "AND EXISTS (SELECT 1 FROM trips b WHERE b.id = a.id) GROUP BY a.region"
    )
    everything = hudi_rows(ruled, MOR).groupBy("region").count()
    assert_same_rows(frame.toDF("region", "count"), everything)
    for columns in scans(frame):
        assert set(columns) <= {"region", "ts", "id"}
    cached = load(ruled, golden_table(MOR)).select("id").cache()
    assert cached.count() == load(ruled, golden_table(MOR)).count()
    cached.unpersist()


def test_filter_below_a_limit_and_above_one(ruled, golden_table):
    table = load(ruled, golden_table(MOR))
    assert table.where("region = 'emea'").limit(2).count() == 2
    limited = table.limit(5)
    assert limited.count() == 5
    # What is filtered above a limit must not let other rows into it.
    assert limited.where("region = 'nowhere'").count() == 0
    assert table.orderBy("id").limit(1).collect() == [min(table.collect(), key=lambda r: r["id"])]
    by_id = sorted(table.collect(), key=lambda row: row["id"])
    other = next(row["region"] for row in by_id if row["region"] != by_id[0]["region"])
    first = table.orderBy("id").limit(1)  # all columns, so no projection is in the way
    assert first.where(f"region = '{other}'").collect() == []


def test_conditions_leave_out_what_they_can(ruled, golden_table):
    """A filter on the partition column reads one partition, though Spark pushes no filter down."""
    table = load(ruled, golden_table(MOR), task_bytes=1)
    all_tasks = table.select("id").rdd.getNumPartitions()
    assert table.where("region = 'emea'").select("id").rdd.getNumPartitions() < all_tasks


@pytest.mark.parametrize("case", CASES)
def test_random_queries_answer_as_on_the_rows_of_apache_hudi(spark, ruled, golden_table, case):
    """Projections, filters and aggregates, on ours and on Apache Hudi's own rows."""
    query = next(q for q in load_case(GOLDEN / case).queries if q.name == "snapshot")
    reference = hudi_rows(spark, case)
    ours = load(ruled, golden_table(case))
    simple = [
        f.name for f in reference.schema if f.dataType.typeName() not in ("map", "array", "struct")
    ]
    dice = random.Random(case)
    filters = list(filters_of(query.expected_rows(), per_column=2))
    for made in dice.sample(filters, min(3, len(filters))):
        columns = dice.sample(simple, dice.randint(1, 3))
        left = ours.where(made.text).select(*columns)
        right = reference.where(made.text).select(*columns)
        assert_same_rows(left, right)
        assert_same_rows(
            *(f.where(made.text).groupBy(columns[0]).count() for f in (ours, reference))
        )


NESTED = [
    (lambda t: t.select("c_struct.f1"), ["struct<f1:int>"]),
    (
        lambda t: t.where("c_struct.f3.g2 > 1").select("c_struct.f1"),
        ["struct<f1:int,f3:struct<g2:decimal(5,1)>>"],
    ),
    (
        lambda t: t.where("c_struct.f1 > 0").groupBy("c_struct.f2").count(),
        ["struct<f1:int,f2:string>"],
    ),
    (lambda t: t.select("c_arr_s.b"), ["array<struct<b:string>>"]),
    (lambda t: t.select(sf.expr("map_values(c_map_s)[0].y")), ["map<string,struct<y:date>>"]),
    (
        lambda t: t.select(sf.explode("c_arr_s").alias("e")).select("e.a"),
        ["array<struct<a:int>>"],
    ),
    (
        lambda t: t.orderBy("c_struct.f1", "id").select("c_struct.f3.g1").limit(3),
        ["int", "struct<f1:int,f3:struct<g1:timestamp>>"],
    ),
    (
        lambda t: t.alias("a").join(t.alias("b"), sf.expr("a.c_struct.f1 = b.c_struct.f1"))
        .select("a.c_struct.f2", "b.id"),
        ["struct<f1:int,f2:string>", "int", "struct<f1:int>"],
    ),
    (lambda t: t.agg(sf.sum("c_struct.f1")), ["struct<f1:int>"]),
    (
        lambda t: t.select("c_struct", "c_struct.f1"),
        ["struct<f1:int,f2:string,f3:struct<g1:timestamp,g2:decimal(5,1)>>"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("query", "types"), NESTED, ids=range(len(NESTED)))
def test_nested_fields_alone_are_read(spark, ruled, golden_table, query, types):
    """The expected answer is the query over Apache Hudi's own rows."""
    ours = query(load(ruled, golden_table(TYPES)))
    assert scanned_types(ours) == types
    assert_same_rows(ours, query(hudi_rows(spark, TYPES)))


def scanned_types(frame):
    leaves = frame._jdf.queryExecution().optimizedPlan().collectLeaves()
    return [
        leaves.apply(leaf).output().apply(place).dataType().catalogString()
        for leaf in range(leaves.size())
        for place in range(leaves.apply(leaf).output().size())
    ]


def test_setting_of_spark_reads_structs_whole(ruled, golden_table):
    ruled.conf.set("spark.sql.optimizer.nestedSchemaPruning.enabled", "false")
    frame = load(ruled, golden_table(TYPES)).select("c_struct.f1")
    assert scanned_types(frame) == [
        "struct<f1:int,f2:string,f3:struct<g1:timestamp,g2:decimal(5,1)>>"
    ]


def test_switch_leaves_the_plan_as_it_was(ruled, golden_table):
    ruled.conf.set(ENABLED, "false")
    frame = load(ruled, golden_table(MOR)).select("id")
    assert len(scans(frame)[0]) > 1
    assert install_optimizer(ruled) == f"{ENABLED} is not true"


def test_pushed_filters_keep_the_scan_that_took_them(ruled, golden_table):
    ruled.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    frame = load(ruled, golden_table(TYPES)).where("c_int > 0").select("id")
    assert_same_rows(frame, hudi_rows(ruled, TYPES).where("c_int > 0").select("id"))


@pytest.mark.parametrize(
    "options",
    [
        {"query_type": "read_optimized"},
        {"query_type": "incremental", "begin": "earliest"},
        {"columns": "id,ts,region"},
        {"filter": "region = 'emea'"},
        {"merge_type": "skip_merge"},
    ],
    ids=str,
)
def test_every_kind_of_query_is_narrowed(spark, ruled, golden_table, options):
    path = golden_table(MOR)
    frame = load(ruled, path, **options).where("ts > 0").select("id")
    assert scans(frame) == [["id", "ts"]]
    assert_same_rows(frame, load(spark, path, **options).where("ts > 0").select("id"))


def test_changes_and_inspection_are_narrowed(spark, ruled, golden_table):
    path = golden_table("v9_cow_cdc_data_before")
    given = {"cdc": "true", "begin": "earliest"}
    counts = [load(s, path, **given).groupBy("op").count() for s in (ruled, spark)]
    assert_same_rows(*counts)
    commits = [load(s, path, inspect="commits").select("action") for s in (ruled, spark)]
    assert_same_rows(*commits)
    assert (
        load(ruled, path, inspect="commits").count() == load(spark, path, inspect="commits").count()
    )


def test_second_action_does_not_plan_again(ruled, golden_table):
    frame = load(ruled, golden_table(MOR)).select("id")
    first = frame._jdf.queryExecution().optimizedPlan().toString()
    assert frame.count() == frame.count()
    assert frame._jdf.queryExecution().optimizedPlan().toString() == first


def test_reading_stops_at_the_limit(golden_table, monkeypatch):
    scan = HudiTable(str(golden_table(MOR))).scan(["id"])
    (tasks,) = groups = scan._plan_groups()
    started = []

    def counting(task, storage, store):
        started.append(task)
        yield from read_task(task, storage, store)

    monkeypatch.setattr("hudi_pyspark.reading.read_task.read_task", counting)
    (packed,), shared = reader_module.pack(groups)
    partition = reader_module.HudiPartition(packed, shared)
    batches = reader_module.read_partition(partition, scan.storage, scan.schema, limit=3)
    assert sum(batch.num_rows for batch in batches) == 3
    assert len(started) < len(tasks)


def test_task_logs_its_rows(golden_table, caplog):
    scan = HudiTable(str(golden_table(MOR))).scan(["id"])
    (tasks,) = groups = scan._plan_groups()
    (packed,), shared = reader_module.pack(groups)
    partition = reader_module.HudiPartition(packed, shared)
    with caplog.at_level(logging.INFO, "hudi_pyspark.spark.reader"):
        rows = sum(
            batch.num_rows
            for batch in reader_module.read_partition(partition, scan.storage, scan.schema)
        )
    assert caplog.messages[0].startswith(f"read {rows} rows of {len(tasks)} tasks in ")


def test_logs_are_complete_where_spark_collects_them(monkeypatch):
    logger = logging.getLogger("hudi_pyspark")
    monkeypatch.setattr(logger, "level", logging.NOTSET)
    reader_module.let_spark_collect_logs()
    assert logger.level == logging.NOTSET
    monkeypatch.setenv("PYSPARK_SPARK_SESSION_UUID", "some")
    reader_module.let_spark_collect_logs()
    assert logger.level == logging.DEBUG


def reader_of(path, **options):
    source = HudiDataSource({"path": str(path), **options})
    return source.reader(to_arrow_schema(source.schema()))  # as Sail calls it


def test_engine_that_prunes_columns_itself_gets_only_those(golden_table):
    reader = reader_of(golden_table(MOR))
    reader.pruneColumns(pa.schema({"region": pa.string(), "id": pa.string()}))
    batches = [batch for part in reader.partitions() for batch in reader.read(part)]
    table = pa.Table.from_batches(batches)
    expected = next(q for q in load_case(GOLDEN / MOR).queries if q.name == "snapshot")
    wanted = expected.expected_rows().select(["region", "id"])
    assert table.sort_by("id").to_pylist() == wanted.sort_by("id").to_pylist()


def test_engine_that_prunes_columns_itself_is_not_told_to_register(golden_table, monkeypatch):
    monkeypatch.setattr(reader_module, "warn_of_all_columns", pytest.fail)
    assert reader_of(golden_table(MOR)).partitions()


def test_columns_that_cannot_be_pruned_are_refused(golden_table):
    reader = reader_of(golden_table(MOR))
    for columns in ({}, {"nowhere": pa.string()}):
        with pytest.raises(NotImplementedError, match="does not read"):
            reader.pruneColumns(pa.schema(columns))
    reader.pruneColumns(StructType())  # another API than Sail's


@pytest.mark.parametrize(
    ("query", "mode", "columns"),
    [
        (lambda t: t.select("id", "c_struct.f1"), "append", ["id int", "c_struct struct<f1:int>"]),
        (lambda t: t.groupBy("part").count(), "complete", ["part string"]),
        pytest.param(
            lambda t: t.groupBy().count(),
            "complete",
            ["c_bool boolean"],
            marks=pytest.mark.cluster,
        ),
    ],
    ids=["nested", "grouped", "count"],
)
def test_micro_batches_read_the_columns_of_the_query(ruled, golden_table, query, mode, columns):
    """The answer is that of the same stream without the rule, which other tests prove."""
    frame = ruled.readStream.format("hudi-py").options(start_offset="earliest", task_bytes=1)
    frame = frame.load(str(golden_table(TYPES)))
    answers = []
    for is_on in ("true", "false"):
        ruled.conf.set(ENABLED, is_on)
        name = f"narrow_{is_on}"
        writer = query(frame).writeStream.format("memory").queryName(name).outputMode(mode)
        stream = writer.trigger(availableNow=True).start()
        assert stream.awaitTermination(PATIENCE)
        if is_on == "true":
            output = stream_columns(stream)
        read = [progress["numInputRows"] for progress in stream.recentProgress]
        answers.append((ruled.table(name), read))
    assert output == columns
    assert_same_rows(answers[0][0], answers[1][0])
    assert answers[0][1] == answers[1][1]
    assert sum(answers[0][1])
    for is_on in ("true", "false"):
        ruled.catalog.dropTempView(f"narrow_{is_on}")


def stream_columns(stream):
    """What the last batch read."""
    leaves = stream._jsq.streamingQuery().lastExecution().optimizedPlan().collectLeaves()
    output = leaves.apply(0).output()
    found = (output.apply(place) for place in range(output.size()))
    return [f"{column.name()} {column.dataType().catalogString()}" for column in found]


def test_stream_that_is_read_twice_in_a_query_stays_whole(ruled, golden_table):
    stream = ruled.readStream.format("hudi-py").option("start_offset", "earliest")
    stream = stream.load(str(golden_table(TYPES)))
    both = stream.select("id").union(stream.select("c_int"))
    writer = both.writeStream.format("memory").queryName("twice")
    running = writer.trigger(availableNow=True).start()
    assert running.awaitTermination(PATIENCE)
    whole = ruled.read.format("hudi-py").options(query_type="incremental", begin="earliest")
    expected = whole.load(str(golden_table(TYPES)))
    wanted = expected.select("id").union(expected.selectExpr("c_int as id"))
    assert_same_rows(ruled.table("twice"), wanted)


def test_source_without_hints_has_none(ruled, golden_table):
    schema = load(ruled, golden_table(MOR)).schema
    hints = read_hints({}, schema)
    assert (hints.columns, hints.filters, hints.limit, hints.cores) == (schema, (), None, 0)


def test_scan_knows_how_many_tasks_run_at_the_same_time(ruled, golden_table):
    plan = load(ruled, golden_table(MOR)).select("id")._jdf.queryExecution().optimizedPlan()
    hints = given_hints(ruled, plan.collectLeaves().head().scan())
    assert int(hints["cores"]) == ruled.sparkContext.defaultParallelism > 0


def test_deep_condition_reaches_the_scan_or_is_left_out(ruled, golden_table):
    rows = load_case(GOLDEN / MOR).queries[0].expected_rows()
    plain = ruled.createDataFrame(rows.select(["id", "ts"]).to_pandas())
    condition = sf.col("ts") > 5
    for number in range(150):
        if number % 2:
            condition = condition & (sf.col("ts") >= number % 7)
        else:
            condition = condition | (sf.col("ts") == number % 7)
    frame = load(ruled, golden_table(MOR)).where(condition)
    assert sorted(r.id for r in frame.select("id").collect()) == sorted(
        r.id for r in plain.where(condition).select("id").collect()
    )
