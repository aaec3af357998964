"""HFile (version 3) bytes → its keys, and where their values lie."""

from __future__ import annotations

import gzip
import struct
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hudi_pyspark.errors import UnsupportedTableError
from hudi_pyspark.format.protobuf import ProtobufError, parse_message, parse_varint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy.typing as npt

SCHEMA_INFO = "schema"  # key in the file info of the values' Avro schema
_TRAILER_SIZE = 4096
_TRAILER_MAGIC = b'TRABLK"$'
_MAJOR_VERSION = 3
_DATA_MAGIC = b"DATABLK*"
_ENCODED_DATA_MAGIC = b"DATABLKE"
_FILE_INFO_MAGIC = b"FILEINF2"
_FILE_INFO_PREFIX = b"PBUF"
# Blocks that may lie between data blocks, or between them and the root index: index levels below
# the root, meta blocks and HBase's Bloom filters. None of them holds entries.
_SKIPPED_MAGICS = frozenset(
    {b"IDXLEAF2", b"IDXINTE2", b"METABLKc", b"BLMFBLK2", b"BLMFMET2", b"DFBLMET2"}
)

# Magic; on-disk and uncompressed size, both without the header; offset of the previous block;
# checksum type; bytes per checksum; on-disk size with the header and without the checksums.
_BLOCK_HEADER = struct.Struct(">8siiqBii")
_ENTRY_LENGTHS = struct.Struct(">II")
_ENTRY_OVERHEAD = _ENTRY_LENGTHS.size + 1  # the two lengths before, one zero byte after
_ROW_OFFSET = _ENTRY_LENGTHS.size + 2  # the row's own length lies between
_KEY_OVERHEAD = 12  # 2 row length, 1 family length, 8 timestamp, 1 type
_INT = struct.Struct(">i")

_GZIP, _NO_COMPRESSION = 1, 2
_UNREADABLE_CODECS = {0: "lzo", 3: "snappy", 4: "lz4", 5: "bz2", 6: "zstd"}


class HFileError(ValueError):
    """Bytes that are not an HFile; `offset` counts from the start of the HFile."""

    def __init__(self, problem: str, offset: int) -> None:
        super().__init__(problem, offset)
        self.problem, self.offset = problem, offset

    def __str__(self) -> str:
        return f"at byte {self.offset}: {self.problem}"


@dataclass(frozen=True, slots=True, eq=False)  # arrays have no equality that is a bool
class HFile:
    """All entries of an HFile, in file order: ascending by key, as unsigned bytes."""

    keys: pa.BinaryArray  # rows of the HBase keys: the UTF-8 record keys of a Hudi table
    values_data: bytes  # holds the values, and other bytes between them
    value_starts: npt.NDArray[np.int64]  # value i is values_data[value_starts[i]:value_ends[i]]
    value_ends: npt.NDArray[np.int64]
    file_info: Mapping[str, bytes]  # "schema" is the Avro schema (JSON) of the values


def read_hfile(data: bytes | memoryview, *, path: str) -> HFile:
    """Read every entry of an HFile, as HBase's or Hudi's own writer made it.

    The data blocks are walked in file order. That needs no index, so it makes no difference how
    many levels the index has; the trailer's entry count proves that no entry is missed.

    Args:
        data: the whole HFile.
        path: of the file that holds it; used only in errors.

    Raises:
        HFileError: bytes that are not an HFile, or that contradict its trailer. Base files, log
            blocks and the bootstrap index are HFiles, so the caller knows which of them is corrupt.
        UnsupportedTableError: a compression codec or data block encoding that is not covered.

    Source: "HFile format" in the Apache HBase reference guide; checked by the HFile log blocks and
    the metadata tables of the golden tables.
    """
    source = _Source(memoryview(data).cast("B"), path)
    trailer = _parse_trailer(source)
    entries = b"".join(_data_blocks(source, trailer))
    starts = _entry_starts(entries, source)
    if len(starts) != trailer.entry_count:
        problem = f"expected {trailer.entry_count} entries in the HFile, found {len(starts)}"
        raise source.corrupt(problem, 0)
    octets = np.frombuffer(entries, np.uint8)
    key_lengths = _unsigned_at(octets, starts, ">u4")
    value_lengths = _unsigned_at(octets, starts + 4, ">u4")
    value_starts = starts + _ENTRY_LENGTHS.size + key_lengths
    return HFile(
        keys=_rows(octets, starts, key_lengths, source),
        values_data=entries,
        value_starts=value_starts,
        value_ends=value_starts + value_lengths,
        file_info=_parse_file_info(source, trailer),
    )


@dataclass(frozen=True, slots=True)
class _Source:
    """The bytes of an HFile or of a part of it, and where they are for errors."""

    view: memoryview
    path: str
    base: int = 0  # offset of the part in the HFile

    def corrupt(self, problem: str, offset: int) -> HFileError:
        return HFileError(problem, self.base + offset)


@dataclass(frozen=True, slots=True)
class _Trailer:
    file_info_offset: int
    load_on_open_offset: int  # of the root index: data blocks end before it
    first_data_block_offset: int
    entry_count: int
    codec: int


def _parse_trailer(source: _Source) -> _Trailer:
    start = len(source.view) - _TRAILER_SIZE
    if start < 0:
        problem = f"expected an HFile trailer of {_TRAILER_SIZE} bytes"
        raise source.corrupt(f"{problem}, found {len(source.view)} bytes in all", 0)
    found = bytes(source.view[start : start + len(_TRAILER_MAGIC)])
    if found != _TRAILER_MAGIC:
        raise source.corrupt(f"expected HFile trailer {_TRAILER_MAGIC!r}, found {found!r}", start)
    # The last four bytes: one of the minor version, three of the major version.
    major = _INT.unpack(source.view[-_INT.size :])[0] & 0xFFFFFF
    if major != _MAJOR_VERSION:
        raise source.corrupt(f"expected HFile version {_MAJOR_VERSION}, found {major}", start)
    fields = _parse_delimited(source, start + len(_TRAILER_MAGIC))
    numbers = {key: value for key, value in fields if isinstance(value, int)}
    return _Trailer(
        file_info_offset=numbers.get(1, 0),
        load_on_open_offset=numbers.get(2, 0),
        first_data_block_offset=numbers.get(9, 0),
        entry_count=numbers.get(7, 0),
        codec=numbers.get(12, _NO_COMPRESSION),
    )


def _data_blocks(source: _Source, trailer: _Trailer) -> Iterator[bytes]:
    """Yield the decompressed contents of the data blocks, in file order."""
    if trailer.entry_count == 0:
        return  # the offset of the first data block then means nothing
    offset = trailer.first_data_block_offset
    while offset < trailer.load_on_open_offset:
        magic, stored_size = _block_magic_and_size(source, offset)
        if magic == _DATA_MAGIC:
            yield _block_content(source, offset, trailer.codec)
        elif magic == _ENCODED_DATA_MAGIC:
            raise UnsupportedTableError(
                f"{source.path}: the HFile has encoded data blocks; only plain ones can be read"
            )
        elif magic not in _SKIPPED_MAGICS:
            raise source.corrupt(f"expected the magic of an HFile block, found {magic!r}", offset)
        offset += _BLOCK_HEADER.size + stored_size


def _block_magic_and_size(source: _Source, offset: int) -> tuple[bytes, int]:
    """Return the magic of a block, and how many bytes follow its header, checksums included."""
    if not 0 <= offset <= len(source.view) - _BLOCK_HEADER.size:
        raise source.corrupt("expected an HFile block, found the end of the HFile", offset)
    magic, stored_size, *_ = _BLOCK_HEADER.unpack_from(source.view, offset)
    if not 0 <= stored_size <= len(source.view) - offset - _BLOCK_HEADER.size:
        raise source.corrupt(f"HFile block of {stored_size} bytes does not fit", offset)
    return magic, stored_size


def _block_content(source: _Source, offset: int, codec: int) -> bytes:
    _, stored_size = _block_magic_and_size(source, offset)
    _, _, size, _, _, _, end = _BLOCK_HEADER.unpack_from(source.view, offset)
    # The checksums after the content are not verified: gzip has its own.
    if not _BLOCK_HEADER.size <= end <= _BLOCK_HEADER.size + stored_size:
        raise source.corrupt(f"HFile block content of {end} bytes does not fit", offset)
    stored = source.view[offset + _BLOCK_HEADER.size : offset + end]
    try:
        content = _decompress(stored, codec, source.path)
    except (OSError, EOFError, zlib.error) as error:
        raise source.corrupt(f"HFile block is not valid gzip: {error}", offset) from error
    if len(content) != size:
        problem = f"expected {size} bytes in the HFile block, found {len(content)}"
        raise source.corrupt(problem, offset)
    return content


def _decompress(stored: memoryview, codec: int, path: str) -> bytes:
    if codec == _GZIP:
        return gzip.decompress(stored)
    if codec == _NO_COMPRESSION:
        return bytes(stored)
    name = _UNREADABLE_CODECS.get(codec, str(codec))
    raise UnsupportedTableError(
        f"{path}: HFile compression codec {name!r} cannot be read; supported: gz, none"
    )


def _entry_starts(entries: bytes, source: _Source) -> npt.NDArray[np.int64]:
    """Return the offsets of the entries, which follow each other without gaps.

    Where an entry starts is known only once the lengths of the one before it are: such a chain
    cannot be followed in columns. So this loop does nothing else, and the rest is vectorised.
    """
    starts: list[int] = []
    lengths_at = _ENTRY_LENGTHS.unpack_from
    position = 0
    last = len(entries) - _ENTRY_OVERHEAD - _KEY_OVERHEAD
    while position <= last:
        starts.append(position)
        key_length, value_length = lengths_at(entries, position)
        position += _ENTRY_OVERHEAD + key_length + value_length
    if position != len(entries):
        problem = f"HFile entries end at {position} of {len(entries)} decompressed bytes"
        raise source.corrupt(problem, 0)
    return np.array(starts, np.int64)


def _rows(
    octets: npt.NDArray[np.uint8],
    starts: npt.NDArray[np.int64],
    key_lengths: npt.NDArray[np.int64],
    source: _Source,
) -> pa.BinaryArray:
    """Return the row part of each entry's key."""
    lengths = _unsigned_at(octets, starts + _ENTRY_LENGTHS.size, ">u2")
    wrong = np.flatnonzero(lengths + _KEY_OVERHEAD != key_lengths)
    if wrong.size:
        row = f"a row of {lengths[wrong[0]]} in a key of {key_lengths[wrong[0]]} bytes"
        raise source.corrupt(f"HFile entry {wrong[0]} has {row}: expected 12 bytes more", 0)
    row_starts = starts + _ROW_OFFSET
    # Rows never touch, so a running sum over their edges is 1 inside a row and 0 outside.
    edges = np.zeros(len(octets) + 1, np.int8)
    edges[row_starts] += 1
    edges[row_starts + lengths] -= 1
    inside = np.cumsum(edges[:-1], dtype=np.int8).view(np.bool_)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(octets[inside])]
    return pa.Array.from_buffers(pa.large_binary(), len(lengths), buffers).cast(pa.binary())


def _unsigned_at(
    octets: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], dtype: str
) -> npt.NDArray[np.int64]:
    """Return the unsigned integers at `offsets`."""
    width = np.dtype(dtype).itemsize
    gathered: npt.NDArray[np.unsignedinteger[Any]]
    gathered = octets[offsets[:, None] + np.arange(width)].view(dtype)[:, 0]
    return gathered.astype(np.int64)


def _parse_file_info(source: _Source, trailer: _Trailer) -> dict[str, bytes]:
    """Parse a block of pairs, each in field 1 of a message: field 1 its key, field 2 its value."""
    magic, _ = _block_magic_and_size(source, trailer.file_info_offset)
    if magic != _FILE_INFO_MAGIC:
        problem = f"expected HFile block {_FILE_INFO_MAGIC!r}, found {magic!r}"
        raise source.corrupt(problem, trailer.file_info_offset)
    content = _block_content(source, trailer.file_info_offset, trailer.codec)
    block = _Source(memoryview(content), source.path, source.base + trailer.file_info_offset)
    if not content.startswith(_FILE_INFO_PREFIX):
        problem = f"expected {_FILE_INFO_PREFIX!r}, found {content[:4]!r}"
        raise block.corrupt(problem, 0)
    pairs = _parse_delimited(block, len(_FILE_INFO_PREFIX))
    return dict(_parse_pair(block, pair) for key, pair in pairs if key == 1)


def _parse_pair(block: _Source, message: int | memoryview) -> tuple[str, bytes]:
    if isinstance(message, int):
        raise block.corrupt("expected a pair in the HFile's file info, found a number", 0)
    fields = dict(_parse_fields(_Source(message, block.path, block.base)))
    key, value = fields.get(1, b""), fields.get(2, b"")
    if isinstance(key, int) or isinstance(value, int):
        raise block.corrupt("expected bytes in the HFile's file info, found a number", 0)
    return bytes(key).decode("utf-8", "replace"), bytes(value)


def _parse_delimited(source: _Source, offset: int) -> list[tuple[int, int | memoryview]]:
    """Parse the fields of a protobuf message that follows its length, a varint."""
    with _protobuf_of(source):
        size, start = parse_varint(source.view, offset)
    if size > len(source.view) - start:
        raise source.corrupt(f"message of {size} bytes does not fit into the HFile", offset)
    message = _Source(source.view[start : start + size], source.path, source.base + start)
    return _parse_fields(message)


def _parse_fields(message: _Source) -> list[tuple[int, int | memoryview]]:
    with _protobuf_of(message):
        return list(parse_message(message.view))


@contextmanager
def _protobuf_of(source: _Source) -> Iterator[None]:
    try:
        yield
    except ProtobufError as error:
        raise source.corrupt(error.problem, error.offset) from error
