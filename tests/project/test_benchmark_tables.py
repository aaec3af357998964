"""The tables and queries of the benchmarks, as far as they are values."""

import pytest

from benchmarks.queries import Condition, queries_of
from benchmarks.tables import TABLES, record_key

FACTS = {"last_commit_after": "20250101000000000"}


@pytest.mark.parametrize("letter", TABLES)
def test_full_size_is_as_declared(letter):
    sized = TABLES[letter].at(1)
    assert (sized.rows, sized.file_groups) == (TABLES[letter].rows, TABLES[letter].file_groups)


@pytest.mark.parametrize("scale", [0.00001, 0.013, 0.5])
@pytest.mark.parametrize("letter", TABLES)
def test_file_groups_have_the_same_rows_and_partitions_the_same_groups(letter, scale):
    sized = TABLES[letter].at(scale)
    assert sized.file_groups % 4 == 0
    assert sized.rows % (sized.file_groups * sized.step) == 0
    assert sized.rows > 0


@pytest.mark.parametrize("letter", TABLES)
def test_keys_that_are_asked_for_exist_and_differ(letter):
    sized = TABLES[letter].at(1)
    conditions = {query.name: query.condition for query in queries_of(sized, FACTS)}
    one, many = conditions["one_key"], conditions["keys"]
    assert one
    assert many
    keys = many.values
    assert len(set(keys)) == 100
    assert set(one.values) < set(keys)
    assert {record_key(number) for number in range(0, sized.rows, sized.step)} >= set(keys)


@pytest.mark.parametrize(
    ("condition", "sql"),
    [
        (Condition("uuid", "=", ("a",)), "uuid = 'a'"),
        (Condition("uuid", "in", ("a", "b")), "uuid IN ('a', 'b')"),
        (Condition("distance", "between", (5, 9)), "distance >= 5 AND distance < 9"),
    ],
)
def test_conditions_as_sql(condition, sql):
    assert condition.sql == sql
