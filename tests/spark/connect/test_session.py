"""A client of Spark Connect that narrows its own plans, on a server of this machine.

What the queries answer is compared by `verification.random_plans`; here is what they read.
"""

import json

import pyspark
import pytest
from pyspark.sql.connect.proto import base_pb2

from tests.conftest import PATIENCE
from tests.spark.deployment import client

pytestmark = pytest.mark.spark

CLIENT = """
import json, shutil, sys, warnings
from pathlib import Path
import pyspark.sql.functions as sf
from pyspark.sql import SparkSession
import hudi_pyspark
from hudi_pyspark.spark.connect.session import _unpacked
from hudi_pyspark.spark.connect.plan import inspects, sources_of

port, path, types, folder, queries = sys.argv[1:]
spark = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").create()
hudi_pyspark.register(spark)
hook = spark.client._hudi_pyspark_hook
sent, narrowed = [], hook.narrowed


def hints_in(plan):
    reads = [each for each in sources_of(plan) if not inspects(each)]
    signed = [read.options.get("hudi-py.hints", " null") for read in reads]
    return [json.loads(text.partition(" ")[2]) for text in signed]


def spy(plan, request="r"):
    plans = narrowed(plan, request)
    sent.extend(hints_in(plans[0]))
    return plans


hook.narrowed = spy


def load(where=path, **options):
    return spark.read.format("hudi-py").options(**options).load(where)


# A table whose data files are deleted once it is cached, so that only the cache has its rows.
def without_files(name, cache):
    copy = shutil.copytree(path, Path(folder, name))
    table = load(str(copy))
    if name != "persist":
        table.createOrReplaceTempView(name)
    cache(table)
    if name == "persist":
        table.createOrReplaceTempView(name)
    spark.table(name).count()
    for file in [*copy.glob("*/*.parquet"), *copy.glob("*/.*.log.*")]:
        file.unlink()
    return table


# What a session that compresses its plans sends for a query, and its answer.
def compressed(make):
    other = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").create()
    other.conf.set("spark.connect.session.planCompression.threshold", "0")
    hudi_pyspark.register(other)
    hook, kinds = other.client._hudi_pyspark_hook, []
    change = hook.on_execute_plan

    def spy_on_kinds(request):
        changed = change(request)
        kinds.append(changed.plan.WhichOneof("op_type"))
        kinds.extend(hints_in(_unpacked(changed.plan)))
        return changed

    hook.on_execute_plan = spy_on_kinds
    return make(other.read.format("hudi-py").load(path)).count(), kinds


# What `register` says of a setting of the session.
def warnings_of(name):
    spark.conf.set(name, "read_optimized")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        hudi_pyspark.register(spark)
    spark.conf.unset(name)
    return [str(w.message) for w in caught if "hoodie" in str(w.message)]


# A query of SQL, of which only the plan counts.
def asked(text):
    query = spark.sql(text, t=t)
    sent.clear()
    return query


t = load()
t.createOrReplaceTempView("orders")
t.select("id", "ts").where("ts > 0").createOrReplaceTempView("chosen")
answers = {}
for query in json.loads(queries):
    sent.clear()
    try:
        found = eval(query)
        if hasattr(found, "collect"):  # what its plan becomes shows without running it
            spy(found._plan.to_proto(spark.client))
            found = "a plan"
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
    answers[query] = [found, list(sent)]
print("ANSWERS", json.dumps(answers, default=str))
spark.stop()
"""
COLUMNS = {"id", "name", "amount", "qty", "ts", "region"}
ALL = None
# Queries, and the columns that each of their reads may return.
QUERIES = {
    "t.agg(sf.sum('ts'))": [{"ts"}],
    "t.agg(sf.count(sf.lit(1)))": [set()],
    "t.groupBy('region').count()": [{"region"}],
    "t.select('id').where('ts > 100')": [{"id", "ts"}],
    "t.select(sf.col('ID')).orderBy('REGION')": [{"id", "region"}],
    "t.withColumn('x', sf.upper('region')).select('x')": [{"region"}],
    "t.withColumnRenamed('qty', 'q').select('q')": [{"qty"}],
    "t.drop('name').select('id')": [{"id"}],
    "t.dropDuplicates(['region']).select('region')": [{"region"}],
    "t.join(t.select('id', 'name'), 'id').select('ts')": [{"id", "ts"}, {"id", "name", "ts"}],
    "t.selectExpr('amount * qty AS total')": [{"amount", "qty"}],
    "t.selectExpr('count(*)')": [set()],
    "t.select('id').union(t.select('name'))": [{"id"}, {"name"}],
    "t.where(t.ts == t.select(sf.max('ts')).scalar()).select('id')": [{"id", "ts"}, {"id", "ts"}],
    "t.select('*').where('id > 1')": [ALL],
    "t.select(t.colRegex('`i.*`'))": [ALL],
    "t.distinct()": [ALL],
    "t.union(t).select('id')": [ALL, ALL],
    "t.toDF(*'abcdefghijk').select('k')": [ALL],
    "t.where('id IN (SELECT id FROM orders)').select('name')": [{"id", "name"}],
    "t.orderBy('all').select('id')": [ALL],
    "t.sort(sf.lit(1).desc()).select('id')": [ALL],
    "t.sort(sf.desc('ts')).select('id')": [{"id", "ts"}],
    "spark.table('orders').select('orders.id')": [],
    "spark.sql('SELECT id FROM orders')": [],
    "asked('SELECT o.region, count(*) FROM {t} o WHERE o.ts > 1 GROUP BY 1')": [{"region", "ts"}],
    "asked('SELECT id FROM {t} WHERE ts = (SELECT max(ts) FROM {t})')": [{"id", "ts"}],
    "asked('WITH x AS (SELECT qty FROM {t}) SELECT max(qty) FROM x')": [{"qty"}],
    "asked('SELECT region FROM {t}').where('1 = 1')": [{"region"}],
    "asked('SELECT id FROM {t}').where('qty > 1')": [{"id", "qty"}],
    "asked('SELECT id FROM {t} |> LIMIT 1')": [ALL],
    "asked('SELECT * FROM {t}')": [ALL],
    "load(inspect='commits').select('action')": [],
}


@pytest.fixture(scope="module")
def answers(connect_port, golden_table, tmp_path_factory):
    tables = [golden_table("v9_mor_compaction_inline"), golden_table("v9_mor_all_types")]
    folder = tmp_path_factory.mktemp("written")
    queries = json.dumps([*QUERIES, *HINTS, *OTHERS])
    return client(CLIENT, connect_port, *map(str, tables), str(folder), queries)


@pytest.mark.parametrize("query", QUERIES)
def test_reads_have_the_columns_of_the_query(answers, query):
    found, sent = answers[query]
    assert found == "a plan"
    assert [columns_of(hints) for hints in sent] == QUERIES[query]


def columns_of(hints):
    """The columns among the names that the hints have."""
    if hints[0] is None:
        return ALL
    return {part for path in hints[0] for part in path} & COLUMNS


# Queries, and the conditions and the limit that reach the read.
HINTS = {
    "t.where('ts > 100').where(sf.col('region').isin('emea', 'it\\'s'))": [
        ["`region` IN ('emea', 'it\\'s')", "ts > 100"], None,
    ],
    "t.where((t.id == 'k1') & ~(t.amount > 1.5) | t.qty.isNull())": [
        ["((`id` == 'k1') AND (NOT (`amount` > 1.5e0))) OR (`qty` IS NULL)"], None,
    ],
    "t.where('name LIKE \"n%\"').where(sf.rand() > 2)": [[], None],
    "t.alias('o').select('id', 'ts').where(\"ts > 5\").sort('id')": [["ts > 5"], None],
    "t.withColumn('ts', sf.lit(7)).where('ts > 5')": [[], None],
    "t.limit(5).where('ts > 5')": [[], 5],
    "t.select('id').limit(3)": [[], 3],
    "t.select(sf.explode(sf.array('id'))).limit(3)": [[], None],
    "t.orderBy('id').limit(3)": [[], None],
    "t.show(2)": [[], 3],
}  # fmt: skip


@pytest.mark.parametrize("query", HINTS)
def test_conditions_and_limits_are_hints(answers, query):
    found, (sent,) = answers[query]
    assert found in ("a plan", None)
    assert sent[1:] == HINTS[query]


def cached():
    return "(t.cache(), t.select('id').count(), t.unpersist(), t.select('id').count())[1::2]"


NESTED = "load(types).select('c_struct.f1', 'c_arr_s.b', sf.col('c_struct')['f3']['g2'])"
EXPLAINED = "hudi_pyspark.explain(load(types).where('c_int > 5').select('c_struct.f1'))"
WRITTEN = (
    "[t.select('id').write.parquet(folder + '/rows'), spark.read.parquet(folder + '/rows').count()]"
)
SQL_WRITTEN = (
    "([spark.sql(f'CREATE TABLE t USING parquet LOCATION \"{folder}/t\" AS SELECT id FROM {{t}}',"
    " t=t),"
    " spark.table('t').count(), spark.sql('INSERT INTO t SELECT name FROM {t}', t=t).count(),"
    " spark.table('t').count()], spark.sql('DROP TABLE t'))[0]"
)
STREAM = (
    "(spark.readStream.format('hudi-py').load(path).select('id').writeStream.format('memory')"
    f".queryName('s').trigger(availableNow=True).start().awaitTermination({PATIENCE}), "
    "spark.table('s').count())"
)
# The function runs in a process of the server.
BATCHES = (
    "(spark.readStream.format('hudi-py').load(path).select('id').writeStream"
    ".foreachBatch(lambda batch, number: batch.where('id IS NOT NULL')"
    ".write.mode('append').parquet(folder + '/batches'))"
    f".trigger(availableNow=True).start().awaitTermination({PATIENCE}), "
    "spark.read.parquet(folder + '/batches').columns, "
    "spark.read.parquet(folder + '/batches').count())"
)
REPLACED = (
    "[spark.range(3).selectExpr('id AS ts').createOrReplaceTempView('chosen'), "
    "spark.sql('SELECT max(ts) FROM chosen').first()[0], spark.catalog.dropTempView('chosen')]"
)
OFF = (
    "[spark.conf.set('spark.hudi-py.optimizer.enabled', 'false'), hudi_pyspark.register(spark), "
    "t.select('id').count(), hudi_pyspark.explain(t.select('id')).count('_hoodie')]"
)
OTHER_SESSION = (
    "(SparkSession.builder.remote(f'sc://127.0.0.1:{port}').create() if spark.version < '4.2' "
    "else spark.newSession()).read.format('hudi-py').load(path).select('id').count()"
)
FETCHED = "(t.select('id').toArrow().num_rows, len(t.where('qty > 0').select('id').toPandas()))"
CHECKPOINT = "(t.select('id').localCheckpoint().distinct().count(),)"
# Spark finds the column below the query.
HIDDEN = "asked('SELECT id FROM {t}').where('ts > 100').count()"
# The view on the server is made of a plan with hints.
VIEW_OF_HINTS = "spark.sql('FROM chosen |> AGGREGATE count(ts), max(ts)').first()[:]"
COMPRESSED = "compressed(lambda t: t.select('id').where('ts > 0' + ' AND ts > 0' * 50))"
SETTING = "warnings_of('hoodie.datasource.query.type')"
# Ways to cache a table or its view, and queries of either, which the cache must answer.
CACHES = {
    "persist": "lambda t: t.persist()",
    "statement": "lambda t: spark.sql('CACHE TABLE statement')",
    "catalog": "lambda t: spark.catalog.cacheTable('catalog')",
    "lazy": "lambda t: spark.sql('CACHE LAZY TABLE lazy')",
}
CACHED = {
    name: f"""(lambda t: (
    t.select('id').count() if '{name}' == 'persist' else 18,
    spark.table('{name}').where('ts > 0').count(),
    spark.sql('SELECT count(id) FROM {name} WHERE ts >= 0').first()[0],
))(without_files('{name}', {cache}))"""
    for name, cache in CACHES.items()
}
OTHERS = (
    cached(), NESTED, EXPLAINED, WRITTEN, SQL_WRITTEN, STREAM, BATCHES, FETCHED, CHECKPOINT,
    VIEW_OF_HINTS, HIDDEN, REPLACED, OTHER_SESSION, COMPRESSED, SETTING,
    *CACHED.values(), OFF,
)  # fmt: skip


def test_register_warns_of_settings_that_the_source_does_not_see(answers):
    (text,), _ = answers[SETTING]
    assert "such as hoodie.datasource.query.type: give them to each read as options" in text
    assert "storage_options_from_spark" not in text  # a client does not see those of Hadoop


def test_what_is_cached_is_not_changed(answers):
    _, sent = answers[cached()]
    assert sent == [None, [[["id"]], [], None]]


def test_fields_of_structs_are_read_alone(answers):
    text, _ = answers[EXPLAINED]
    assert "columns: c_int, c_struct struct<f1:int>\n  condition: c_int > 5\n" in text
    assert text.endswith("state: the newest one at each action")
    _, ((paths, *_),) = answers[NESTED]
    assert paths == [["c_arr_s", "b"], ["c_struct", "f1"], ["c_struct", "f3", "g2"]]


@pytest.mark.skipif(
    pyspark.__version__ < "4.1",
    reason="on Spark 4.0 a view and the DataFrame that it was made of have caches of their own",
)
@pytest.mark.parametrize("name", CACHES)
def test_cache_is_not_missed(answers, name):
    assert answers[CACHED[name]][0] == [18, 18, 18]


@pytest.mark.skipif(
    "compressed_operation" not in base_pb2.Plan.DESCRIPTOR.fields_by_name,
    reason="PySpark 4.0 does not compress plans",
)
def test_plans_are_narrow_although_they_are_compressed(answers):
    count, (kind, hints, *_) = answers[COMPRESSED][0]
    assert (count, kind) == (18, "compressed_operation")
    assert columns_of(hints) == {"id", "ts"}


def test_query_may_have_a_condition_on_a_column_that_it_does_not_select(answers):
    found, (sent,) = answers[HIDDEN]
    assert (found, columns_of(sent)) == (12, {"id", "ts"})


def test_view_on_the_server_has_all_rows(answers):
    assert answers[VIEW_OF_HINTS] == [[18, 130], []]


@pytest.mark.parametrize(
    ("query", "counts"),
    [
        (WRITTEN, [None, 18]),
        (SQL_WRITTEN, [18, 0, 36]),
        (STREAM, [True, 18]),
        (BATCHES, [True, ["id"], 18]),
        (FETCHED, [18, 17]),
        (CHECKPOINT, [18]),
    ],
)
def test_commands_and_streams_are_narrow(answers, query, counts):
    found, sent = answers[query]
    assert found[-len(counts) :] == counts
    assert sent
    assert {"name", "id", "qty"} >= set().union(*map(columns_of, sent))


def test_view_that_is_replaced_is_read_as_it_is_now(answers):
    assert answers[REPLACED] == [[None, 2, True], []]


def test_setting_and_other_sessions_leave_plans_as_they_are(answers):
    assert answers[OTHER_SESSION] == [18, []]
    assert answers[OFF] == [[None, None, 18, 5], []]
