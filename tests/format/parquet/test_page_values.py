"""Pages by hand: header, then definition levels and values, compressed by the standard library."""

import gzip
import struct
import zlib

import pytest

from hudi_pyspark.format.parquet.page_values import HEAD, TAIL, PageValues, page_values
from hudi_pyspark.format.parquet.thrift_compact import (
    ThriftStruct,
    ThriftType,
    struct_bytes,
    varint_bytes,
)

VALUES = b"".join(struct.pack("<i", 6) + f"{i * 7919 % 10**6:06d}".encode() for i in range(2_000))
ROWS = 2_000
SAME = PageValues(ROWS, len(VALUES), zlib.crc32(VALUES))


def levels(rows=ROWS, *, ones=True):
    run = varint_bytes(rows << 1) + bytes([ones])
    return struct.pack("<I", len(run)) + run


def page(content, *, kind=0, encoding=0, level_encoding=3, size=None, packed=None):
    packed = gzip.compress(content) if packed is None else packed
    i32 = ThriftType.I32
    data_page = {1: (i32, ROWS), 2: (i32, encoding), 3: (i32, level_encoding), 4: (i32, 4)}
    header = {
        1: (i32, kind),
        2: (i32, len(content) if size is None else size),
        3: (i32, len(packed)),
        5: (ThriftType.STRUCT, ThriftStruct(data_page)),
    }
    return struct_bytes(ThriftStruct(header)) + packed


def values_of(data, *, is_optional):
    return page_values(data[:HEAD], data[-TAIL:], len(data), is_optional=is_optional)


def test_values_are_the_same_with_and_without_levels():
    assert values_of(page(VALUES), is_optional=False) == SAME
    assert values_of(page(levels() + VALUES), is_optional=True) == SAME


def test_one_other_value_is_told():
    other = VALUES[:5_000] + bytes([VALUES[5_000] ^ 1]) + VALUES[5_001:]
    for found in (
        values_of(page(other), is_optional=False),
        values_of(page(levels() + other), is_optional=True),
    ):
        assert found is not None
        assert found != SAME


@pytest.mark.parametrize(
    ("data", "is_optional"),
    [
        (page(levels(ones=False) + VALUES), True),
        (page(levels(ROWS - 1) + VALUES), True),
        (page(b"\x03\x00\x00\x00\x03\xff\xff" + VALUES), True),  # packed bits, not a run
        (page(VALUES, kind=3), False),
        (page(VALUES, encoding=8), False),
        (page(levels() + VALUES, level_encoding=4), True),
        (page(VALUES, size=len(VALUES) + 1), False),
        (page(VALUES, packed=zlib.compress(VALUES)), False),
        (page(levels() + VALUES, packed=gzip.compress(levels() + VALUES)[:11] + b"?" * 90), True),
        (page(VALUES) + b"?", False),
        (b"?" * 100, False),
    ],
)
def test_other_pages_tell_nothing(data, is_optional):
    assert values_of(data, is_optional=is_optional) is None
