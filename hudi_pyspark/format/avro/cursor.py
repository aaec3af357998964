"""Cursors over Avro bytes: one position per row, and readers that move all positions at once.

Only `nested.walk` steps over a single value in plain Python, if there are too few lists to pay for
a numpy call.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudi_pyspark.arrow_values import numbers_at_every_offset
from hudi_pyspark.cached_property import cached_property
from hudi_pyspark.errors import CorruptAvroError

if TYPE_CHECKING:
    from hudi_pyspark.format.avro.schema import AvroType

Int64s: TypeAlias = npt.NDArray[np.int64]
UInt64s: TypeAlias = npt.NDArray[np.uint64]
Flags: TypeAlias = npt.NDArray[np.bool_]

PADDING: Final = 16  # bytes after the last record that a gather of 8 bytes or a varint may read

_STOP_BITS: Final = np.uint64(0x8080808080808080)  # clear in the last byte of a varint
_GROUPS: Final = np.uint64(0x7F7F7F7F7F7F7F7F)
_ONES: Final = np.uint64(0x0101010101010101)
_ONE: Final = np.uint64(1)
_TOP_BYTE: Final = np.uint64(56)

# Each step joins neighbouring groups: 8 of 7 bits → 4 of 14 → 2 of 28 → 1 of 56. A step has the
# bytes of the longest varint that does not need it, the lower and upper groups, and the shift.
_JOINS: Final = (
    (1, np.uint64(0x007F007F007F007F), np.uint64(0x7F007F007F007F00), np.uint64(1)),
    (2, np.uint64(0x00003FFF00003FFF), np.uint64(0x3FFF00003FFF0000), np.uint64(2)),
    (4, np.uint64(0x000000000FFFFFFF), np.uint64(0x0FFFFFFF00000000), np.uint64(4)),
)


@dataclass(frozen=True, slots=True, eq=False)
class RecordBytes:
    """The bytes of records, also viewed as 2-byte and 8-byte words at every offset."""

    buffer: pa.Buffer  # the records and PADDING bytes; below 2 GiB, so offsets fit int32
    octets: npt.NDArray[np.uint8]
    pairs: npt.NDArray[np.uint16]  # pairs[i] = octets[i : i + 2], little-endian
    words: UInt64s  # words[i] = octets[i : i + 8], little-endian

    @classmethod
    def over(cls, buffer: pa.Buffer) -> RecordBytes:
        """View a buffer that has `PADDING` bytes after the last record."""
        octets = np.frombuffer(buffer, np.uint8)
        pairs = numbers_at_every_offset(buffer, "<u2")
        words = numbers_at_every_offset(buffer, "<u8")
        return cls(buffer, octets, pairs, words)


@dataclass(slots=True, eq=False)
class Cursor:
    """Where each row's next value begins; ``position <= end`` always holds.

    Position arrays are replaced and never changed in place, so callers may keep them.
    """

    source: RecordBytes  # the bytes that positions refer to
    position: Int64s  # byte offset of the row's next value
    end: Int64s  # byte offset after the record that the row belongs to
    record: Int64s  # ordinal of that record, for errors

    def __len__(self) -> int:
        return len(self.position)

    def select(self, rows: Int64s) -> Cursor:
        """Return a cursor over some of the rows; `resume` copies its positions back."""
        return Cursor(self.source, self.position[rows], self.end[rows], self.record[rows])

    def resume(self, rows: Int64s, selected: Cursor) -> None:
        """Continue some rows at the bytes at which a cursor over them stopped."""
        position = self.position.copy()
        position[rows] = selected.position
        self.position = position

    def refuse(self, bad: Flags, field: str, problem: str, values: Int64s | None = None) -> None:
        """Raise an error if a row is flagged.

        Raises:
            CorruptAvroError: for the first flagged row, with its record, the field, the problem,
                and its entry of ``values`` if they are given.
        """
        if not bad.any():
            return
        row = int(bad.argmax())
        text = problem if values is None else f"{problem}, found {values[row]}"
        raise CorruptAvroError(text, int(self.record[row]), field)

    def advance(self, width: Int64s | int, field: str) -> Int64s:
        """Move past ``width`` bytes per row, and return where they begin.

        Raises:
            CorruptAvroError: a record has fewer bytes left.
        """
        begin = self.position
        widths = np.asarray(width, np.int64)
        remaining = self.end - begin
        # As unsigned numbers, negative widths exceed everything that can remain.
        bad = widths.view(np.uint64) > remaining.view(np.uint64)
        if bad.any():
            row = int(bad.argmax())
            self.refuse(bad, field, _room(remaining[row]), np.broadcast_to(widths, begin.shape))
        self.position = begin + width
        return begin

    def skip_ordinal(self, ordinal: int, width: int = 0) -> bool:
        """Move past an ordinal and ``width`` bytes if all rows have this ordinal, else stay."""
        if (self.source.octets[self.position] != 2 * ordinal).any():
            return False
        return self._jump(self.position + (1 + width))

    def skip_short_texts(self, ordinal: int) -> bool:
        """Move past an ordinal and a text of up to 63 bytes if all rows have both, else stay."""
        # The second byte is twice the length: without the bits of the sign and of a longer number.
        pairs = self.source.pairs[self.position]
        if ((pairs & 0x81FF) != 2 * ordinal).any():
            return False
        return self._jump(self.position + (2 + (pairs >> 9)))

    def _jump(self, position: Int64s) -> bool:
        if is_inside := not (position > self.end).any():
            self.position = position
        return is_inside

    def read_varints(self, field: str) -> Int64s:
        """Read the next zig-zag number of each row."""
        begin = self.position
        self.refuse(begin >= self.end, field, "the record ends where a number should begin")
        first = self.source.octets[begin]
        if not len(first) or first.max() < 0x80:
            self.position = begin + 1
            return ((first >> 1) ^ -(first & 1)).view(np.int8).astype(np.int64)
        number, width = self._long_varints(field)
        self.advance(width, field)
        return ((number >> _ONE) ^ -(number & _ONE)).view(np.int64)

    def _long_varints(self, field: str) -> tuple[UInt64s, Int64s]:
        """Return the unsigned numbers and how many bytes they take, without moving."""
        number = self.source.words[self.position]
        stop = ~number & _STOP_BITS
        stop &= -stop  # only the lowest bit, which ends the number
        below = stop - _ONE  # all ones if none of the 8 bytes ends the number
        width = (((below & _ONES) * _ONES) >> _TOP_BYTE).view(np.int64)
        number &= below
        number &= _GROUPS
        longest = int(width.max())
        for enough, lower, upper, shift in _JOINS:
            if longest > enough:
                number = (number & lower) | ((number & upper) >> shift)
        endless = np.flatnonzero(stop == 0)
        if endless.size:
            self._add_last_bytes(number, width, endless, field)
        return number, width

    def _add_last_bytes(self, number: UInt64s, width: Int64s, rows: Int64s, field: str) -> None:
        """Complete in place the numbers that have a ninth and possibly a tenth byte."""
        begin = self.position[rows]
        ninth = self.source.octets[begin + 8].astype(np.uint64)
        tenth = np.where(ninth < 0x80, 0, self.source.octets[begin + 9]).astype(np.uint64)
        self.select(rows).refuse(tenth > 1, field, "a number has more than 64 bits")
        number[rows] |= ((ninth & np.uint64(0x7F)) << _TOP_BYTE) | (tenth << np.uint64(63))
        width[rows] = np.where(ninth < 0x80, 9, 10)


def _room(remaining: int) -> str:
    return f"expected at most {remaining} bytes, which is all that the record has left"


def walk_bytes(position: int, width: int, end: int, field: str) -> int:
    """Return the position after ``width`` bytes of a single value.

    Raises:
        CorruptAvroError: the record has fewer bytes left, or ``width`` is negative. The caller
            knows which record it is.
    """
    if not 0 <= width <= end - position:
        raise CorruptAvroError(f"{_room(end - position)}, found {width}", 0, field)
    return position + width


def walk_varint(octets: memoryview, position: int, end: int, field: str) -> tuple[int, int]:
    """Read a single zig-zag number; also return the position after it.

    Raises:
        CorruptAvroError: the record ends inside the number, or it has more than 64 bits. The caller
            knows which record it is.
    """
    if position < end and octets[position] < 0x80:  # most numbers have one byte
        octet = octets[position]
        return (octet >> 1) ^ -(octet & 1), position + 1
    number = shift = 0
    while position < end and shift < 70:
        octet = octets[position]
        position += 1
        number |= (octet & 0x7F) << shift
        if octet < 0x80:
            if number >> 64:
                break
            return (number >> 1) ^ -(number & 1), position
        shift += 7
    cut = position >= end and shift < 70 and not number >> 64
    problem = "the record ends inside a number" if cut else "a number has more than 64 bits"
    raise CorruptAvroError(problem, 0, field)


class ValueReader:  # not an ABC, whose isinstance would take most of the time of `nested.walk`
    """Decodes one Avro type for all rows of a cursor at once.

    ``field`` is its dotted name, ``least_width`` the fewest bytes of a value, ``fixed_width`` the
    bytes of each value, None if they differ.
    """

    def __init__(
        self, avro: AvroType, field: str, *, fixed_width: int | None = None, least_width: int = 1
    ) -> None:
        self.avro = avro
        self.field = field
        self.fixed_width = fixed_width
        self.least_width = least_width if fixed_width is None else fixed_width

    @cached_property
    def arrow(self) -> pa.DataType:
        """The type of the arrays that `read` returns; types that are only skipped need none."""
        return self.avro.arrow_type(self.field)

    @abstractmethod
    def read(self, cursor: Cursor) -> pa.Array:
        """Decode the next value of each row, and move the cursor past it.

        Raises:
            CorruptAvroError: a value is not of the type, or ends after its record.
        """

    @abstractmethod
    def skip(self, cursor: Cursor) -> None:
        """Move the cursor past the next value of each row.

        Raises:
            CorruptAvroError: a value is not of the type, or ends after its record.
        """


class BytesReader(ValueReader):
    """Base of the types whose values are a length and as many bytes."""

    @abstractmethod
    def cut(self, cursor: Cursor, begin: Int64s) -> pa.Array:
        """Return each row's value, whose bytes begin at ``begin`` and end at the cursor.

        Raises:
            CorruptAvroError: a value is not of the type.
        """


class OrdinalReader(ValueReader):
    """Base of the types whose values begin with the ordinal of one of several choices."""

    expected: str  # for errors
    choices: int

    def read_ordinals(self, cursor: Cursor) -> Int64s:
        """Read the next ordinal of each row."""
        ordinals = cursor.read_varints(self.field)
        # As unsigned numbers, negative ordinals are too large as well.
        bad = ordinals.view(np.uint64) >= np.uint64(self.choices)
        cursor.refuse(bad, self.field, self.expected, ordinals)
        return ordinals
