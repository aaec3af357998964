"""Writes HFiles, as Apache Hudi and Hadoop write them."""

import gzip
import struct
import zlib
from collections.abc import Sequence
from itertools import accumulate

GZIP, NONE = 1, 2


def varint(number: int) -> bytes:
    octets = b""
    while number > 0x7F:
        octets += bytes([number & 0x7F | 0x80])
        number >>= 7
    return octets + bytes([number])


def message(fields: dict[int, int | bytes]) -> bytes:
    octets = b""
    for number, value in fields.items():
        if isinstance(value, int):
            octets += varint(number << 3) + varint(value)
        else:
            octets += varint(number << 3 | 2) + varint(len(value)) + value
    return varint(len(octets)) + octets


def block(
    magic: bytes,
    content: bytes,
    codec: int = NONE,
    *,
    size: int | None = None,
    checksum_type: int = 0,
) -> bytes:
    """Checksums are of the type NULL, as Hudi's own writer leaves them, or CRC32."""
    stored = gzip.compress(content) if codec == GZIP else content
    checksum_count = -(-(33 + len(stored)) // 16384)
    header = struct.pack(
        ">8siiqBii",
        magic,
        len(stored) + 4 * checksum_count,
        len(content) if size is None else size,
        -1,
        checksum_type,
        16384,
        33 + len(stored),
    )
    summed = header + stored
    pieces = (summed[16384 * i : 16384 * (i + 1)] for i in range(checksum_count))
    checksum = zlib.crc32 if checksum_type else lambda _: 0
    return summed + b"".join(struct.pack(">I", checksum(piece)) for piece in pieces)


def counted(row: bytes) -> bytes:
    """A row after its length, after the length of both as Hadoop writes it."""
    key = struct.pack(">H", len(row)) + row
    length = bytes([len(key)]) if len(key) < 128 else b"\x8e" + struct.pack(">H", len(key))
    return length + key


OF_HBASE = b"\0" + b"\x7f" + b"\xff" * 7 + b"\4"  # family, timestamp, type


def entry(row: bytes, value: bytes, after_row: bytes = OF_HBASE) -> bytes:
    key = struct.pack(">H", len(row)) + row + after_row
    return struct.pack(">ii", len(key), len(value)) + key + value + b"\0"


def hfile(
    blocks: Sequence[bytes],
    *,
    entry_count: int,
    codec: int = NONE,
    info: bytes | None = None,
    index: Sequence[tuple[bytes, int, int]] | None = None,
    index_count: int | None = None,
    version: int = 3,
) -> bytes:
    pair = message({1: b"schema", 2: b"{}"})
    if info is None:
        info = b"PBUF" + message({1: pair[1:]})
    data = b"".join(blocks)
    if index is None:
        offsets = accumulate(map(len, blocks), initial=0)
        holders = [(b, o) for b, o in zip(blocks, offsets, strict=False) if b[:7] == b"DATABLK"]
        index = [(b"", o, len(b)) for b, o in holders]  # an empty row is a bound of every key
    entries = b"".join(struct.pack(">qi", o, size) + counted(key) for key, o, size in index)
    # The index of meta blocks, of which there are none, follows that of data blocks.
    root_index = block(b"IDXROOT2", entries, codec) + block(b"IDXROOT2", b"", codec)
    fields: dict[int, int | bytes] = {
        1: len(data) + len(root_index),
        2: len(data),
        5: len(index) if index_count is None else index_count,
        7: entry_count,
        8: 1,
        9: 0,
        11: b"org.apache.hudi.io.storage.HoodieHBaseKVComparator",
        12: codec,
    }
    trailer = (b'TRABLK"$' + message(fields)).ljust(4092, b"\0") + struct.pack(">I", version)
    return data + root_index + block(b"FILEINF2", info, codec) + trailer


ENTRIES = [(b"a", b"first"), (b"bb", b""), (b"\xc3\xa9", b"third")]
ENTRY_BYTES = b"".join(entry(row, value) for row, value in ENTRIES)
