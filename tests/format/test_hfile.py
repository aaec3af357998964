import struct
from pathlib import Path

import pyarrow as pa
import pytest

from hudi_pyspark.errors import UnsupportedTableError
from hudi_pyspark.format.hfile import HFileError
from hudi_pyspark.format.hfile.reader import read_hfile
from hudi_pyspark.format.log.log_block import frame_blocks
from tests.format.hfile_writer import (
    ENTRIES,
    ENTRY_BYTES,
    GZIP,
    NONE,
    block,
    entry,
    hfile,
    message,
    varint,
)

LOGS = Path(__file__).parents[1] / "golden" / "logs"
PATH = "f.hfile"


def entries_of(data):
    file = read_hfile(data, path=PATH)
    spans = zip(file.value_starts.tolist(), file.value_ends.tolist(), strict=True)
    values = [bytes(file.values_data[start:end]) for start, end in spans]
    return list(zip(file.keys.to_pylist(), values, strict=True))


def golden(name: str):
    (log_block,) = frame_blocks((LOGS / name).read_bytes(), path=name)
    return log_block


def test_keys_of_an_hfile_by_hbase_are_the_partitions_of_the_metadata_table():
    file = read_hfile(golden("v6_metadata_table_files.log").content, path=PATH)
    assert file.keys.to_pylist() == [b"__all_partitions__", b"amer", b"apac", b"emea"]


def test_values_of_an_hfile_by_hudi_are_found():
    file = read_hfile(golden("v9_mor_logblock_hfile.log").content, path=PATH)
    assert file.keys.to_pylist() == [b"k002"]
    value = file.values_data[file.value_starts[0] : file.value_ends[0]]
    assert value.startswith(b"\x02\x2220261121063022299\x02")  # _hoodie_commit_time


@pytest.mark.parametrize("name", ["v6_metadata_table_files.log", "v9_mor_logblock_hfile.log"])
def test_file_info_holds_the_schema_of_the_values(name):
    log_block = golden(name)
    file = read_hfile(log_block.content, path=PATH)
    assert file.file_info["schema"].decode() == log_block.schema_text
    assert file.file_info["KEY_VALUE_VERSION"] == b"\0\0\0\1"


@pytest.mark.parametrize(
    "codec",
    [
        pytest.param(GZIP, id="gz"),
        pytest.param(NONE, id="none"),
    ],
)
def test_entries_are_read_with_every_codec(codec):
    data = hfile([block(b"DATABLK*", ENTRY_BYTES, codec)], entry_count=3, codec=codec)
    assert entries_of(data) == ENTRIES
    assert read_hfile(data, path=PATH).file_info == {"schema": b"{}"}


def test_keys_may_lack_what_hbase_adds_to_the_row():
    # As in metadata tables by builds of Apache Hudi of 2025; one block after the other here.
    rows_alone = b"".join(entry(row, value, b"") for row, value in ENTRIES)
    assert entries_of(hfile([block(b"DATABLK*", rows_alone)], entry_count=3)) == ENTRIES
    both = hfile([DATA_BLOCK, block(b"DATABLK*", rows_alone)], entry_count=6)
    assert entries_of(both) == ENTRIES * 2
    with pytest.raises(HFileError, match="expected 2 or 12 bytes more"):
        entries_of(hfile([block(b"DATABLK*", entry(b"a", b"", b"?"))], entry_count=1))


def test_entries_of_all_data_blocks_come_in_file_order():
    blocks = [block(b"DATABLK*", entry(row, value), GZIP) for row, value in ENTRIES]
    assert entries_of(hfile(blocks, entry_count=3, codec=GZIP)) == ENTRIES


def test_lower_index_levels_and_other_blocks_between_data_blocks_are_passed_over():
    first, second, third = (block(b"DATABLK*", entry(row, value)) for row, value in ENTRIES)
    leaf, bloom = block(b"IDXLEAF2", b"leaf index"), block(b"BLMFBLK2", b"bloom filter")
    middle, meta = block(b"IDXINTE2", b"middle index"), block(b"METABLKc", b"bloom filter")
    data = hfile([first, leaf, bloom, second, third, leaf, meta, middle], entry_count=3)
    assert entries_of(data) == ENTRIES


def test_hfile_without_entries_has_no_keys():
    file = read_hfile(hfile([], entry_count=0), path=PATH)
    assert file.keys.to_pylist() == []
    assert file.keys.type == pa.binary()
    assert (len(file.value_starts), len(file.value_ends)) == (0, 0)


def test_index_without_entries_may_note_an_empty_block():
    """hudi-rs begins the indexes of a metadata table with such files."""
    data = hfile([block(b"DATABLK*", b"")], entry_count=0, index_count=0)
    assert read_hfile(data, path=PATH).keys.to_pylist() == []


def with_wrong_row_length() -> bytes:
    octets = bytearray(entry(b"row", b""))
    octets[9] = 2  # the low byte of the row length
    return block(b"DATABLK*", bytes(octets))


DATA_BLOCK = block(b"DATABLK*", ENTRY_BYTES)
WHOLE = hfile([DATA_BLOCK], entry_count=3)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        pytest.param(b"short", "^at byte 0: expected an HFile trailer of 4096 bytes", id="short"),
        pytest.param(bytes(5000), "^at byte 904: expected HFile trailer b'TRABLK", id="no-trailer"),
        pytest.param(
            hfile([], entry_count=0, version=2), "expected HFile version 3, found 2", id="version-2"
        ),
        pytest.param(
            hfile([DATA_BLOCK], entry_count=4),
            "^at byte 0: expected 4 entries in the HFile, found 3",
            id="entry-count",
        ),
        pytest.param(
            hfile([block(b"PAR1PAR1", b"")], entry_count=3, index=[(b"", 0, 37)]),
            "^at byte 0: expected HFile block b'DATABLK\\*', found b'PAR1PAR1'",
            id="unknown-block",
        ),
        pytest.param(
            hfile([block(b"DATABLK*", ENTRY_BYTES, size=7)], entry_count=3),
            f"expected 7 bytes in the HFile block, found {len(ENTRY_BYTES)}",
            id="decompressed-size",
        ),
        pytest.param(
            hfile([DATA_BLOCK], entry_count=3, codec=GZIP),
            "HFile block is not valid gzip",
            id="not-compressed",
        ),
        pytest.param(
            hfile([block(b"DATABLK*", ENTRY_BYTES[:-1])], entry_count=3),
            "HFile entries end at",
            id="cut-entry",
        ),
        pytest.param(
            hfile([with_wrong_row_length()], entry_count=1),
            "HFile entry 0 has a row of 2 in a key of 15 bytes",
            id="row-length",
        ),
        pytest.param(
            DATA_BLOCK[:8] + struct.pack(">i", 1 << 30) + WHOLE[12:],
            f"HFile block of {1 << 30} bytes does not fit",
            id="block-past-the-end",
        ),
        pytest.param(
            DATA_BLOCK[:29] + struct.pack(">i", 1 << 30) + WHOLE[33:],
            f"HFile block content of {1 << 30} bytes does not fit",
            id="content-past-the-block",
        ),
        pytest.param(
            WHOLE.replace(b"FILEINF2", b"IDXROOT2"),
            "expected HFile block b'FILEINF2', found b'IDXROOT2'",
            id="no-file-info",
        ),
        pytest.param(
            hfile([], entry_count=0, info=b"JSON{}"),
            "expected b'PBUF', found b'JSON'",
            id="file-info-without-prefix",
        ),
        pytest.param(
            hfile([], entry_count=0, info=b"PBUF" + varint(9)),
            "message of 9 bytes does not fit",
            id="file-info-cut",
        ),
        pytest.param(
            hfile([], entry_count=0, info=b"PBUF" + message({1: 5})),
            "expected a message in the HFile, found a number",
            id="file-info-number",
        ),
    ],
)
def test_bytes_that_contradict_the_format_are_refused(data, problem):
    with pytest.raises(HFileError, match=problem) as caught:
        read_hfile(data, path=PATH)
    assert 0 <= caught.value.offset <= len(data)


@pytest.mark.parametrize(("codec", "name"), [(0, "lzo"), (3, "snappy"), (6, "zstd"), (77, "77")])
def test_codec_that_is_not_covered_is_named(codec, name):
    trailer = WHOLE.replace(varint(12 << 3) + varint(NONE), varint(12 << 3) + varint(codec))
    with pytest.raises(
        UnsupportedTableError, match=f"codec '{name}' cannot be read; supported: gz, none"
    ):
        read_hfile(trailer, path=PATH)


def test_encoded_data_blocks_are_refused():
    data = hfile([block(b"DATABLKE", b"")], entry_count=1)
    with pytest.raises(UnsupportedTableError, match=r"f\.hfile: .* encoded data blocks"):
        read_hfile(data, path=PATH)
