"""A base file in HFile, as Apache Hudi writes it."""

import io
import json
from typing import Any

import fastavro

from tests.format.hfile_writer import block, entry, hfile, message

SCHEMA: dict[str, Any] = {
    "type": "record",
    "name": "r",
    "fields": [
        {"name": "key", "type": "string"},
        {"name": "n", "type": ["null", "long"]},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
    ],
}
ROWS: list[dict[str, Any]] = [
    {"key": "k1", "n": 1, "tags": ["x"]},
    {"key": "k2", "n": None, "tags": []},
    {"key": "k3", "n": -3, "tags": ["y", "z"]},
]


def info(key: str, value: bytes) -> bytes:
    """The content of a file info block with one pair."""
    pair = message({1: key.encode(), 2: value})
    return b"PBUF" + message({1: pair[pair.index(b"\x0a") :]})  # without its own length


def avro(row: dict[str, Any]) -> bytes:
    octets = io.BytesIO()
    fastavro.schemaless_writer(octets, SCHEMA, row)
    return octets.getvalue()


def base_file(rows: list[dict[str, Any]], **options: Any) -> bytes:
    """An HFile as Hudi writes it: the field `key` is blank, since the HFile's key repeats it."""
    entries = [entry(row["key"].encode(), avro({**row, "key": ""})) for row in rows]
    options = {"info": info("schema", json.dumps(SCHEMA).encode()), **options}
    blocks = [block(b"DATABLK*", b"".join(entries))] if rows else []
    return hfile(blocks, entry_count=len(rows), **options)
