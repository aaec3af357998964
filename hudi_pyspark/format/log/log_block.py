"""Cut log files into blocks: their headers are parsed, their content is not."""

import re
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import IO, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_pyspark import thresholds
from hudi_pyspark.errors import CorruptAvroError, CorruptLogBlockError
from hudi_pyspark.format.avro.schema import AvroRecord, parse_schema
from hudi_pyspark.format.bytes_source import BytesSource, StoredBytes

MAGIC = b"#HUDI#"
LOG_FORMAT_VERSION = 1  # of the frame around each block: HoodieLogFormat.CURRENT_VERSION

_MAGIC_PATTERN = re.compile(re.escape(MAGIC))  # searches a memoryview without copying it
_LONG = struct.Struct(">q")
_INT = struct.Struct(">i")
# After the magic: a long, of which Hudi reads only the low 32 bits, as a signed int.
_HEAD = struct.Struct(">6x4xi")
_USUAL_HEADER = 4096  # bytes of a block that are read at once
_DAMAGED_NAME = re.compile('"name" *: *"[^"]*\ufffd')
_ROLLBACK_COMMAND = "0"  # the only command that any release has written


class LogBlockType(Enum):
    """The type of a block; the value is its number in the file."""

    COMMAND_BLOCK = 0
    DELETE_BLOCK = 1
    CORRUPT_BLOCK = 2  # never written: stands for bytes that are not a block
    AVRO_DATA_BLOCK = 3
    HFILE_DATA_BLOCK = 4
    PARQUET_DATA_BLOCK = 5
    CDC_DATA_BLOCK = 6


class HeaderKey(IntEnum):
    """A key of a block's header; the value is its number in the file."""

    INSTANT_TIME = 0
    TARGET_INSTANT_TIME = 1
    SCHEMA = 2
    COMMAND_BLOCK_TYPE = 3
    COMPACTED_BLOCK_TIMES = 4
    RECORD_POSITIONS = 5
    BLOCK_IDENTIFIER = 6
    IS_PARTIAL = 7
    BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS = 8


# Types of blocks by their content; a new type needs its place here.
DATA_BLOCKS = frozenset(  # records of a slice's rows
    {LogBlockType.AVRO_DATA_BLOCK, LogBlockType.HFILE_DATA_BLOCK, LogBlockType.PARQUET_DATA_BLOCK}
)
RECORD_BLOCKS = DATA_BLOCKS | {LogBlockType.DELETE_BLOCK}  # input of a merge
AVRO_BLOCKS = frozenset({LogBlockType.AVRO_DATA_BLOCK, LogBlockType.CDC_DATA_BLOCK})
VERSIONED_BLOCKS = AVRO_BLOCKS | {LogBlockType.DELETE_BLOCK}  # their content begins with a version
NATIVE_BLOCKS = {  # by the extension of a native log of records
    "parquet": LogBlockType.PARQUET_DATA_BLOCK,
    "hfile": LogBlockType.HFILE_DATA_BLOCK,
}
Report: TypeAlias = Callable[[str, int], None] | None  # see `frame_blocks`
_HEADER_KEYS = {key.value: key for key in HeaderKey}
_BLOCK_TYPES = {kind.value: kind for kind in LogBlockType if kind is not LogBlockType.CORRUPT_BLOCK}


def open_span(file: BytesSource, start: int, stop: int) -> pa.NativeFile | IO[bytes]:
    """Open a range of a log file as a file; anything but the whole file is read into memory."""
    if start == 0 and stop == len(file) and isinstance(file, StoredBytes):
        return file.open()
    return pa.BufferReader(pa.py_buffer(file[start:stop]))


# Not frozen: a slice may have thousands of blocks, and frozen instances take three times as long to
# create. Treat them as immutable.
@dataclass(slots=True)
class LogBlock:
    """One block of a log file; its content is not decoded."""

    block_type: LogBlockType
    header: Mapping[HeaderKey, str]  # empty for a CORRUPT_BLOCK
    content_offset: int  # bytes from the start of the log file to the content
    content_length: int  # bytes; for a CORRUPT_BLOCK everything after its magic
    offset: int  # bytes from the start of the log file to the block's magic
    size: int  # bytes from the magic to the end of the block, both included
    path: str  # of the log file, relative to the base path
    file: BytesSource = field(compare=False, repr=False)  # the log file
    native_extension: str = ""  # "parquet" or "hfile" if the block is a native log, else ""
    # Of a native log in Parquet, whose header was in it; None for other blocks.
    parquet_footer: pq.FileMetaData | None = field(default=None, compare=False, repr=False)

    # From here on the entries of the header.
    # The instant that wrote the block; None for corrupt and archived-timeline blocks.
    instant_time: str | None = field(init=False, compare=False, repr=False)
    # The instant that a command block rolls back; None for other blocks.
    target_instant_time: str | None = field(init=False, compare=False, repr=False)
    # The Avro schema (JSON) of a data block's records; some delete blocks also have one.
    schema_text: str | None = field(init=False, compare=False, repr=False)
    # Whether the records have only the changed columns.
    is_partial: bool = field(init=False, compare=False, repr=False)
    # The instants that a log compaction folded into this block, newest first; else ().
    compacted_block_times: tuple[str, ...] = field(init=False, compare=False, repr=False)
    # The encoded positions of the records in the base file; None if there are none.
    record_positions_text: str | None = field(init=False, compare=False, repr=False)
    # The instant of the base file that the positions refer to; None without positions.
    positions_base_instant: str | None = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        header = self.header
        self.instant_time = header.get(HeaderKey.INSTANT_TIME)
        self.target_instant_time = header.get(HeaderKey.TARGET_INSTANT_TIME)
        self.schema_text = header.get(HeaderKey.SCHEMA)
        self.is_partial = header.get(HeaderKey.IS_PARTIAL, "").lower() == "true"
        times = header.get(HeaderKey.COMPACTED_BLOCK_TIMES, "")
        self.compacted_block_times = tuple(time for time in times.split(",") if time)
        self.record_positions_text = header.get(HeaderKey.RECORD_POSITIONS)
        base = HeaderKey.BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS
        self.positions_base_instant = header.get(base)

    @property
    def content(self) -> memoryview:
        """The undecoded content; read each time unless the file is in memory."""
        return self.file[self.content_offset : self.content_offset + self.content_length]

    def open(self) -> pa.NativeFile | IO[bytes]:
        """Open the undecoded content as a file; the caller closes it."""
        return open_span(self.file, self.content_offset, self.content_offset + self.content_length)

    def corrupt(self, problem: str) -> CorruptLogBlockError:
        """Return the error for content that cannot be decoded."""
        text = f"{self.block_type.name} of instant {self.instant_time}: {problem}"
        return CorruptLogBlockError(text, self.path, self.offset)

    @property
    def log_format_version(self) -> int | None:
        """The version of the frame around the block; None for a corrupt block and a native log."""
        is_framed = self.block_type is not LogBlockType.CORRUPT_BLOCK and not self.native_extension
        return LOG_FORMAT_VERSION if is_framed else None  # blocks of another are corrupt

    @property
    def block_version(self) -> int | None:
        """The version of the content of an Avro data, CDC or delete block; None for other blocks.

        None also if the content is too short to have one. Commands have no content, and Parquet and
        HFile data blocks contain a file.
        """
        is_versioned = self.block_type in VERSIONED_BLOCKS and not self.native_extension
        if not is_versioned or self.content_length < _INT.size:
            return None
        start = self.content_offset
        return int(_INT.unpack(self.file[start : start + _INT.size])[0])

    def avro_schema(self) -> AvroRecord:
        """Parse the Avro schema of a data block's records.

        Raises:
            CorruptLogBlockError: the header has no schema, or one that cannot be parsed.
            UnsupportedTypeError: the schema does not describe a record, or is nested too deep.
        """
        if self.schema_text is None:
            raise self.corrupt("expected a SCHEMA header, found none")
        if _DAMAGED_NAME.search(self.schema_text):  # Apache Hudi also refuses it
            raise self.corrupt("the SCHEMA header has a name that is not UTF-8")
        try:
            return parse_schema(self.schema_text)
        except CorruptAvroError as error:
            raise self.corrupt(f"SCHEMA header cannot be parsed: {error.reason()}") from error


def frame_blocks(
    data: bytes | BytesSource, *, path: str, report: Report = None
) -> Iterator[LogBlock]:
    """Cut a log file into its blocks, in file order; only headers and lengths are read.

    Bytes that begin with the magic but are not a whole block are yielded as a CORRUPT_BLOCK, which
    ends at the next magic or at the end of the file. A writer that fails half-way leaves such
    bytes; blocks that are appended after them count. Up to five bytes after the last block are
    ignored. Source: Hudi's HoodieLogFileReader.

    Args:
        data: the whole file, or a source that reads parts of it; the blocks refer to it.
        path: of the file, for errors.
        report: called for each text in a header that is not UTF-8, with the problem and its offset.
            Unless it raises, the bad characters are replaced, as in Apache Hudi.

    Raises:
        CorruptLogBlockError: there is no magic at the start, or a block with right lengths has an
            unknown type, version or command, or a header that does not fit. Earlier blocks have
            been yielded by then.
    """
    for salvaged in salvage_blocks(data, path=path, report=report):
        if len(data) - salvaged.block.offset < len(MAGIC):
            return
        if salvaged.refusal is not None:
            raise salvaged.refusal
        yield salvaged.block


@dataclass(frozen=True, slots=True)
class SalvagedBlock:
    """A block of a file that may be damaged."""

    block: LogBlock  # a CORRUPT_BLOCK if there is a `problem`
    problem: str = ""  # what was expected and what was found; "" for a whole block
    refusal: CorruptLogBlockError | None = None  # the error that `frame_blocks` raises


def salvage_blocks(
    data: bytes | BytesSource, *, path: str, report: Report = None
) -> Iterator[SalvagedBlock]:
    """Cut a damaged log file into blocks as far as possible; nothing is raised.

    A block with right lengths that cannot be understood is skipped. After any other damage, the
    next block begins at the next magic. Arguments are those of `frame_blocks`.
    """
    file = memoryview(data) if isinstance(data, bytes) else data
    offset = 0
    while offset < len(file):
        salvaged = _salvage_block(file, offset, path, report)
        yield salvaged
        offset += salvaged.block.size


def _salvage_block(file: BytesSource, offset: int, path: str, report: Report) -> SalvagedBlock:
    head = file[offset : offset + _HEAD.size]
    magic = bytes(head[: len(MAGIC)])
    if magic != MAGIC:
        problem = f"expected magic {MAGIC!r}, found {magic!r}"
        corrupt = corrupt_block(file, offset, _next_magic(file, offset + 1), path)
        return SalvagedBlock(corrupt, problem, CorruptLogBlockError(problem, path, offset))
    end, problem = _block_end(file, offset, head)
    if problem:
        end = _next_magic(file, offset + len(MAGIC))
        return SalvagedBlock(corrupt_block(file, offset, end, path), problem)
    try:
        return SalvagedBlock(_parse_block(file, offset, end, path, report))
    except CorruptLogBlockError as error:
        place = f" (at byte {error.offset})" if error.offset != offset else ""
        corrupt = corrupt_block(file, offset, end, path)
        return SalvagedBlock(corrupt, error.found + place, error)


def _block_end(file: BytesSource, offset: int, head: memoryview) -> tuple[int, str]:
    """Return the end of the block that begins with ``head``; also why it is not whole, or ""."""
    if len(head) < _HEAD.size:
        return 0, f"the file ends at byte {len(file)}, within the block's length"
    size = _HEAD.unpack(head)[0]
    length_at = offset + len(MAGIC) + size  # of the trailing length, which repeats the size
    end: int = length_at + _LONG.size
    if length_at < 0 or end > len(file):
        return 0, f"the block should have {size} bytes more, but the file ends at byte {len(file)}"
    tail = file[length_at : end + len(MAGIC)]
    repeated = _LONG.unpack_from(tail)[0] - len(MAGIC)
    if repeated != size:
        return 0, f"the block's length is {size} at its start, but {repeated} at its end"
    # As in Hudi, a whole block that is followed by foreign bytes counts as corrupt.
    follower = tail[_LONG.size :]
    if len(follower) == len(MAGIC) and follower != MAGIC:
        return 0, "the block is followed by bytes that are not a block"
    return end, ""


def _next_magic(file: BytesSource, start: int) -> int:
    """Return the offset of the next magic, or the end of the file."""
    for at in range(start, len(file), thresholds.SEARCHED_AT_ONCE):
        match = _MAGIC_PATTERN.search(file[at : at + thresholds.SEARCHED_AT_ONCE + len(MAGIC) - 1])
        if match:
            return at + match.start()
    return len(file)


def corrupt_block(file: BytesSource, offset: int, end: int, path: str) -> LogBlock:
    """Return the bytes from ``offset`` to ``end`` of a log file as a CORRUPT_BLOCK."""
    start = min(offset + len(MAGIC), end)
    return LogBlock(
        block_type=LogBlockType.CORRUPT_BLOCK,
        header={},
        content_offset=start,
        content_length=end - start,
        offset=offset,
        size=end - offset,
        path=path,
        file=file,
    )


def _parse_block(file: BytesSource, offset: int, end: int, path: str, report: Report) -> LogBlock:
    """Parse a block whose lengths are right."""
    begin = offset + len(MAGIC) + _LONG.size
    reader = _BlockReader(file, begin, end - _LONG.size, path, report)
    version = reader.read_int("format version")
    if version != LOG_FORMAT_VERSION:
        problem = f"expected log format version {LOG_FORMAT_VERSION}, found {version}"
        raise CorruptLogBlockError(problem, path, offset)
    ordinal = reader.read_int("block type")
    block_type = _BLOCK_TYPES.get(ordinal)
    if block_type is None:
        types = ", ".join(f"{number} {kind.name}" for number, kind in _BLOCK_TYPES.items())
        problem = f"expected a block type of {types}; found {ordinal}"
        raise CorruptLogBlockError(problem, path, offset)
    stored_header = reader.read_map("header")
    header = {_HEADER_KEYS[key]: text for key, text in stored_header.items() if key in _HEADER_KEYS}
    content_length = _LONG.unpack(reader.read_bytes(_LONG.size, "content length"))[0]
    content_offset = reader.skip(content_length, "content")
    reader.read_map("footer")  # always empty: no release defines a key of it
    if reader.offset != reader.end:
        problem = f"{reader.end - reader.offset} bytes remain after the block's footer"
        raise CorruptLogBlockError(problem, path, reader.offset)
    command = header.get(HeaderKey.COMMAND_BLOCK_TYPE)
    if block_type is LogBlockType.COMMAND_BLOCK and command != _ROLLBACK_COMMAND:
        problem = f"expected command '{_ROLLBACK_COMMAND}' (rollback), found {command!r}"
        raise CorruptLogBlockError(problem, path, offset)
    return LogBlock(
        block_type=block_type,
        header=header,
        content_offset=content_offset,
        content_length=content_length,
        offset=offset,
        size=end - offset,
        path=path,
        file=file,
    )


class _BlockReader:
    """Reads the fields of one block in turn and never past the block's end."""

    def __init__(self, file: BytesSource, offset: int, end: int, path: str, report: Report) -> None:
        self.file = file
        self.offset = offset
        self.end = end
        self.path = path
        self.report = report  # see `frame_blocks`
        self._begin = offset
        self._octets = file[offset : min(offset + _USUAL_HEADER, end)]  # from the begin on

    def skip(self, length: int, what: str) -> int:
        """Skip bytes, and return where they begin."""
        if length < 0 or self.offset + length > self.end:
            problem = (
                f"{what} of {length} bytes does not fit into its block, "
                f"which has {max(self.end - self.offset, 0)} bytes left"
            )
            raise CorruptLogBlockError(problem, self.path, self.offset)
        start = self.offset
        self.offset += length
        return start

    def read_bytes(self, length: int, what: str) -> memoryview:
        start = self.skip(length, what)
        if self.offset - self._begin <= len(self._octets):
            return self._octets[start - self._begin : self.offset - self._begin]
        return self.file[start : self.offset]

    def read_int(self, what: str) -> int:
        place = self.offset - self._begin
        if place + _INT.size > len(self._octets):
            return int(_INT.unpack(self.read_bytes(_INT.size, what))[0])
        self.offset += _INT.size
        return int(_INT.unpack_from(self._octets, place)[0])

    def read_map(self, what: str) -> dict[int, str]:
        """Read a map: an int count, then per entry an int key, an int length and UTF-8 text."""
        count = self.read_int(f"{what} entry count")
        if count < 0:
            problem = f"expected a {what} entry count of 0 or more, found {count}"
            raise CorruptLogBlockError(problem, self.path, self.offset - _INT.size)
        texts: dict[int, str] = {}
        for _ in range(count):
            key = self.read_int(f"{what} key")
            text_at = self.offset
            text = self.read_bytes(self.read_int(f"{what} value length"), f"{what} value")
            try:
                texts[key] = str(text, "utf-8")
            except UnicodeDecodeError as error:
                problem = f"{what} value of key {key} is not UTF-8: {error}"
                if self.report is None:
                    raise CorruptLogBlockError(problem, self.path, text_at) from error
                self.report(problem, text_at)
                texts[key] = str(text, "utf-8", "replace")
        return texts
