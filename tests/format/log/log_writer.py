"""Writes log blocks, so that tests have files of any shape."""

import io
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import fastavro

from hudi_pyspark.format.log.log_block import HeaderKey, LogBlockType

MAGIC = b"#HUDI#"


def write_block(
    block_type: LogBlockType | int,
    header: Mapping[HeaderKey | int, str],
    content: bytes = b"",
    *,
    version: int = 1,
) -> bytes:
    """One block as Hudi writes it; plain ints stand for ordinals that no release knows."""
    body = struct.pack(">ii", version, _ordinal(block_type))
    body += struct.pack(">i", len(header))
    for key, text in header.items():
        value = text.encode()
        body += struct.pack(">ii", _ordinal(key), len(value)) + value
    body += struct.pack(">q", len(content)) + content + struct.pack(">i", 0)
    return enclose(body)


def enclose(body: bytes) -> bytes:
    """Magic and the two outer lengths around the rest of a block."""
    size = len(body) + 8
    return MAGIC + struct.pack(">q", size) + body + struct.pack(">q", size + len(MAGIC))


def avro_records(schema: Any, records: Iterable[Mapping[str, Any]]) -> list[bytes]:
    """Records as fastavro encodes them, so no code of ours is involved."""
    parsed = fastavro.parse_schema(schema)
    encoded = []
    for record in records:
        octets = io.BytesIO()
        fastavro.schemaless_writer(octets, parsed, record)
        encoded.append(octets.getvalue())
    return encoded


def avro_content(records: Sequence[bytes], *, version: int = 3) -> bytes:
    """The content of an Avro data block of records that are encoded already."""
    framed = b"".join(struct.pack(">i", len(record)) + record for record in records)
    return struct.pack(">ii", version, len(records)) + framed


def _ordinal(value: LogBlockType | HeaderKey | int) -> int:
    return value if isinstance(value, int) else value.value
