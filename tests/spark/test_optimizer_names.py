"""Columns of one name and two types: attributes are told apart by what they are, not by names.

Expected are the rows of the same query in a session without the rule, over rows that Spark keeps
itself.
"""

import pytest

from tests.spark.frames import assert_same_rows, hudi_rows, load

pytestmark = pytest.mark.spark

CASE = "v9_mor_compaction_inline"
TYPES = "v9_mor_all_types"
REGIONS = "VALUES ('emea', 1), ('apac', 2), ('amer', 3) AS r(region, id)"
QUERIES = {
    "join": f"SELECT o.id, sum(r.id) AS s FROM o JOIN {REGIONS} USING (region) GROUP BY o.id",
    "join of all": f"SELECT o.*, r.* FROM o JOIN {REGIONS} ON o.region = r.region",
    "distinct": "SELECT DISTINCT id, ts AS id FROM o",
    "sort and limit": "SELECT id, ts AS id FROM o ORDER BY ts, 1 LIMIT 5",
    "lateral view": "SELECT o.id, count(*) AS n FROM o LATERAL VIEW explode(array(1, 2)) t AS id "
    "GROUP BY o.id",
    "window": "SELECT rank() OVER (PARTITION BY region ORDER BY id) AS region, id, region FROM o",
    "union": "SELECT id FROM o UNION ALL SELECT cast(ts AS string) AS id FROM o",
    "max": f"SELECT max(o.id) AS a, max(r.id) AS b FROM o JOIN {REGIONS} ON o.region = r.region",
    "text": f"SELECT o.id || '!' AS x FROM o JOIN {REGIONS} ON o.region = r.region AND r.id > 1",
    "aliases twice": "SELECT id AS region, region AS id FROM "
    "(SELECT ts AS id, id AS region FROM o)",
}


def numbered(frame):
    """The frame with a name of its own for each column."""
    return frame.toDF(*(f"c{place}" for place in range(len(frame.columns))))


@pytest.fixture
def queries(spark, ruled, golden_table):
    """Ask one query with the rule, and over the rows of Apache Hudi without it."""
    load(ruled, golden_table(CASE)).createOrReplaceTempView("o")
    plain = spark.newSession()
    plain.conf.set("spark.sql.session.timeZone", "UTC")
    hudi_rows(plain, CASE).createOrReplaceTempView("o")
    return ruled.sql, plain.sql


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_columns_of_one_name_keep_their_types(queries, query):
    ours, plain = (sql(query) for sql in queries)
    assert ours.dtypes == plain.dtypes
    assert_same_rows(numbered(ours), numbered(plain))


def test_what_a_join_writes_has_the_types_of_its_columns(queries, tmp_path, spark):
    query = f"SELECT o.id, r.id AS r FROM o JOIN {REGIONS} ON o.region = r.region"
    for number, sql in enumerate(queries):
        sql(query).write.parquet(f"{tmp_path}/{number}")
    ours, plain = (spark.read.parquet(f"{tmp_path}/{number}") for number in range(2))
    assert ours.dtypes == [("id", "string"), ("r", "int")]
    assert_same_rows(ours, plain)


STRUCTS = {
    "fields": "SELECT t.c_struct.f1, s.c_struct.f3 FROM t JOIN s ON t.id = s.id",
    "whole": "SELECT t.c_struct.f1, s.c_struct FROM t JOIN s ON t.id = s.id",
    "filter": "SELECT s.c_struct.f1 FROM t JOIN s ON t.id = s.id WHERE t.c_struct.f3.g2 > 1",
    "other struct": "SELECT t.c_struct.f1, x.c_struct.z FROM t JOIN (SELECT id, named_struct("
    "'z', c_struct.f1) AS c_struct FROM s) x ON t.id = x.id ORDER BY t.id",
    "sort": "SELECT c_struct.f1 FROM t WHERE c_struct.f2 IS NOT NULL ORDER BY c_struct.f3.g1, id",
}


@pytest.mark.parametrize("query", STRUCTS.values(), ids=STRUCTS)
def test_structs_of_one_name_keep_their_fields(spark, ruled, golden_table, query):
    plain = spark.newSession()
    plain.conf.set("spark.sql.session.timeZone", "UTC")
    for view in "ts":
        load(ruled, golden_table(TYPES)).createOrReplaceTempView(view)
        hudi_rows(plain, TYPES).createOrReplaceTempView(view)
    ours, known = (s.sql(query) for s in (ruled, plain))
    assert_same_rows(numbered(ours), numbered(known))


def test_three_joined_tables_read_what_each_place_needs(spark, ruled, golden_table):
    """Spark executes one scan in several places: in one of them the keys of a join filter it."""
    ruled.conf.set("spark.sql.optimizer.dynamicPartitionPruning.reuseBroadcastOnly", "false")
    ruled.conf.set("spark.hudi-py.optimizer.joins.leastBytes", "1")
    ruled.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    ruled.conf.set("spark.sql.adaptive.enabled", "false")
    load(ruled, golden_table(CASE)).createOrReplaceTempView("o")
    plain = spark.newSession()
    plain.conf.set("spark.sql.session.timeZone", "UTC")
    hudi_rows(plain, CASE).createOrReplaceTempView("o")
    query = (
        "SELECT a.id AS a, b.region AS b, c.ts AS c FROM o a JOIN o b ON a.id = b.id "
        "JOIN o c ON b.region = c.region WHERE a.region = 'emea' AND c.ts > 5"
    )
    assert_same_rows(ruled.sql(query), plain.sql(query))


def test_keys_of_a_join_filter_the_next_batch_of_a_scan_alone(ruled, golden_table):
    frame = load(ruled, golden_table(CASE), task_bytes=1).select("id", "region")
    scan = frame._jdf.queryExecution().optimizedPlan().collectLeaves().apply(0).scan()
    spark = ruled._jvm.org.apache.spark
    expressions = spark.sql.connector.expressions
    parts = ruled.sparkContext._gateway.new_array(expressions.Expression, 2)
    parts[0] = expressions.FieldReference.column("region")
    text = spark.unsafe.types.UTF8String.fromString("emea")
    parts[1] = expressions.LiteralValue(text, spark.sql.types.DataTypes.StringType)
    predicate = expressions.filter.Predicate("=", parts)
    predicates = ruled.sparkContext._gateway.new_array(expressions.filter.Predicate, 1)
    predicates[0] = predicate
    whole = scan.toBatch()
    scan.filter(predicates)
    filtered, after = scan.toBatch(), scan.toBatch()
    assert not filtered.equals(whole)
    assert after.equals(whole)
    assert len(filtered.planInputPartitions()) < len(whole.planInputPartitions())
    assert len(after.planInputPartitions()) == len(whole.planInputPartitions())
