"""Size and checksum of the values of a Parquet data page, without inflating it."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from functools import lru_cache

from hudi_pyspark.format.parquet.thrift_compact import ThriftError, parse_struct, varint_bytes

HEAD = 1024  # bytes: the header, and enough compressed bytes to inflate the levels
TAIL = 8
_GZIP = b"\x1f\x8b\x08"
_GZIP_WBITS = 31  # makes zlib expect the header of gzip
_TRAILER = struct.Struct("<II")  # CRC-32 and size of what was compressed
_LEVELS_SIZE = struct.Struct("<I")
# Of PageHeader and DataPageHeader
_TYPE, _SIZE, _COMPRESSED_SIZE, _DATA_PAGE = 1, 2, 3, 5
_ROWS, _ENCODING, _LEVEL_ENCODING = 1, 2, 3
_DATA_PAGE_V1, _PLAIN, _RLE = 0, 0, 3
_POLYNOMIAL = 0xEDB88320  # of gzip, its bits reversed
_ONE = 1 << 31  # the polynomial 1, in the same order of bits


@dataclass(frozen=True, slots=True)
class PageValues:
    """Size and checksum of a page's encoded values: where these are equal, the values are."""

    rows: int
    size: int  # bytes
    crc32: int


def page_values(head: bytes, tail: bytes, size: int, *, is_optional: bool) -> PageValues | None:
    """Describe the values of a data page (version 1, GZIP, PLAIN, no nulls); None for any other.

    GZIP keeps size and CRC-32 of the uncompressed bytes. Only the definition levels before the
    values are inflated, since a column that may have nulls has them and another has none.

    Args:
        head: the first `HEAD` bytes of the page, which begins with its header.
        tail: the last `TAIL` bytes.
        size: bytes of the page.
        is_optional: whether the column may have nulls; it is not nested or repeated.

    Returns:
        None for any other page.
    """
    try:
        header, begin = parse_struct(head)
        data_page = header.struct(_DATA_PAGE)
        rows, inflated = data_page.integer(_ROWS), header.integer(_SIZE)
        is_plain = (
            header.integer(_TYPE) == _DATA_PAGE_V1
            and begin + header.integer(_COMPRESSED_SIZE) == size
            and data_page.integer(_ENCODING) == _PLAIN
            and (not is_optional or data_page.integer(_LEVEL_ENCODING) == _RLE)
        )
    except ThriftError:
        return None
    if not is_plain or head[begin : begin + len(_GZIP)] != _GZIP:
        return None
    checksum, stored_size = _TRAILER.unpack(tail)
    levels = _levels_without_null(rows) if is_optional else b""
    if stored_size != inflated or not _begins_with(head[begin:], levels):
        return None
    rest = inflated - len(levels)
    return PageValues(rows, rest, crc32_without_prefix(checksum, levels, rest))


def _levels_without_null(rows: int) -> bytes:
    """Return the definition levels of values that are all present: one run of ones."""
    run = varint_bytes(rows << 1) + b"\x01"
    return _LEVELS_SIZE.pack(len(run)) + run


def _begins_with(compressed: bytes, prefix: bytes) -> bool:
    if not prefix:
        return True
    try:
        begin = zlib.decompressobj(_GZIP_WBITS).decompress(compressed, len(prefix))
    except zlib.error:
        return False
    return begin == prefix


def crc32_without_prefix(whole: int, prefix: bytes, rest_size: int) -> int:
    """Return the CRC-32 of the bytes that follow a prefix.

    The CRC of two parts is that of the first, multiplied by x to the power of the second's bits
    modulo the polynomial, plus that of the second.

    Args:
        whole: CRC-32 of the prefix and the rest.
        prefix: the first bytes.
        rest_size: bytes after the prefix.
    """
    return whole ^ _product(_power(8 * rest_size), zlib.crc32(prefix))


def _product(first: int, second: int) -> int:
    """Multiply two polynomials over the field of two elements, modulo the polynomial."""
    result = 0
    while first:
        if first & _ONE:
            result ^= second
        first = first << 1 & 0xFFFFFFFF
        second = second >> 1 ^ (_POLYNOMIAL if second & 1 else 0)
    return result


@lru_cache(maxsize=256)  # pages have the same few sizes again and again
def _power(bits: int) -> int:
    """Raise x to the power of a number of bits, modulo the polynomial."""
    result, square = _ONE, _ONE >> 1
    while bits:
        if bits & 1:
            result = _product(square, result)
        square = _product(square, square)
        bits >>= 1
    return result
