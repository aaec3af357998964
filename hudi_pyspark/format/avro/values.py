"""Readers of Avro types without parts: numbers, text, bytes, decimals, enums."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from hudi_pyspark.arrow_values import cut_values, is_ascii, uuid_texts
from hudi_pyspark.errors import CorruptAvroError
from hudi_pyspark.format.avro.cursor import (
    BytesReader,
    OrdinalReader,
    ValueReader,
)

if TYPE_CHECKING:
    from hudi_pyspark.format.avro.cursor import Cursor, Int64s
    from hudi_pyspark.format.avro.schema import AvroEnum, AvroFixed, AvroType

_MOST_SIGN_BYTES: Final = 1024  # before a decimal; each costs a pass over the column
_TOO_WIDE: Final = "a decimal has more than 128 bits"


class FixedWidthReader(ValueReader):
    """Base of the types whose values all take the same number of bytes."""

    fixed_width: int

    def skip(self, cursor: Cursor) -> None:
        cursor.advance(self.fixed_width, self.field)


class NullReader(FixedWidthReader):
    """null: no bytes at all."""

    def read(self, cursor: Cursor) -> pa.Array:
        return pa.nulls(len(cursor))


class BooleanReader(FixedWidthReader):
    """boolean: one byte, 0 or 1."""

    def read(self, cursor: Cursor) -> pa.Array:
        flags = cursor.source.octets[cursor.advance(1, self.field)]
        octets = flags.astype(np.int64)
        cursor.refuse(flags > 1, self.field, "expected a boolean (0 or 1)", octets)
        bits = np.packbits(flags, bitorder="little")
        return pa.Array.from_buffers(self.arrow, len(flags), [None, pa.py_buffer(bits)])


class FloatReader(FixedWidthReader):
    """float and double: IEEE 754, little-endian."""

    def read(self, cursor: Cursor) -> pa.Array:
        words = cursor.source.words[cursor.advance(self.fixed_width, self.field)]
        values = words if self.fixed_width == 8 else words.astype(np.uint32)
        return pa.Array.from_buffers(self.arrow, len(values), [None, pa.py_buffer(values)])


class FixedReader(FixedWidthReader):
    """fixed without a logical type: binary."""

    def read(self, cursor: Cursor) -> pa.Array:
        begin = cursor.advance(self.fixed_width, self.field)
        return cut_values(cursor.source.buffer, begin, cursor.position, self.arrow)


class FixedUuidReader(FixedWidthReader):
    """uuid on fixed(16): its usual text."""

    def read(self, cursor: Cursor) -> pa.Array:
        begin = cursor.advance(self.fixed_width, self.field)
        return uuid_texts(cursor.source.octets[begin[:, None] + np.arange(16)])


class FixedDecimalReader(FixedWidthReader):
    """decimal on fixed: big-endian two's complement."""

    def read(self, cursor: Cursor) -> pa.Array:
        begin = cursor.advance(self.fixed_width, self.field)
        return _read_decimals(cursor, begin, np.full_like(begin, self.fixed_width), self)


class VarintReader(ValueReader):
    """int, long and the dates and times on them."""

    def __init__(self, avro: AvroType, field: str, *, bits: int) -> None:
        super().__init__(avro, field)
        self.bits = bits

    def read(self, cursor: Cursor) -> pa.Array:
        numbers = self._numbers(cursor)
        values = numbers if self.bits == 64 else numbers.astype(np.int32)
        return pa.Array.from_buffers(self.arrow, len(values), [None, pa.py_buffer(values)])

    def skip(self, cursor: Cursor) -> None:
        self._numbers(cursor)

    def _numbers(self, cursor: Cursor) -> Int64s:
        numbers = cursor.read_varints(self.field)
        if self.bits == 32:
            bad = numbers != numbers.astype(np.int32)
            cursor.refuse(bad, self.field, "expected a number of 32 bits", numbers)
        return numbers


class EnumReader(OrdinalReader):
    """enum: the ordinal of a symbol."""

    def __init__(self, avro: AvroEnum, field: str) -> None:
        super().__init__(avro, field)
        self.symbols = pa.array(avro.symbols, pa.string())
        self.choices = len(avro.symbols)
        self.expected = f"expected the ordinal of one of {self.choices} symbols"

    def read(self, cursor: Cursor) -> pa.Array:
        return self.symbols.take(pa.array(self.read_ordinals(cursor)))

    def skip(self, cursor: Cursor) -> None:
        self.read_ordinals(cursor)


class LengthPrefixedReader(BytesReader):
    """bytes and string: a length, then as many bytes."""

    def read(self, cursor: Cursor) -> pa.Array:
        return self.cut(cursor, cursor.advance(cursor.read_varints(self.field), self.field))

    def cut(self, cursor: Cursor, begin: Int64s) -> pa.Array:
        array = cut_values(cursor.source.buffer, begin, cursor.position, self.arrow)
        if pa.types.is_string(self.arrow) and not is_ascii(array):
            _validate(array, cursor, self.field, "the text is not valid UTF-8")
        return array

    def skip(self, cursor: Cursor) -> None:
        cursor.advance(cursor.read_varints(self.field), self.field)


class BytesDecimalReader(LengthPrefixedReader):
    """decimal on bytes: big-endian two's complement of any length."""

    def cut(self, cursor: Cursor, begin: Int64s) -> pa.Array:
        width = cursor.position - begin
        cursor.refuse(width == 0, self.field, "a decimal has no bytes")
        return _read_decimals(cursor, begin, width, self)


def _validate(array: pa.Array, cursor: Cursor, field: str, problem: str) -> None:
    """Check every value of an array; the error names the record of the first invalid value."""
    if not _is_valid(array):
        # The shortest invalid beginning of the array ends with the first invalid value.
        ends = range(1, len(array) + 1)
        bad = bisect_left(ends, True, key=lambda end: not _is_valid(array.slice(0, end)))  # noqa: FBT003
        raise CorruptAvroError(problem, int(cursor.record[bad]), field)


def _is_valid(array: pa.Array) -> bool:
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _read_decimals(cursor: Cursor, begin: Int64s, width: Int64s, reader: ValueReader) -> pa.Array:
    """Read big-endian two's complement numbers of 1 and more bytes as a reader's decimals."""
    begin = _drop_sign_bytes(cursor, begin, width, reader.field)
    width = np.minimum(width, 16)
    is_long = width > 8
    # The first 8 bytes; if a number is shorter, the shifts drop the bytes after it.
    first = cursor.source.words[begin].byteswap().view(np.int64)
    high = first >> np.where(is_long, 128 - 8 * width, 63)
    low = (first >> (64 - 8 * np.minimum(width, 8))).view(np.uint64)
    if is_long.any():
        last = cursor.source.words[begin + np.maximum(width, 8) - 8].byteswap()
        low = np.where(is_long, last, low)
    numbers = np.empty((len(low), 2), np.uint64)
    numbers[:, 0] = low
    numbers[:, 1] = high.view(np.uint64)
    data_type = reader.arrow
    array = pa.Array.from_buffers(data_type, len(low), [None, pa.py_buffer(numbers)])
    problem = f"a decimal has more than {data_type.precision} digits"
    if data_type.precision > 18:
        _validate(array, cursor, reader.field, problem)
        return array
    small = low.view(np.int64)
    limit = 10**data_type.precision
    has_more = (small >= limit) | (small <= -limit) | (high != small >> 63)
    cursor.refuse(has_more, reader.field, problem)
    return array


def _drop_sign_bytes(cursor: Cursor, begin: Int64s, width: Int64s, field: str) -> Int64s:
    """Return where each number's last 16 bytes begin; bytes before may only repeat its sign."""
    if not len(width):
        return begin
    extra = np.maximum(width - 16, 0)
    cursor.refuse(extra > _MOST_SIGN_BYTES, field, _TOO_WIDE)
    begin = begin + extra
    octets = cursor.source.octets
    sign = np.where(octets[begin] >= 0x80, 0xFF, 0)
    rows = np.flatnonzero(extra)
    for back in range(1, int(extra.max()) + 1):
        rows = rows[extra[rows] >= back]
        wrong = octets[begin[rows] - back] != sign[rows]
        cursor.select(rows).refuse(wrong, field, _TOO_WIDE)
    return begin


def fixed_reader(avro: AvroFixed, field: str) -> ValueReader:
    """Return the reader of a fixed type, by its logical type."""
    name = avro.logical.name if avro.logical else ""
    reader = {"uuid": FixedUuidReader, "decimal": FixedDecimalReader}.get(name, FixedReader)
    return reader(avro, field, fixed_width=avro.size)
