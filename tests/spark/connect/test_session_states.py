"""Which state a statement reads over Spark Connect, and that its rows are those of Spark alone.

Each program runs in a session that was registered and in one that was not.
"""

import json

import pyspark
import pytest

from tests.conftest import PATIENCE
from tests.growing_table import BEFORE_COMPACTION
from tests.spark.deployment import client

pytestmark = pytest.mark.spark
CASE, INSTANT, _ = BEFORE_COMPACTION

CLIENT = """
import json, sys, threading
from pathlib import Path
import pyspark.sql.functions as sf
from pyspark.sql import SparkSession
import hudi_pyspark
from tests.growing_table import commits_of, table_at

port, case, instant, folder, programs = sys.argv[1:]
commits = list(commits_of(case))
tables = iter(range(1_000))


def session():
    return SparkSession.builder.remote(f"sc://127.0.0.1:{port}").create()


# A table that can grow, and how a session reads it.
class Table:
    def __init__(self, s):
        self.s, name = s, next(tables)
        self.table = table_at(case, instant, Path(folder, str(name)))
        self.path, self.other = str(self.table.path), str(Path(folder, f"written-{name}"))
        self.grow = self.table.grow

    def load(self):
        return self.s.read.format("hudi-py").load(self.path)


# The number of the commit up to which rows are there.
def state(rows):
    return commits.index(max(row._hoodie_commit_time for row in rows.collect()))


def rows(frame):
    return sorted(map(str, frame.collect()))


TIME = "_hoodie_commit_time"
answers = {}
for program in json.loads(programs):
    for is_registered in (True, False):
        s = session()
        if is_registered:
            hudi_pyspark.register(s)
        try:
            found = globals() | {"s": s, "t": Table(s), "is_registered": is_registered}
            found["found"] = found
            exec(program, found)
            answer = found["answer"]
        except Exception as error:
            answer = f"{type(error).__name__}: {error}"[:500]
        answers.setdefault(program, []).append(answer)
        s.stop()
print("ANSWERS", json.dumps(answers, default=str))
"""
VIEW = """
t.load().createOrReplaceTempView("v")
before = [state(s.sql("SELECT * FROM v"))]
t.grow()
"""
STATEMENTS = [
    "",
    "SELECT id FROM v",
    "-- c\nSELECT id FROM v",
    "/* c */ SELECT id FROM v",
    "CREATE OR REPLACE TEMP VIEW w AS SELECT id FROM v",
    "TABLE v",
    "FROM v |> LIMIT 1",
    "DECLARE OR REPLACE cut = 2",
    "SET spark.sql.ansi.enabled = false",
]
VIEWS = f"""
answer, statements = {{}}, {STATEMENTS}
for place, _ in enumerate(statements):
    t.load().createOrReplaceTempView(f"v{{place}}")
    answer[place] = [state(s.table(f"v{{place}}"))]
t.grow()
for place, statement in enumerate(statements):
    view = f"v{{place}}"
    if statement:
        s.sql(statement.replace(" v", f" {{view}}")).collect()
    queries = [s.sql(f"SELECT {{TIME}} FROM {{view}}"), s.sql(f"SELECT * FROM {{view}}")]
    answer[place] += [state(query) for query in [*queries, s.table(view).select(TIME)]]
"""
OF_SQL = """
s.sql(f"CREATE TEMPORARY VIEW v USING `hudi-py` OPTIONS (path '{t.path}')")
answer = [state(s.table("v"))]
t.grow()
answer += [state(s.sql(f"SELECT {TIME} FROM v")), state(s.table("v"))]
"""
WRITTEN = (
    VIEW
    + """
s.sql(f"CREATE TABLE written USING parquet LOCATION '{t.other}' AS SELECT {TIME} FROM v").collect()
answer = before + [state(s.read.parquet(t.other))]
s.sql(f"INSERT INTO written SELECT {TIME} FROM v").collect()
s.sql("DROP TABLE written").collect()
answer += [state(s.read.parquet(t.other)), state(s.sql("SELECT * FROM v"))]
"""
)
AGAIN = VIEW + "t.load().createOrReplaceTempView('v')\nanswer = state(s.table('v'))"
OF_ONE_FRAME = """
frame = t.load()
frame.columns
frame.createOrReplaceTempView("v")
answer = [state(s.table("v"))]
t.grow()
frame.createOrReplaceTempView("v")
answer += [state(s.table("v"))]
"""
FRAMES = """
frame, other = t.load(), t.load().where("id IS NOT NULL")
ways = [
    lambda: frame,
    lambda: frame.select(TIME),
    lambda: other,
    lambda: frame.groupBy(sf.lit(1).alias("one")).agg(sf.max(TIME).alias(TIME)),
    lambda: s.sql(f"SELECT {TIME} FROM {{t}}", t=frame),
    lambda: s.sql("/* c */ TABLE {t}", t=frame),
    lambda: s.sql("FROM {t} |> WHERE id IS NOT NULL", t=frame),
    lambda: frame.join(other.select("id"), "id").select(TIME),
]
queries = [way() for way in ways]
for query in queries:
    query.columns
answer = [[state(query) for query in queries]]
t.grow()
answer += [[state(query) for query in queries], [state(way()) for way in ways]]
"""
MEANINGS = {
    "variable": """
s.sql("DECLARE OR REPLACE VARIABLE cut = 100").collect()
t.load().where("qty < cut").createOrReplaceTempView("v")
answer = [s.table("v").count()]
s.sql("SET VAR cut = 2").collect()
answer += [s.table("v").select("id").count(), s.sql("SELECT id FROM v").count()]
""",
    "function": """
s.sql("CREATE OR REPLACE TEMPORARY FUNCTION f(x INT) RETURNS BOOLEAN RETURN x > 0").collect()
t.load().where("f(qty)").createOrReplaceTempView("v")
answer = [s.table("v").count()]
s.sql("CREATE OR REPLACE TEMPORARY FUNCTION f(x INT) RETURNS BOOLEAN RETURN x > 5").collect()
answer += [s.table("v").select("id").count(), s.sql("SELECT id FROM v").count()]
""",
    "settings": """
s.conf.set("spark.sql.ansi.enabled", "false")
cast = "CAST('2024-01-01 00:00:00' AS TIMESTAMP) AS at"
t.load().selectExpr("id", "CAST(name AS INT) AS n", cast).createOrReplaceTempView("v")
s.conf.set("spark.sql.ansi.enabled", "true")
s.conf.set("spark.sql.session.timeZone", "America/New_York")
answer = [rows(s.table("v").select("n", "at")), rows(s.sql("SELECT n, at FROM v"))]
""",
    "rand": """
t.load().where("rand(5) < 0.5").createOrReplaceTempView("v")
one, other = s.table("v").alias("a"), s.table("v").alias("b")
answer = one.join(other, "id", "left_anti").count()
""",
    "case": """
s.conf.set("spark.sql.caseSensitive", "true")
t.load().where("ts > 100").createOrReplaceTempView("V")
t.load().where("ts < 0").createOrReplaceTempView("v")
answer = [s.table("V").count(), s.sql("SELECT id FROM V").count(), s.table("v").count()]
""",
    "case of a subquery": """
s.conf.set("spark.sql.caseSensitive", "true")
outer = t.load().select("id", sf.lit(7).alias("QTY"))
answer = outer.where(t.load().where(sf.col("QTY") == 7).exists()).count()
""",
    "dropped": """
t.load().createOrReplaceTempView("v")
answer = [s.table("v").count()]
if is_registered:
    s.conf.set("spark.hudi-py.optimizer.enabled", "false")
    hudi_pyspark.register(s)
s.sql("DROP VIEW v").collect()
if is_registered:
    s.conf.set("spark.hudi-py.optimizer.enabled", "true")
    hudi_pyspark.register(s)
answer += [s.catalog.tableExists("v")]
try:
    answer += [s.table("v").select("id").count()]
except Exception as error:
    answer += [type(error).__name__]
""",
    "operator": """
s.udf.register("like", lambda *_: True, "boolean")
answer = t.load().where(sf.col("id").like("none%")).count()
""",
}
ORDER = "t.load().{}"
ORDERS = [
    ORDER.format(query)
    for query in (
        "sort(sf.lit(1).desc(), sf.lit(2).desc()).limit(3).select('id', 'qty')",
        "sortWithinPartitions(sf.lit(9).desc()).select('id').limit(1_000)",
        "sort(sf.lit(99)).select('id')",
        "orderBy(9, 6).limit(3).select('id', 'qty')",
        "orderBy('all').limit(3).select('id', 'qty')",
        "sort(sf.expr('(9)').desc(), 'id').limit(3).select('id', 'qty')",
        "repartitionByRange(2, sf.lit(9)).select('id')",
        "groupBy(sf.lit(1)).agg(sf.sum('qty'))",
        "toDF(*'abcdefghijk').sort('i').select('i', 'f').limit(3)",
        "select('id', 'qty').union(t.load().select('name', 'ts')).select('id')",
        "where(t.load().sort(sf.lit(9)).limit(1).exists()).select('id')",
    )
] + [
    f"s.sql('SELECT {query}', t=t.load())"
    for query in (
        "qty, id FROM {t} ORDER BY 1 DESC, 2 LIMIT 3",
        "region, count(*) AS n FROM {t} GROUP BY 1 ORDER BY 1",
        "region, count(*) AS n FROM {t} GROUP BY ALL ORDER BY ALL",
        "* FROM {t} ORDER BY 9 LIMIT 3",
        "* EXCEPT (id) FROM {t}",
        "id FROM {t} EXCEPT SELECT name FROM {t}",
        "id FROM {t} QUALIFY row_number() OVER (ORDER BY qty, id) = 1",
        "t.id FROM {t} t NATURAL JOIN {t}",
    )
]
ROWS = f"""
answer = {{}}
for query in {ORDERS!r}:
    try:
        answer[query] = [str(row) for row in eval(query, found).collect()]
    except Exception as error:
        answer[query] = f"{{type(error).__name__}}: {{error}}"[:100]
"""
CACHES = """
frame = t.load().where("id IS NOT NULL").persist()
twin = t.load().where("id IS NOT NULL")
answer = [state(frame)]
t.grow()
twin.unpersist()
answer += [state(frame), state(frame.select(TIME)), state(twin)]
try:
    t.load().where("no_column > 1").persist()
except Exception as error:
    answer += [type(error).__name__]
answer += [state(frame)]
frame.createOrReplaceTempView("v")
answer += [state(s.table("v"))]
s.catalog.clearCache()
answer += [state(frame), str(frame.storageLevel)]
"""
THREADS = """
frame, answer = t.load(), []
wanted = {name: rows(frame.select(name)) for name in ("id", "name", "qty", "ts")}


def ask(name):
    for _ in range(3):
        answer.append(rows(frame.select(name)) == wanted[name])


threads = [threading.Thread(target=ask, args=[name]) for name in wanted]
[each.start() for each in threads]
[each.join() for each in threads]
"""
STREAM = f"""
source = s.readStream.format("hudi-py").load(t.path).select("id", TIME)
static = t.load().select("id", sf.col(TIME).alias("known"))
static.count()
t.grow()
query = source.join(static, "id").writeStream.format("memory").queryName("q")
query.trigger(availableNow=True).start().awaitTermination({PATIENCE})
answer = commits.index(max(row.known for row in s.table("q").collect()))
"""
OTHERS = [VIEWS, OF_SQL, WRITTEN, ROWS, AGAIN, OF_ONE_FRAME, FRAMES, CACHES, THREADS, STREAM]
NEWEST = 4
VIEW_AFTER = NEWEST if pyspark.__version__ < "4.1" else 1


@pytest.fixture(scope="module")
def answers(connect_port, tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("states"))
    programs = json.dumps([*OTHERS, *MEANINGS.values()])
    return client(CLIENT, connect_port, CASE, INSTANT, folder, programs)


# A view keeps its state, whatever a statement does.
@pytest.mark.parametrize("place", range(len(STATEMENTS)))
def test_view_keeps_the_state_in_which_it_was_first_read(answers, place):
    registered, alone = (each[str(place)] for each in answers[VIEWS])
    assert registered == alone == [1, VIEW_AFTER, VIEW_AFTER, VIEW_AFTER]


@pytest.mark.parametrize("program", [OF_SQL, WRITTEN])
def test_view_of_sql_and_what_is_written_from_a_view_have_its_state(answers, program):
    registered, alone = answers[program]
    assert registered == alone == [1] + [VIEW_AFTER] * (len(registered) - 1)


@pytest.mark.parametrize("program", [AGAIN, OF_ONE_FRAME])
def test_view_that_is_made_again_has_the_newest_state(answers, program):
    registered, _ = answers[program]
    assert registered in (NEWEST, [1, NEWEST])


def test_frame_reads_the_newest_state_at_each_action_of_any_kind(answers):
    registered, _ = answers[FRAMES]
    assert registered == [[1] * 8, [NEWEST] * 8, [NEWEST] * 8]


def test_static_side_of_a_stream_has_the_state_of_its_start(answers):
    assert answers[STREAM][0] == NEWEST


@pytest.mark.parametrize("name", MEANINGS)
def test_view_means_what_it_meant_when_it_was_made(answers, name):
    registered, alone = answers[MEANINGS[name]]
    assert registered == alone
    assert "Error" not in str(registered)


@pytest.mark.parametrize("query", ORDERS)
def test_columns_by_position_and_syntax_of_any_kind_have_the_rows_of_spark(answers, query):
    registered, alone = (each[query] for each in answers[ROWS])
    assert registered == alone
    is_refused = "99" in query
    assert str(registered).startswith("AnalysisException: [ORDER_BY_POS") == is_refused


def test_what_is_cached_is_read_until_it_is_freed_by_anybody(answers):
    registered, _ = answers[CACHES]
    cached = [1, 1, 1, NEWEST, "AnalysisException", 1, 1, NEWEST]
    assert registered == [*cached, "Serialized 1x Replicated"]


def test_threads_of_a_session_have_queries_of_their_own(answers):
    assert answers[THREADS][0] == [True] * 12
