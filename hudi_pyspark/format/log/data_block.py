"""Decode data blocks (Avro, CDC, HFile, Parquet) to Arrow tables."""

import re
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hudi_pyspark import thresholds
from hudi_pyspark.arrow_values import text_scalar
from hudi_pyspark.errors import CorruptAvroError, CorruptLogBlockError, UnsupportedTableError
from hudi_pyspark.format.avro.cursor import Int64s
from hudi_pyspark.format.avro.decoder import decode_records, record_spans
from hudi_pyspark.format.avro.schema import AvroRecord, parse_schema
from hudi_pyspark.format.hfile import HFileError
from hudi_pyspark.format.hfile.reader import SCHEMA_INFO, HFile, read_hfile
from hudi_pyspark.format.log.log_block import AVRO_BLOCKS, LogBlock, LogBlockType
from hudi_pyspark.format.parquet.checked_file import open_parquet, read_columns, unknown_type_error
from hudi_pyspark.format.parquet.legacy_calendar import LegacyCalendar, with_instants

_VERSION_AND_COUNT = struct.Struct(">ii")
_RECORD_LENGTH = struct.Struct(">i")
_MOST_SEARCHED = 8
_LARGEST_WHOLE = 4 << 20  # bytes of a block that is read for its first records
_NO_RECORDS = np.empty(0, np.int64)
_CONTENT_VERSIONS = (1, 2, 3)  # the same for a reader; version 0 had no record count
# Hudi blanks a field of this name in HFile values, since the HFile's key repeats it.
_KEY_FIELD = "key"
_EMPTY = text_scalar("")


@dataclass(frozen=True, slots=True)
class ValueLookup:
    """A search for the rows that have one of some values in a text column."""

    column: str
    values: pa.Array  # texts

    def may_be_in(self, content: memoryview) -> bool:
        """Return whether the bytes may contain a value; true if there are many values to search."""
        if len(self.values) > _MOST_SEARCHED:
            return True
        texts = (re.escape(str(value).encode()) for value in self.values)
        # Only this search of Python's takes a view; it finds literals at gigabytes a second.
        return any(re.search(text, content) is not None for text in texts)

    def matches(self, table: pa.Table) -> pa.Array:
        """Return for each row whether it has one of the values."""
        return pc.is_in(table.column(self.column), value_set=self.values)


Columns = Sequence[str] | None
"""Names of the columns to decode; None for all."""
Lookup = ValueLookup | None
"""The rows to decode; None for all. Further rows may be decoded as well."""


def decode_data_block(block: LogBlock, columns: Columns, lookup: Lookup = None) -> pa.Table:
    """Decode the records of an Avro, CDC, HFile or Parquet data block, in block order.

    Columns have the order and types of the block's Avro schema or Parquet file.

    Args:
        block: a data block; its content is read from the storage now.
        columns: names of the columns to decode, None for all; names that the schema lacks are
            ignored.
        lookup: the rows to decode, None for all; further rows may be decoded as well.

    Raises:
        CorruptLogBlockError: the content cannot be decoded.
        UnsupportedTableError: it has an unsupported type, version or codec.
        ValueError: the block is of a type without records.
    """
    return decode_run([block], columns, lookup)[0]


def decode_first_records(block: LogBlock, columns: Sequence[str], most: int) -> pa.Table:
    """Decode columns of the first records of a data block; of a large Avro block read its begin.

    Raises:
        CorruptLogBlockError: the content cannot be decoded.
        UnsupportedTableError: it has an unsupported type, version or codec, or a block that is not
            Avro is too large to be decoded for a few records.
        ValueError: the block is of a type without records.
    """
    if block.block_type not in AVRO_BLOCKS:
        if block.content_length > _LARGEST_WHOLE and not block.native_extension:
            raise UnsupportedTableError(f"{block.path}: {block.content_length} bytes in a block")
        return decode_data_block(block, columns).slice(0, most)
    length = min(block.content_length, thresholds.LARGEST_RUN)
    content = block.file[block.content_offset : block.content_offset + length]
    if len(content) < _VERSION_AND_COUNT.size:
        raise block.corrupt(f"expected version and record count, found {len(content)} bytes")
    _, count = _VERSION_AND_COUNT.unpack_from(content)
    starts: list[int] = []
    ends: list[int] = []
    end = _VERSION_AND_COUNT.size
    while len(ends) < min(count, most):
        start = end + _RECORD_LENGTH.size
        end = start + int.from_bytes(content[end:start], "big")
        if end > len(content):
            break
        starts.append(start)
        ends.append(end)
    spans = np.array(starts, np.int64), np.array(ends, np.int64)
    try:
        return decode_records(block.avro_schema(), content, *spans, columns)
    except CorruptAvroError as error:
        raise block.corrupt(error.reason()) from error


def runs_of_blocks(
    blocks: Iterable[LogBlock], kind_of: Callable[[LogBlock], object]
) -> Iterator[list[LogBlock]]:
    """Group neighbouring blocks that can be decoded together; most runs have one block.

    Args:
        blocks: in order.
        kind_of: what else blocks of a run have in common, besides their schema.
    """
    run: list[LogBlock] = []
    run_kind = None
    size = 0
    for block in blocks:
        kind = None
        if (
            block.block_type is LogBlockType.AVRO_DATA_BLOCK
            and block.content_length < thresholds.SMALL_BLOCK
        ):
            kind = block.schema_text, kind_of(block)
        size += block.content_length
        if run and (kind is None or kind != run_kind or size > thresholds.LARGEST_RUN):
            yield run
            run = []
            size = block.content_length
        run.append(block)
        run_kind = kind
    if run:
        yield run


def decode_run(
    run: Sequence[LogBlock], columns: Columns, lookup: Lookup = None
) -> tuple[pa.Table, list[int]]:
    """Decode the blocks of a run, as `decode_data_block` does.

    A numpy call on a few records takes as long as on a thousand, so small blocks are decoded at
    once. Each block is checked by itself.

    Args:
        run: as `runs_of_blocks` groups blocks.
        columns: names of the columns to decode, None for all.
        lookup: the rows to decode, None for all; further rows may be decoded as well.

    Returns:
        The rows of all blocks, in block order, and the number of records of each block.

    Raises:
        CorruptAvroError: one of several blocks cannot be decoded; decode each to learn which.
        CorruptLogBlockError, UnsupportedTableError, ValueError: as `decode_data_block`.
    """
    block = run[0]
    is_avro = block.block_type in AVRO_BLOCKS and not block.native_extension
    decode = _DECODERS.get(block.native_extension or block.block_type)
    if decode is None and not is_avro:
        raise ValueError(f"a {block.block_type.name} has no records to decode")
    schema = block.avro_schema()
    try:
        if decode is None:
            return _decode_avro(run, schema, columns, lookup)
        table = decode(block, schema, columns, lookup)
    except CorruptAvroError as error:
        if len(run) > 1:
            raise
        raise block.corrupt(error.reason()) from error
    return table, [table.num_rows]


def decode_native_deletes(block: LogBlock) -> pa.Table:
    """Decode the rows of a native log of deletes.

    Raises:
        CorruptLogBlockError: the file cannot be decoded.
        UnsupportedTypeError: a column of the file has a type that cannot be read.
    """
    if block.native_extension == "parquet":
        return _decode_parquet(block, block.avro_schema(), None, None)
    hfile = _read_hfile(block)
    try:
        schema = parse_schema(str(hfile.file_info.get(SCHEMA_INFO, b""), "utf-8"))
        return decode_hfile_records(hfile, schema, None)
    except (CorruptAvroError, UnicodeDecodeError) as error:
        raise block.corrupt(f"the deletes cannot be decoded: {error}") from error


def salvage_data_block(block: LogBlock) -> tuple[pa.Table, str]:
    """Decode the records before the first damaged one of a data block.

    Returns:
        The records, and the problem of the damaged one, "" without damage. Unless the block is
        Avro, damage or an unsupported type gives an empty table without columns.

    Raises:
        ValueError: the block is of a type without records.
    """
    try:
        return decode_data_block(block, None), ""
    except CorruptLogBlockError as error:
        cause = error.__cause__
        if isinstance(cause, CorruptAvroError) and block.block_type in AVRO_BLOCKS:
            return _first_records(block, cause.record), error.found
        return pa.table({}), error.found
    except UnsupportedTableError as error:
        return pa.table({}), error.reason()


def _first_records(block: LogBlock, count: int) -> pa.Table:
    """Decode as many of the first records as possible; each attempt may fail at an earlier one."""
    if count <= 0:
        return pa.table({})
    try:
        starts, ends = record_spans(block.content, _VERSION_AND_COUNT.size, count)
        return decode_records(block.avro_schema(), block.content, starts, ends, None)
    except CorruptAvroError as error:
        return _first_records(block, min(error.record, count - 1))


def _decode_avro(
    blocks: Sequence[LogBlock], schema: AvroRecord, columns: Columns, lookup: Lookup
) -> tuple[pa.Table, list[int]]:
    """Decode Avro blocks of one schema; also return the number of records of each block."""
    contents = [block.content for block in blocks]
    spans = [_record_spans(*part, lookup) for part in zip(blocks, contents, strict=True)]
    begins = np.cumsum([0, *map(len, contents[:-1])])
    starts, ends = (
        np.concatenate([offsets + begin for offsets, begin in zip(side, begins, strict=True)])
        for side in zip(*spans, strict=True)
    )
    data = contents[0] if len(contents) == 1 else b"".join(contents)
    if lookup is not None and lookup.column in {field.name for field in schema.fields}:
        # First this column of all records, then all columns of the few that match.
        column = decode_records(schema, data, starts, ends, [lookup.column])
        matches = np.asarray(lookup.matches(column))
        starts, ends = starts[matches], ends[matches]
    table = decode_records(schema, data, starts, ends, columns)
    return table, [len(starts) for starts, _ in spans]


def _record_spans(block: LogBlock, content: memoryview, lookup: Lookup) -> tuple[Int64s, Int64s]:
    """Find the records of an Avro block that may match, after checks of its beginning and end."""
    if len(content) < _VERSION_AND_COUNT.size:
        raise block.corrupt(f"expected version and record count, found {len(content)} bytes")
    version, count = _VERSION_AND_COUNT.unpack_from(content)
    if version not in _CONTENT_VERSIONS or count < 0:
        problem = f"expected content version 1, 2 or 3, found {version} with {count} records"
        raise block.corrupt(problem)
    if lookup is not None and not lookup.may_be_in(content):
        return _NO_RECORDS, _NO_RECORDS
    starts, ends = record_spans(content, _VERSION_AND_COUNT.size, count)
    remaining = len(content) - (int(ends[-1]) if count else _VERSION_AND_COUNT.size)
    if remaining:
        problem = f"expected {count} records, found {remaining} bytes after them"
        raise CorruptAvroError(problem, count, "")
    return starts, ends


def _decode_hfile(
    block: LogBlock, schema: AvroRecord, columns: Columns, _lookup: Lookup
) -> pa.Table:
    return decode_hfile_records(_read_hfile(block), schema, columns)


def _read_hfile(block: LogBlock) -> HFile:
    try:
        return read_hfile(block.content, path=block.path)
    except HFileError as error:
        offset = block.content_offset + error.offset
        raise CorruptLogBlockError(error.problem, block.path, offset) from error


def _decode_parquet(
    block: LogBlock, schema: AvroRecord, columns: Columns, lookup: Lookup
) -> pa.Table:
    requested = {field.name for field in schema.fields} if columns is None else {*columns}
    try:
        with block.open() as source:
            file = open_parquet(
                source, footer=block.parquet_footer, coerce_int96_timestamp_unit="us"
            )
            requested &= {*file.schema_arrow.names}
            names = [field.name for field in schema.fields if field.name in requested]
            # Arrow reads in the file's order, and for "a" also every column named "a.…".
            table = _read_rows(file, names, lookup).select(names)
            calendar = LegacyCalendar.of(file, block.path)
            if calendar is not None and names:
                instants = with_instants(file.schema_arrow, file.schema)
                marked = pa.schema([instants.field(name) for name in names])
                table = calendar.to_gregorian(table.cast(marked))
    except MemoryError:
        raise
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        damage = block.corrupt(f"expected a Parquet file: {error}")
        raise unknown_type_error(error, block.path) or damage from error
    # Without columns, removing the metadata would lose the number of rows.
    return table.replace_schema_metadata(None) if names else table


def _read_rows(file: pq.ParquetFile, names: Sequence[str], lookup: Lookup) -> pa.Table:
    """Read all rows, or none if no row matches."""
    if lookup is not None and names and lookup.column in file.schema_arrow.names:
        matches = lookup.matches(read_columns(file, [lookup.column]))
        if not pc.any(matches).as_py():
            return file.schema_arrow.empty_table()
    return read_columns(file, names)


_DECODERS = {  # of blocks with a whole file in them, by the block's type; also of native logs
    LogBlockType.HFILE_DATA_BLOCK: _decode_hfile,
    LogBlockType.PARQUET_DATA_BLOCK: _decode_parquet,
    "hfile": _decode_hfile,
    "parquet": _decode_parquet,
}


def decode_hfile_records(hfile: HFile, schema: AvroRecord, columns: Columns) -> pa.Table:
    """Decode columns of all records of an HFile, in file order; ``columns`` is None for all.

    Raises:
        CorruptAvroError: the bytes of a record do not fit the schema.
        UnsupportedTypeError: a requested column has a type that cannot be read.
    """
    table = decode_records(schema, hfile.values_data, hfile.value_starts, hfile.value_ends, columns)
    # Other tables may have a column of this name as well: values that are not blank stay.
    position = table.schema.get_field_index(_KEY_FIELD)
    if position < 0 or not pa.types.is_string(table.schema.field(position).type):
        return table
    column = table.column(position)
    blank = pc.equal(pc.coalesce(column, _EMPTY), _EMPTY)
    restored = pc.if_else(blank, hfile.keys.cast(pa.string()), column)
    return table.set_column(position, table.schema.field(position), restored)
