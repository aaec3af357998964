"""Decode a handful of Avro records in plain Python, which takes less time than calls of numpy.

Only fields of usual types are decoded here. A damaged record is left to the readers of many
records, which say what is wrong: here any doubt ends the attempt.
"""

from array import array
from collections.abc import Callable, Sequence
from itertools import accumulate

import numpy as np
import pyarrow as pa

from hudi_pyspark.format.avro.cursor import Cursor

FEW_RECORDS = 16  # of 12 columns; from 27 such records on, numpy is faster
_MOST_SHIFT = 63  # of the last 7 bits of a number
_DECIMAL_BYTES = 16

# From the bytes of records and a position to the bytes of the next value in Arrow's layout, None
# for null, and the position after it. Whatever it raises means that the value is in doubt.
Parser = Callable[[bytes, int], tuple[bytes | None, int]]


def read_few(
    cursor: Cursor, fields: Sequence[tuple[Parser, pa.DataType | None]], *, is_whole: bool
) -> list[pa.Array] | None:
    """Decode the first fields of few records.

    Args:
        cursor: at the records; it stays there.
        fields: the parser of each, and the type of its array; None to skip the field.
        is_whole: whether a record ends after these fields.

    Returns:
        The arrays of the fields that are not skipped; None if a record is in doubt.
    """
    octets = cursor.source.octets.tobytes()
    columns: list[list[bytes | None]] = [[] for _ in fields]
    parts = [(parse, column.append) for (parse, _), column in zip(fields, columns, strict=True)]
    try:
        for begin, end in zip(cursor.position.tolist(), cursor.end.tolist(), strict=True):
            position = begin
            for parse, append in parts:
                value, position = parse(octets, position)
                append(value)
                if position > end:
                    return None
            if is_whole and position != end:
                return None
        types = (data_type for _, data_type in fields)
        return [_array(*part) for part in zip(types, columns, strict=True) if part[0] is not None]
    except (IndexError, ValueError, OverflowError):
        return None


def parse_optional(
    octets: bytes, position: int, *, parse: Parser, member: int, null: int
) -> tuple[bytes | None, int]:
    """Parse a value after the byte ``member``, or null, which is the byte ``null``."""
    if octets[position] == member:
        return parse(octets, position + 1)
    if octets[position] != null:
        raise ValueError
    return None, position + 1


def parse_integer(octets: bytes, position: int, *, width: int) -> tuple[bytes, int]:
    """Parse a zig-zag number to an integer of ``width`` bytes."""
    number, position = _number(octets, position)
    return number.to_bytes(width, "little", signed=True), position


def parse_decimal(
    octets: bytes, position: int, *, most: int, width: int | None
) -> tuple[bytes, int]:
    """Parse a decimal below ``most``: ``width`` bytes, or as many as a number before them says."""
    length = width
    if length is None:
        length, position = _number(octets, position)
    value = int.from_bytes(octets[position : position + length], "big", signed=True)
    if not (0 < length <= _DECIMAL_BYTES and -most < value < most):
        raise ValueError
    return value.to_bytes(_DECIMAL_BYTES, "little", signed=True), position + length


def parse_octets(octets: bytes, position: int) -> tuple[bytes, int]:
    """Parse a text or bytes: a length, then as many bytes."""
    length, position = _number(octets, position)
    if length < 0:
        raise ValueError
    return octets[position : position + length], position + length


def parse_fixed(octets: bytes, position: int, *, width: int) -> tuple[bytes, int]:
    """Parse a value that is stored as Arrow has it."""
    return octets[position : position + width], position + width


def _number(octets: bytes, position: int) -> tuple[int, int]:
    """Return a zig-zag number, which may have more than 64 bits, and the position after it."""
    octet = octets[position]
    number, shift = octet & 0x7F, 7
    while octet >= 0x80:
        if shift > _MOST_SHIFT:
            raise ValueError
        position += 1
        octet = octets[position]
        number |= (octet & 0x7F) << shift
        shift += 7
    return (number >> 1) ^ -(number & 1), position + 1


def _array(data_type: pa.DataType, column: Sequence[bytes | None]) -> pa.Array:
    """Return values in Arrow's layout as an array; ValueError if one is not of the type."""
    buffers: list[pa.Buffer | None] = [None]
    if None in column:
        is_valid = [value is not None for value in column]
        buffers = [pa.py_buffer(np.packbits(is_valid, bitorder="little"))]
    if pa.types.is_string(data_type) or pa.types.is_binary(data_type):
        parts = [value or b"" for value in column]
        data = b"".join(parts)
        if pa.types.is_string(data_type) and not data.isascii():
            for part in parts:
                part.decode()
        buffers.append(pa.py_buffer(array("i", accumulate(map(len, parts), initial=0))))
    else:
        no_value = bytes(max(1, data_type.bit_width // 8))
        data = b"".join([value or no_value for value in column])
    if pa.types.is_boolean(data_type):
        flags = np.frombuffer(data, np.uint8)
        if (flags > 1).any():
            raise ValueError
        data = np.packbits(flags, bitorder="little").tobytes()
    return pa.Array.from_buffers(data_type, len(column), [*buffers, pa.py_buffer(data)])
