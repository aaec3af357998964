import io
from typing import IO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_pyspark import thresholds
from hudi_pyspark.errors import MissingFileError
from hudi_pyspark.format.log.log_block import LogBlockType, frame_blocks
from hudi_pyspark.table.log_files import LogFiles
from tests.format.log.log_writer import MAGIC, write_block
from tests.memory_storage import MemoryStorage

PATH, OTHER = "p/.f1-0_001.log.1_0-1-0", "p/.f1-0_001.log.2_0-1-0"


class CountedFile(io.BytesIO):
    """Counts the bytes that were read."""

    taken = 0

    def read(self, size: int | None = -1, /) -> bytes:
        octets = super().read(size)
        self.taken += len(octets)
        return octets


class CountingStorage(MemoryStorage):
    """Remembers the files that were opened."""

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(files)
        self.opened: list[CountedFile] = []

    def open_input(self, path: str) -> IO[bytes]:
        self.opened.append(CountedFile(self.read_bytes(path)))
        return self.opened[-1]


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(thresholds, "LOG_PIECE", 64)


@pytest.mark.property
@given(st.binary(max_size=40), st.lists(st.tuples(st.integers(0, 45), st.integers(0, 45))))
def test_stored_file_is_sliced_like_its_bytes(content, spans):
    files = LogFiles(MemoryStorage({PATH: content, OTHER: content[::-1]}))
    for path, octets in ((PATH, content), (OTHER, content[::-1]), (PATH, content)):
        stored = files.open(path)
        assert len(stored) == len(octets)
        for start, stop in spans:
            assert bytes(stored[start:stop]) == octets[start:stop]
    files.close()


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("cut", [0, 30], ids=["whole", "with-a-corrupt-block"])
def test_stored_file_is_framed_like_its_bytes(cut):
    contents = [b"a" * 10, b"b" * 300, b"", b"c" * 64]
    blocks = [write_block(LogBlockType.AVRO_DATA_BLOCK, {}, content) for content in contents]
    data = blocks[1][:cut] + b"".join(blocks)
    files = LogFiles(MemoryStorage({PATH: data}))
    framed = list(frame_blocks(files.open(PATH), path=PATH))
    expected = list(frame_blocks(data, path=PATH))
    assert framed == expected
    assert [bytes(b.content) for b in framed] == [bytes(b.content) for b in expected]
    files.close()


@pytest.mark.usefixtures("small_pieces")
def test_framing_leaves_contents_unread():
    content = bytes(100_000)
    blocks = [write_block(LogBlockType.AVRO_DATA_BLOCK, {}, content) for _ in range(5)]
    storage = CountingStorage({PATH: b"".join(blocks)})
    files = LogFiles(storage)
    framed = list(frame_blocks(files.open(PATH), path=PATH))
    assert len(framed) == 5
    assert sum(file.taken for file in storage.opened) < 5 * 5_000
    assert bytes(framed[3].content) == content
    files.close()


@pytest.mark.parametrize("gap", [-3, -1, 0, 1])
def test_magic_is_found_where_searched_pieces_meet(gap, monkeypatch):
    monkeypatch.setattr(thresholds, "SEARCHED_AT_ONCE", 100)
    block = write_block(LogBlockType.AVRO_DATA_BLOCK, {}, b"x")
    corrupt = MAGIC + bytes(100 + gap)
    found = [b.offset for b in frame_blocks(corrupt + block, path=PATH)]
    assert found == [0, len(corrupt)]


def test_one_file_is_open_at_a_time():
    storage = CountingStorage({PATH: b"one", OTHER: b"two"})
    files = LogFiles(storage)
    one, other = files.open(PATH), files.open(OTHER)
    assert (bytes(one[:]), bytes(other[:]), bytes(one[:])) == (b"one", b"two", b"one")
    assert [file.closed for file in storage.opened[:-1]] == [True] * (len(storage.opened) - 1)
    files.close()
    assert storage.opened[-1].closed


@pytest.mark.parametrize(
    "how", [lambda files: files.load([PATH]), lambda files: files.open(PATH)], ids=["load", "open"]
)
def test_file_that_is_gone_is_missing(how):
    with pytest.raises(
        MissingFileError, match=r"p/\.f1-0_001\.log\.1_0-1-0 is not on the storage any more"
    ):
        how(LogFiles(MemoryStorage({})))


def test_file_that_goes_while_it_is_read_is_missing():
    storage = MemoryStorage({PATH: b"one", OTHER: b"two"})
    files = LogFiles(storage)
    one, _ = files.open(PATH), files.open(OTHER)
    del storage.files[PATH]
    with pytest.raises(MissingFileError, match="is not on the storage any more"):
        one[:]
    files.close()
