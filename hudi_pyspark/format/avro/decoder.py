"""Decode Avro records to Arrow columns, all records of a block at once.

A few numpy calls decode one field of thousands of records: a position per record says where the
field begins, and decoding it moves the positions to the next field. So Python does no work per
record or per value. Runs of records are short enough for the processor's cache.
"""

import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np
import pyarrow as pa

from hudi_pyspark import thresholds
from hudi_pyspark.arrow_values import numbers_at_every_offset
from hudi_pyspark.errors import CorruptAvroError, UnsupportedTypeError
from hudi_pyspark.format.avro import nested, values
from hudi_pyspark.format.avro.cursor import PADDING, Cursor, Int64s, RecordBytes, ValueReader
from hudi_pyspark.format.avro.schema import (
    AvroArray,
    AvroEnum,
    AvroField,
    AvroFixed,
    AvroMap,
    AvroPrimitive,
    AvroRecord,
    AvroReference,
    AvroType,
    AvroUnion,
    LogicalType,
    Primitive,
    arrow_field,
)

_RECORD_LENGTH = struct.Struct(">i")
_CHAIN_RECORDS = 32  # records of one chain of lengths, and so the number of numpy calls
_MOST_CHAINS = 1024
_BEGINNING = 16  # bytes of a record by which further records are found
_PRIMITIVE_READERS: Mapping[Primitive, Callable[[AvroType, str], ValueReader]] = {
    Primitive.NULL: partial(values.NullReader, fixed_width=0),
    Primitive.BOOLEAN: partial(values.BooleanReader, fixed_width=1),
    Primitive.INT: partial(values.VarintReader, bits=32),
    Primitive.LONG: partial(values.VarintReader, bits=64),
    Primitive.FLOAT: partial(values.FloatReader, fixed_width=4),
    Primitive.DOUBLE: partial(values.FloatReader, fixed_width=8),
    Primitive.BYTES: values.LengthPrefixedReader,
    Primitive.STRING: values.LengthPrefixedReader,
}


def decode_records(
    schema: AvroRecord,
    data: bytes | memoryview | pa.Buffer,
    starts: Int64s,
    ends: Int64s,
    columns: Sequence[str] | None = None,
) -> pa.Table:
    """Decode Avro binary records to Arrow columns, one chunk per run of records.

    Decoding stops after the last requested column, so trailing garbage is noticed only if that is
    the schema's last field. Only the last run of ``data`` is copied.

    Args:
        schema: of the records.
        data: bytes that include the records.
        starts: the offset in ``data`` of each record, in any order.
        ends: the offset after each record.
        columns: names of the columns to decode, None for all; names that the schema lacks are
            ignored.

    Returns:
        A table with the types of `arrow_schema`; its row count is right even without columns.

    Raises:
        CorruptAvroError: a record does not fit the schema, or is not within ``data``.
        UnsupportedTypeError: a requested column has a type that Arrow or Spark lacks.
    """
    buffer = data if isinstance(data, pa.Buffer) else pa.py_buffer(data)
    starts, ends = np.asarray(starts, np.int64), np.asarray(ends, np.int64)
    bad = (starts < 0) | (ends < starts) | (ends > buffer.size)
    if bad.any():
        record = int(bad.argmax())
        span = f"[{starts[record]}, {ends[record]})"
        problem = f"expected bytes within [0, {buffer.size}), found {span}"
        raise CorruptAvroError(problem, record, "")
    reader = _reader_of(schema, None if columns is None else tuple(columns))
    batches = [
        reader.read(_open(buffer, starts, ends, first, last)) for first, last in _runs(starts, ends)
    ]
    return pa.Table.from_batches(batches, reader.schema)


def record_spans(data: bytes | memoryview, offset: int, count: int) -> tuple[Int64s, Int64s]:
    """Find the records of a Hudi data block: each is a big-endian int32 length and its bytes.

    Args:
        data: bytes that end with the block.
        offset: of the first record's length.
        count: of records.

    Returns:
        The offset in ``data`` of each record's first byte, and the offset after its last byte.

    Raises:
        CorruptAvroError: a record ends after ``data``.
    """
    if not 0 <= count <= (len(data) - offset) // _RECORD_LENGTH.size:
        raise CorruptAvroError(f"{len(data) - offset} bytes cannot hold {count} records", 0, "")
    places = min(count // _CHAIN_RECORDS, _MOST_CHAINS)
    spans = None
    if places >= thresholds.LEAST_CHAINS:
        spans = _spans_from_many_places(data, offset, count, places)
    return _spans_one_by_one(data, offset, count) if spans is None else spans


def _spans_from_many_places(
    data: bytes | memoryview, offset: int, count: int, places: int
) -> tuple[Int64s, Int64s] | None:
    """Follow chains of lengths from ``places`` at once; None if that does not work.

    All records of a block begin with its instant. So a chain can start wherever that beginning is
    found; it is right if the previous chain ends there.
    """
    size = len(data)
    beginning = bytes(data[offset + 4 : offset + 4 + _BEGINNING])
    second = offset + 8 + int.from_bytes(data[offset : offset + 4], "big")
    if data[second : second + _BEGINNING] != beginning:
        return None
    search = re.compile(re.escape(beginning)).search
    steps = np.linspace(offset, size, places, endpoint=False, dtype=np.int64)[1:] + 4
    begins = [offset]
    for step in steps.tolist():
        if step > begins[-1] + 4:
            match = search(data, step)
            begins.append(match.start() - 4 if match else size)
    begin = np.array(begins)
    end = np.append(begin[1:], size)
    lengths = numbers_at_every_offset(data, ">i4")
    visited = []
    for _ in range(8 * _CHAIN_RECORDS):
        is_open = begin < end
        if not is_open.any():
            break
        visited.append(np.where(is_open, begin, -1))
        length = lengths[np.minimum(begin, size - 4)].astype(np.int64)
        begin = np.where(is_open & (length >= 0), begin + 4 + length, begin)
    starts = np.array(visited).T.ravel()
    starts = starts[starts >= 0]
    if len(starts) != count or (begin != end).any():
        return None
    return starts + 4, np.append(starts[1:], size)


def _spans_one_by_one(data: bytes | memoryview, offset: int, count: int) -> tuple[Int64s, Int64s]:
    """Find each record after the previous one: a step in Python per record."""
    length_at = _RECORD_LENGTH.unpack_from
    starts: list[int] = []
    ends: list[int] = []
    position = offset
    size = len(data)
    # A negative length may lead anywhere for `count` steps, and is refused after them.
    try:
        for _ in range(count):
            start = position + 4
            position = start + length_at(data, position)[0]
            starts.append(start)
            ends.append(position)
    except struct.error:
        pass
    begin = np.array(starts, np.int64)
    end = np.array(ends, np.int64)
    bad = (end < begin) | (end > size)
    if bad.any():
        record = int(bad.argmax())
        length = end[record] - begin[record]
        raise CorruptAvroError(
            f"expected at most {size - begin[record]} bytes, found length {length}", record, ""
        )
    if len(begin) < count:
        raise CorruptAvroError("the data ends before the record's length", len(begin), "")
    return begin, end


class _TopLevelReader:
    """Reads the requested fields of records, and skips only the fields before the last of them."""

    def __init__(self, record: AvroRecord, columns: Sequence[str] | None) -> None:
        requested = {f.name for f in record.fields} if columns is None else {*columns}
        fields = [(f, f.name in requested) for f in record.fields]
        while fields and not fields[-1][1]:
            fields.pop()
        self.parts = [(_reader(field.type, field.name), is_read) for field, is_read in fields]
        self.is_whole = columns is None or len(fields) == len(record.fields)
        self.schema = pa.schema([arrow_field(field) for field, is_read in fields if is_read])

    def read(self, cursor: Cursor) -> pa.RecordBatch:
        count = len(cursor)
        arrays = []
        for part, is_read in self.parts:
            if is_read:
                arrays.append(part.read(cursor))
            else:
                part.skip(cursor)
        if self.is_whole:
            remaining = cursor.end - cursor.position
            cursor.refuse(remaining > 0, "", "expected no bytes after the last field", remaining)
        # A struct array keeps its length even without children.
        data_type = pa.struct(list(self.schema))
        rows = pa.Array.from_buffers(data_type, count, [None], children=arrays)
        return pa.RecordBatch.from_struct_array(rows)


# There are many small blocks and few schemas: building readers would cost more than reading.
_reader_of = lru_cache(maxsize=64)(_TopLevelReader)


def _runs(starts: Int64s, ends: Int64s) -> Iterator[tuple[int, int]]:
    """Cut the records into runs of at most `RUN_RECORDS` records and `RUN_BYTES` bytes."""
    first = 0
    while first < len(starts):
        last = min(first + thresholds.RUN_RECORDS, len(starts))
        while (
            last - first > 1
            and ends[first:last].max() - starts[first:last].min() > thresholds.RUN_BYTES
        ):
            last = (first + last + 1) // 2
        yield first, last
        first = last


def _open(buffer: pa.Buffer, starts: Int64s, ends: Int64s, first: int, last: int) -> Cursor:
    """Return a cursor at the beginnings of a run's records."""
    begin, end = starts[first:last], ends[first:last]
    low, high = int(begin.min()), int(end.max())
    size = high - low + PADDING
    if low + size <= buffer.size:
        source = RecordBytes.over(buffer.slice(low, size))
    else:
        padded = np.zeros(size, np.uint8)
        padded[: high - low] = np.frombuffer(buffer, np.uint8)[low:high]
        source = RecordBytes.over(pa.py_buffer(padded))
    return Cursor(source, begin - low, end - low, np.arange(first, last))


def _reader(avro: AvroType, field: str) -> ValueReader:
    """Return the reader of a type; ``field`` is its dotted name."""
    reader: ValueReader
    match avro:
        case AvroPrimitive(Primitive.BYTES, LogicalType()):
            reader = values.BytesDecimalReader(avro, field)
        case AvroPrimitive(primitive):
            reader = _PRIMITIVE_READERS[primitive](avro, field)
        case AvroFixed():
            reader = values.fixed_reader(avro, field)
        case AvroEnum():
            reader = values.EnumReader(avro, field)
        case AvroArray(item):
            reader = nested.ListReader(avro, field, _reader(item, f"{field}.element"))
        case AvroMap(value):
            key = AvroField("key", AvroPrimitive(Primitive.STRING))
            entry = AvroRecord("", (key, AvroField("value", value)))
            reader = nested.ListReader(avro, field, _reader(entry, field))
        case AvroUnion():
            reader = _union_reader(avro, field)
        case AvroRecord():
            parts = [_reader(part.type, f"{field}.{part.name}") for part in avro.fields]
            reader = nested.RecordReader(avro, field, parts)
        case AvroReference(name):
            raise UnsupportedTypeError(f"column {field!r} has the type '{name}, in itself'")
    return reader


def _union_reader(avro: AvroUnion, field: str) -> ValueReader:
    if len(avro.members) <= 1:
        branches = [_reader(branch, field) for branch in avro.branches]
        return nested.OptionalReader(avro, field, branches)
    if avro.promotion is not None:
        plain = (replace(b, logical=None) for b in avro.branches if isinstance(b, AvroPrimitive))
        branches = [_reader(branch, field) for branch in plain]
        return nested.UnionReader(avro, field, branches, is_promoted=True)
    members = iter(range(len(avro.branches)))
    branches = [
        _reader(b, field if i == avro.null_branch else f"{field}.member{next(members)}")
        for i, b in enumerate(avro.branches)
    ]
    return nested.UnionReader(avro, field, branches)
