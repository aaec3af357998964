"""One query of every golden case through Spark: what Apache Hudi answers, cell by cell."""

from collections import Counter
from dataclasses import replace

import pytest

import hudi_pyspark
from hudi_pyspark.spark.optimizer import ENABLED
from tests.conftest import GOLDEN
from tests.golden.case import Case, Query, load_cases
from tests.golden.compare import arrow_type_name, spark_type_name
from tests.golden.run import ask_questions, judge

pytestmark = pytest.mark.spark


def one_query_of_each(cases: list[Case]) -> list[tuple[Case, Query]]:
    """By turns the first, second, third … query, so that every kind has its turn."""
    chosen = []
    for turn, case in enumerate(cases):
        # Where Apache Hudi fails there is an error of ours or a twin: see test_golden.py.
        known = [query for query in case.queries if query.is_covered and query.rows is not None]
        chosen += [(case, known[turn % len(known)])] if known else []
    return chosen


CASES = load_cases(GOLDEN)
CHOSEN = one_query_of_each(CASES)


@pytest.mark.parametrize(
    ("case", "query"), CHOSEN, ids=[f"{case.name}-{query.name}" for case, query in CHOSEN]
)
def test_spark_answers_as_apache_hudi(spark, golden_table, case, query):
    reader = spark.read.format("hudi-py").options(**query.options)
    frame = reader.load(str(golden_table(case.name)))
    answer = frame.toArrow()
    assert judge(case, query, answer).problems == ()
    declared = [spark_type_name(field.dataType.jsonValue()) for field in frame.schema]
    assert declared == [arrow_type_name(field.type) for field in answer.schema]


@pytest.fixture
def ruled(spark):
    """A session of its own with the optimizer's rule; the shared one stays without."""
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "UTC")
    session.conf.set(ENABLED, "true")
    hudi_pyspark.register(session)
    return session


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_other_forms_of_a_query_answer_what_follows_from_its_rows(ruled, golden_table, case):
    """One query of each case in one form; `make golden SPARK=2` asks two forms of every query."""
    one = next((query for known, query in CHOSEN if known is case), None)
    only = replace(case, queries=(one,) if one is not None else ())
    found = ask_questions(only, golden_table(case.name), seed=1, most=1, spark=ruled)
    assert [str(asked) for asked in found if asked.problems] == []


def test_chosen_queries_are_of_every_kind():
    kinds = Counter(query.name.split("_")[0] for _, query in CHOSEN)
    assert kinds.keys() >= {"snapshot", "read", "as"}
    assert min(kinds["snapshot"], kinds["read"], kinds["as"]) >= 5
