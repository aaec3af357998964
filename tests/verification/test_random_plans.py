"""Random plans: what is drawn, how sides are compared, and that narrowed scans lose no rows."""

from collections import Counter

import pyarrow.parquet as pq
import pytest

import hudi_pyspark
from hudi_pyspark.filter.predicate import IsNull
from hudi_pyspark.frames import polars
from hudi_pyspark.spark.optimizer import ENABLED
from tests.verification.runs import run_over_connect
from verification.common.archives import unpack
from verification.common.shrinking import shortest
from verification.random_plans import parts, programs, queries, sources
from verification.random_plans.conditions import say
from verification.random_plans.engines import compare_engine, draw_condition
from verification.random_plans.expressions import GRAMMAR
from verification.random_plans.plan import Plan, draw
from verification.random_plans.referee import Referee, make_sides
from verification.random_plans.sides import Rows
from verification.random_plans.tables import ARCHIVES, FAMILIES, load

PLANS = range(8, 18)  # with joins, windows, groups and Python functions


@pytest.fixture(scope="module")
def tables_of_ends(tmp_path_factory):
    return unpack(ARCHIVES["ends"], tmp_path_factory.mktemp("ends"))


@pytest.fixture(scope="module")
def tables_of_names(tmp_path_factory):
    return unpack(ARCHIVES["names"], tmp_path_factory.mktemp("names"))


@pytest.mark.parametrize("table", ["one", "two", "three", "four"])
def test_tables_have_the_rows_that_apache_hudi_read(tables_of_names, table):
    found = hudi_pyspark.HudiTable(str(tables_of_names / table)).scan().to_arrow()
    wanted = pq.read_table(tables_of_names / f"{table}.parquet")
    assert sorted(map(str, found.to_pylist())) == sorted(map(str, wanted.to_pylist()))


@pytest.mark.parametrize("table", ["cow", "mor"])
def test_tables_of_ends_have_the_rows_that_were_written_last(tables_of_ends, table):
    wanted = pq.read_table(tables_of_ends / "rows.parquet").drop_columns("m")  # a map has no order
    found = hudi_pyspark.HudiTable(str(tables_of_ends / table)).scan(wanted.schema.names)
    assert sorted(map(str, found.to_arrow().to_pylist())) == sorted(map(str, wanted.to_pylist()))


def test_written_rows_come_to_the_rows_of_the_copy(tables_of_ends):
    latest: dict[str, tuple[str, str]] = {}
    for operation in ("bulk_insert", "upsert", "delete"):
        written = pq.read_table(tables_of_ends / "written" / "mor" / f"{operation}.parquet")
        latest |= {row["k"]: (operation, str(row)) for row in written.to_pylist()}
    kept = sorted(row for operation, row in latest.values() if operation != "delete")
    copy = pq.read_table(tables_of_ends / "rows.parquet")
    assert kept == sorted(map(str, copy.to_pylist()))


@pytest.mark.parametrize("family", FAMILIES)
def test_plans_depend_on_the_seed_alone_and_ask_for_everything(family):
    plans = [draw(seed, family) for seed in range(3_000)]
    assert [plan.text for plan in plans[:200]] == [draw(s, family).text for s in range(200)]
    features: Counter[str] = Counter()
    for plan in plans:
        features.update(plan.features)
    asked = [f"text {text[:60]}" for text in queries.TEXTS]
    asked += [f"frame: call {call[:44]}" for call in programs.CALLS]
    asked += [f"join {kind}" for kind in sources.JOINS if kind != "USING"]
    asked += [f"subquery {form}" for form in GRAMMAR["subqueries"]]
    asked += [f"table {table.name}" for table in load(family).tables]
    asked += ["UDTF", "explode", "posexplode", "CTE", "window", "long condition"]
    asked += ["frame: window", "frame: sort by literals"]
    assert [name for name in asked if not features[name]] == []


def test_conditions_depend_on_the_seed_alone():
    drawn = [say(draw_condition(seed, "ends")[1]) for seed in range(300)]
    assert drawn == [say(draw_condition(seed, "ends")[1]) for seed in range(300)]
    assert len(set(drawn)) > 280
    assert max(text.count(" AND ") + text.count(" OR ") for text in drawn) > 80


def test_parts_of_a_query_are_left_out_one_at_a_time():
    text = f"SELECT 1{parts.maybe(' WHERE a' + parts.maybe(' AND b'))}{parts.maybe(' LIMIT 1')}"
    assert [parts.render(each) for each in parts.shorter(text)] == [
        "SELECT 1 LIMIT 1",
        "SELECT 1 WHERE a AND b",
        "SELECT 1 WHERE a LIMIT 1",
    ]


class Answering:
    """A side that has an answer of its own for plans with a text in them."""

    def __init__(self, text, answer):
        self.name = text
        self.wrong = answer

    def answer(self, plan):
        right = Rows((("id", "int"),), Counter({"1": 1}))
        return self.wrong if self.name in plan.source else right


@pytest.mark.parametrize(
    "answer",
    [
        "AN_ERROR",
        Rows((("id", "string"),), Counter({"1": 1})),
        Rows((("id", "int"),), Counter({"1": 2})),
    ],
)
def test_a_side_with_another_answer_is_found_and_its_plan_made_shorter(answer, capsys):
    referee = Referee([Answering("d.bad()", answer), Answering("never", ""), Answering("no", "")])
    lines = ("d = t('one')", "d = d.good()", "d = d.bad()", "d = d.good()")
    outcome = referee.compare([1], plan_of=lambda seed: Plan(seed, lines, {}))
    assert outcome.different == [1]
    assert "d.bad()" in capsys.readouterr().out
    short = shortest(Plan(1, lines, {}), Plan.shorter, referee.differs, attempts=range(60))
    assert short.lines == ("d = t('one')", "d = d.bad()")


def test_an_error_of_a_value_is_asked_again_without_ansi():
    class Casting(Answering):
        def answer(self, plan):
            is_ansi = plan.settings["spark.sql.ansi.enabled"] == "true"
            return "CAST_INVALID_INPUT" if is_ansi else super().answer(plan)

    referee = Referee([Answering("never", ""), Casting("no", "")])
    assert not referee.differs(Plan(1, ("d = 1",), {"spark.sql.ansi.enabled": "true"}))


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_lazy_tables_of_ends_answer_like_their_copy(engine, tables_of_ends):
    assert list(compare_engine(engine, "ends", tables_of_ends, range(12))) == []


def test_lost_rows_are_noticed(tables_of_ends, monkeypatch):
    monkeypatch.setattr(polars, "pruning", lambda *_: IsNull("k"))
    assert len(list(compare_engine("polars", "ends", tables_of_ends, range(12)))) > 6


@pytest.mark.spark
def test_plans_in_a_registered_session_answer_like_plans_of_spark_alone(spark, tmp_path):
    def new_session():
        session = spark.newSession()
        session.conf.set(ENABLED, "true")
        return session

    referee = Referee(make_sides("classic", load("names"), tmp_path, new_session))
    referee.prepare()
    outcome = referee.compare(PLANS)
    assert outcome.different == []
    assert outcome.with_rows >= 5


# In processes of their own: one that has been a client of Spark Connect makes no other session.
@pytest.mark.spark
def test_narrowed_queries_over_connect_answer_like_plain_ones(connect_port):
    run_over_connect("random_plans", "--count", "10", port=connect_port)


@pytest.mark.spark
def test_plans_over_connect_answer_like_plans_of_spark_alone(connect_port):
    chosen = ["--feature", "frame: sort by literals", "--seed", "160", "--count", "60"]
    found = run_over_connect("random_plans", "--tables", "names", *chosen, port=connect_port)
    assert "0 different" in found
