"""The parsers that a table's bytes reach, each as a function of any bytes."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hudi_pyspark.errors import CorruptTableError, HudiError
from hudi_pyspark.format import data_files
from hudi_pyspark.format.avro.decoder import decode_records, record_spans
from hudi_pyspark.format.avro.schema import arrow_schema, parse_schema
from hudi_pyspark.format.bloom_filter import BloomFilter, BloomFilterError
from hudi_pyspark.format.hfile import HFileError
from hudi_pyspark.format.hfile.blocks import BlockIndex, parse_lower_index, parse_root_index
from hudi_pyspark.format.hfile.reader import HFileReader, decode_entries, parse_file_info
from hudi_pyspark.format.log.data_block import (
    decode_data_block,
    salvage_data_block,
)
from hudi_pyspark.format.log.delete_block import decode_delete_block, decode_deletes
from hudi_pyspark.format.log.log_block import DATA_BLOCKS, LogBlock, LogBlockType, salvage_blocks
from hudi_pyspark.format.log.log_file import salvage_log_file
from hudi_pyspark.format.log.record_positions import decode_positions
from hudi_pyspark.format.orc_footer import parse_orc_footer, parse_writer_zone
from hudi_pyspark.format.parquet.pages import ParquetPages, ParquetPagesError
from hudi_pyspark.format.parquet.thrift_compact import ThriftError, parse_struct, struct_bytes
from hudi_pyspark.format.properties import parse_properties
from hudi_pyspark.format.timeline import instant_metadata as services
from hudi_pyspark.format.timeline.instant import Instant, NotAnInstant
from hudi_pyspark.format.timeline.instant_metadata import parse_commit_metadata
from hudi_pyspark.format.timeline.internal_schema import (
    parse_internal_schema,
    parse_schema_history,
)
from hudi_pyspark.planning.partitions import partition_scalars
from hudi_pyspark.table.archive import load_archive, load_archived_metadata
from hudi_pyspark.table.config import TableConfig
from tests.data_file_names import name_of
from tests.memory_storage import MemoryStorage

PATH = "file"
# Avro schemas whose records are fuzzed: every type, and some of them inside each other.
SCHEMAS = json.loads(Path(__file__).with_name("avro_schemas.json").read_text())
_SAMPLES = tuple(parse_schema(json.dumps(schema)) for schema in SCHEMAS)
ORC_COMPRESSIONS = ("UNCOMPRESSED", "ZLIB", "SNAPPY", "ZSTD")
_BLOCKS_WITH_RECORDS = DATA_BLOCKS | {LogBlockType.CDC_DATA_BLOCK}


_LOG_MAGIC = b"#HUDI#"
_HFILE_MAGICS = (b"DATABLK*", b"IDXROOT2", b"IDXLEAF2", b"IDXINTE2", b"FILEINF2", b"METABLKc")
_CHECKSUM_TYPE_AT = 24  # in a block of an HFile


@dataclass(frozen=True)
class Target:
    """A parser to fuzz.

    Args:
        parse: takes any bytes.
        refusals: errors besides HudiError that the parser documents and its callers catch.
        repair: makes most mutants keep to the format.
    """

    parse: Callable[[bytes], object]
    refusals: tuple[type[Exception], ...] = ()
    repair: Callable[[bytes], bytes] = bytes  # as they are

    def run(self, data: bytes) -> bool:
        """Parse some bytes; returns whether they were accepted.

        Raises:
            Exception: any error that the parser may not raise.
        """
        refusals: tuple[type[Exception], ...] = (HudiError, *self.refusals)
        try:
            self.parse(data)
        except refusals:
            return False
        return True


def with_block_lengths(data: bytes) -> bytes:
    """Give the blocks of a log file the right lengths."""
    head, *blocks = data.split(_LOG_MAGIC)
    out = [head]
    for block in blocks:
        inner = block[8:-8]
        length = struct.pack(">q", len(inner) + 8)
        out += [_LOG_MAGIC, length, inner, struct.pack(">q", len(inner) + 8 + len(_LOG_MAGIC))]
    return b"".join(out)


def without_checksums(data: bytes) -> bytes:
    """Let the blocks of an HFile claim that they have no checksums."""
    repaired = bytearray(data)
    for magic in _HFILE_MAGICS:
        at = repaired.find(magic)
        while 0 <= at < len(repaired) - _CHECKSUM_TYPE_AT:
            repaired[at + _CHECKSUM_TYPE_AT] = 0
            at = repaired.find(magic, at + 1)
    return bytes(repaired)


def _log_file(data: bytes) -> None:
    for salvaged in salvage_blocks(data, path=PATH):
        with suppress(HudiError):
            _content(salvaged.block)


def _native_log(data: bytes) -> None:
    """The first byte chooses kind and format of the file."""
    kind = ("log", "deletes", "cdc")[data[0] % 3] if data else "log"
    extension = "hfile" if data[:1] >= b"\x80" else "parquet"
    for salvaged in salvage_log_file(data[1:], path=f"f_1-0-1_001_1.{kind}.{extension}"):
        with suppress(HudiError):
            _content(salvaged.block)


def _content(block: LogBlock) -> None:
    if block.block_type in _BLOCKS_WITH_RECORDS:
        salvage_data_block(block)
        decode_data_block(block, ["_hoodie_record_key", "id"])
    elif block.block_type is LogBlockType.DELETE_BLOCK:
        assert decode_deletes(block).is_commit_time is not None
    if block.record_positions_text is not None and not block.native_extension:
        decode_positions(
            block.record_positions_text, len(block.content), is_list=False, path=PATH, offset=0
        )


def _avro_schema(data: bytes) -> None:
    schema = parse_schema(data.decode("utf-8", "replace"))
    arrow_schema(schema)
    decode_records(schema, b"", np.empty(0, np.int64), np.empty(0, np.int64))


def _avro_records(data: bytes) -> None:
    """The first byte chooses a schema, the second the columns; the rest are the records."""
    schema = _SAMPLES[data[0] % len(_SAMPLES)] if data else _SAMPLES[0]
    names = [field.name for field in schema.fields]
    columns = None if data[1:2] <= b"\x7f" else names[data[1] % len(names) :][:1]
    starts, ends = record_spans(data[2:], 0, _records_in(data[2:]))
    decode_records(schema, data[2:], starts, ends, columns).validate(full=True)


def _records_in(octets: bytes) -> int:
    """Return how many records follow each other, so that mutants are decoded and not refused."""
    count = position = 0
    while position + 4 <= len(octets):
        position += 4 + int.from_bytes(octets[position : position + 4], "big")
        count += 1
    return count


def _hfile(data: bytes) -> None:
    reader = HFileReader.open(memoryview(data), path=PATH)
    for part in reader.entries():
        part.keys.validate(full=True)
    reader.find([b"key1", b"", b"\xff\xff"])


def _hfile_parts(data: bytes) -> None:
    """Contents of blocks: the first byte chooses which kind."""
    kind, content = data[:1], data[1:]
    if kind <= b"\x3f":
        decode_entries([content, content[: len(content) // 2]], [0, 0], {}).keys.validate(full=True)
    elif kind <= b"\x7f":
        index = parse_lower_index(content, 0)
        index.blocks_of_keys([b"a", b"key1"])
    elif kind <= b"\xbf":
        keys, places = parse_root_index(content[1:], content[0] if content else 0, 0)
        BlockIndex.of(keys, places, 0)
    else:
        parse_file_info(content, 0, PATH)


def _delete_block(data: bytes) -> None:
    deletes = decode_delete_block(memoryview(data), path=PATH, offset=0)
    assert len(deletes.is_commit_time) == len(deletes.record_keys)


def _thrift(data: bytes) -> None:
    fields, _ = parse_struct(data)
    again, _ = parse_struct(struct_bytes(fields))
    assert repr(again) == repr(fields)  # as text, since NaN differs from itself


def _parquet_file(data: bytes) -> None:
    """A Parquet file, read page by page as `reading/base_files/page_reads.py` does."""
    pages = ParquetPages.load(memoryview(data))
    begin, end = pages.index_span(0, 0)
    column = pages.pages(0, 0, memoryview(data)[max(0, begin) : max(0, end)])
    rows = np.arange(min(3, int(column.row_counts.sum())))
    chosen = column.holding(rows)
    column.places(rows, chosen)
    name = "_hoodie_commit_time"
    built = pages.file_of(0, name, {0: (column, chosen)}, lambda a, b: memoryview(data)[a:b])
    with suppress(pa.ArrowException, OSError):
        pq.ParquetFile(pa.BufferReader(built)).read(use_threads=False)


def _bloom_filter(data: bytes) -> None:
    """The first byte chooses the kind; the rest would be in Base64."""
    text = base64.b64encode(data[1:]).decode()
    bloom = BloomFilter.parse(text, "SIMPLE" if data[:1] <= b"\x7f" else "DYNAMIC_V0")
    bloom.may_contain(["", "a", "key-1", "ä"])


def _positions(data: bytes, *, is_list: bool) -> None:
    """A bitmap or a list that would be in Base64."""
    text = base64.b64encode(data).decode()
    decode_positions(text, len(data), is_list=is_list, path=PATH, offset=0)


def _properties(data: bytes) -> None:
    TableConfig.parse(parse_properties(data))


_SERVICES = (
    services.parse_compaction_plan,
    services.parse_replace_plan,
    services.parse_clean_metadata,
    services.parse_rollback_metadata,
    services.parse_rollback_plan,
    services.parse_restore_metadata,
    services.parse_savepoint_metadata,
)


def _commit_metadata(data: bytes) -> None:
    for _, stat in parse_commit_metadata(data, path=PATH).all_stats():
        assert isinstance(stat.file_name, str)


def _service_metadata(data: bytes) -> None:
    """The first byte chooses the action."""
    _SERVICES[data[0] % len(_SERVICES) if data else 0](data[1:], path=PATH)


def _internal_schema(data: bytes) -> None:
    parse = parse_internal_schema if data[:1] <= b"\x7f" else parse_schema_history
    parse(data[1:], path=PATH)


def _archive(data: bytes) -> None:
    storage = MemoryStorage({"archived/.commits_.archive.1_1-0-1": data})
    load_archived_metadata(storage, load_archive(storage, 1, "archived"), dict)


def _history(data: bytes) -> None:
    """The manifest and the history files of the LSM timeline, which the manifest separates."""
    manifest, _, file = data.partition(b"PAR1")
    storage = MemoryStorage(
        {"h/_version_": b"1", "h/manifest_1": manifest, "h/1_1_0.parquet": b"PAR1" + file}
    )
    load_archived_metadata(storage, load_archive(storage, 2, "h"), dict)


def _names(data: bytes) -> None:
    name = data.decode("utf-8", "replace")
    for layout in (1, 2):
        try:
            instant = Instant.parse(name, layout)
        except NotAnInstant:
            continue
        assert Instant.parse(instant.file_name(layout), layout) == instant
    data_files.is_log_file_name(name)
    data_files.is_partition_marker(name)
    parsed = data_files.parse_data_file_name(name)
    assert parsed is None or data_files.parse_data_file_name(name_of(parsed)) == parsed


@cache
def _partition_config(*names: str) -> TableConfig:
    return TableConfig.parse(
        {
            "hoodie.table.name": "t",
            "hoodie.table.version": "9",
            "hoodie.timeline.layout.version": "2",
            "hoodie.table.partition.fields": ",".join(names),
        }
    )


def _partition_path(data: bytes) -> None:
    types = {"a": pa.date32(), "b": pa.timestamp("us"), "c": pa.decimal128(9, 2)}
    text = data.decode("utf-8", "replace")
    accepted = 0
    for names in (("a",), ("b",), ("c",), ("a", "b", "c")):
        try:
            partition_scalars(text, _partition_config(*names), types)
        except CorruptTableError:
            continue
        accepted += 1
    if not accepted:
        raise CorruptTableError(text)


def _orc_footer(data: bytes) -> None:
    """The first byte chooses the compression."""
    compression = ORC_COMPRESSIONS[data[0] % len(ORC_COMPRESSIONS) if data else 0]
    parse_orc_footer(data[1:], compression)
    parse_writer_zone(data[1:], compression)


_PARQUET_REFUSALS = (ParquetPagesError, ThriftError)

TARGETS = {
    "archive": Target(_archive, repair=with_block_lengths),
    "avro_records": Target(_avro_records),
    "avro_schema": Target(_avro_schema),
    "bloom_filter": Target(_bloom_filter, (BloomFilterError,)),
    "commit_metadata": Target(_commit_metadata),
    "delete_block": Target(_delete_block),
    "hfile": Target(_hfile, (HFileError,), without_checksums),
    "hfile_parts": Target(_hfile_parts, (HFileError,)),
    "history": Target(_history),
    "internal_schema": Target(_internal_schema),
    "log_file": Target(_log_file, repair=with_block_lengths),
    "names": Target(_names),
    "orc_footer": Target(_orc_footer, (ValueError,)),
    "parquet_file": Target(_parquet_file, _PARQUET_REFUSALS),
    "partition_path": Target(_partition_path),
    "native_log": Target(_native_log),
    "positions": Target(partial(_positions, is_list=False)),
    "position_list": Target(partial(_positions, is_list=True)),
    "properties": Target(_properties, (ValueError,)),
    "service_metadata": Target(_service_metadata),
    "thrift": Target(_thrift, (ThriftError,)),
}
