"""Some rows of a Parquet row group, from the pages that hold them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hudi_pyspark.format.parquet.pages import ParquetPagesError
from hudi_pyspark.format.parquet.thrift_compact import ThriftError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hudi_pyspark.format.parquet.pages import ColumnPages, Mask, Rows
    from hudi_pyspark.query.base_files.parquet_ranges import PagedFile

_FEWEST_BYTES = 1 << 16  # uncompressed, of a column on average: smaller ones have a single page
_MOST_PAGES = 0.8  # of all bytes; when nearly every page is wanted, none is looked for
_MOST_ROWS = 0.125  # of all rows; nearly every page has some then
_BATCH_ROWS = 1 << 14
_ARROW_SCHEMA = b"ARROW:schema"  # types of pyarrow's own, which are told for all columns together


@dataclass(frozen=True, slots=True)
class WantedRows:
    """How some columns tell which rows are wanted."""

    columns: tuple[str, ...]  # top-level names; a file has each of them once
    holds: Callable[[pa.Table], Mask]  # per row of a table of these columns


def pick_rows(
    file: PagedFile, group: int, columns: Sequence[str], wanted: WantedRows
) -> pa.Table | None:
    """The wanted rows of a row group.

    Args:
        file: to read from.
        group: ordinal of the row group.
        columns: names of top-level columns; the file has each of them once.
        wanted: tells the rows.

    Returns:
        The columns in the file's own types; None where the row group is to be read whole, since
        that is no slower, or since the file tells too little of its pages.
    """
    parquet = file.parquet
    metadata = parquet.metadata
    others = [name for name in columns if name not in wanted.columns]
    if (
        not others
        or metadata.row_group(group).total_byte_size < _FEWEST_BYTES * metadata.num_columns
        or _ARROW_SCHEMA in (metadata.metadata or {})
    ):
        return None
    found = _wanted(parquet, group, wanted)
    if found is None:
        return None
    rows, table = found
    if not len(rows):
        return parquet.schema_arrow.empty_table().select(columns)
    try:
        picked = _read_pages(file, group, others, rows)
    except (ParquetPagesError, ThriftError, pa.ArrowException, OSError):
        return None  # whatever is wrong with the file, reading it whole will tell
    if not picked:
        return None
    told = {name: table.column(name) for name in wanted.columns}
    return pa.table({**told, **picked}).select(columns)


def _wanted(
    parquet: pq.ParquetFile, group: int, wanted: WantedRows
) -> tuple[Rows, pa.Table] | None:
    """Ordinals of the wanted rows, and the columns that told them; None if they are many."""
    most = parquet.metadata.row_group(group).num_rows * _MOST_ROWS
    rows, tables, before = [np.empty(0, np.int64)], [], 0
    batches = parquet.iter_batches(_BATCH_ROWS, [group], list(wanted.columns), use_threads=False)
    for batch in batches:
        table = pa.Table.from_batches([batch])
        mask = wanted.holds(table)
        tables.append(table.filter(pa.array(mask)))
        rows.append(np.flatnonzero(mask) + before)
        before += len(mask)
        if sum(map(len, rows)) > most:
            return None
    return np.concatenate(rows), pa.concat_tables(tables)


def _read_pages(
    file: PagedFile, group: int, columns: Sequence[str], rows: Rows
) -> dict[str, pa.ChunkedArray]:
    """The rows, from their pages; none where nearly all pages hold some of them."""
    leaves = {column: file.footer.leaves(group, column) for column in columns}
    every = [leaf for found in leaves.values() for leaf in found]
    pages = file.pages(group, every)
    chosen: dict[int, Mask] = {}
    for found in leaves.values():
        masks = _choose([pages[leaf] for leaf in found], rows)
        chosen.update(zip(found, masks, strict=True))
    size = sum(int(pages[leaf].sizes[chosen[leaf]].sum()) for leaf in every)
    if size > _MOST_PAGES * sum(int(pages[leaf].sizes.sum()) for leaf in every):
        return {}
    parts = file.parts(s for leaf in every for s in pages[leaf].spans(chosen[leaf]))
    picked: dict[str, pa.ChunkedArray] = {}
    for column, found in leaves.items():
        chunks = {leaf: (pages[leaf], chosen[leaf]) for leaf in found}
        some = file.footer.file_of(group, column, chunks, parts)
        held, of_which = chunks[found[0]]
        whole = _read_column(some, int(held.row_counts[of_which].sum()))
        picked[column] = whole.take(pa.array(held.places(rows, of_which)))
    return picked


def _choose(leaves: Sequence[ColumnPages], rows: Rows) -> list[Mask]:
    """Pages of a top-level column's leaves that hold the rows, and all the same other rows."""
    while True:
        chosen = [pages.holding(rows) for pages in leaves]
        if len(leaves) == 1:
            return chosen
        held = [
            np.flatnonzero(np.repeat(mask, pages.row_counts))
            for pages, mask in zip(leaves, chosen, strict=True)
        ]
        if all(np.array_equal(held[0], others) for others in held[1:]):
            return chosen
        rows = np.unique(np.concatenate(held))


def _read_column(some: bytes, rows: int) -> pa.ChunkedArray:
    with pq.ParquetFile(pa.BufferReader(some), coerce_int96_timestamp_unit="us") as parquet:
        column = parquet.read(use_threads=False).column(0)
    if len(column) != rows:
        raise ParquetPagesError(f"pages of {rows} rows have {len(column)}")
    return column
