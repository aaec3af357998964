"""The trailer of an HFile, and its file info: what there is to know before any entry is read."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hudi_pyspark.errors import UnsupportedTableError
from hudi_pyspark.format.hfile.block import NO_COMPRESSION, HFileError
from hudi_pyspark.format.protobuf import ProtobufError, parse_message, parse_varint

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMA_INFO = "schema"  # key in the file info of the values' Avro schema
TRAILER_SIZE = 4096
_MAGIC = b'TRABLK"$'
_MAJOR_VERSION = 3
_FILE_INFO_PREFIX = b"PBUF"
_TAGS_INFO = "hfile.MAX_TAGS_LEN"  # only where entries have tags after their values

_Field = tuple[int, "int | memoryview"]


@dataclass(frozen=True, slots=True)
class Trailer:
    """Where the parts of an HFile are."""

    file_info_offset: int
    load_on_open_offset: int  # of the root index: data blocks end before it
    index_count: int  # entries of the root index
    meta_index_count: int
    entry_count: int
    index_levels: int
    first_data_block_offset: int
    codec: int


def parse_trailer(octets: memoryview, offset: int, path: str) -> Trailer:
    """Parse the last 4,096 bytes of an HFile; UnsupportedTableError if it is encrypted."""
    found = bytes(octets[: len(_MAGIC)])
    if found != _MAGIC:
        raise HFileError(f"expected HFile trailer {_MAGIC!r}, found {found!r}", offset)
    # The last four bytes: one of the minor version, three of the major version.
    major = int.from_bytes(octets[-3:], "big")
    if major != _MAJOR_VERSION:
        raise HFileError(f"expected HFile version {_MAJOR_VERSION}, found {major}", offset)
    fields = dict(_parse_delimited(octets, len(_MAGIC), offset))
    numbers = {key: value for key, value in fields.items() if isinstance(value, int)}
    if fields.get(13):
        raise UnsupportedTableError(f"{path}: the HFile is encrypted")
    return Trailer(
        file_info_offset=numbers.get(1, 0),
        load_on_open_offset=numbers.get(2, 0),
        index_count=numbers.get(5, 0),
        meta_index_count=numbers.get(6, 0),
        entry_count=numbers.get(7, 0),
        index_levels=numbers.get(8, 1),
        first_data_block_offset=numbers.get(9, 0),
        codec=numbers.get(12, NO_COMPRESSION),
    )


def parse_file_info(content: bytes | memoryview, offset: int, path: str) -> dict[str, bytes]:
    """Parse pairs, each in field 1 of a message; HBase alone writes tags, which are refused."""
    found = bytes(content[: len(_FILE_INFO_PREFIX)])
    if found != _FILE_INFO_PREFIX:
        raise HFileError(f"expected {_FILE_INFO_PREFIX!r}, found {found!r}", offset)
    pairs = _parse_delimited(memoryview(content), len(_FILE_INFO_PREFIX), offset)
    info = dict(_parse_pair(pair, offset) for key, pair in pairs if key == 1)
    if _TAGS_INFO in info:
        raise UnsupportedTableError(f"{path}: the entries of the HFile have tags")
    return info


def _parse_pair(message: int | memoryview, offset: int) -> tuple[str, bytes]:
    if isinstance(message, int):
        raise HFileError("expected a pair in the HFile's file info, found a number", offset)
    with _protobuf_at(offset):
        fields = dict(parse_message(message))
    key, value = fields.get(1, b""), fields.get(2, b"")
    if isinstance(key, int) or isinstance(value, int):
        raise HFileError("expected bytes in the HFile's file info, found a number", offset)
    return bytes(key).decode("utf-8", "replace"), bytes(value)


def _parse_delimited(octets: memoryview, position: int, offset: int) -> list[_Field]:
    """Parse the fields of a protobuf message that follows its length, a varint."""
    with _protobuf_at(offset):
        size, start = parse_varint(octets, position)
        if size > len(octets) - start:
            problem = f"message of {size} bytes does not fit into the HFile"
            raise HFileError(problem, offset + position)
        return list(parse_message(octets[start : start + size]))


@contextmanager
def _protobuf_at(offset: int) -> Iterator[None]:
    try:
        yield
    except ProtobufError as error:
        raise HFileError(error.problem, offset) from error
