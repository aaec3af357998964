import pytest

from tests.table.tiny_table import TinyTable, archive


@pytest.mark.parametrize(
    ("time", "expected"), [("010", "015"), ("015", None), ("020", None), ("005", "007")]
)
def test_completion_time_is_known_of_what_is_committed(time, expected):
    table = TinyTable(9).write("010", "deltacommit").instant("020.deltacommit.inflight")
    archive(table, {"005": "007", "015": "018"})
    assert table.open().history.completion_time(time) == expected
