"""Random plans over tables whose columns share names, and random programs over a growing table."""

import random
import subprocess
import sys
from collections import Counter

import pyarrow.parquet as pq
import pytest

import hudi_pyspark
from hudi_pyspark.spark.optimizer import ENABLED
from tests.conftest import PROJECT
from verification.common.archives import unpack
from verification.common.shrinking import shortest
from verification.random_plans.names import sql, tables
from verification.random_plans.names.compare import SIDES, Referee
from verification.random_plans.names.plan import Plan, draw
from verification.random_plans.names.sides import Rows
from verification.states import program
from verification.states.__main__ import Referee as StatesReferee
from verification.states.growth import COLUMNS, LAST, Growth

# Each had another answer while the rule matched columns by name, or readers reused their buffers.
PLANS = [4, 18, 19, 26, 59, 94]
PROGRAMS = [2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return unpack(tables.ARCHIVE, tmp_path_factory.mktemp("names"))


@pytest.mark.parametrize("table", tables.HUDI_TABLES)
def test_tables_have_the_rows_that_apache_hudi_read(folder, table):
    found = hudi_pyspark.HudiTable(str(folder / table)).scan().to_arrow()
    wanted = pq.read_table(folder / f"{table}.parquet")
    assert sorted(map(str, found.to_pylist())) == sorted(map(str, wanted.to_pylist()))


def test_plans_depend_on_the_seed_alone_and_ask_for_everything():
    plans = [draw(seed) for seed in range(1_500)]
    assert [plan.text for plan in plans[:200]] == [draw(seed).text for seed in range(200)]
    features: Counter[str] = Counter()
    for plan in plans:
        features.update(plan.features)
    assert min(features[f"join {kind}"] for kind in sql.JOINS) > 10
    assert min(features[f"table {name}"] for name in tables.TABLES) > 50
    for name in ("UDTF", "frame cogroup", "frame mapInArrow", "frame applyInPandas", "collation"):
        assert features[name] > 5, name


def test_parts_of_a_query_are_left_out_one_at_a_time():
    text = f"SELECT 1{sql.maybe(' WHERE a' + sql.maybe(' AND b'))}{sql.maybe(' LIMIT 1')}"
    assert [sql.render(each) for each in sql.shorter(text)] == [
        "SELECT 1 LIMIT 1",
        "SELECT 1 WHERE a AND b",
        "SELECT 1 WHERE a LIMIT 1",
    ]


class Answering:
    """A side that has an answer of its own for plans with a text in them."""

    def __init__(self, text, answer):
        self.text = text
        self.wrong = answer

    def answer(self, plan):
        right = Rows((("id", "int"),), Counter({"1": 1}))
        return self.wrong if self.text in plan.source else right


@pytest.mark.parametrize(
    "answer",
    [
        "AN_ERROR",
        Rows((("id", "string"),), Counter({"1": 1})),
        Rows((("id", "int"),), Counter({"1": 2})),
    ],
)
def test_a_side_with_another_answer_is_found_and_its_plan_made_shorter(answer, capsys):
    sides = [Answering("d.bad()", answer), Answering("never", ""), Answering("never", "")]
    referee = Referee.of_sides(sides)
    lines = ("d = t('one')", "d = d.good()", "d = d.bad()", "d = d.good()")
    outcome = referee.compare([1], plan_of=lambda seed: Plan(seed, lines, {}))
    assert outcome.different == [1]
    assert "d.bad()" in capsys.readouterr().out
    short = shortest(Plan(1, lines, {}), referee.differs, trials=60)
    assert short.lines == ("d = t('one')", "d = d.bad()")


@pytest.mark.spark
def test_plans_in_a_registered_session_answer_like_plans_of_spark_alone(spark, tmp_path):
    sessions = {name: spark.newSession() for name in SIDES}
    sessions["on"].conf.set(ENABLED, "true")
    outcome = Referee(sessions, tmp_path).compare(PLANS)
    assert outcome.different == []
    assert outcome.with_rows == len(PLANS)


# In processes of their own: one that has been a client of Spark Connect makes no other session.
@pytest.mark.spark
def test_plans_over_connect_answer_like_plans_of_spark_alone(connect_port):
    chosen = ["--feature", "sort by literals", "--seed", "160", "--count", "20"]
    found = run("random_plans", "--tables", "names", *chosen, port=connect_port)
    assert "2 plans, 2 with rows" in found


@pytest.mark.spark
def test_reads_over_connect_have_the_state_that_the_pages_promise(connect_port):
    found = run("states", "--seed", "2", "--count", "1", port=connect_port)
    assert "0 programs different" in found


def run(harness, *arguments, port):
    command = [sys.executable, "-m", f"verification.{harness}", "--mode", "connect"]
    command += ["--port", port, *arguments]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-5_000:] + done.stderr[-2_000:]
    return done.stdout


@pytest.mark.parametrize("views", [program.NEWEST, program.KEPT])
def test_programs_depend_on_the_seed_alone(views):
    one, other = (program.draw(7, views=views, is_connect=True) for _ in range(2))
    assert one.text == other.text
    assert "commit()" in one.text


def test_view_that_keeps_a_state_may_have_one_between_its_making_and_now():
    read = program.Step("read(v)", wanted=2, least=1, key="v")
    known: dict[str, int] = {}
    assert not read.is_kept(0, known)
    assert read.is_kept(1, known)
    assert not read.is_kept(2, known)  # after a read of state 1
    assert not read.is_kept("9 rows of no state", {})


@pytest.mark.parametrize("case", [0, 1])
def test_state_of_rows_is_that_of_apache_hudis_answer(case, tmp_path):
    growth = Growth(["v6_mor_part_basic", "v9_mor_compaction_inline"][case], tmp_path)
    states = []
    for _ in range(LAST + 1):
        rows = hudi_pyspark.HudiTable(growth.path).scan(list(COLUMNS)).to_arrow().to_pylist()
        states.append(growth.state_of(rows))
        growth.commit()
    assert states == [0, 1, 2, 3]
    assert growth.state_of(rows[1:]) != 3
    mixed = random.Random(1).sample(rows, 9)
    assert "rows of no state" in str(growth.state_of(mixed))


@pytest.mark.spark
def test_reads_of_a_registered_session_have_the_newest_state(spark):
    def make():
        session = spark.newSession()
        session.conf.set(ENABLED, "true")
        hudi_pyspark.register(session)
        return session

    referee = StatesReferee(make, views=program.NEWEST, is_connect=False)
    referee.compare(PROGRAMS)
    assert referee.different == []
    assert referee.reads > 5


@pytest.mark.spark
def test_a_session_that_was_not_registered_is_noticed(spark):
    referee = StatesReferee(spark.newSession, views=program.NEWEST, is_connect=False)
    referee.compare(PROGRAMS, shrinks=0)
    assert referee.different == PROGRAMS
