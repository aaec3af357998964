"""A table of Apache Hudi 1.2.0 with texts so long that Parquet writes no statistics of them.

The rows are those that were written: k0 'short', k1 and k5 'zzz…', k2 null, k4 'tail', k3 long.
"""

import pytest

from hudi_pyspark import HudiTable


@pytest.fixture
def table(practice_table):
    return HudiTable(practice_table("long_strings/stats_long"))


@pytest.mark.parametrize(
    ("condition", "count"),
    [
        ("note = 'short'", 1),
        ("note IN ('short', 'tail')", 2),
        ("note IS NOT NULL", 5),
        ("note IS NULL", 1),
        ("note LIKE 's%'", 1),
        ("note > 'a'", 5),
        ("NOT (note = 'short')", 4),
    ],
)
def test_long_texts_lose_no_rows_of_their_files(table, condition, count):
    assert table.scan(filter=condition).count() == count
    assert table.scan(["id"], filter=condition).to_arrow().num_rows == count
