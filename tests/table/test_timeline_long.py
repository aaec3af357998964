"""Tables with more commits and more partitions than are looked at together."""

import pytest

from hudi_pyspark import thresholds
from hudi_pyspark.errors import CorruptTimelineError, MissingFileError
from hudi_pyspark.options.read_options import IncrementalOptions
from hudi_pyspark.planning.commit_range import RequestedRange
from tests.memory_storage import MemoryStorage
from tests.table.tiny_table import TinyTable, archive, base, log, shape

TIMES = ("010", "020", "030", "040")


@pytest.fixture(autouse=True)
def checked_commits(monkeypatch):
    monkeypatch.setattr(thresholds, "CHECKED_COMMITS", 2)


def table_of(version=9):
    """Each commit writes a separate group."""
    table = TinyTable(version)
    for time in TIMES:
        table.write(time, "commit", base(f"f{time}", time))
    return table


def commits_read(view, monkeypatch, **options):
    """Return the requested times of the commits whose files a listing of slices reads."""
    read = []

    def watched(self, path):
        read.append(path)
        return original(self, path)

    original = MemoryStorage.read_bytes
    monkeypatch.setattr(MemoryStorage, "read_bytes", watched)
    view.slices.as_of(**options)
    return sorted(path.rpartition("/")[2][:3] for path in read if "commit" in path)


def test_only_the_newest_commits_are_read(monkeypatch):
    assert commits_read(table_of().open(), monkeypatch) == ["030", "040"]


def test_time_travel_reads_the_commits_before_its_instant(monkeypatch):
    assert commits_read(table_of().open(), monkeypatch, instant="030") == ["020", "030"]


def test_all_commits_are_read_where_log_files_may_have_several(monkeypatch):
    assert commits_read(table_of(6).open(), monkeypatch) == list(TIMES)


def test_slices_are_those_of_the_listing():
    expected = {f"f{time}": [base(f"f{time}", time)] for time in TIMES}
    assert shape(table_of().open().slices.as_of()) == expected


@pytest.mark.parametrize("time", ["030", "040"])
def test_lost_file_of_a_new_commit_is_refused(time):
    view = table_of().without(base(f"f{time}", time)).open()
    with pytest.raises(MissingFileError, match=rf"committed \({time}\)"):
        view.slices.as_of()


def test_lost_file_is_refused_where_its_commit_is_new_for_time_travel():
    view = table_of().without(base("f020", "020")).open()
    assert len(view.slices.as_of()) == 3
    with pytest.raises(MissingFileError, match="020"):
        view.slices.as_of("030")


def test_log_files_of_older_commits_have_the_sizes_that_these_record():
    table = TinyTable(9).write("010", "commit", base("f", "010"))
    table.write("020", "deltacommit", log("f", "020"))
    for time in ("030", "040", "050"):
        table.write(time, "commit", base("g", time))
    found = {s.file_id: s for s in table.open().slices.as_of()}
    (logged,) = found["f"].log_files
    assert (logged.committed_size, logged.committed_by, logged.first_committed_by) == (
        1,
        "020",
        "020",
    )


@pytest.mark.parametrize("token", ["0-1-0", "0-2-0", "0-3-0"])
def test_of_several_attempts_the_one_that_an_old_commit_names_counts(token):
    table = TinyTable(9).write("010", "commit", base("f", "010", token))
    table.data(*(base("f", "010", other) for other in ("0-1-0", "0-2-0", "0-3-0")))
    for time in TIMES[1:]:
        table.write(time, "commit", base("g", time))
    assert shape(table.open().slices.as_of())["f"] == [base("f", "010", token)]


def test_slices_do_not_depend_on_how_many_partitions_are_listed_together(monkeypatch):
    table = TinyTable(9, table__partition__fields="p")
    for time, partition in zip(TIMES, "abca", strict=True):
        table.write(time, "commit", f"{partition}/{base('f', time)}")
    together = table.open().slices.as_of()
    monkeypatch.setattr(thresholds, "PARTITIONS_AT_ONCE", 1)
    assert table.open().slices.as_of() == together
    assert [s.partition_path for s in together] == ["a", "b", "c"]


def archived_table(damaged):
    """A table whose history has two files, one of which cannot be read."""
    names = ("010_020_0.parquet", "050_060_0.parquet")
    table = TinyTable(9, table__initial__version="9")
    table.write("100", "deltacommit", base("f", "100"))
    archive(table, {"010": "015", "020": "025"})
    archive(table, {"050": "055", "060": "065"})
    table.instant(f"history/{damaged}", b"damaged")
    files = [{"fileName": name, "fileLen": 1} for name in names]
    return table.instant("history/manifest_1", {"files": files})


def test_completion_time_is_read_from_the_files_that_may_have_it():
    history = archived_table("010_020_0.parquet").open().history
    assert [history.completion_time(time) for time in ("050", "060", "070")] == ["055", "065", None]
    with pytest.raises(CorruptTimelineError, match=r"010_020_0\.parquet"):
        history.completion_time("010")


def test_instants_after_the_end_of_a_range_are_not_read():
    view = archived_table("050_060_0.parquet").open()
    requested = RequestedRange(view, IncrementalOptions(begin="000", end=""), by_completion=True)
    assert requested.archived("049") == {"010": "015", "020": "025"}
    with pytest.raises(CorruptTimelineError, match=r"050_060_0\.parquet"):
        requested.archived("050")


@pytest.mark.parametrize("version", [6, 9])
def test_rollbacks_cost_no_requests(version, monkeypatch):
    def requests(partitions, rollbacks):
        table = TinyTable(version, table__partition__fields="p")
        files = (f"p{number}/{base('f', '010')}" for number in range(partitions))
        table.write("010", "deltacommit", *files)
        for number in range(20, 20 + rollbacks):
            end = f"_{number + 1:03}" if version == 9 else ""
            table.instant(f"{number:03}{end}.rollback", {"commitsRollback": ["019"]})
        counted.clear()
        table.open().slices.as_of()
        return len(counted)

    counted = []

    def counting(method):
        def counted_method(self, path):
            counted.append(path)
            return method(self, path)

        return counted_method

    for name in ("list_directory", "read_bytes"):
        monkeypatch.setattr(MemoryStorage, name, counting(getattr(MemoryStorage, name)))
    plain = requests(1, 0)
    assert [requests(1, rollbacks) for rollbacks in (1, 10)] == [plain] * 2
    assert requests(8, 10) - plain == 7  # a listing for each partition more
