"""A column that was text, was dropped, and is an int now; rows are those of Apache Hudi 1.2.0."""

import pytest

from hudi_pyspark import HudiTable

SNAPSHOT = {"k0": None, "k1": 77, "k2": 2, "k3": 3, "k4": 4, "k5": 5}


@pytest.fixture
def table(practice_table):
    return HudiTable(practice_table("retyped_column/retype_back"))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, SNAPSHOT),
        ({"begin": "000"}, SNAPSHOT),
        ({"query_type": "read_optimized"}, {f"k{n}": n for n in range(6)}),
        ({"filter": "x > 3"}, {"k1": 77, "k4": 4, "k5": 5}),
    ],
)
def test_old_text_is_read_as_numbers(table, options, expected):
    rows = table.scan(["id", "x"], **options).to_arrow().to_pylist()
    assert {row["id"]: row["x"] for row in rows} == expected
