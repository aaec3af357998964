"""Apache Hudi's table functions in SQL, by path and by name."""

import pytest
from pyspark.errors import AnalysisException

import hudi_pyspark
from tests.conftest import GOLDEN
from tests.golden.case import load_cases
from tests.golden.deviations import accepted_deviations
from tests.golden.run import judge
from tests.spark.named_tables import (
    number_of,
    rows_of,
    scans,
)

pytestmark = pytest.mark.spark

BEGIN, END = "hoodie.datasource.read.begin.instanttime", "hoodie.datasource.read.end.instanttime"
FORMAT = "hoodie.datasource.query.incremental.format"


def calls_of(query):
    """The arguments of the functions of Apache Hudi that ask a query; () if none does."""
    options = dict(query.options)
    kind = options.pop("hoodie.datasource.query.type", "snapshot")
    if kind != "incremental":
        return () if options else (f"hudi_query({{}}, '{kind}')",)
    begin, end = options.pop(BEGIN, ""), options.pop(END, "")
    changes = options.pop(FORMAT, "latest_state")
    if options or not begin:
        return ()
    more = f", '{end}'" if end else ""
    return (f"hudi_table_changes({{}}, '{changes}', '{begin}'{more})",)


CALLS = [
    (case, query)
    for case in load_cases(GOLDEN)
    for query in case.queries
    if query.is_covered and query.answer is not None and calls_of(query)
]


@pytest.mark.parametrize(
    ("case", "query"),
    [
        pytest.param(*call, marks=pytest.mark.cluster if number % 20 else ())
        for number, call in enumerate(CALLS)
    ],
    ids=[f"{case.name}-{query.name}" for case, query in CALLS],
)
def test_functions_have_the_rows_of_apache_hudi(sql, golden_table, case, query):
    path = golden_table(case.name)
    sql.sql(f"CREATE TABLE called USING hudi LOCATION '{path}'")
    deviation = accepted_deviations().get(f"{case.name}/{query.name}")
    for call in calls_of(query):
        name = f"{sql.catalog.currentDatabase()}.called"
        for table in (f"'{path}'", "'called'", f"'{name}'", f"'spark_catalog.{name}'"):
            if deviation is not None and deviation.rows.endswith("Error"):
                with pytest.raises(AnalysisException, match=deviation.rows):
                    rows_of(sql, call.format(table))
                continue
            answer = sql.sql(f"SELECT * FROM {call.format(table)}").toArrow()
            assert judge(case, query, answer).problems == ()


def test_functions_are_narrow_and_join(sql, orders, path):
    frame = sql.sql(
        f"SELECT a.id FROM hudi_query('{orders}', 'snapshot') a "
        f"JOIN hudi_table_changes('{path}', 'latest_state', 'earliest') b USING (id)"
    )
    assert scans(frame) == [["id"], ["id"]]
    assert frame.count() == number_of("snapshot")
    assert f"hudi-py {path}\n  columns: id\n" in hudi_pyspark.explain(frame)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("hudi_query()", "does not take the arguments"),
        ("hudi_query('{}')", "does not take the arguments"),
        ("hudi_query('{}', 'incremental')", "does not take the arguments"),
        ("hudi_table_changes('{}', 'latest_state')", "does not take the arguments"),
        ("hudi_table_changes('{}', 'all', 'earliest')", "does not take the arguments"),
        ("hudi_query('nothing', 'snapshot')", "neither a path.*nor the name of a table"),
    ],
)
def test_functions_say_which_arguments_they_take(sql, path, call, error):
    with pytest.raises(Exception, match=f"HUDI_INVALID_OPTION.*{error}"):
        rows_of(sql, call.format(path))
