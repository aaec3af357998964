import pytest

from tests.table.archive_files import archive_block, entry
from tests.table.tiny_table import TinyTable, archive


@pytest.mark.parametrize(
    ("time", "expected"), [("010", "015"), ("015", None), ("020", None), ("005", "007")]
)
def test_completion_time_is_known_of_what_is_committed(time, expected):
    table = TinyTable(9).write("010", "deltacommit").instant("020.deltacommit.inflight")
    archive(table, {"005": "007", "015": "018"})
    assert table.open().history.completion_time(time) == expected


@pytest.mark.parametrize("properties", [{}, {"table__initial__version": "6"}])
def test_history_of_an_upgraded_table_is_not_searched_by_the_names_of_its_files(properties):
    table = TinyTable(9, **properties).write("050", "deltacommit")
    archive(table, {"010": "015", "030": "035", "040": "045"}, "030_020_0.parquet")
    history = table.open().history
    assert [history.completion_time(time) for time in ("040", "030", "010")] == [
        "045",
        "035",
        "015",
    ]
    found = table.open().history.archived_between("040", "045")
    assert "040" in {instant.requested_time for instant in found}


@pytest.mark.parametrize(
    ("properties", "expected"),
    [({}, ["010", "030", "040"]), ({"table__initial__version": "8"}, ["030", "040"])],
    ids=["upgraded", "of-version-8"],
)
def test_upgraded_table_has_the_archive_that_an_old_release_left_in_the_metadata_folder(
    properties, expected
):
    table = TinyTable(9, **properties).write("050", "deltacommit")
    archive(table, {"030": "035", "040": "045"})
    old = archive_block(entry("010", "deltacommit"), entry("030", "deltacommit"))
    table.files[".hoodie/.commits_.archive.1_1-0-1"] = old
    archived = table.open().history.archived
    assert [instant.requested_time for instant in archived] == expected
    assert archived[-2].completion_time == "035"
