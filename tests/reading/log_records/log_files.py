"""Builds log blocks and the records in them; fastavro encodes, so no code of ours is involved."""

import base64
import io
import json
import struct
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

import fastavro
import pyarrow as pa

from hudi_pyspark.format.log.log_block import HeaderKey, LogBlock, LogBlockType, frame_blocks
from hudi_pyspark.reading.log_records.decoder import LogDecoder
from hudi_pyspark.reading.log_records.records import LogRecords, Records
from hudi_pyspark.reading.merge.loaded_log import MemoryLimits, load_log
from hudi_pyspark.reading.merge.merge import MergePass
from hudi_pyspark.table.log_files import BlockFilter, scan_blocks
from hudi_pyspark.table.merge_mode import MergeRule, RecordMergeMode
from tests.format.log.delete_lists import DELETE_LIST, array_of, content, wrapped
from tests.format.log.log_writer import avro_content, avro_records, write_block

__all__ = ["array_of", "wrapped"]

KEY = "_hoodie_record_key"
BASE_INSTANT = "001"
EVENT_TIME = RecordMergeMode.EVENT_TIME_ORDERING
COMMIT_TIME = RecordMergeMode.COMMIT_TIME_ORDERING
ENOUGH_MEMORY = 1 << 30


def rule_of(
    mode: RecordMergeMode = EVENT_TIME,
    ordering_fields: Sequence[str] = ("ts",),
    *,
    delete_field: str = "",
    delete_marker: str = "",
) -> MergeRule:
    return MergeRule(
        mode=mode,
        ordering_fields=tuple(ordering_fields) if mode is EVENT_TIME else (),
        payload_class="",
        merge_strategy_id="",
        partial_update_mode="",
        delete_field=delete_field,
        delete_marker=delete_marker,
    )


def nullable(avro_type: object) -> list[object]:
    return ["null", avro_type]


def avro_record(**fields: object) -> dict[str, object]:
    """The Avro schema of a record with a record key and these fields."""
    listed = {KEY: nullable("string"), **fields}
    return {
        "type": "record",
        "name": "r",
        "fields": [{"name": name, "type": avro_type} for name, avro_type in listed.items()],
    }


def data_block(
    schema: Mapping[str, object],
    rows: Iterable[dict[str, Any]],
    *,
    instant: str = "002",
    positions: Sequence[int] | None = None,
    positions_base: str | None = BASE_INSTANT,
    more: dict[HeaderKey | int, str] | None = None,
) -> bytes:
    """A block of rows; they are sorted by position where they have one."""
    records = avro_content(avro_records(schema, rows))
    header = _header(instant, positions, positions_base)
    header[HeaderKey.SCHEMA] = json.dumps(schema)
    return write_block(LogBlockType.AVRO_DATA_BLOCK, {**header, **(more or {})}, records)


def delete_block(
    deletes: Iterable[tuple[str | None, object]],
    *,
    instant: str = "002",
    positions: Sequence[int] | None = None,
    positions_base: str | None = BASE_INSTANT,
) -> bytes:
    """A block of record keys, each with a wrapped ordering value or None."""
    records = [
        {"recordKey": key, "partitionPath": "", "orderingVal": ordering}
        for key, ordering in deletes
    ]
    payload = io.BytesIO()
    fastavro.schemaless_writer(payload, DELETE_LIST, {"deleteRecordList": records})
    header = _header(instant, positions, positions_base)
    return write_block(LogBlockType.DELETE_BLOCK, header, content(3, payload.getvalue()))


def rollback_block(target: str, *, instant: str = "009") -> bytes:
    header: dict[HeaderKey | int, str] = {
        HeaderKey.INSTANT_TIME: instant,
        HeaderKey.TARGET_INSTANT_TIME: target,
        HeaderKey.COMMAND_BLOCK_TYPE: "0",
    }
    return write_block(LogBlockType.COMMAND_BLOCK, header)


def encoded_positions(positions: Sequence[int]) -> str:
    """A bitmap of numbers below 4096, as Hudi puts it into a header."""
    octets = struct.pack("<QIIIHHI", 1, 0, 12346, 1, 0, len(positions) - 1, 16)
    octets += struct.pack(f"<{len(positions)}H", *positions)
    return base64.b64encode(octets).decode()


def framed(*files: bytes) -> list[LogBlock]:
    """The blocks of the log files f1, f2, …, in order."""
    return [
        block
        for number, data in enumerate(files, start=1)
        for block in frame_blocks(data, path=f"f{number}.log")
    ]


def log_records(
    *files: bytes, schema: pa.Schema, rule: MergeRule, positions_of: str | None = None
) -> LogRecords:
    """What a read makes of log files: framed, scanned and decoded."""
    scan = scan_blocks(framed(*files), BlockFilter("999", None))
    decoder = log_decoder(schema, rule, positions_of)
    return decoder.concatenate([*decoder.decode(scan.blocks)])


def merged_slice(
    log: bytes,
    base: Iterable[pa.Table],
    decoder: LogDecoder,
    *,
    memory: int,
    batch_rows: int = 10,
    row_filter: Callable[[pa.Table], Any] | None = None,
    folder: str = tempfile.gettempdir(),
) -> Iterator[pa.Table]:
    """A log file merged with base tables, as a read does it with so much memory."""
    blocks = list(scan_blocks(framed(log), BlockFilter("999", None)).blocks)
    with closing(load_log(blocks, decoder, MemoryLimits(memory, folder))) as loaded:
        tables = loaded.merge(
            base,
            lambda base, log: MergePass(log, decoder.rule, row_filter).rows(base, batch_rows),
        )
        yield from (table.rows for table in tables)


def merge(
    base: Iterable[pa.Table],
    log: LogRecords,
    rule: MergeRule,
    *,
    batch_rows: int,
) -> Iterator[pa.Table]:
    """The tables of one pass of a merge."""
    merge_pass = MergePass(log, rule)
    return (table.rows for table in merge_pass.rows(base, batch_rows))


def log_decoder(schema: pa.Schema, rule: MergeRule, positions_of: str | None = None) -> LogDecoder:
    return LogDecoder(
        schema,
        {},
        rule,
        positions_of=positions_of,
        columns=schema.names,
    )


def _header(
    instant: str, positions: Sequence[int] | None, positions_base: str | None
) -> dict[HeaderKey | int, str]:
    header: dict[HeaderKey | int, str] = {HeaderKey.INSTANT_TIME: instant}
    if positions:
        header[HeaderKey.RECORD_POSITIONS] = encoded_positions(positions)
        if positions_base is not None:
            header[HeaderKey.BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS] = positions_base
    return header


def records_of(texts: list[str]) -> Records:
    return Records.of_rows(pa.table({"v": texts}), ())
