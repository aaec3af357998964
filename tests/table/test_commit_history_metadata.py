import pytest

from hudi_pyspark.table.view import open_table
from tests.memory_storage import MemoryStorage
from tests.table.tiny_table import TinyTable

TIMES = ("010", "020", "030")

NO_FILES: dict[str, object] = {"partitionToWriteStats": {}}


class CountingStorage(MemoryStorage):
    """A storage that remembers of which commits the files are read."""

    def __init__(self, files):
        super().__init__(files)
        self.reads = []

    def read_bytes(self, path):
        if path.endswith("commit"):
            self.reads.append(path.rpartition("/")[2].partition(".")[0])
        return super().read_bytes(path)


@pytest.fixture
def storage():
    table = TinyTable(6)
    for time in TIMES:
        table.instant(f"{time}.deltacommit", {**NO_FILES, "extraMetadata": {"time": time}})
    return CountingStorage(table.files)


@pytest.fixture
def history(storage):
    return open_table(storage).history


def test_times_of_commits_are_known_without_reading(history, storage):
    assert history.committed.times == {*TIMES}
    assert storage.reads == []


def test_each_commit_is_read_once_when_it_is_asked_for(history, storage):
    assert history.metadata("020").extra_metadata == {"time": "020"}
    assert history.metadata("020") is history.metadata("020")
    assert storage.reads == ["020"]


def test_several_commits_keep_their_order_and_read_only_what_is_not_there(history, storage):
    first = history.metadata("030")
    found = history.metadata_of(["030", "010", "020"])
    assert list(found) == ["030", "010", "020"]
    assert found["030"] is first
    assert sorted(storage.reads) == ["010", "020", "030"]


def test_all_commits_come_oldest_first(history):
    assert tuple(history.metadata_of()) == TIMES


def test_no_commits_are_no_reads(history, storage):
    assert history.metadata_of([]) == {}
    assert storage.reads == []


@pytest.mark.parametrize("ask", [lambda h: h.metadata("040"), lambda h: h.metadata_of(["040"])])
def test_an_unknown_commit_is_a_key_error(history, ask):
    with pytest.raises(KeyError, match="040"):
        ask(history)


def test_delta_commits_of_a_copy_on_write_table_count_only_if_they_are_named():
    """A table whose type was changed: their files do not count, their schemas do."""
    table = TinyTable(6, "COPY_ON_WRITE")
    table.instant("010.deltacommit", {**NO_FILES, "extraMetadata": {"schema": "old"}}).instant(
        "020.commit"
    )
    history = table.open().history
    assert list(history.metadata_of()) == ["020"]
    assert history.metadata("010").schema_text == "old"
