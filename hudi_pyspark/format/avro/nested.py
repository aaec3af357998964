"""Readers of Avro types that have parts: records, unions, arrays and maps."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.arrow_values import to_arrow
from hudi_pyspark.errors import CorruptAvroError
from hudi_pyspark.format.avro.cursor import (
    BytesReader,
    Cursor,
    Int64s,
    OrdinalReader,
    ValueReader,
    walk_bytes,
    walk_varint,
)
from hudi_pyspark.format.avro.schema import AvroType, AvroUnion

# A numpy call costs as much as several dozen steps in plain Python. So items are searched in plain
# Python as soon as at most this many lists have items left.
FEW_LISTS = 48

_NO_ROOM = "a block has more items than the record has room for"
_WRONG_BLOCK_SIZE = "a block of items does not end where it says"


class RecordReader(ValueReader):
    """record: its fields one after another; also an entry of a map, a key and a value."""

    def __init__(self, avro: AvroType, field: str, parts: Sequence[ValueReader]) -> None:
        widths = [part.fixed_width for part in parts]
        least = sum(part.least_width for part in parts)
        fixed = None if None in widths else sum(width or 0 for width in widths)
        super().__init__(avro, field, fixed_width=fixed, least_width=least)
        self.parts = parts

    def read(self, cursor: Cursor) -> pa.Array:
        children = [part.read(cursor) for part in self.parts]
        return pa.Array.from_buffers(self.arrow, len(cursor), [None], children=children)

    def skip(self, cursor: Cursor) -> None:
        for part in self.parts:
            part.skip(cursor)


class UnionReader(OrdinalReader):
    """A union: the ordinal of a branch, then a value of that branch.

    Read as a struct with one field per branch, of which one is not null. A union of int and long,
    or of float and double, with or without null, is read as the wider type.
    """

    def __init__(
        self,
        avro: AvroUnion,
        field: str,
        branches: Sequence[ValueReader],
        *,
        is_promoted: bool = False,
    ) -> None:
        least = 1 + min(branch.least_width for branch in branches)
        super().__init__(avro, field, least_width=least)
        self.branches = branches
        self.null_branch = avro.null_branch
        self.is_promoted = is_promoted
        self.choices = len(branches)
        self.expected = f"expected one of the union's {self.choices} branches"

    def skip(self, cursor: Cursor) -> None:
        chosen = self.read_ordinals(cursor)
        for ordinal, branch in enumerate(self.branches):
            if branch.fixed_width == 0:
                continue
            rows = np.flatnonzero(chosen == ordinal)
            if len(rows) == len(cursor):
                branch.skip(cursor)
            elif len(rows):
                selected = cursor.select(rows)
                branch.skip(selected)
                cursor.resume(rows, selected)

    def read(self, cursor: Cursor) -> pa.Array:
        chosen = self.read_ordinals(cursor)
        members = [
            self.read_member(ordinal, chosen, cursor)
            for ordinal in range(len(self.branches))
            if ordinal != self.null_branch
        ]
        if self.is_promoted:
            return pc.coalesce(*(member.cast(self.arrow) for member in members))
        present = None
        if self.null_branch is not None:
            bits = np.packbits(chosen != self.null_branch, bitorder="little")
            present = pa.py_buffer(bits)
        return pa.Array.from_buffers(self.arrow, len(cursor), [present], children=members)

    def read_member(self, ordinal: int, chosen: Int64s, cursor: Cursor) -> pa.Array:
        """Read the values of the rows that chose a branch; other rows are null."""
        is_chosen = chosen == ordinal
        rows = np.flatnonzero(is_chosen)
        selected = cursor.select(rows)
        values = self.branches[ordinal].read(selected)
        cursor.resume(rows, selected)
        if len(rows) == len(cursor):
            return values
        if not len(rows):
            return pa.nulls(len(cursor), values.type)
        return values.take(to_arrow(np.cumsum(is_chosen) - 1, is_valid=is_chosen))


class OptionalReader(UnionReader):
    """A union of null and at most one other type."""

    def __init__(self, avro: AvroUnion, field: str, branches: Sequence[ValueReader]) -> None:
        super().__init__(avro, field, branches)
        self.member = 1 if avro.null_branch == 0 and len(branches) > 1 else 0
        member = branches[self.member]
        self.text = member if isinstance(member, BytesReader) else None

    def skip(self, cursor: Cursor) -> None:
        member = self.branches[self.member]
        if self.text is not None:
            if not cursor.skip_short_texts(self.member):
                super().skip(cursor)
        elif not cursor.skip_ordinal(self.member, member.fixed_width or 0):
            super().skip(cursor)
        elif member.fixed_width is None:
            member.skip(cursor)

    def read(self, cursor: Cursor) -> pa.Array:
        begin = cursor.position
        if self.text is not None and cursor.skip_short_texts(self.member):
            return self.text.cut(cursor, begin + 2)
        if cursor.skip_ordinal(self.member):
            return self.branches[self.member].read(cursor)
        chosen = self.read_ordinals(cursor)
        if self.null_branch is not None and (chosen == self.null_branch).all():
            return pa.nulls(len(cursor), self.arrow)
        return self.read_member(self.member, chosen, cursor)


class ListReader(ValueReader):
    """array, and map as an array of entries: blocks of items, of which the last is empty.

    A list has no index of its items, so they are found one by one, but in all lists at the same
    time: all first items, then all second items, and so on. Then all items of all lists are decoded
    as one column.
    """

    def __init__(self, avro: AvroType, field: str, item: ValueReader) -> None:
        super().__init__(avro, field)
        self.item = item

    def read(self, cursor: Cursor) -> pa.Array:
        lists, position = self._find_items(cursor)
        items = Cursor(cursor.source, position, cursor.end[lists], cursor.record[lists])
        values = self.item.read(items)
        offsets = np.zeros(len(cursor) + 1, np.int32)
        np.cumsum(np.bincount(lists, minlength=len(cursor)), out=offsets[1:])
        buffers = [None, pa.py_buffer(offsets)]
        return pa.Array.from_buffers(self.arrow, len(cursor), buffers, children=[values])

    def skip(self, cursor: Cursor) -> None:
        self._find_items(cursor)

    def _find_items(self, cursor: Cursor) -> tuple[Int64s, Int64s]:
        """Find the items of all lists, and move past the lists.

        Returns:
            The row of each item's list and the position where the item begins, list by list.
        """
        found: list[tuple[Int64s, Int64s]] = []
        rows = np.arange(len(cursor))
        while len(rows) > FEW_LISTS:
            block = cursor.select(rows)
            counts, declared_end = self._read_block_header(block)
            # The least number has no positive counterpart: unsigned, it exceeds any room.
            room = ((block.end - block.position) // self.item.least_width).view(np.uint64)
            block.refuse(counts.view(np.uint64) > room, self.field, _NO_ROOM, counts)
            found += [(rows[owners], begin) for owners, begin in self._find_in_block(block, counts)]
            bad = (declared_end >= 0) & (declared_end != block.position)
            block.refuse(bad, self.field, _WRONG_BLOCK_SIZE)
            cursor.resume(rows, block)
            rows = rows[counts > 0]
        remaining = cursor.select(rows)
        owners, begin = self._walk_rows(remaining, None)
        cursor.resume(rows, remaining)
        found.append((rows[owners], begin))
        if len(found) == 1:
            return found[0]
        lists, begins = (np.concatenate(parts) for parts in zip(*found, strict=True))
        order = np.argsort(lists, kind="stable")  # the items of a list were found in their order
        return lists[order], begins[order]

    def _read_block_header(self, block: Cursor) -> tuple[Int64s, Int64s]:
        """Read the number of items in each row's block, and its declared end, -1 without one."""
        counts = block.read_varints(self.field)
        declared_end = np.full_like(counts, -1)
        sized = np.flatnonzero(counts < 0)
        if len(sized):
            selected = block.select(sized)
            size = selected.read_varints(self.field)
            begin = selected.advance(size, self.field)
            declared_end[sized] = begin + size
            selected.position = begin
            block.resume(sized, selected)
            counts[sized] = -counts[sized]
        return counts, declared_end

    def _find_in_block(self, block: Cursor, counts: Int64s) -> Iterator[tuple[Int64s, Int64s]]:
        """Yield the rows of items of each row's block, and where they begin; move past them."""
        width = self.item.fixed_width
        if width is not None:
            begin = block.advance(counts * width, self.field)
            before = np.cumsum(counts) - counts
            ordinals = np.arange(int(counts.sum())) - np.repeat(before, counts)
            rows = np.repeat(np.arange(len(counts)), counts)
            yield rows, begin[rows] + width * ordinals
            return
        rows = np.flatnonzero(counts)
        ordinal = 0
        while len(rows) > FEW_LISTS:
            selected = block.select(rows)
            yield rows, selected.position
            self.item.skip(selected)
            block.resume(rows, selected)
            ordinal += 1
            rows = rows[counts[rows] > ordinal]
        remaining = block.select(rows)
        owners, begin = self._walk_rows(remaining, counts[rows] - ordinal)
        block.resume(rows, remaining)
        yield rows[owners], begin

    def _walk_rows(self, cursor: Cursor, counts: Int64s | None) -> tuple[Int64s, Int64s]:
        """Step over the next ``counts`` items of each row; None steps over all of its blocks.

        Returns:
            The row of each item and the position where it begins, row by row.
        """
        octets = memoryview(cursor.source.buffer).cast("B")
        begins: list[int] = []
        lengths = []
        after = []
        for row, position in enumerate(cursor.position.tolist()):
            end = int(cursor.end[row])
            before = len(begins)
            try:
                if counts is None:
                    after.append(self.walk_blocks(octets, position, end, begins))
                else:
                    count = int(counts[row])
                    after.append(self._walk_items(octets, position, end, count, begins))
            except CorruptAvroError as error:
                record = int(cursor.record[row])
                raise CorruptAvroError(error.found, record, error.field) from error
            lengths.append(len(begins) - before)
        cursor.position = np.array(after, np.int64)
        return np.repeat(np.arange(len(lengths)), lengths), np.array(begins, np.int64)

    def walk_blocks(
        self, octets: memoryview, position: int, end: int, begins: list[int] | None
    ) -> int:
        while True:
            count, position = walk_varint(octets, position, end, self.field)
            if count == 0:
                return position
            declared_end = None
            if count < 0:
                size, position = walk_varint(octets, position, end, self.field)
                declared_end = walk_bytes(position, size, end, self.field)
            position = self._walk_items(octets, position, end, abs(count), begins)
            if declared_end not in (None, position):
                raise CorruptAvroError(_WRONG_BLOCK_SIZE, 0, self.field)

    def _walk_items(
        self, octets: memoryview, position: int, end: int, count: int, begins: list[int] | None
    ) -> int:
        """Step over ``count`` items, add where each begins, and return where the last one ends."""
        width = self.item.fixed_width
        if count > (end - position) // self.item.least_width:
            raise CorruptAvroError(f"{_NO_ROOM}, found {count}", 0, self.field)
        if width is not None:
            if begins is not None:
                begins.extend(position + width * ordinal for ordinal in range(count))
            return position + width * count
        for _ in range(count):
            if begins is not None:
                begins.append(position)
            position = walk(self.item, octets, position, end)
        return position


def walk(reader: ValueReader, octets: memoryview, position: int, end: int) -> int:
    """Return the position after one value, which begins at ``position`` in a record.

    Raises:
        CorruptAvroError: the value does not fit into the record, or a union has no such branch, or
            an enum no such symbol. The caller knows which record it is.
    """
    while isinstance(reader, OrdinalReader):  # a union of an enum has the ordinals of both
        number, position = walk_varint(octets, position, end, reader.field)
        if not 0 <= number < reader.choices:
            raise CorruptAvroError(f"{reader.expected}, found {number}", 0, reader.field)
        if not isinstance(reader, UnionReader):
            return position
        reader = reader.branches[number]
    if isinstance(reader, RecordReader):  # also one of a fixed width, so that errors name its part
        for part in reader.parts:
            position = walk(part, octets, position, end)
        return position
    width = reader.fixed_width
    if width is not None:
        return walk_bytes(position, width, end, reader.field) if width else position
    if isinstance(reader, ListReader):
        return reader.walk_blocks(octets, position, end, None)
    number, position = walk_varint(octets, position, end, reader.field)
    if isinstance(reader, BytesReader):
        return walk_bytes(position, number, end, reader.field)
    return position
