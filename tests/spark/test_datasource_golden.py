"""Golden queries through Spark, of every kind and type: what Apache Hudi answers, cell by cell."""

import re
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


def queries_that_differ_for_spark(cases: list[Case]) -> list[tuple[Case, Query]]:
    """One query per table version, table type and kind, and those with another type of column.

    Rows are read by the same code as without Spark, which test_golden.py asks every query.
    """
    chosen: list[tuple[Case, Query]] = []
    seen: set[str] = set()
    for case in cases:
        for query in case.queries:
            # Where Apache Hudi fails there is an error of ours or a twin: see test_golden.py.
            if not query.is_covered or query.answer is None:
                continue
            table = "".join(re.findall(r"v\d+_|mor|cow", case.name)[:2])
            names = [spark_type_name(field["type"]) for field in query.expected_schema()]
            types = {re.sub(r"\w+:|\(.*?\)", "", name) for name in names}
            shown = {f"{table} {query.name.split('_')[0]}", *types}
            if shown - seen:
                chosen.append((case, query))
                seen |= shown
    return chosen


CHOSEN = queries_that_differ_for_spark(load_cases(GOLDEN))


each_query = pytest.mark.parametrize(
    ("case", "query"), CHOSEN, ids=[f"{case.name}-{query.name}" for case, query in CHOSEN]
)


@each_query
def test_spark_answers_as_apache_hudi(spark, golden_table, case, query):
    reader = spark.read.format("hudi-py").options(**query.options)
    frame = reader.load(str(golden_table(case.name)))
    answer = frame.toArrow()
    assert judge(case, query, answer).problems == ()
    declared = [spark_type_name(field.dataType.jsonValue()) for field in frame.schema]
    assert declared == [arrow_type_name(field.type) for field in answer.schema]


@pytest.fixture
def ruled(spark):
    """A session with the optimizer's rule, apart from the test's one."""
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "UTC")
    session.conf.set(ENABLED, "true")
    hudi_pyspark.register(session)
    return session


@pytest.mark.parametrize(
    ("case", "query"),
    [
        # Of four queries one is asked in `make test`, and another one in `make test-cluster`.
        pytest.param(*chosen, marks=pytest.mark.cluster if number % 2 else ())
        for number, chosen in enumerate(CHOSEN[::2])
    ],
    ids=[f"{case.name}-{query.name}" for case, query in CHOSEN[::2]],
)
def test_other_forms_of_a_query_answer_what_follows_from_its_rows(ruled, golden_table, case, query):
    """Half of the queries in one form; `make golden SPARK=2` asks two forms of all golden ones."""
    only = replace(case, queries=(query,))
    found = ask_questions(only, golden_table(case.name), seed=1, most=1, spark=ruled)
    assert [str(asked) for asked in found if asked.problems] == []


def test_chosen_queries_are_of_every_kind():
    kinds = Counter(query.name.split("_")[0] for _, query in CHOSEN)
    assert min(kinds[kind] for kind in ("snapshot", "read", "as", "incr", "cdc")) >= 4
