"""HFiles by Apache Hudi's and HBase's writers, see `hfiles/generate`; expected is their input."""

import gzip
import struct
import zipfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from itertools import accumulate
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_pyspark.errors import UnsupportedTableError
from hudi_pyspark.format.bytes_source import BytesSource, FileSource
from hudi_pyspark.format.hfile import HFileError
from hudi_pyspark.format.hfile.reader import HFile, HFileReader, read_hfile
from hudi_pyspark.storage import ArrowStorage, Storage
from tests.format.hfile_writer import ENTRIES, ENTRY_BYTES, GZIP, block, entry, hfile
from tests.memory_storage import MemoryStorage
from tests.sampling import SAMPLED, sample

FILES = Path(__file__).parent / "hfiles"
BY_HBASE = ["hbase_gz_crc32c", "hbase_gz_three_levels", "hbase_none_crc32_three_levels"]
NAMES = ["hudi_gz", "hudi_none", "hudi_java_order", *BY_HBASE]

Entry = tuple[bytes, bytes]


@cache
def octets(name: str) -> bytes:
    return (FILES / f"{name}.hfile").read_bytes()


@cache
def written(name: str) -> list[Entry]:
    lines = "java_order" if name == "hudi_java_order" else "entries"
    text = (FILES / f"{lines}.tsv").read_text("utf-8")
    pairs = (line.split("\t") for line in text.splitlines())
    return [(key.encode(), value.encode()) for key, value in pairs]


def entries_of(file: HFile) -> list[Entry]:
    spans = zip(file.value_starts.tolist(), file.value_ends.tolist(), strict=True)
    values = [bytes(file.values_data[start:end]) for start, end in spans]
    return list(zip(file.keys.to_pylist(), values, strict=True))


class CountedSource:
    """A source that records the ranges that are read."""

    def __init__(self, data: bytes) -> None:
        self.ranges: list[tuple[int, int]] = []
        self.source = memoryview(data)

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, span: slice, /) -> memoryview:
        octets = self.source[span]
        self.ranges.append((span.start, len(octets)))
        return octets


def opened(name: str, source: BytesSource | None = None) -> HFileReader:
    return HFileReader.open(source or memoryview(octets(name)), path=name)


@pytest.mark.parametrize("name", NAMES)
def test_all_entries_are_those_that_were_written(name):
    assert entries_of(read_hfile(octets(name), path=name)) == written(name)
    assert opened(name).trailer.entry_count == len(written(name))


@pytest.mark.parametrize("name", NAMES)
def test_every_key_is_found_with_all_its_entries(name):
    reader = opened(name)
    for key in {key for key, _ in written(name)}:
        assert entries_of(reader.find([key])) == [e for e in written(name) if e[0] == key]


@pytest.mark.parametrize("case", ["v6_mor_mdt_indexes", "v9_mor_mdt_indexes"])
def test_metadata_tables_are_searched_like_they_are_read_whole(case):
    golden = Path(__file__).parents[1] / "golden" / case / "table.zip"
    with zipfile.ZipFile(golden) as archive:
        names = [name for name in archive.namelist() if name.endswith(".hfile")]
        files = {name: archive.read(name) for name in names}
    assert len(files) > 5
    for name, data in files.items():
        entries = entries_of(read_hfile(data, path=name))
        reader = opened(name, memoryview(data))
        for key, _ in entries:
            assert entries_of(reader.find([key])) == [e for e in entries if e[0] == key]


@pytest.mark.parametrize("name", BY_HBASE[1:])
def test_index_of_several_levels_is_what_the_file_has(name):
    assert opened(name).trailer.index_levels == 3


WRITTEN_KEYS = [key for name in ("hudi_gz", "hudi_java_order") for key, _ in written(name)]
keys = st.one_of(
    st.sampled_from(WRITTEN_KEYS),
    st.text("k0123\ue000\U0001f600", max_size=5).map(str.encode),
    st.binary(max_size=3),
)


@pytest.mark.parametrize("name", NAMES)
@given(wanted=st.lists(keys))
def test_find_agrees_with_a_filter_of_all_entries(name, wanted):
    found = entries_of(opened(name).find(wanted))
    assert found == [entry for entry in written(name) if entry[0] in wanted]


@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param(["k0000", "ключ", "absent"], id="texts"),
        pytest.param((k for k in (b"k0000", "ключ")), id="iterator"),
        pytest.param(pa.array(["ключ", None, "k0000"]), id="arrow"),
        pytest.param(pa.chunked_array([["ключ"], ["k0000"]], pa.large_string()), id="chunked"),
    ],
)
def test_keys_come_in_any_form(wanted):
    found = opened("hudi_gz").find(wanted)
    assert found.keys.to_pylist() == [b"k0000", "ключ".encode()]


@pytest.mark.parametrize("name", NAMES)
def test_entries_are_found_by_the_beginnings_of_their_keys(name):
    entries = written(name)
    reader = HFileReader.open(memoryview(octets(name)), path="f")
    keys = [key for key, _ in entries]
    beginnings = {key.decode()[:size].encode() for key in keys[::7] for size in (1, 3, 8)}
    beginnings |= {b"", b"\0", b"zzz", "\U0010ffff".encode()}
    for prefix in sorted(beginnings)[:200]:
        wanted = [entry for entry in entries if entry[0].startswith(prefix)]
        assert sorted(entries_of(reader.find_prefixes([prefix]))) == sorted(wanted), prefix
    several = sorted(beginnings - {b""})[:3]
    wanted = [entry for entry in entries if entry[0].startswith(tuple(several))]
    assert sorted(entries_of(reader.find_prefixes(several))) == sorted(wanted)


@pytest.mark.parametrize("name", NAMES)
def test_first_keys_are_those_of_the_first_block(name):
    found = HFileReader.open(memoryview(octets(name)), path="f").first_keys().to_pylist()
    assert found == [key for key, _ in written(name)][: len(found)] != []


@pytest.mark.parametrize("name", NAMES)
def test_parts_are_the_entries_in_bounded_pieces(name):
    parts = list(opened(name).entries(part_size=4000))
    assert len(parts) > 3
    assert max(len(part.values_data) for part in parts) <= 4000
    assert [e for part in parts for e in entries_of(part)] == written(name)


def test_key_that_spans_blocks_is_found_in_all_of_them():
    rows = [[b"a", b"k"], [b"k"], [b"k", b"m"], [b"z"]]
    blocks = [
        block(b"DATABLK*", b"".join(entry(row, b"%d" % place) for row in block_rows))
        for place, block_rows in enumerate(rows)
    ]
    edges = list(accumulate(map(len, blocks), initial=0))
    index = [(rows[i][0], edges[i], len(blocks[i])) for i in range(4)]
    reader = opened("spans", memoryview(hfile(blocks, entry_count=6, index=index)))
    assert entries_of(reader.find(["k"])) == [(b"k", b"0"), (b"k", b"1"), (b"k", b"2")]


def large_file() -> bytes:
    """Blocks of a tenth of a megabyte, so that the gap between any two decides on a read."""
    value = bytes(100_000)
    blocks = [block(b"DATABLK*", entry(b"%03d" % i, value)) for i in range(40)]
    index = [(b"%03d" % i, len(blocks[0]) * i, len(blocks[0])) for i in range(40)]
    return hfile(blocks, entry_count=40, index=index)


def test_one_key_takes_one_read_to_open_and_one_of_its_block():
    source = CountedSource(large_file())
    reader = opened("large", source)
    assert len(source.ranges) == 1
    assert reader.find(["0175"]).keys.to_pylist() == []
    assert reader.find(["020"]).keys.to_pylist() == [b"020"]
    # The block before may end with entries of that key, too.
    assert [length // 100_000 for _, length in source.ranges[1:]] == [1, 2]


def test_near_blocks_are_read_at_once_and_distant_ones_apart():
    source = CountedSource(large_file())
    reader = opened("large", source)
    source.ranges.clear()
    wanted = ["0005", "0025", "0305"]  # in blocks 0, 2 and 30
    assert reader.find(wanted).keys.to_pylist() == []
    assert [length // 100_000 for _, length in source.ranges] == [3, 1]


def test_load_on_open_section_before_the_tail_takes_one_read_more():
    index = [(b"a" * 5000, 0, len(block(b"DATABLK*", ENTRY_BYTES)))] + [(b"b", 0, 33)] * 5000
    source = CountedSource(
        hfile([block(b"DATABLK*", ENTRY_BYTES)], entry_count=3, index=sorted(index))
    )
    opened("large index", source)
    assert len(source.ranges) == 2


def test_index_blocks_are_read_once():
    source = CountedSource(octets("hbase_gz_three_levels"))
    reader = opened("levels", source)
    reader.find(["k0200"])
    before = len(source.ranges)
    reader.find(["k0200"])
    assert len(source.ranges) == before + 1  # the data block alone


@pytest.mark.parametrize(
    "storage_of",
    [
        pytest.param(lambda _: MemoryStorage({"f": octets("hudi_gz")}), id="memory"),
        pytest.param(lambda folder: ArrowStorage.parse(str(folder)), id="local"),
    ],
)
def test_files_of_a_storage_are_read(storage_of: Callable[[Path], Storage], tmp_path):
    (tmp_path / "f").write_bytes(octets("hudi_gz"))
    with storage_of(tmp_path).open_input("f") as file:
        assert entries_of(opened("hudi_gz", FileSource(file)).find(["k0002"])) == [
            e for e in written("hudi_gz") if e[0] == b"k0002"
        ]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        pytest.param("hbase_snappy", "codec 'snappy' cannot be read", id="snappy"),
        pytest.param("hbase_fast_diff", r"encoded data blocks \(FAST_DIFF\)", id="fast-diff"),
    ],
)
def test_what_hudi_does_not_write_by_default_is_named(name, says):
    with pytest.raises(UnsupportedTableError, match=says):
        read_hfile(octets(name), path=name)
    with pytest.raises(UnsupportedTableError, match=says):
        opened(name).find(["k0000"])


def answers(data: bytes) -> tuple[list[Entry], list[Entry]]:
    reader = HFileReader.open(memoryview(data), path="f")
    return entries_of(reader.find(["k0000", "k0100"])), entries_of(read_hfile(data, path="f"))


@pytest.mark.parametrize("name", ["hudi_gz", "hbase_gz_three_levels"])
@pytest.mark.parametrize("mask", [0x01, 0xFF])
@SAMPLED
def test_flipped_byte_changes_no_answer(name, mask, is_whole):
    expected = answers(octets(name))
    refused = 0
    every = 1 if is_whole else 4
    for position in sample(range(mask % 7, len(octets(name)), 7), f"{name} {mask}", every):
        damaged = bytearray(octets(name))
        damaged[position] ^= mask
        try:
            assert answers(bytes(damaged)) == expected, position
        except (HFileError, UnsupportedTableError):
            refused += 1
    assert refused > 500 // every  # the padding of the trailer means nothing


def test_checksums_detect_every_flipped_byte_of_a_block():
    whole = octets("hbase_none_crc32_three_levels")
    for position in range(
        0, opened("hbase_none_crc32_three_levels").trailer.load_on_open_offset, 9
    ):
        damaged = bytearray(whole)
        damaged[position] ^= 0x20
        with pytest.raises(HFileError):
            read_all_blocks(bytes(damaged))


def read_all_blocks(data: bytes) -> None:
    """Read the data blocks by walking, and the index blocks by searching."""
    keys = read_hfile(data, path="f").keys
    HFileReader.open(memoryview(data), path="f").find(keys)


@pytest.mark.parametrize("name", NAMES)
@SAMPLED
def test_search_in_a_damaged_file_ends_in_an_answer_or_a_named_error(name, is_whole):
    for position in sample(range(0, len(octets(name)) - 4000, 7), name, 1 if is_whole else 4):
        damaged = bytearray(octets(name))
        damaged[position] ^= 0x80
        with suppress(HFileError, UnsupportedTableError):
            HFileReader.open(memoryview(bytes(damaged)), path="f").find(["k0300"])


@pytest.mark.parametrize("name", ["hudi_gz", "hbase_gz_three_levels"])
def test_cut_file_is_refused(name):
    for size in range(len(octets(name))):
        with pytest.raises(HFileError):
            answers(octets(name)[:size])


def test_file_that_turns_out_shorter_is_refused():
    class Shrunk(CountedSource):
        def __getitem__(self, span: slice, /) -> memoryview:
            return super().__getitem__(span)[:-1]

    with pytest.raises(HFileError, match="expected 9141 bytes of the HFile, found 9140"):
        opened("hudi_gz", Shrunk(octets("hudi_gz")))


def test_inflated_size_that_gzip_cannot_reach_is_refused_before_inflating():
    data_block = block(b"DATABLK*", ENTRY_BYTES, GZIP, size=(1 << 31) - 1)
    with pytest.raises(HFileError, match=r"bytes of gzip cannot inflate to 2147483647"):
        read_hfile(hfile([data_block], entry_count=3, codec=GZIP), path="f")


def test_no_more_is_inflated_than_the_header_says():
    data_block = block(b"DATABLK*", bytes(50 << 20), GZIP, size=100)
    with pytest.raises(HFileError, match="expected 100 bytes in the HFile block, found 101"):
        read_hfile(hfile([data_block], entry_count=3, codec=GZIP), path="f")


@pytest.mark.parametrize(
    "stream",
    [
        pytest.param(gzip.compress(ENTRY_BYTES)[:-4], id="cut"),
        pytest.param(gzip.compress(ENTRY_BYTES) + b"more", id="more-after-it"),
    ],
)
def test_gzip_stream_must_fill_its_block(stream):
    whole = block(b"DATABLK*", stream)
    data_block = whole[:12] + struct.pack(">i", len(ENTRY_BYTES)) + whole[16:]
    with pytest.raises(HFileError, match="the stream and the block end apart"):
        read_hfile(hfile([data_block], entry_count=3, codec=GZIP), path="f")


def test_checksums_of_a_large_block_are_one_for_each_piece():
    value = bytes(range(256)) * 200
    data = block(b"DATABLK*", entry(b"key", value), checksum_type=1)
    whole = hfile([data], entry_count=1)
    assert entries_of(read_hfile(whole, path="f")) == [(b"key", value)]
    damaged = bytearray(whole)
    damaged[40_000] ^= 1
    with pytest.raises(HFileError, match="wrong checksum at its byte 32768"):
        read_hfile(bytes(damaged), path="f")


def test_many_small_blocks_give_the_same_entries_as_one_large_block():
    rows = [(b"%05d" % i, b"v" * (i % 7)) for i in range(3000)]
    sizes = [1, 2, 5, 30]
    blocks: list[bytes] = []
    start = 0
    while start < len(rows):
        size = sizes[len(blocks) % len(sizes)]
        content = b"".join(entry(*row) for row in rows[start : start + size])
        blocks.append(block(b"DATABLK*", content))
        start += size
    assert len(blocks) > 200
    assert entries_of(read_hfile(hfile(blocks, entry_count=3000), path="f")) == rows


@pytest.mark.parametrize(
    ("index", "problem"),
    [
        pytest.param([(b"b", 0, 100), (b"a", 0, 100)], "do not ascend", id="order"),
        pytest.param([(b"a", 0, 12)], "a block of 12 bytes", id="size"),
        pytest.param([(b"a", -5, 200)], "expected 200 bytes of the HFile", id="before"),
        pytest.param([(b"a", 1 << 40, 200)], "expected 200 bytes of the HFile", id="after"),
        pytest.param([(b"a", 0, 100), (b"b", 50, 100)], "overlapping blocks", id="overlap"),
        pytest.param([(b"a", 0, 2000)], "expected an HFile block of 2000 bytes", id="other-size"),
    ],
)
def test_index_that_contradicts_the_file_is_refused(index, problem):
    data = hfile([block(b"DATABLK*", ENTRY_BYTES)], entry_count=len(ENTRIES), index=index)
    with pytest.raises(HFileError, match=problem):
        HFileReader.open(memoryview(data), path="f").find(["a", "b"])
