"""Time travel to savepoints whose commits are archived and whose files alone the cleaner kept.

Expected rows are those that Apache Hudi 1.2.0 reads of the same data without cleaning and
archiving, the golden case `x_v9_mor_sl_savepoints`.
"""

import pyarrow.parquet as pq
import pytest

from hudi_pyspark import HudiTable, MissingFileError, TimeTravelError
from hudi_pyspark.format.timeline.instant import COMMIT_ACTIONS
from hudi_pyspark.table import commit_history
from hudi_pyspark.table.timeline import instant_path
from tests.conftest import GOLDEN
from tests.golden.case import load_case
from tests.table.archive_files import archive_block, entry

EXTRA = GOLDEN.with_name("golden_extra")
BEYOND, TWIN = (
    load_case(EXTRA / f"x_v9_mor_sl_{name}") for name in ("beyond_savepoint", "savepoints")
)
COLUMNS = ["id", "v", "ts"]
EMPTY_COMMIT = b'{"partitionToWriteStats": {}, "extraMetadata": {}, "operationType": "UPSERT"}'


@pytest.fixture
def path(tmp_path):
    return BEYOND.extract(tmp_path)


def rows(table):
    return sorted(table.select(COLUMNS).to_pylist(), key=lambda row: row["id"])


def known(name):
    query = next(query for query in TWIN.queries if query.name == name)
    return rows(query.expected_rows())


def instants(path):
    return HudiTable(path).inspect.savepoints()["requested_time"].to_pylist()


@pytest.mark.parametrize("query", TWIN.queries, ids=lambda query: query.name)
def test_rows_are_those_of_the_same_data_without_archiving(path, query):
    options = next(q.options for q in BEYOND.queries if q.name == query.name)
    scan = HudiTable(path).scan(**options)
    assert rows(scan.to_arrow()) == known(query.name)
    assert scan.count() == len(known(query.name))


def test_text_of_a_time_is_the_same_instant(path):
    first, _ = instants(path)
    text = f"{first[:4]}-{first[4:6]}-{first[6:8]} {first[8:10]}:{first[10:12]}:{first[12:14]}"
    scan = HudiTable(path).scan(as_of=f"{text}.{first[14:]}", filter="id = 'k2'")
    assert rows(scan.to_arrow()) == [row for row in known("as_of_savepoint1") if row["id"] == "k2"]
    with pytest.raises(TimeTravelError, match="cleaner kept"):
        HudiTable(path).scan(as_of=text).count()  # the end of that second


def test_neighbours_of_a_savepoint_are_refused_with_the_savepoints(path):
    first, second = instants(path)
    for instant in (int(first) - 1, int(first) + 1, int(second) + 1):
        with pytest.raises(TimeTravelError, match=r"cleaner kept.*a savepoint"):
            HudiTable(path).scan(as_of=str(instant)).count()


def test_savepoints_are_compared_and_inspected(path):
    table, (first, second) = HudiTable(path), instants(path)
    changes = table.diff(first, second).select(["change", "_hoodie_record_key"]).to_pylist()
    assert sorted((row["_hoodie_record_key"], row["change"]) for row in changes) == [
        ("k2", "update"),
        ("k4", "insert"),
    ]
    slices = table.inspect.file_slices(as_of=first)
    assert slices["log_count"].to_pylist() == [2]


@pytest.mark.parametrize(
    "query",
    [query for query in TWIN.queries if "savepoint" not in query.name],
    ids=lambda query: query.name,
)
@pytest.mark.parametrize("deleted", [0, 1, None], ids=["first", "second", "both"])
def test_rows_stay_after_a_savepoint_is_deleted(path, query, deleted):
    """Its commit stays on the timeline until the next archiving, before a gap that nothing shows.

    Apache Hudi takes the archived commits for uncommitted ones then, and loses their rows.
    """
    options = next(q.options for q in BEYOND.queries if q.name == query.name)
    for instant in instants(path) if deleted is None else [instants(path)[deleted]]:
        for file in path.glob(f".hoodie/timeline/{instant}*.savepoint*"):
            file.unlink()
    scan = HudiTable(path).scan(**options, on_missing="fail")
    assert rows(scan.to_arrow()) == known(query.name)
    assert scan.count() == len(known(query.name))


def last_two(path):
    return HudiTable(path).inspect.commits()["requested_time"].sort().to_pylist()[-2:]


@pytest.mark.filterwarnings("ignore:.*of the range is archived")
@pytest.mark.parametrize("name", ["v6_cow_archived", "v2_mor_archived", "v9_mor_archived"])
def test_one_commit_that_stayed_behind_the_archive_hides_no_row(tmp_path, name):
    """Whatever kept the oldest commit on the timeline."""
    path = load_case(GOLDEN / name).extract(tmp_path)
    whole = HudiTable(path)
    archived = [i for i in whole._view.history.archived if i.action in COMMIT_ACTIONS]
    queries = [{}, {"as_of": last_two(path)[0]}, {"begin": archived[0].requested_time}]
    expected = [sorted(map(repr, whole.scan(**q).to_arrow().to_pylist())) for q in queries]
    oldest = archived[0]
    body = EMPTY_COMMIT
    if oldest.path.endswith(".parquet"):
        history = pq.read_table(
            path / oldest.path, filters=[("instantTime", "=", oldest.requested_time)]
        )
        body = history["metadata"][0].as_py()
    (path / instant_path(oldest, whole.config)).write_bytes(body)
    table = HudiTable(path)
    assert table._view.history.committed.first == oldest.requested_time
    found = [sorted(map(repr, table.scan(**q).to_arrow().to_pylist())) for q in queries]
    assert found == expected


def test_block_of_an_archived_commit_counts_in_a_log_file_that_an_active_one_names(tmp_path):
    """A writer on HDFS appends the blocks of several commits to one log file."""
    path = load_case(GOLDEN / "v6_mor_appended_logs").extract(tmp_path)
    scan = HudiTable(path).scan()
    expected = sorted(map(repr, scan.to_arrow().to_pylist()))
    _, second, *_ = instants = sorted(file.name[:17] for file in path.glob(".hoodie/*.deltacommit"))
    assert f"'_hoodie_commit_time': '{second}'" in "".join(expected)
    for file in path.glob(f".hoodie/{second}.*"):
        file.unlink()
    assert len(instants) == 4
    archive = archive_block(entry(second, "deltacommit"))
    (path / ".hoodie/archived/.commits_.archive.1_1-0-1").write_bytes(archive)
    assert sorted(map(repr, HudiTable(path).scan().to_arrow().to_pylist())) == expected


@pytest.mark.parametrize("name", ["v6_mor_appended_logs", "v6_mor_failed_rolled_back"])
def test_blocks_that_a_rollback_undid_need_no_archive(tmp_path, monkeypatch, name):
    """Neither those blocks nor the rollback's are of a commit. The archive may be large."""

    def load_archive(*_):
        raise AssertionError("the archive is loaded")

    path = load_case(GOLDEN / name).extract(tmp_path)
    monkeypatch.setattr(commit_history, "load_archive", load_archive)
    assert HudiTable(path).scan().count() > 0
    assert HudiTable(path).to_arrow().num_rows > 0


def test_savepoint_that_was_deleted_is_refused(path):
    first, second = instants(path)
    for file in path.glob(f".hoodie/timeline/{first}*.savepoint"):
        file.unlink()
    with pytest.raises(TimeTravelError, match="cleaner kept"):
        HudiTable(path).scan(as_of=first).count()
    assert HudiTable(path).scan(as_of=second).count() == len(known("as_of_savepoint2"))


@pytest.mark.parametrize("kind", ["*.parquet", ".*.log.*"])
def test_lost_file_of_a_savepoint_is_named(path, kind):
    first, _ = instants(path)
    table = HudiTable(path)
    slices = table.inspect.file_slices(as_of=first).to_pylist()[0]
    found = [f for f in path.glob(kind) if slices["file_id"] in f.name]
    needed = min(
        found, key=lambda file: file.name.rpartition("_")[2] if "log" not in kind else file.name
    )
    needed.unlink()
    with pytest.raises(MissingFileError, match=needed.name):
        HudiTable(path).scan(as_of=first).count()
