"""Writes native logs of table version 10 with pyarrow, by the format's description."""

from __future__ import annotations

import base64
import io
import json
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pyarrow as pa


def position_text(positions: Iterable[int]) -> str:
    """Return the text of RECORD_POSITIONS: a big-endian count, then unsigned LEB128 numbers."""
    numbers = list(positions)
    octets = bytearray(len(numbers).to_bytes(4, "big"))
    for position in numbers:
        rest = position
        while rest > 0x7F:
            octets.append(rest & 0x7F | 0x80)
            rest >>= 7
        octets.append(rest)
    return base64.b64encode(octets).decode()


def native_parquet(rows: pa.Table, header: Mapping[str, str]) -> bytes:
    """Return a native log in Parquet.

    Args:
        rows: of the log.
        header: names of header keys to texts.
    """
    return parquet_with(rows, {"hudi.log.format.metadata": json.dumps({"VERSION": "2", **header})})


def parquet_with(rows: pa.Table, entries: Mapping[str, str]) -> bytes:
    """Return a Parquet file with entries in its footer."""
    sink = io.BytesIO()
    pq.write_table(rows.replace_schema_metadata(dict(entries)), sink, compression="gzip")
    return sink.getvalue()
