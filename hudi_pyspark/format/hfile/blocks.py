"""Blocks, the units in which an HFile is compressed and read: frame, check, inflate, and find them.

An index has the first key and the place of each block, in one level or in several.
"""

from __future__ import annotations

import operator
import re
import struct
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from hudi_pyspark.errors import UnsupportedTableError
from hudi_pyspark.format.bytes_source import BytesSource
from hudi_pyspark.format.hfile import HFileError

# Magic; stored and inflated size, both without the header; offset of the previous block; checksum
# type; bytes per checksum; stored size with the header and without the checksums.
_HEADER = struct.Struct(">8siiqBii")
HEADER_SIZE = _HEADER.size

DATA_MAGIC = b"DATABLK*"
ROOT_INDEX_MAGIC = b"IDXROOT2"
FILE_INFO_MAGIC = b"FILEINF2"
_ENCODED_DATA_MAGIC = b"DATABLKE"
_ENCODINGS = {2: "PREFIX", 3: "DIFF", 4: "FAST_DIFF", 6: "PREFIX_TREE", 7: "ROW_INDEX_V1"}

GZIP, NO_COMPRESSION = 1, 2
_UNREADABLE_CODECS = {0: "lzo", 3: "snappy", 4: "lz4", 5: "bz2", 6: "zstd"}
_GZIP_WINDOW = 31  # zlib's code for a gzip header and trailer around the stream
_MOST_INFLATION = 1032  # bytes that one byte of deflate inflates to at most

_CHECKSUM_SIZE = 4
_NO_CHECKSUM, _CRC32, _CRC32C = 0, 1, 2
Place = tuple[int, int]  # offset and size of a block, its header and checksums included
_ENTRY = struct.Struct(">qi")  # a place
_COUNT = struct.Struct(">i")
_ROW_LENGTH = struct.Struct(">H")
_MIDDLE_KEY_SIZE = 16  # HBase appends that many bytes to the root of an index of several levels
# Hudi sorts the keys of some HFiles as Java sorts strings: by units of UTF-16, where U+E000 to
# U+FFFF come after everything above. In UTF-8 these characters begin with 0xEE or 0xEF, those above
# with 0xF0 to 0xF4, and these bytes occur only at the beginning of a character.
_AS_UTF16 = bytes.maketrans(b"\xee\xef", b"\xfe\xff")
_AMBIGUOUS = re.compile(rb"[\xee-\xff]")


@dataclass(frozen=True, slots=True)
class Block:
    """A block as it is stored; nothing is checked or inflated yet."""

    offset: int  # from the start of the HFile
    octets: memoryview  # from its header to the end of its checksums

    @classmethod
    def frame(cls, octets: memoryview, offset: int, magic: bytes, path: str) -> Block:
        """Cut out the block at the start of ``octets``.

        Args:
            octets: bytes of the HFile from the block on.
            offset: of the block in the HFile.
            magic: eight bytes, the expected kind of block.
            path: of the file, for errors.

        Raises:
            HFileError: the bytes end within the block, its size is negative, or it is another kind
                of block.
            UnsupportedTableError: it is a data block with encoded entries.
        """
        if len(octets) < HEADER_SIZE:
            raise HFileError("expected an HFile block, found the end of the HFile", offset)
        found, size, *_ = _HEADER.unpack_from(octets)
        if not 0 <= size <= len(octets) - HEADER_SIZE:
            raise HFileError(f"HFile block of {size} bytes does not fit", offset)
        block = cls(offset, octets[: HEADER_SIZE + size])
        if found == _ENCODED_DATA_MAGIC:
            code = int.from_bytes(block.octets[HEADER_SIZE : HEADER_SIZE + 2], "big")
            raise UnsupportedTableError(
                f"{path}: the HFile has encoded data blocks ({_ENCODINGS.get(code, code)}); "
                "only plain ones can be read"
            )
        if found != magic:
            raise block.corrupt(f"expected HFile block {magic!r}, found {found!r}")
        return block

    @property
    def content_size(self) -> int:
        """Bytes of the inflated content, according to the header."""
        return int(_HEADER.unpack_from(self.octets)[2])

    def content(self, codec: int, path: str) -> bytes | memoryview:
        """Verify the checksums and inflate the content.

        Raises:
            HFileError: a checksum is wrong, the stream is not valid, or its size differs from that
                in the header.
            UnsupportedTableError: the codec is neither gz nor none.
        """
        _, _, size, _, checksum_type, per_checksum, end = _HEADER.unpack_from(self.octets)
        if not HEADER_SIZE <= end <= len(self.octets):
            raise self.corrupt(f"HFile block content of {end} bytes does not fit")
        self._verify(checksum_type, per_checksum, end)
        compressed = self.octets[HEADER_SIZE:end]
        if codec == NO_COMPRESSION:
            content: bytes | memoryview = compressed
        elif codec == GZIP:
            content = self._inflate(compressed, size)
        else:
            name = _UNREADABLE_CODECS.get(codec, str(codec))
            raise UnsupportedTableError(
                f"{path}: HFile compression codec {name!r} cannot be read; supported: gz, none"
            )
        if len(content) != size:
            raise self.corrupt(f"expected {size} bytes in the HFile block, found {len(content)}")
        return content

    def corrupt(self, problem: str) -> HFileError:
        """Return the error for a problem in this block."""
        return HFileError(problem, self.offset)

    def _verify(self, kind: int, per_checksum: int, end: int) -> None:
        """Compare the checksums after the content: one per piece of the block, header included.

        CRC32C is not compared, since Python lacks it; gzip streams have a CRC-32 of their own.
        """
        if kind == _NO_CHECKSUM:
            return  # Hudi's own writer leaves zeros in their place
        # HBase does not write pieces that are smaller than the header.
        if kind not in (_CRC32, _CRC32C) or per_checksum < HEADER_SIZE:
            problem = f"HFile checksums of type {kind}, of {per_checksum} bytes each"
            raise self.corrupt(f"{problem}: expected NULL, CRC32 or CRC32C")
        pieces = range(0, end, per_checksum)
        if len(self.octets) - end != len(pieces) * _CHECKSUM_SIZE:
            problem = f"expected {len(pieces)} checksums after the HFile block"
            raise self.corrupt(f"{problem}, found {len(self.octets) - end} bytes")
        if kind == _CRC32C:
            return
        for index, start in enumerate(pieces):
            piece = self.octets[start : min(start + per_checksum, end)]
            expected = int.from_bytes(self.octets[end + 4 * index : end + 4 * index + 4], "big")
            if zlib.crc32(piece) != expected:
                raise self.corrupt(f"HFile block has a wrong checksum at its byte {start}")

    def _inflate(self, compressed: memoryview, size: int) -> bytes:
        if not 0 <= size <= len(compressed) * _MOST_INFLATION:
            raise self.corrupt(f"{len(compressed)} bytes of gzip cannot inflate to {size}")
        inflater = zlib.decompressobj(_GZIP_WINDOW)
        try:
            content = inflater.decompress(compressed, size + 1)
        except zlib.error as error:
            raise self.corrupt(f"HFile block is not valid gzip: {error}") from error
        if len(content) <= size and (not inflater.eof or inflater.unused_data):
            raise self.corrupt("HFile block is not valid gzip: the stream and the block end apart")
        return content


def read_range(source: BytesSource, offset: int, length: int) -> memoryview:
    """Read a range of an HFile.

    Raises:
        HFileError: the range is not within the file, or the source ends early.
    """
    size = len(source)
    if not (0 <= offset <= size and 0 <= length <= size - offset):
        problem = f"expected {length} bytes of the HFile of {size}"
        raise HFileError(problem, max(0, min(offset, size)))
    octets = source[offset : offset + length]
    if len(octets) != length:
        raise HFileError(f"expected {length} bytes of the HFile, found {len(octets)}", offset)
    return octets


@dataclass(frozen=True, slots=True)
class BlockIndex:
    """Blocks in file order, and a lower bound of the keys of each.

    A bound need not be the key of an entry. Blocks that share a key have the same bound.
    """

    keys: list[bytes]
    places: list[Place]
    _as_utf16: list[bytes]  # the keys with bytes that compare like units of UTF-16
    _is_byte_sorted: bool
    _is_utf16_sorted: bool

    @classmethod
    def of(cls, keys: list[bytes], places: list[Place], offset: int) -> BlockIndex:
        """Build the index of blocks.

        Args:
            keys: the lower bound of each block.
            places: of the blocks, in file order.
            offset: of the index in the HFile, for errors.

        Raises:
            HFileError: the keys ascend neither as bytes nor as Java's strings.
        """
        as_utf16 = [key.translate(_AS_UTF16) for key in keys]
        orders = [all(map(operator.le, each, each[1:])) for each in (keys, as_utf16)]
        if not any(orders):
            raise HFileError("the keys of an HFile index do not ascend", offset)
        return cls(keys, places, as_utf16, *orders)

    @classmethod
    def merge(cls, indexes: Sequence[BlockIndex], offset: int) -> BlockIndex:
        """Join indexes of consecutive blocks.

        Args:
            indexes: in file order, at least one.
            offset: of the indexes in the file, for errors.

        Raises:
            HFileError: the keys of the indexes together do not ascend.
        """
        if len(indexes) == 1:
            return indexes[0]
        keys = [key for index in indexes for key in index.keys]
        return cls.of(keys, [place for index in indexes for place in index.places], offset)

    def blocks_of_keys(self, keys: Sequence[bytes] | None) -> list[Place]:
        """Return the blocks that may have one of the keys, in file order; None for all keys.

        The keys may come in any order. Writers sort keys by bytes or by UTF-16. The two orders
        differ only for keys with characters from U+E000 on; such keys are looked up in each order
        that the index is sorted by.
        """
        if keys is None:
            return self.places
        touched: set[int] = set()
        if self._is_byte_sorted:
            touched.update(_touched(self.keys, sorted(keys)))
            keys = list(filter(_AMBIGUOUS.search, keys))
        if self._is_utf16_sorted and keys:
            as_utf16 = sorted(key.translate(_AS_UTF16) for key in keys)
            touched.update(_touched(self._as_utf16, as_utf16))
        return [self.places[i] for i in sorted(touched)]

    def blocks_of_prefixes(self, prefixes: Sequence[bytes]) -> list[Place]:
        """Return the blocks that may have a key that begins with one of some bytes, in file order.

        Keys may go on with any character, so they are looked up in each order that the index is
        sorted by.
        """
        touched: set[int] = set()
        for prefix in prefixes:
            if self._is_byte_sorted:
                touched.update(_touched_by_prefix(self.keys, prefix))
            if self._is_utf16_sorted:
                touched.update(_touched_by_prefix(self._as_utf16, prefix.translate(_AS_UTF16)))
        return [self.places[i] for i in sorted(touched)]


def parse_root_index(
    content: bytes | memoryview, count: int, offset: int
) -> tuple[list[bytes], list[Place]]:
    """Parse the keys and places of a root or meta index.

    Args:
        content: of the index block, inflated.
        count: of entries, according to the trailer.
        offset: of the block in the HFile, for errors.

    Returns:
        HBase keys, whose rows `row_of` extracts, and the places of their blocks.

    Raises:
        HFileError: there are not ``count`` entries, or bytes remain after them.
    """
    if not count:  # hudi-rs lists the empty block of a file without records but does not count it
        return [], []
    keys: list[bytes] = []
    places: list[Place] = []
    position = 0
    while len(keys) < count and position + _ENTRY.size < len(content):
        place = _ENTRY.unpack_from(content, position)
        length, start = _parse_vint(content, position + _ENTRY.size)
        position = start + length
        if length < 0 or position > len(content):
            break
        keys.append(bytes(content[start:position]))
        places.append(place)
    if len(keys) != count or len(content) - position not in (0, _MIDDLE_KEY_SIZE):
        problem = f"expected {count} entries in the HFile index, found {len(keys)}"
        raise HFileError(f"{problem} in {position} of {len(content)} bytes", offset)
    return keys, places


def parse_lower_index(content: bytes | memoryview, offset: int) -> BlockIndex:
    """Parse an intermediate or leaf index: the entry count, the edges of the entries, the entries.

    Args:
        content: of the index block, inflated.
        offset: of the block in the HFile, for errors.

    Raises:
        HFileError: the entries overlap, do not fill the index, or their keys do not ascend.
    """
    count = _COUNT.unpack_from(content)[0] if len(content) >= _COUNT.size else -1
    base = _COUNT.size * (count + 2)  # after the count and one place more than there are entries
    if not count > 0 or base > len(content):
        raise HFileError(f"HFile index of {count} entries does not fit", offset)
    edges = struct.unpack_from(f">{count + 1}i", content, _COUNT.size)
    if edges[0] or edges[-1] != len(content) - base:
        raise HFileError("the entries of an HFile index do not fill it", offset)
    keys = []
    places = []
    for start, end in pairwise(edges):
        if not start + _ENTRY.size <= end <= edges[-1]:
            raise HFileError("the entries of an HFile index overlap", offset)
        places.append(_ENTRY.unpack_from(content, base + start))
        keys.append(row_of(bytes(content[base + start + _ENTRY.size : base + end]), offset))
    return BlockIndex.of(keys, places, offset)


def _touched(bounds: list[bytes], keys: list[bytes]) -> list[int]:
    """Return the ordinals of the blocks that may have one of the keys; the keys ascend.

    A block may have keys from its own bound to the bound of the next block, both included. Each
    round adds the blocks of one key and skips the keys that need no further block.
    """
    touched: list[int] = []
    covered = 0
    i = 0
    while i < len(keys):
        end = bisect_right(bounds, keys[i])
        touched.extend(range(max(bisect_left(bounds, keys[i]) - 1, covered), end))
        covered = max(covered, end)
        i = len(keys) if covered == len(bounds) else bisect_left(keys, bounds[covered], i + 1)
    return touched


def _touched_by_prefix(bounds: list[bytes], prefix: bytes) -> range:
    """Return the ordinals of the blocks that may have a key that begins with a prefix."""
    beyond = prefix + b"\xff\xff"  # no text goes on with these bytes
    return range(max(bisect_left(bounds, prefix) - 1, 0), bisect_right(bounds, beyond))


def row_of(key: bytes, offset: int) -> bytes:
    """Extract the row of an HBase key: it follows its length, and HBase writes more after it.

    Args:
        key: of an index entry.
        offset: of the index in the HFile, for errors.

    Raises:
        HFileError: the key is shorter than its row.
    """
    end = _ROW_LENGTH.size + (_ROW_LENGTH.unpack_from(key)[0] if len(key) > 1 else len(key))
    if end > len(key):
        raise HFileError(f"HFile index with a key of {len(key)} bytes that has no row", offset)
    return key[_ROW_LENGTH.size : end]


def _parse_vint(content: bytes | memoryview, position: int) -> tuple[int, int]:
    """Parse a number of Hadoop's WritableUtils, -1 if it is cut off; return it and its end."""
    first = content[position]
    if first <= 0x7F:
        return first, position + 1
    size = 0x90 - first  # 0x8F to 0x88: one to eight bytes follow, the highest first
    end = position + 1 + size
    if not 1 <= size <= 8 or end > len(content):
        return -1, position
    return int.from_bytes(content[position + 1 : end], "big"), end
