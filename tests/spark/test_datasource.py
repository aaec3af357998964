"""What Spark adds to a read: finding the source, schemas, options, partitions, early stops."""

import pickle
import subprocess
import sys
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark import cloudpickle
from pyspark.errors import AnalysisException
from pyspark.sql import functions as sf
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

import hudi_pyspark
from hudi_pyspark import HudiTable
from hudi_pyspark.format.log.data_block import decode_run
from hudi_pyspark.reading.base_files.base_file import read_base_file
from hudi_pyspark.spark.datasource import HudiDataSource
from hudi_pyspark.spark.reader import HudiReader
from tests.bad_inputs import BAD_INPUTS_BY_NAME
from tests.conftest import GOLDEN
from tests.damage import damage_column, unpack
from tests.golden.case import load_case
from tests.spark.frames import assert_same_rows, hudi_rows

pytestmark = pytest.mark.spark

ALL_TYPES = "v9_mor_all_types"
# Five file slices: one of amer, apac and emea with logs, and one without in amer and in emea.
SLICES = "v9_mor_compaction_inline"
SPARK_TYPES = {
    "_hoodie_commit_time": "string",
    "_hoodie_commit_seqno": "string",
    "_hoodie_record_key": "string",
    "_hoodie_partition_path": "string",
    "_hoodie_file_name": "string",
    "id": "int",
    "c_bool": "boolean",
    "c_int": "int",
    "c_long": "bigint",
    "c_float": "float",
    "c_double": "double",
    "c_dec": "decimal(10,2)",
    "c_bigdec": "decimal(38,10)",
    "c_str": "string",
    "c_bin": "binary",
    "c_date": "date",
    "c_ts": "timestamp",
    "c_arr": "array<int>",
    "c_arr_s": "array<struct<a:int,b:string>>",
    "c_map": "map<string,int>",
    "c_map_s": "map<string,struct<x:double,y:date>>",
    "c_struct": "struct<f1:int,f2:string,f3:struct<g1:timestamp,g2:decimal(5,1)>>",
    "c_arr_arr": "array<array<string>>",
    "c_byte": "int",
    "c_short": "int",
    "ts": "bigint",
    "part": "string",
}


def expected(case: str, query: str = "snapshot") -> pa.Table:
    """Apache Hudi's rows, for what is computed from them without Spark."""
    return next(q for q in load_case(GOLDEN / case).queries if q.name == query).expected_rows()


@pytest.fixture
def load(spark, golden_table):
    """A DataFrame of a golden table."""

    def load(case: str, schema: str | StructType | None = None, **options: str):
        reader = spark.read.format("hudi-py").options(**options)
        reader = reader.schema(schema) if schema is not None else reader
        return reader.load(str(golden_table(case)))

    return load


@pytest.fixture
def hudi(spark):
    """The rows of Apache Hudi as a DataFrame."""
    return partial(hudi_rows, spark)


@pytest.fixture
def make_reader(golden_table):
    """The reader that Spark gets from the source, without Spark around it."""

    def make_reader(case: str, schema: StructType | None = None, **options: str) -> HudiReader:
        source = HudiDataSource({"path": str(golden_table(case)), **options})
        reader = source.reader(schema or source.schema())
        assert isinstance(reader, HudiReader)
        return reader

    return make_reader


@pytest.mark.usefixtures("spark_environment")
def test_source_is_found_without_a_register_call_and_without_any_jar(golden_table):
    code = f"""
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
frame = spark.read.format("hudi-py").load({str(golden_table(ALL_TYPES))!r})
print("rows", frame.count(), "jars", repr(spark.conf.get("spark.jars", "")))
spark.stop()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "rows 28 jars ''" in done.stdout


def test_register_does_no_harm_where_the_source_is_known_already(spark, load):
    hudi_pyspark.register(spark)
    hudi_pyspark.register(spark)
    assert load(ALL_TYPES).count() == 28


def test_workers_of_a_local_session_run_its_python(spark, monkeypatch):
    context = spark.sparkContext
    assert context.pythonExec
    monkeypatch.setattr(context, "pythonExec", "python-of-the-path")
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    hudi_pyspark.register(spark)
    assert context.pythonExec == sys.executable


def test_schema_has_every_column_in_order_with_its_spark_type(load):
    schema = load(ALL_TYPES).schema
    assert {field.name: field.dataType.simpleString() for field in schema} == SPARK_TYPES
    assert schema.names == list(SPARK_TYPES)


def test_schema_promises_no_column_to_be_free_of_nulls(load):
    def promises(kind):
        if isinstance(kind, dict):
            flags = [kind.get(k) for k in ("nullable", "containsNull", "valueContainsNull")]
            return False in flags or any(promises(child) for child in kind.values())
        return isinstance(kind, list) and any(promises(child) for child in kind)

    assert not promises(load(ALL_TYPES).schema.jsonValue())


def test_wall_clock_times_are_timestamp_ntz(load, hudi):
    frame = load("v9_mor_timestamp_ntz")
    assert frame.schema["at"].dataType.simpleString() == "timestamp_ntz"
    assert_same_rows(frame, hudi("v9_mor_timestamp_ntz"))


def test_time_zone_of_the_session_moves_no_instant(spark, load):
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        found = load(ALL_TYPES).select("id", sf.expr("unix_micros(c_ts)").alias("c_ts"))
        known = expected(ALL_TYPES).select(["id", "c_ts"])
        moments = known.set_column(1, "c_ts", known["c_ts"].cast(pa.int64()))
        assert_same_rows(found, spark.createDataFrame(moments))
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_schema_with_some_columns_reads_them_in_its_order(load, hudi):
    frame = load(ALL_TYPES, schema="c_str string, id int")
    assert_same_rows(frame, hudi(ALL_TYPES).select("c_str", "id"))


def test_schema_may_promise_a_column_without_nulls(load, hudi):
    frame = load(ALL_TYPES, schema=StructType([StructField("id", IntegerType(), nullable=False)]))
    assert_same_rows(frame, hudi(ALL_TYPES).select("id"))


def test_schema_promotes_types_as_hudi_does(load, hudi):
    columns = ["id bigint", "c_int double", "c_long string", "c_date string"]
    promoted = [sf.col(c.split()[0]).cast(c.split()[1]) for c in columns]
    frame = load(ALL_TYPES, schema=", ".join(columns))
    assert_same_rows(frame, hudi(ALL_TYPES).select(*promoted))


def test_schema_may_spell_columns_in_another_case(load, hudi):
    frame = load(ALL_TYPES, schema="ID int, C_Int double").filter("c_int IS NOT NULL")
    expected = hudi(ALL_TYPES).filter("c_int IS NOT NULL").select("id", sf.col("c_int") * 1.0)
    assert frame.columns == ["ID", "C_Int"]
    assert_same_rows(frame.toDF("id", "c_int"), expected.toDF("id", "c_int"))


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        pytest.param("nope int", r"'nope', which the table does not have", id="unknown-column"),
        pytest.param("idd string", r"does not have \(did you mean 'id'\?\)", id="mistyped-column"),
        pytest.param("c_str int", r"'c_str' as int32, but it is string", id="text-as-number"),
        pytest.param("c_arr array<boolean>", r"'c_arr' as list.*, but it is list", id="in-a-list"),
    ],
)
def test_schema_that_the_table_cannot_give_is_refused_before_reading(load, schema, says):
    with pytest.raises(AnalysisException, match=says) as raised:
        load(ALL_TYPES, schema=schema).collect()
    assert "[HUDI_INVALID_OPTION]" in str(raised.value)


def test_schema_too_narrow_for_a_value_is_refused_rather_than_cut(load):
    frame = load(ALL_TYPES, schema="c_long int")
    says = r"\[HUDI_SCHEMA_EVOLUTION\] .*'c_long' .* cannot be read as int32 .*: make it again"
    with pytest.raises(Exception, match=says):
        frame.collect()


@pytest.mark.parametrize(
    "choose",
    [
        pytest.param(lambda reader: reader.schema("id string, n double"), id="schema"),
        pytest.param(lambda reader: reader.option("columns", "id,n"), id="columns"),
    ],
)
def test_column_that_is_not_asked_for_is_not_read(spark, tmp_path, choose):
    path = unpack("v8_cow_schema_evolution", tmp_path)
    assert damage_column(path, "ts") > 0
    reader = spark.read.format("hudi-py")
    with pytest.raises(Exception, match=r"\[HUDI_CORRUPT_BASE_FILE\]"):
        reader.load(str(path)).collect()
    known = expected("v8_cow_schema_evolution")
    assert choose(reader).load(str(path)).count() == known.num_rows


def test_log_blocks_are_decoded_only_in_the_columns_that_count(make_reader, monkeypatch):
    decoded = []

    def spy(run, columns, lookup):
        decoded.append(set(columns))
        return decode_run(run, columns, lookup)

    monkeypatch.setattr("hudi_pyspark.format.log.data_block.decode_run", spy)
    reader = make_reader(ALL_TYPES, StructType([StructField("c_str", StringType())]))
    for partition in reader.partitions():
        list(reader.read(partition))
    assert decoded
    # The ordering field is what merging needs, and the record key where there are no positions.
    marks = {"_hoodie_is_deleted", "_hoodie_operation"}
    assert {frozenset(columns - marks) for columns in decoded} == {frozenset({"c_str", "ts"})}


def test_read_takes_columns_and_time_travel_as_arguments(spark, golden_table):
    frame = hudi_pyspark.read(
        spark, str(golden_table(SLICES)), ["amount", "id"], as_of="20261121062657910"
    )
    assert_same_rows(frame, hudi_rows(spark, SLICES, "as_of_c1").select("amount", "id"))


def test_read_takes_the_query_type_and_further_options(spark, golden_table):
    path = str(golden_table(SLICES))
    frame = hudi_pyspark.read(
        spark, path, query_type="read_optimized", include_meta_columns="false", batch_rows=3
    )
    known = hudi_rows(spark, SLICES, "read_optimized")
    assert_same_rows(frame, known.select([n for n in known.columns if n[:7] != "_hoodie"]))


@pytest.mark.parametrize(
    ("options", "query"),
    [
        pytest.param({}, "snapshot", id="snapshot"),
        pytest.param({"query_type": "read_optimized"}, "read_optimized", id="read-optimized"),
        pytest.param({"as.of.instant": "20261121062657910"}, "as_of_c1", id="as-of"),
        pytest.param({"AS.OF.Instant": "20261121062657910"}, "as_of_c1", id="as-of-mixed-case"),
        pytest.param(
            {"HOODIE.datasource.QUERY.type": "READ_OPTIMIZED"}, "read_optimized", id="upper-case"
        ),
    ],
)
def test_options_reach_the_reader_in_any_case(load, hudi, options, query):
    assert_same_rows(load(SLICES, **options), hudi(SLICES, query))


def test_empty_table_has_its_columns_and_no_rows(load, hudi):
    frame = load("v9_mor_empty_table")
    assert_same_rows(frame, hudi("v9_mor_empty_table"))
    assert frame.count() == 0


def test_partition_of_an_empty_table_has_no_rows(make_reader):
    reader = make_reader("v9_mor_empty_table")
    partitions = [*reader.partitions(), None]  # Spark makes None of an empty list
    assert [list(reader.read(partition)) for partition in partitions] == [[], []]


def test_every_file_slice_is_one_partition_where_a_task_is_to_read_little(load):
    assert load(SLICES, task_bytes=1).rdd.getNumPartitions() == 5
    assert load("v9_mor_all_types", task_bytes=1).rdd.getNumPartitions() == 4


def test_collecting_twice_gives_the_same_rows(load, hudi):
    frame = load(SLICES)
    for _ in range(2):
        assert_same_rows(frame, hudi(SLICES))


def test_limit_gives_that_many_of_the_rows(load, hudi):
    found = load(SLICES, batch_rows="1").limit(3).cache()
    assert found.count() == 3
    assert found.exceptAll(hudi(SLICES)).isEmpty()
    found.unpersist()


def test_reader_that_is_closed_stops_reading_its_file(make_reader, monkeypatch):
    given: list[int] = []

    def spy(*arguments, **more):
        for table in read_base_file(*arguments, **more):
            given.append(table.num_rows)
            yield table

    monkeypatch.setattr("hudi_pyspark.reading.base_files.base_file.read_base_file", spy)
    reader = make_reader("v8_cow_schema_evolution", batch_rows="1")
    batches = reader.read(reader.partitions()[0])
    assert next(batches).num_rows == 1
    batches.close()
    assert len(given) <= 2


def test_every_batch_has_exactly_the_schema_that_spark_compares(make_reader):
    reader = make_reader(ALL_TYPES)
    batches = [batch for part in reader.partitions() for batch in reader.read(part)]
    assert batches
    assert all(batch.schema.equals(reader.schema, check_metadata=True) for batch in batches)


@pytest.mark.parametrize("dumps", [pickle.dumps, cloudpickle.dumps], ids=["pickle", "cloudpickle"])
def test_reader_travels_small_and_without_the_plan(make_reader, dumps):
    reader = make_reader(SLICES)
    partitions = reader.partitions()
    sent = dumps(reader)
    assert len(sent) < 4_000
    assert b"20261121062703875" not in sent  # no file name of the table
    there = pickle.loads(sent)
    with pytest.raises(RuntimeError, match="planned on the driver only"):
        there.partitions()
    assert sum(b.num_rows for part in partitions for b in there.read(part)) == 18


def test_refusal_to_plan_cannot_be_taken_for_an_empty_table(tmp_path):
    # Spark answers a NotImplementedError of partitions() with one None partition: without any row.
    path = BAD_INPUTS_BY_NAME["foreign-payload"].prepare(tmp_path)
    source = HudiDataSource({"path": str(path)})
    with pytest.raises(Exception, match=r"\[HUDI_UNSUPPORTED_MERGE\]") as raised:
        source.reader(source.schema()).partitions()
    assert not isinstance(raised.value, NotImplementedError)


def test_partition_travels_small(make_reader):
    sizes = [len(pickle.dumps(part)) for part in make_reader(SLICES).partitions()]
    assert max(sizes) < 8_000


def test_temporary_view_of_sql_reads_the_table(spark, golden_table):
    path = golden_table(SLICES)
    spark.sql(
        f"CREATE OR REPLACE TEMPORARY VIEW trips USING `hudi-py` "
        f"OPTIONS (path '{path}', `as.of.instant` '20261121062657910')"
    )
    known = hudi_rows(spark, SLICES, "as_of_c1")
    assert_same_rows(spark.sql("SELECT * FROM trips"), known)
    total = spark.sql("SELECT sum(qty) AS total FROM trips")
    assert_same_rows(total, known.agg(sf.sum("qty").alias("total")))
    spark.catalog.dropTempView("trips")


@pytest.mark.parametrize("pushdown", ["false", "true"])
def test_filter_leaves_the_rows_that_match(spark, load, pushdown):
    spark.conf.set("spark.sql.python.filterPushdown.enabled", pushdown)
    try:
        found = load(SLICES).filter("region = 'emea' AND amount > 40").select("id")
        known = expected(SLICES)
        keep = pc.and_(pc.equal(known["region"], "emea"), pc.greater(known["amount"], 40))
        kept = known.filter(keep).select(["id"])
        assert 0 < kept.num_rows < known.num_rows
        assert_same_rows(found, spark.createDataFrame(kept))
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")


def test_aggregation_adds_up_over_all_file_slices(spark, load):
    found = load(SLICES).groupBy("region").agg(sf.sum("qty").alias("n"), sf.count("*").alias("c"))
    grouped = expected(SLICES).group_by("region").aggregate([("qty", "sum"), ([], "count_all")])
    known = grouped.select(["region", "qty_sum", "count_all"]).rename_columns(["region", "n", "c"])
    assert_same_rows(found, spark.createDataFrame(known))


def test_join_of_two_instants_finds_what_changed(spark, load):
    now = load(SLICES).select("id", sf.col("amount").alias("now"))
    then = load(SLICES, as_of="20261121062657910").select("id", sf.col("amount").alias("then"))
    changed = now.join(then, "id").filter("now <> then")
    before = dict(expected(SLICES, "as_of_c1").select(["id", "amount"]).to_pandas().to_numpy())
    after = dict(expected(SLICES).select(["id", "amount"]).to_pandas().to_numpy())
    common = {key for key in before.keys() & after.keys() if before[key] != after[key]}
    assert common
    assert_same_rows(
        changed.select("id"), spark.createDataFrame([[k] for k in common], "id string")
    )


def test_count_in_spark_is_the_number_of_rows(load, golden_table):
    assert load(SLICES).count() == 18 == HudiTable(str(golden_table(SLICES))).scan().count()


def test_small_arrow_batches_of_the_session_change_no_row(spark, load, hudi):
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "2")
    try:
        assert_same_rows(load(SLICES), hudi(SLICES))
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")


def test_load_without_a_path_is_refused(spark):
    with pytest.raises(AnalysisException, match=r"\[HUDI_INVALID_OPTION\] no path"):
        spark.read.format("hudi-py").load()
