import pytest

from hudi_pyspark.format.timeline.instant import Instant
from hudi_pyspark.format.timeline.instant_metadata import CommitMetadata
from hudi_pyspark.table.commit_history import LazyMetadata

TIMES = ("010", "020", "030")


@pytest.fixture
def reads():
    return []


@pytest.fixture
def metadata(reads):
    def load(instant):
        reads.append(instant.requested_time)
        return CommitMetadata(extra_metadata={"time": instant.requested_time})

    instants = [Instant.parse(f"{time}.commit", 1) for time in TIMES]
    return LazyMetadata(instants, load)


def test_keys_are_known_without_reading(metadata, reads):
    assert (tuple(metadata), len(metadata), "020" in tuple(metadata)) == (TIMES, 3, True)
    assert reads == []


def test_asking_whether_a_commit_is_there_reads_nothing(metadata, reads):
    assert "020" in metadata
    assert metadata.keys() & {"010", "040"} == {"010"}
    assert reads == []


def test_each_commit_is_read_once_when_it_is_asked_for(metadata, reads):
    assert metadata["020"].extra_metadata == {"time": "020"}
    assert metadata["020"] is metadata["020"]
    assert reads == ["020"]


def test_several_commits_keep_their_order_and_read_only_what_is_not_there(metadata, reads):
    first = metadata["030"]
    found = metadata.of(["030", "010", "020"])
    assert list(found) == ["030", "010", "020"]
    assert found["030"] is first
    assert sorted(reads) == ["010", "020", "030"]


def test_no_commits_are_no_reads(metadata, reads):
    assert metadata.of([]) == {}
    assert reads == []


@pytest.mark.parametrize("ask", [lambda m: m["040"], lambda m: m.of(["010", "040"])])
def test_an_unknown_commit_is_a_key_error(metadata, ask):
    with pytest.raises(KeyError, match="040"):
        ask(metadata)
