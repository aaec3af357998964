import pickle

import pytest

from tests.table.archive_files import archive_block, entry
from tests.table.tiny_table import TinyTable, archive, base, log


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        ("005", "007"),
        ("010", "015"),
        ("015", "018"),  # archived beyond a savepoint that kept 010
        ("016", None),
        ("020", None),
    ],
)
def test_completion_time_is_known_of_what_is_committed(time, expected):
    table = TinyTable(9).write("010", "deltacommit").write("030", "deltacommit")
    table.instant("020.deltacommit.inflight")
    archive(table, {"005": "007", "015": "018"})
    assert table.open().history.completion_time(time) == expected


@pytest.mark.parametrize("is_copy", [False, True])
def test_commits_that_were_archived_beyond_a_savepoint_count(is_copy):
    """Also for the tasks that read the blocks of log files, which are copies in other processes."""
    table = TinyTable(6).write("010", "commit", base("f", "010"))
    table.write("030", "deltacommit", log("f", "010"))
    table.files[".hoodie/archived/.commits_.archive.1_1-0-1"] = archive_block(
        *(entry(time, "deltacommit") for time in ("005", "020", "035")), entry("025", "rollback")
    )
    committed = table.open().history.committed
    if is_copy:
        committed = pickle.loads(pickle.dumps(committed))
    times = ("005", "010", "020", "025", "030", "035")
    assert [time for time in times if time in committed] == ["005", "010", "020", "030"]


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


MIXED = (
    "001_002.commit",
    "003_004.deltacommit",
    "005_006.replacecommit",
    "007_008.clean",
    "009_010.rollback",
    "001_012.savepoint",
    "013_014.indexing",
    "017.compaction.requested",
    "019.clustering.inflight",
    "021.logcompaction.requested",
    "022.clean.inflight",
    "023.deltacommit.inflight",
    "025.inflight",
)


@pytest.mark.parametrize(
    ("table_type", "commits", "incomplete"),
    [("MERGE_ON_READ", ["001", "003", "005"], "023"), ("COPY_ON_WRITE", ["001", "005"], "025")],
)
def test_commits_are_no_table_services_and_of_copy_on_write_no_delta_commits(
    table_type, commits, incomplete
):
    table = TinyTable(9, table_type)
    for name in MIXED:
        table.instant(name)
    history = table.open().history
    assert [commit.requested_time for commit in history.commits] == commits
    assert [commit.requested_time for commit in history.all_commits] == ["001", "003", "005"]
    assert getattr(history.first_incomplete_commit(), "requested_time", "") == incomplete
