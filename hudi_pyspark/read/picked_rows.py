"""Some rows of a Parquet row group, from the pages that hold them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hudi_pyspark.format.parquet_pages import ParquetPages, ParquetPagesError
from hudi_pyspark.format.thrift_compact import ThriftError
from hudi_pyspark.read.file_parts import FileParts, read_footer
from hudi_pyspark.table.schema import RECORD_KEY_COLUMN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hudi_pyspark.format.parquet_pages import ColumnPages, Mask, Rows
    from hudi_pyspark.read.file_parts import File

_FEWEST_BYTES = 1 << 20  # uncompressed: what is smaller is read as fast as its pages are looked for
_MOST_PAGES = 0.8  # of all bytes; when nearly every page is wanted, none is looked for
_BATCH_ROWS = 1 << 16
_ARROW_SCHEMA = b"ARROW:schema"  # types of pyarrow's own, which are told for all columns together


def pick_rows(
    file: File, parquet: pq.ParquetFile, group: int, columns: Sequence[str], keys: pa.Array
) -> pa.Table | None:
    """The rows of a row group that have one of some record keys.

    Args:
        file: what `parquet` reads.
        parquet: the opened file.
        group: ordinal of the row group.
        columns: names of top-level columns; the file has each of them once.
        keys: record keys, as strings.

    Returns:
        The columns in the file's own types; None where the row group is to be read whole, since
        that is no slower, or since the file tells too little of its pages.
    """
    metadata = parquet.metadata
    if (
        set(columns) <= {RECORD_KEY_COLUMN}
        or metadata.row_group(group).total_byte_size < _FEWEST_BYTES
        or _ARROW_SCHEMA in (metadata.metadata or {})
        or RECORD_KEY_COLUMN not in parquet.schema_arrow.names
        or parquet.schema_arrow.field(RECORD_KEY_COLUMN).type != keys.type
    ):
        return None
    rows, found = _rows_with(parquet, group, keys)
    if not len(rows):
        return parquet.schema_arrow.empty_table().select(columns)
    others = [name for name in columns if name != RECORD_KEY_COLUMN]
    try:
        picked = _read_pages(file, group, others, rows)
    except (ParquetPagesError, ThriftError, pa.ArrowException, OSError):
        return None  # whatever is wrong with the file, reading it whole will tell
    return pa.table({**picked, RECORD_KEY_COLUMN: found}).select(columns) if picked else None


def _rows_with(parquet: pq.ParquetFile, group: int, keys: pa.Array) -> tuple[Rows, pa.ChunkedArray]:
    """Ordinals of the rows that have one of the keys, and the keys of these."""
    batches = parquet.iter_batches(_BATCH_ROWS, [group], [RECORD_KEY_COLUMN], use_threads=False)
    masks, found = [], []
    for batch in batches:
        mask = pc.is_in(batch.column(0), value_set=keys)
        masks.append(mask.to_numpy(zero_copy_only=False))
        found.append(batch.column(0).filter(mask))
    return np.flatnonzero(np.concatenate(masks)), pa.chunked_array(found)


def _read_pages(
    file: File, group: int, columns: Sequence[str], rows: Rows
) -> dict[str, pa.ChunkedArray]:
    """The rows, from their pages; none where nearly all pages hold some of them."""
    footer = ParquetPages.parse(read_footer(file))
    leaves = {column: footer.leaves(group, column) for column in columns}
    every = [leaf for found in leaves.values() for leaf in found]
    spans = {leaf: footer.index_span(group, leaf) for leaf in every}
    indexes = FileParts(file, spans.values())
    pages = {leaf: footer.pages(group, leaf, indexes(*spans[leaf])) for leaf in every}
    chosen: dict[int, Mask] = {}
    for found in leaves.values():
        masks = _choose([pages[leaf] for leaf in found], rows)
        chosen.update(zip(found, masks, strict=True))
    size = sum(int(pages[leaf].sizes[chosen[leaf]].sum()) for leaf in every)
    if size > _MOST_PAGES * sum(int(pages[leaf].sizes.sum()) for leaf in every):
        return {}
    parts = FileParts(file, (s for leaf in every for s in pages[leaf].spans(chosen[leaf])))
    picked: dict[str, pa.ChunkedArray] = {}
    for column, found in leaves.items():
        chunks = {leaf: (pages[leaf], chosen[leaf]) for leaf in found}
        some = footer.file_of(group, column, chunks, parts)
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
