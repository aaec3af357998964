"""Reads of Parquet files that have all their rows.

pyarrow passes over pages of a type that it does not know, and ends with the shortest column without
an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pyarrow.parquet as pq


def read_columns(file: pq.ParquetFile, columns: Sequence[str]) -> pa.Table:
    """Read columns of a whole file, in one thread.

    Args:
        file: to read from.
        columns: names of top-level columns, or dotted paths of leaf columns.

    Raises:
        pyarrow.ArrowInvalid, OSError: the pages cannot be read, or lack rows.
    """
    table = file.read(columns, use_threads=False)
    check_row_count(file.metadata, range(file.num_row_groups), table.num_rows)
    return table


def check_row_count(metadata: pq.FileMetaData, groups: Iterable[int], rows: int) -> None:
    """Check how many rows pyarrow has read from some row groups.

    Args:
        metadata: the file's footer.
        groups: ordinals of the row groups.
        rows: how many rows they had.

    Raises:
        pyarrow.ArrowInvalid: the footer says another number.
    """
    expected = sum(metadata.row_group(group).num_rows for group in groups)
    if rows != expected:
        raise pa.ArrowInvalid(f"expected {expected} rows by the footer, found {rows} in the pages")
