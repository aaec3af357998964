"""DMS and Debezium tables without columns of their payload class, and of other types and cases.

The cases have the rows of Apache Hudi 1.2.0 after each commit, or that it fails.
"""

from pathlib import Path

import pytest

from hudi_pyspark import CorruptTableError, HudiTable
from tests.golden.case import load_cases

CASES = load_cases(Path(__file__).parent / "payload_columns")
# Where it fails, though the rows have an order: those of version 9, which has no such need, and
# those that the operations of DMS leave.
ANSWERED = {
    "dms_v6/as_of_c2": {"a": "2", "b": "1", "c": "1", "f": "1", "g": "2"},
    "dms_v8/as_of_c2": {"a": "2", "b": "1", "c": "1", "f": "1", "g": "2"},
    "upper_case_v8/as_of_c2": {"a": "2", "c": "1", "g": "2"},
    "upper_case_v8/as_of_c3": {"a": "2", "g": "2"},
}


def rows_of(table, **options):
    return {
        row["id"]: row["v"] for row in table.scan(["id", "v"], **options).to_arrow().to_pylist()
    }


def instants_of(table):
    return sorted(table.inspect.commits().column("requested_time").to_pylist())


def expected_of(query):
    """Values by id; None where the rows have no order."""
    if query.answer is None:
        return ANSWERED.get(query.key)
    return {row["id"]: row["v"] for row in query.expected_rows().to_pylist()}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_rows_after_each_commit(case, tmp_path):
    table = HudiTable(case.extract(tmp_path))
    instants = [query.options["as.of.instant"] for query in case.queries]
    assert instants == instants_of(table)
    for instant, expected in zip(instants, map(expected_of, case.queries), strict=True):
        if expected is not None:
            assert rows_of(table, as_of=instant) == expected
            continue
        with pytest.raises(CorruptTableError, match="a log record has no _event_"):
            rows_of(table, as_of=instant)


@pytest.mark.parametrize("name", ["mysql_v8", "postgres_v8"])
def test_base_files_are_read_without_the_order_of_the_log(practice_table, name):
    table = HudiTable(practice_table(f"payload_columns/{name}"))
    rows = rows_of(table, query_type="read_optimized")
    assert rows == {"a": "1", "b": "1", "c": "1", "g": "2"}
