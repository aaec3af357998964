import pytest

from hudi_pyspark import thresholds
from hudi_pyspark.errors import MissingFileError
from hudi_pyspark.format.timeline.instant import Action, Instant, InstantState
from hudi_pyspark.table.config import TableConfig
from hudi_pyspark.table.timeline import CommittedTimes, Timeline, load_timeline
from tests.memory_storage import MemoryStorage


def timeline(*names, layout=2):
    return Timeline.collapse(Instant.parse(name, layout) for name in names)


def names(instants, layout=2):
    return [i.file_name(layout) for i in instants]


def times(instants):
    return [i.requested_time for i in instants]


def committed(completed, savepoints=(), pending=()):
    """Committed times of commits at these instants, on layout 1."""
    others = [f"{t}.savepoint" for t in savepoints] + [f"{t}.inflight" for t in pending]
    timeline = Timeline(tuple(Instant.parse(name, 1) for name in others))
    return CommittedTimes.of([Instant.parse(f"{t}.commit", 1) for t in completed], timeline)


@pytest.mark.parametrize(
    ("layout", "files", "kept"),
    [
        pytest.param(1, ["1.commit.requested"], "1.commit.requested", id="requested"),
        pytest.param(1, ["1.commit.requested", "1.inflight"], "1.inflight", id="inflight"),
        pytest.param(1, ["1.commit.requested", "1.inflight", "1.commit"], "1.commit", id="done"),
        pytest.param(
            1,
            ["1.compaction.requested", "1.compaction.inflight", "1.commit"],
            "1.commit",
            id="compaction-becomes-a-commit",
        ),
        pytest.param(
            1,
            ["1.logcompaction.requested", "1.logcompaction.inflight", "1.deltacommit"],
            "1.deltacommit",
            id="log-compaction-becomes-a-delta-commit",
        ),
        pytest.param(
            2,
            ["1.compaction.requested", "1.compaction.inflight", "1_2.commit"],
            "1_2.commit",
            id="compaction-on-layout-2",
        ),
        pytest.param(
            2,
            ["1.clustering.requested", "1.clustering.inflight", "1_2.replacecommit"],
            "1_2.replacecommit",
            id="clustering-becomes-a-replacecommit",
        ),
        pytest.param(
            2,
            ["1.deltacommit.requested", "1.deltacommit.inflight", "1_2.deltacommit"],
            "1_2.deltacommit",
            id="delta-commit-on-layout-2",
        ),
    ],
)
def test_highest_state_of_an_action_hides_the_others(layout, files, kept):
    for order in (files, files[::-1]):
        assert names(timeline(*order, layout=layout).instants, layout) == [kept]


def test_actions_that_share_a_requested_time_are_all_kept():
    found = timeline("1_2.commit", "1_3.savepoint", "1.rollback.inflight")
    assert names(found.instants) == ["1_2.commit", "1.rollback.inflight", "1_3.savepoint"]


def test_instants_are_in_text_order_of_requested_time():
    found = timeline("20250101000000001_3.commit", "20250101000000_2.commit", "100_4.commit")
    assert times(found.instants) == ["100", "20250101000000", "20250101000000001"]


def test_every_instant_is_either_completed_or_pending():
    found = timeline("1_2.commit", "3.inflight", "4.compaction.requested", "5_6.clean")
    assert times(found.completed) == ["1", "5"]
    assert times(found.pending) == ["3", "4"]


MIXED = timeline(
    "01_02.commit",
    "03_04.deltacommit",
    "05_06.replacecommit",
    "07_08.clean",
    "09_10.rollback",
    "01_12.savepoint",
    "13_14.indexing",
    "15.deltacommit.inflight",
    "17.compaction.requested",
    "19.clustering.inflight",
    "21.logcompaction.requested",
    "23.inflight",
    "25.replacecommit.requested",
    "27.clean.inflight",
)


def test_pending_actions_by_kind():
    assert times(MIXED.pending_compactions) == ["17"]
    writes = CommittedTimes.of((), MIXED).pending
    assert writes == {"15", "17", "19", "21", "23", "25"}
    assert names(MIXED.of_action(Action.CLEAN)) == ["07_08.clean", "27.clean.inflight"]
    completed = [i for i in MIXED.completed if i.requested_time in ("01", "05")]
    assert CommittedTimes.of(completed, MIXED).first == "05"


def test_completed_compaction_is_no_longer_pending():
    found = timeline("1.compaction.requested", "1.compaction.inflight", "1_2.commit")
    assert found.pending_compactions == ()
    assert CommittedTimes.of(found.completed, found).pending == frozenset()


@pytest.mark.parametrize(
    ("completed", "savepoints", "pending", "time", "counts"),
    [
        pytest.param(["010", "020"], [], [], "020", True, id="completed"),
        pytest.param(["010", "020"], [], [], "015", False, id="between"),
        pytest.param(["010", "020"], [], [], "025", False, id="after"),
        pytest.param(["010", "020"], [], [], "005", True, id="archived"),
        pytest.param([], [], [], "005", False, id="nothing-is-archived-on-an-empty-timeline"),
        pytest.param([], [], ["010"], "005", False, id="only-pending"),
        pytest.param(["020"], [], ["010"], "010", False, id="pending-before-the-first-completed"),
        pytest.param(["020"], [], ["010"], "005", True, id="archived-before-a-pending-one"),
        pytest.param(["010"], [], ["010"], "010", True, id="completed-under-another-action"),
        pytest.param(["005", "020"], ["005"], [], "005", True, id="savepoint"),
        pytest.param(["005", "020"], ["005"], [], "010", True, id="archived-after-a-savepoint"),
        pytest.param(["005", "020"], ["005"], ["010"], "010", False, id="pending-after-savepoint"),
        pytest.param(["005", "020"], ["020"], [], "010", False, id="savepoint-of-the-latest"),
        pytest.param(["005", "020"], ["005"], [], "030", False, id="after-all"),
        pytest.param(["005"], ["005"], [], "001", False, id="only-savepoints-archive-nothing"),
    ],
)
def test_which_times_count_as_committed(completed, savepoints, pending, time, counts):
    assert (time in committed(completed, savepoints, pending)) is counts


@pytest.mark.parametrize(
    ("time", "counts"),
    [
        ("20200102030405", True),
        ("20200102030405999", True),
        ("20200102030405998", False),
        ("2020010203040599", False),
        ("20200102030405000999", False),
        ("20200102030406999", False),
    ],
)
def test_instant_of_14_digits_is_found_with_999_milliseconds(time, counts):
    assert (time in committed(["20200101000000", "20200102030405"])) is counts


def test_first_commit_is_the_earliest_without_savepoint():
    assert committed(["010", "020", "030"], ["010"]).first == "020"
    assert committed([]).first == ""


@pytest.mark.parametrize(
    ("version", "folder", "file", "foreign"),
    [
        ("6", ".hoodie", "010.commit", "010_015.commit"),
        ("9", ".hoodie/timeline", "010_015.commit", "manifest_1"),
    ],
)
def test_timeline_is_what_its_folder_holds(version, folder, file, foreign):
    config = TableConfig.parse({"hoodie.table.version": version})
    others = [foreign, ".010.commit.crc", "010.commit.tmp", "hoodie.properties", "_SUCCESS"]
    inner = ["020.commit/part", "archived/001.commit", "history/001_002.commit"]
    paths = [f"{folder}/{name}" for name in (file, *others, *inner)]
    found = load_timeline(MemoryStorage(dict.fromkeys(paths, b"")), config)
    assert names(found.instants, config.layout) == [file]


def test_completed_instant_without_completion_time_is_one_of_an_upgraded_table():
    config = TableConfig.parse({"hoodie.table.version": "9"})
    storage = MemoryStorage({".hoodie/timeline/010.commit": b""})
    (legacy,) = load_timeline(storage, config).instants
    assert (legacy.state, legacy.completion_time) == (InstantState.COMPLETED, None)


def test_table_without_timeline_folder_has_an_empty_timeline():
    found = load_timeline(MemoryStorage({}), TableConfig.parse({"hoodie.table.version": "9"}))
    assert found == Timeline(())
    assert found.completed == found.pending == ()


class ChangingFolder(MemoryStorage):
    """A timeline that changes between one listing and the next; the last one stays."""

    def __init__(self, *listings):
        super().__init__({})
        self.listings = list(listings)

    def list_directory(self, directory):
        names = self.listings.pop(0) if len(self.listings) > 1 else self.listings[0]
        self.files = {f"{directory}/{name}": b"" for name in names}
        return super().list_directory(directory)


@pytest.fixture
def long_timelines(monkeypatch):
    monkeypatch.setattr(thresholds, "LISTED_AT_ONCE", 1)


LAYOUT_2 = TableConfig.parse({"hoodie.table.version": "9"})


@pytest.mark.usefixtures("long_timelines")
@pytest.mark.parametrize(
    ("listings", "completed"),
    [
        pytest.param(
            [
                ["1_2.commit", "3.deltacommit.inflight", "4_6.deltacommit"],
                ["1_2.commit", "3_5.deltacommit", "4_6.deltacommit"],
            ],
            ["1", "3", "4"],
            id="commit-that-completed-behind-the-listing",
        ),
        pytest.param(
            [
                ["1_2.commit", "3_5.deltacommit"],
                ["1_2.commit", "3_5.deltacommit", "4.deltacommit.inflight", "6_8.deltacommit"],
            ],
            ["1", "3"],
            id="commit-after-the-first-listing-may-hide-another",
        ),
        pytest.param(
            [
                ["1_2.commit", "3_5.deltacommit", "6_8.deltacommit"],
                ["1_2.commit", "6_8.deltacommit"],
                ["6_8.deltacommit"],
                ["6_8.deltacommit"],
            ],
            ["6"],
            id="archiver-leaves-no-gap",
        ),
    ],
)
def test_long_timeline_is_that_of_one_moment(listings, completed):
    assert times(load_timeline(ChangingFolder(*listings), LAYOUT_2).completed) == completed


@pytest.mark.usefixtures("long_timelines")
def test_timeline_that_never_rests_is_refused():
    listings = [[f"{n}_{n}.commit", "90_91.commit"] for n in range(10, 30)]
    with pytest.raises(MissingFileError, match="a writer archives or rolls back"):
        load_timeline(ChangingFolder(*listings), LAYOUT_2)
