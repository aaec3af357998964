"""Parse and write Thrift's compact protocol, in which Parquet files have their metadata."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, TypeAlias, Union

from hudi_pyspark.format.protobuf import decode_zigzag, parse_varint

ThriftValue: TypeAlias = Union[bool, int, float, bytes, "ThriftList", "ThriftStruct"]

_DOUBLE = struct.Struct("<d")
_LONG_LIST = 15  # from this many items on, the length follows the header
_DEEPEST = 32  # levels of nesting


class ThriftType(IntEnum):
    """The type of a value; the numbers are those of the format."""

    TRUE = 1
    FALSE = 2
    BYTE = 3
    I16 = 4
    I32 = 5
    I64 = 6
    DOUBLE = 7
    BINARY = 8
    LIST = 9
    SET = 10
    STRUCT = 12


_INTEGERS = (ThriftType.I16, ThriftType.I32, ThriftType.I64)
_BOOLEANS = (ThriftType.TRUE, ThriftType.FALSE)
_TYPES = {int(kind): kind for kind in ThriftType}


class ThriftError(ValueError):
    """Bytes are not a struct in the compact protocol, or a field is missing or of another type."""


@dataclass(frozen=True, slots=True)
class ThriftList:
    """Values of one type."""

    kind: ThriftType
    items: tuple[Any, ...]  # all of this kind


class ThriftStruct(dict[int, tuple[ThriftType, ThriftValue]]):
    """Fields with their types, by number, in order.

    Getters raise ThriftError if the field is missing or has another type.
    """

    def integer(self, number: int) -> int:
        """Return a field that is an integer, by its number."""
        return int(self._value(number, _INTEGERS, "an integer"))

    def list(self, number: int) -> ThriftList:
        """Return a field that is a list or a set, by its number."""
        value: ThriftList = self._value(number, (ThriftType.LIST, ThriftType.SET), "a list")
        return value

    def struct(self, number: int) -> ThriftStruct:
        """Return a field that is a struct, by its number.

        Raises:
            ThriftError: there is no such field, or it is not a struct.
        """
        value: ThriftStruct = self._value(number, (ThriftType.STRUCT,), "a struct")
        return value

    def structs(self, number: int) -> tuple[ThriftStruct, ...]:
        """Return the items of a field that is a list of structs, by its number."""
        structs = self.list(number)
        if structs.kind is not ThriftType.STRUCT:
            raise ThriftError(f"field {number} is not a list of structs")
        return structs.items

    def _value(self, number: int, kinds: tuple[ThriftType, ...], what: str) -> Any:  # noqa: ANN401
        kind, value = self.get(number, (None, None))
        if kind not in kinds:
            raise ThriftError(f"field {number} is not {what}")
        return value


def parse_struct(data: bytes | memoryview, offset: int = 0) -> tuple[ThriftStruct, int]:
    """Parse the struct at an offset; also return the offset after it.

    Raises:
        ThriftError: there is no struct at the offset, or it has more than 32 levels.
    """
    try:
        return _parse_struct(memoryview(data), offset, 0)
    except (LookupError, ValueError, struct.error) as error:
        raise ThriftError(f"no Thrift struct at byte {offset}: {error!r}") from error


def struct_bytes(fields: ThriftStruct) -> bytes:
    """Write a struct as `parse_struct` reads it."""
    out = bytearray()
    _write_struct(out, fields)
    return bytes(out)


def varint_bytes(value: int) -> bytes:
    """Write a number as `parse_varint` reads it."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _parse_struct(view: memoryview, offset: int, depth: int) -> tuple[ThriftStruct, int]:
    if depth > _DEEPEST:
        raise ThriftError(f"nested more than {_DEEPEST} deep")
    fields = ThriftStruct()
    number = 0
    while header := view[offset]:
        kind = _TYPES[header & 15]
        offset = offset + 1
        if header >> 4:
            number += header >> 4
        else:
            number, offset = _parse_integer(view, offset)
        value: ThriftValue = kind is ThriftType.TRUE  # booleans are their types
        if kind not in _BOOLEANS:
            value, offset = _parse_value(view, offset, kind, depth)
        fields[number] = kind, value
    return fields, offset + 1


def _parse_value(
    view: memoryview, offset: int, kind: ThriftType, depth: int
) -> tuple[ThriftValue, int]:
    if kind in _INTEGERS:
        return _parse_integer(view, offset)
    if kind is ThriftType.BINARY:
        size, begin = parse_varint(view, offset)
        if begin + size > len(view):
            raise ThriftError("the bytes are cut off")
        return bytes(view[begin : begin + size]), begin + size
    if kind is ThriftType.STRUCT:
        return _parse_struct(view, offset, depth + 1)
    if kind in (ThriftType.LIST, ThriftType.SET):
        if depth > _DEEPEST:
            raise ThriftError(f"nested more than {_DEEPEST} deep")
        of_items = _TYPES[view[offset] & 15]
        size = view[offset] >> 4
        offset += 1
        if size == _LONG_LIST:
            size, offset = parse_varint(view, offset)
        items = []
        for _ in range(size):
            item, offset = _parse_value(view, offset, of_items, depth + 1)
            items.append(item)
        return ThriftList(of_items, tuple(items)), offset
    if kind is ThriftType.DOUBLE:
        return _DOUBLE.unpack_from(view, offset)[0], offset + _DOUBLE.size
    return view[offset], offset + 1  # a byte, and a boolean within a list


def _parse_integer(view: memoryview, offset: int) -> tuple[int, int]:
    number, offset = parse_varint(view, offset)
    return decode_zigzag(number), offset


def _write_struct(out: bytearray, fields: ThriftStruct) -> None:
    last = 0
    for number in sorted(fields):
        kind, value = fields[number]
        if 0 < number - last < 16:
            out.append((number - last) << 4 | kind)
        else:
            out.append(kind)
            _write_integer(out, number)
        last = number
        if kind not in _BOOLEANS:
            _write_value(out, kind, value)
    out.append(0)


def _write_value(out: bytearray, kind: ThriftType, value: ThriftValue) -> None:
    match value:
        case ThriftList():
            size = len(value.items)
            out.append(min(size, _LONG_LIST) << 4 | value.kind)
            if size >= _LONG_LIST:
                out += varint_bytes(size)
            for item in value.items:
                _write_value(out, value.kind, item)
        case ThriftStruct():
            _write_struct(out, value)
        case bytes():
            out += varint_bytes(len(value))
            out += value
        case float():
            out += _DOUBLE.pack(value)
        case int() if kind in _INTEGERS:
            _write_integer(out, value)
        case int():
            out.append(value)


def _write_integer(out: bytearray, value: int) -> None:
    out += varint_bytes(value << 1 if value >= 0 else ~(value << 1))
