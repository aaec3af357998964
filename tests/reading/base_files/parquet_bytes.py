"""Parquet files in memory, as parquet-mr writes them: with an offset index, no schema of Arrow."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

if TYPE_CHECKING:
    import pyarrow as pa


def parquet_bytes(table: pa.Table, **options: object) -> bytes:
    """The table as a file; options are those of `pyarrow.parquet.write_table`."""
    defaults = {
        "store_schema": False,
        "write_page_index": True,
        "compression": "gzip",
        "data_page_size": 20_000,
        "write_batch_size": 100,
    }
    out = io.BytesIO()
    pq.write_table(table, out, **{**defaults, **options})
    return out.getvalue()


def keys(count: int) -> list[str]:
    """Record keys that do not compress well."""
    return [f"{i * 2654435761 % 2**32:08x}{i * 40503 % 65536:04x}-{i:06d}" for i in range(count)]


def with_unknown_page(content: bytes, column: int) -> bytes:
    """The file with a page type that does not exist, in the first data page of a leaf column."""
    footer = pq.read_metadata(io.BytesIO(content))
    place = footer.row_group(0).column(column).data_page_offset
    assert content[place : place + 2] in (b"\x15\x00", b"\x15\x06")  # of version 1 or 2
    return content[: place + 1] + b"\x01" + content[place + 2 :]
