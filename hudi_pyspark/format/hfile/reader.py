"""Read HFiles of version 3: all entries, or those of some keys."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.arrow_values import (
    Offsets,
    cut_values,
    numbers_at_every_offset,
    to_arrow,
    to_numpy,
)
from hudi_pyspark.errors import UnsupportedTableError
from hudi_pyspark.format.bytes_source import BytesSource
from hudi_pyspark.format.hfile import HFileError
from hudi_pyspark.format.hfile.blocks import (
    DATA_MAGIC,
    FILE_INFO_MAGIC,
    HEADER_SIZE,
    NO_COMPRESSION,
    ROOT_INDEX_MAGIC,
    Block,
    BlockIndex,
    Place,
    parse_lower_index,
    parse_root_index,
    read_range,
    row_of,
)
from hudi_pyspark.format.protobuf import ProtobufError, parse_message, parse_varint

Keys: TypeAlias = Iterable[bytes | str] | pa.Array | pa.ChunkedArray

SCHEMA_INFO = "schema"  # the key of the values' Avro schema in the file info
TRAILER_SIZE = 4096
_MAGIC = b'TRABLK"$'
_MAJOR_VERSION = 3
_FILE_INFO_PREFIX = b"PBUF"
_TAGS_INFO = "hfile.MAX_TAGS_LEN"  # only if entries have tags after their values

_Field = tuple[int, "int | memoryview"]
_LEAF_MAGIC = b"IDXLEAF2"
_INTERMEDIATE_MAGIC = b"IDXINTE2"
_TAIL = 64 << 10  # bytes read first: the trailer, and usually everything that it points to
_READ = 4 << 20  # most bytes of one read, unless a block is larger
_GAP = 256 << 10  # blocks with smaller gaps between them are read at once
_PART = 32 << 20  # inflated bytes that are decoded together
_LENGTHS = struct.Struct(">II")
_OVERHEAD = _LENGTHS.size + 1  # the two lengths before the key, one zero byte after the value
_ROW_OFFSET = _LENGTHS.size + 2  # the row's own length is between them
# A key is the row after its length (2 bytes). HBase and releases of Apache Hudi add the length of
# the family (1), a timestamp (8) and a type (1); development builds of 2025 did not.
_KEY_OVERHEADS = (2, 12)
_SMALLEST = _OVERHEAD + min(_KEY_OVERHEADS)


@dataclass(frozen=True, slots=True)
class Trailer:
    """Where the parts of an HFile are."""

    file_info_offset: int
    load_on_open_offset: int  # of the root index: data blocks end before it
    index_count: int  # entries of the root index
    entry_count: int
    index_levels: int
    codec: int


def _parse_trailer(octets: memoryview, offset: int, path: str) -> Trailer:
    """Parse the last 4,096 bytes of an HFile.

    Args:
        octets: the trailer.
        offset: of the trailer in the HFile, for errors.
        path: of the file, for errors.

    Raises:
        HFileError: the bytes are not a trailer of version 3.
        UnsupportedTableError: the file is encrypted.
    """
    magic = bytes(octets[: len(_MAGIC)])
    if magic != _MAGIC:
        raise HFileError(f"expected HFile trailer {_MAGIC!r}, found {magic!r}", offset)
    # The last four bytes: one of the minor version, three of the major version.
    major = int.from_bytes(octets[-3:], "big")
    if major != _MAJOR_VERSION:
        raise HFileError(f"expected HFile version {_MAJOR_VERSION}, found {major}", offset)
    fields = dict(_parse_fields(octets, offset, length_at=len(_MAGIC)))
    numbers = {key: value for key, value in fields.items() if isinstance(value, int)}
    if fields.get(13):
        raise UnsupportedTableError(f"{path}: the HFile is encrypted")
    return Trailer(
        file_info_offset=numbers.get(1, 0),
        load_on_open_offset=numbers.get(2, 0),
        index_count=numbers.get(5, 0),
        entry_count=numbers.get(7, 0),
        index_levels=numbers.get(8, 1),
        codec=numbers.get(12, NO_COMPRESSION),
    )


def parse_file_info(content: bytes | memoryview, offset: int, path: str) -> dict[str, bytes]:
    """Parse the pairs of a file info, each in field 1 of a protobuf message.

    Args:
        content: of the file info block, inflated.
        offset: of the block in the HFile, for errors.
        path: of the file, for errors.

    Raises:
        HFileError: the bytes are not such pairs.
        UnsupportedTableError: entries of the file have tags, which only HBase writes.
    """
    prefix = bytes(content[: len(_FILE_INFO_PREFIX)])
    if prefix != _FILE_INFO_PREFIX:
        raise HFileError(f"expected {_FILE_INFO_PREFIX!r}, found {prefix!r}", offset)
    info = {}
    pairs = _parse_fields(memoryview(content), offset, length_at=len(_FILE_INFO_PREFIX))
    for number, pair in pairs:
        if number == 1:
            fields = dict(_parse_fields(pair, offset))
            key, value = fields.get(1, b""), fields.get(2, b"")
            if isinstance(key, int) or isinstance(value, int):
                raise HFileError("expected bytes in the HFile's file info, found a number", offset)
            info[bytes(key).decode("utf-8", "replace")] = bytes(value)
    if _TAGS_INFO in info:
        raise UnsupportedTableError(f"{path}: the entries of the HFile have tags")
    return info


def _parse_fields(
    message: int | memoryview, offset: int, *, length_at: int | None = None
) -> list[_Field]:
    """Parse the fields of a protobuf message.

    Args:
        message: the message; or bytes that have it behind its length, a varint.
        offset: of the message in the HFile, for errors.
        length_at: where the length is; None for a message alone.
    """
    if isinstance(message, int):
        raise HFileError("expected a message in the HFile, found a number", offset)
    try:
        if length_at is not None:
            size, start = parse_varint(message, length_at)
            if size > len(message) - start:
                problem = f"message of {size} bytes does not fit into the HFile"
                raise HFileError(problem, offset + length_at)
            message = message[start : start + size]
        return list(parse_message(message))
    except ProtobufError as error:
        raise HFileError(error.problem, offset) from error


def read_hfile(data: bytes | memoryview, *, path: str) -> HFile:
    """Read every entry of an HFile in memory, written by HBase or by Hudi itself.

    Source: the reference guide of Apache HBase.

    Args:
        data: the whole HFile.
        path: of the file that has it, for UnsupportedTableError.

    Raises:
        HFileError: the bytes are not a readable HFile. The caller names the file: base files, log
            blocks and the bootstrap index are HFiles.
        UnsupportedTableError: it is encrypted, has tags or encoded blocks, or is compressed with
            anything but gz.
    """
    reader = HFileReader.open(memoryview(data), path=path)
    return _concat_hfiles(list(reader.entries(part_size=len(data) << 11)), reader.file_info)


@dataclass(frozen=True, slots=True, eq=False)
class HFileReader:
    """An HFile of which only the requested blocks are read.

    Methods raise HFileError if the bytes contradict the format, UnsupportedTableError for an
    unsupported compression or block encoding, and whatever OSError the source raises.
    """

    trailer: Trailer
    file_info: Mapping[str, bytes]  # "schema" is the Avro schema (JSON) of the values
    _source: BytesSource
    _path: str  # of the file that has it, for errors
    _root: BlockIndex
    _lower_indexes: dict[int, BlockIndex] = field(default_factory=dict)  # by offset; read once
    _samples: list[HFile] = field(default_factory=list)  # the first entry that was read

    @classmethod
    def open(cls, source: BytesSource, *, path: str) -> HFileReader:
        """Open an HFile: read its trailer, root index and file info with at most two reads.

        Args:
            source: the bytes of the HFile.
            path: of the file that has it, for errors.

        Raises:
            HFileError: the file is cut, or its trailer or index contradicts itself.
            UnsupportedTableError: it is encrypted, has tags, or is compressed with anything but gz.
        """
        trailer_at = len(source) - TRAILER_SIZE
        if trailer_at < 0:
            problem = f"expected an HFile trailer of {TRAILER_SIZE} bytes"
            raise HFileError(f"{problem}, found {len(source)} bytes in all", 0)
        tail_at = max(0, len(source) - _TAIL)
        tail = read_range(source, tail_at, len(source) - tail_at)
        trailer = _parse_trailer(tail[trailer_at - tail_at :], trailer_at, path)
        start = trailer.load_on_open_offset
        info_at = trailer.file_info_offset
        if not start <= info_at <= trailer_at:
            problem = f"expected the root index at {start}, the file info at {info_at}"
            raise HFileError(f"{problem} before the trailer at {trailer_at}", trailer_at)
        if start >= tail_at:
            octets = tail[start - tail_at : trailer_at - tail_at]
        else:
            octets = read_range(source, start, trailer_at - start)
        root_block = Block.frame(octets, start, ROOT_INDEX_MAGIC, path)
        root = root_block.content(trailer.codec, path)
        keys, places = parse_root_index(root, trailer.index_count, start)
        if bool(keys) != bool(trailer.entry_count):
            problem = f"expected {trailer.entry_count} entries in the HFile"
            raise HFileError(f"{problem}, found {len(keys)} in its root index", start)
        info_block = Block.frame(octets[info_at - start :], info_at, FILE_INFO_MAGIC, path)
        file_info = parse_file_info(info_block.content(trailer.codec, path), info_at, path)
        index = BlockIndex.of([row_of(key, start) for key in keys], places, start)
        return cls(trailer, file_info, source, path, index)

    def find(self, keys: Keys) -> HFile:
        """Read the entries of some keys, in file order; keys without an entry are ignored.

        Args:
            keys: UTF-8 texts or bytes, in any order.

        Raises:
            HFileError: a block cannot be decoded, or the file is shorter than its index says.
        """
        if not isinstance(keys, pa.Array | pa.ChunkedArray):
            keys = pa.array(keys, pa.binary())
        values = pc.drop_null(pc.unique(keys.cast(pa.binary())))
        values = values.take(pc.array_sort_indices(values))
        listed = values.to_pylist()
        return self._matching(
            self._data_places(lambda index: index.blocks_of_keys(listed)),
            lambda found: pc.is_in(found, value_set=values),
        )

    def find_prefixes(self, prefixes: Sequence[bytes]) -> HFile:
        """Read the entries whose keys begin with one of some bytes, in file order.

        Args:
            prefixes: a few, in any order.

        Raises:
            HFileError: as `find`.
        """

        def begins(keys: pa.BinaryArray) -> pa.BooleanArray:
            masks = [pc.starts_with(keys, pattern=prefix) for prefix in prefixes]
            return reduce(pc.or_, masks, pa.repeat(False, len(keys)))  # noqa: FBT003

        places = self._data_places(lambda index: index.blocks_of_prefixes(prefixes))
        return self._matching(places, begins)

    def first_keys(self) -> pa.BinaryArray:
        """Read the keys of the first block; none of a file without entries.

        Raises:
            HFileError: as `find`.
        """
        places = self._data_places(lambda index: index.blocks_of_keys(None))[:1]
        return self._matching(places, pc.is_valid).keys

    def sample(self) -> HFile:
        """Return an entry of a block that was read, else of the first; none of an empty file.

        Raises:
            HFileError: as `find`.
        """
        if not self._samples:
            self.first_keys()
        return self._samples[0] if self._samples else _concat_hfiles([], self.file_info)

    def _matching(
        self, places: Sequence[Place], matches: Callable[[pa.BinaryArray], pa.BooleanArray]
    ) -> HFile:
        """Read the entries of some data blocks whose keys match."""
        parts = self._decode(self._fetch(places, DATA_MAGIC), _PART)
        found = [part.filter(matches(part.keys)) for part in parts]
        return _concat_hfiles(found, self.file_info)

    def entries(self, part_size: int = _PART) -> Iterator[HFile]:
        """Yield all entries in parts of about ``part_size`` inflated bytes.

        Raises:
            HFileError: a block is corrupt, or the trailer has another number of entries. Earlier
                parts have been yielded by then.
        """
        entry_count = 0
        every_place = self._data_places(lambda index: index.blocks_of_keys(None))
        blocks = self._fetch(every_place, DATA_MAGIC)
        for part in self._decode(blocks, part_size):
            entry_count += len(part.keys)
            yield part
        expected = self.trailer.entry_count
        if entry_count != expected:
            raise HFileError(f"expected {expected} entries in the HFile, found {entry_count}", 0)

    def _data_places(self, choose: Callable[[BlockIndex], list[Place]]) -> list[Place]:
        """Return data blocks by the index, each level of which chooses its blocks."""
        places = choose(self._root)
        for level in range(self.trailer.index_levels - 1, 0, -1):
            if not places:
                break
            missing = [place for place in places if place[0] not in self._lower_indexes]
            for block in self._fetch(missing, _LEAF_MAGIC if level == 1 else _INTERMEDIATE_MAGIC):
                content = block.content(self.trailer.codec, self._path)
                self._lower_indexes[block.offset] = parse_lower_index(content, block.offset)
            indexes = [self._lower_indexes[offset] for offset, _ in places]
            places = choose(BlockIndex.merge(indexes, places[0][0]))
        return places

    def _fetch(self, places: Sequence[Place], magic: bytes) -> Iterator[Block]:
        """Read the blocks at ascending places; neighbouring blocks take one read."""
        for run in _runs(places):
            start = run[0][0]
            octets = read_range(self._source, start, run[-1][0] + run[-1][1] - start)
            for offset, size in run:
                stored = octets[offset - start : offset - start + size]
                block = Block.frame(stored, offset, magic, self._path)
                if len(block.octets) != size:
                    problem = f"expected an HFile block of {size} bytes, found {len(block.octets)}"
                    raise HFileError(problem, offset)
                yield block

    def _decode(self, blocks: Iterable[Block], part_size: int) -> Iterator[HFile]:
        """Decode data blocks in parts of about ``part_size`` inflated bytes."""
        contents: list[bytes | memoryview] = []
        offsets: list[int] = []
        size = 0
        for block in blocks:
            if contents and size + block.content_size > part_size:
                yield self._sampled(decode_entries(contents, offsets, self.file_info))
                contents = []
                offsets = []
                size = 0
            contents.append(block.content(self.trailer.codec, self._path))
            offsets.append(block.offset)
            size += len(contents[-1])
        if contents:
            yield self._sampled(decode_entries(contents, offsets, self.file_info))

    def _sampled(self, part: HFile) -> HFile:
        """Keep the first entry of the first part that is read."""
        if not self._samples and len(part.keys):
            self._samples.append(part.filter(to_arrow(np.arange(len(part.keys)) == 0)))
        return part


def _runs(places: Sequence[Place]) -> Iterator[list[Place]]:
    """Group ascending places of blocks that are read at once."""
    run: list[Place] = []
    for offset, size in places:
        if size < HEADER_SIZE:
            raise HFileError(f"HFile index has a block of {size} bytes", max(offset, 0))
        if run and (offset - sum(run[-1]) > _GAP or offset + size - run[0][0] > _READ):
            yield run
            run = []
        if run and offset < sum(run[-1]):
            raise HFileError("HFile index has overlapping blocks", offset)
        run.append((offset, size))
    if run:
        yield run


@dataclass(frozen=True, slots=True, eq=False)  # arrays have no equality that is a bool
class HFile:
    """Entries of an HFile in file order, which is ascending by key.

    Keys are sorted as unsigned bytes, or in some HFiles as Java sorts strings.
    """

    keys: pa.BinaryArray  # rows of the HBase keys: the UTF-8 record keys of a Hudi table
    values_data: bytes  # the values, and other bytes between them
    value_starts: Offsets  # value i is values_data[value_starts[i]:value_ends[i]]
    value_ends: Offsets
    file_info: Mapping[str, bytes]  # "schema" is the Avro schema (JSON) of the values

    def filter(self, mask: pa.BooleanArray) -> HFile:
        """Return the entries for which a mask is true, with only the bytes of their values."""
        rows = np.flatnonzero(to_numpy(mask))
        starts, ends = self.value_starts[rows], self.value_ends[rows]
        edges = np.append(0, np.cumsum(ends - starts))
        values = cut_values(pa.py_buffer(self.values_data), starts, ends, pa.large_binary())
        data = bytes(values.buffers()[2] or b"")
        return HFile(self.keys.take(to_arrow(rows)), data, edges[:-1], edges[1:], self.file_info)


def _concat_hfiles(parts: Sequence[HFile], file_info: Mapping[str, bytes]) -> HFile:
    """Concatenate parts of an HFile; ``file_info`` is used if there are none or several."""
    if len(parts) == 1:
        return parts[0]
    empty = np.empty(0, np.int64)
    bases = np.cumsum([0, *(len(part.values_data) for part in parts)])[:-1].tolist()
    pairs = list(zip(parts, bases, strict=True))
    return HFile(
        keys=pa.concat_arrays([pa.array([], pa.binary()), *(part.keys for part in parts)]),
        values_data=b"".join(part.values_data for part in parts),
        value_starts=np.concatenate([empty, *(part.value_starts + base for part, base in pairs)]),
        value_ends=np.concatenate([empty, *(part.value_ends + base for part, base in pairs)]),
        file_info=file_info,
    )


def decode_entries(
    contents: Sequence[bytes | memoryview], offsets: Sequence[int], file_info: Mapping[str, bytes]
) -> HFile:
    """Decode the entries of data blocks.

    Args:
        contents: of the blocks, inflated.
        offsets: of the blocks in the HFile, for errors.
        file_info: of the HFile.

    Raises:
        HFileError: the entries do not fill their block, or have keys of an unknown form.
    """
    data = b"".join(contents)
    blocks = _Blocks(np.cumsum([0, *map(len, contents)]), offsets)
    starts = _entry_starts(data, blocks)
    lengths = numbers_at_every_offset(data, ">u4")
    key_lengths = lengths[starts].astype(np.int64)
    value_starts = starts + _LENGTHS.size + key_lengths
    value_ends = value_starts + lengths[starts + 4]
    row_lengths = numbers_at_every_offset(data, ">u2")[starts + _LENGTHS.size].astype(np.int64)
    wrong = np.flatnonzero(~np.isin(key_lengths - row_lengths, _KEY_OVERHEADS))
    if wrong.size:
        row = f"a row of {row_lengths[wrong[0]]} in a key of {key_lengths[wrong[0]]} bytes"
        problem = f"HFile entry {wrong[0]} has {row}: expected 2 or 12 bytes more"
        raise blocks.corrupt(problem, starts[wrong[0]])
    marked = np.flatnonzero(np.frombuffer(data, np.uint8)[value_ends])
    if marked.size:
        problem = f"HFile entry {marked[0]} has a version mark after its value: expected none"
        raise blocks.corrupt(problem, starts[marked[0]])
    row_starts = starts + _ROW_OFFSET
    row_ends = row_starts + row_lengths
    keys = cut_values(pa.py_buffer(data), row_starts, row_ends, pa.large_binary())
    return HFile(keys.cast(pa.binary()), data, value_starts, value_ends, file_info)


@dataclass(frozen=True, slots=True, eq=False)
class _Blocks:
    """The data blocks that the entries are of."""

    edges: Offsets  # block i is [edges[i], edges[i + 1]) of the inflated bytes
    offsets: Sequence[int]  # of the blocks in the HFile

    def corrupt(self, problem: str, position: int) -> HFileError:
        block = int(np.searchsorted(self.edges, position, "right")) - 1
        return HFileError(problem, self.offsets[min(block, len(self.offsets) - 1)])


def _entry_starts(data: bytes, blocks: _Blocks) -> Offsets:
    """Return the offsets of the entries, which are consecutive in each block.

    An entry starts where the previous one ends, so this is a loop. It takes less than a tenth of
    the time that decoding the values takes.
    """
    starts: list[int] = []
    lengths_at = _LENGTHS.unpack_from
    for first, end in pairwise(blocks.edges.tolist()):
        position = first
        last = end - _SMALLEST
        while position <= last:
            starts.append(position)
            key_length, value_length = lengths_at(data, position)
            position += _OVERHEAD + key_length + value_length
        if position != end:
            problem = f"HFile entries end at {position - first} of {end - first} decompressed bytes"
            raise blocks.corrupt(problem, first)
    return np.array(starts, np.int64)
