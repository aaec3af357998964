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

    import numpy.typing as npt

    from hudi_pyspark.format.parquet_pages import ColumnPages
    from hudi_pyspark.read.file_parts import File

    Mask = npt.NDArray[np.bool_]

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
    if not rows.any():
        return parquet.schema_arrow.empty_table().select(columns)
    others = [name for name in columns if name != RECORD_KEY_COLUMN]
    try:
        picked = _read_pages(file, group, others, rows)
    except (ParquetPagesError, ThriftError, pa.ArrowException, OSError):
        return None  # whatever is wrong with the file, reading it whole will tell
    return pa.table({**picked, RECORD_KEY_COLUMN: found}).select(columns) if picked else None


def _rows_with(parquet: pq.ParquetFile, group: int, keys: pa.Array) -> tuple[Mask, pa.ChunkedArray]:
    """Which rows have one of the keys, and the keys of these."""
    batches = parquet.iter_batches(_BATCH_ROWS, [group], [RECORD_KEY_COLUMN], use_threads=False)
    masks, found = [], []
    for batch in batches:
        mask = pc.is_in(batch.column(0), value_set=keys)
        masks.append(mask.to_numpy(zero_copy_only=False))
        found.append(batch.column(0).filter(mask))
    return np.concatenate(masks), pa.chunked_array(found)


def _read_pages(
    file: File, group: int, columns: Sequence[str], rows: Mask
) -> dict[str, pa.ChunkedArray]:
    """The rows, from their pages; none where nearly all pages hold some of them."""
    footer = ParquetPages.parse(read_footer(file))
    leaves = {column: footer.leaves(group, column) for column in columns}
    every = [leaf for found in leaves.values() for leaf in found]
    spans = {leaf: footer.index_span(group, leaf) for leaf in every}
    indexes = FileParts(file, spans.values())
    pages = {leaf: footer.pages(group, leaf, indexes(*spans[leaf])) for leaf in every}
    chosen = {}
    for found in leaves.values():
        chosen.update(_choose([pages[leaf] for leaf in found], found, rows))
    size = sum(int(pages[leaf].sizes[chosen[leaf]].sum()) for leaf in every)
    if size > _MOST_PAGES * sum(int(pages[leaf].sizes.sum()) for leaf in every):
        return {}
    parts = FileParts(file, (s for leaf in every for s in pages[leaf].spans(chosen[leaf])))
    picked: dict[str, pa.ChunkedArray] = {}
    for column, found in leaves.items():
        chunks = {leaf: (pages[leaf], chosen[leaf]) for leaf in found}
        some = footer.file_of(group, column, chunks, parts)
        held = _rows_in(*chunks[found[0]])
        picked[column] = _read_column(some, int(held.sum())).take(
            pa.array((np.cumsum(held) - 1)[rows])
        )
    return picked


def _choose(leaves: Sequence[ColumnPages], ordinals: Sequence[int], rows: Mask) -> dict[int, Mask]:
    """Pages of a top-level column's leaves that hold the rows, and all the same other rows."""
    while True:
        chosen = [pages.holding(rows) for pages in leaves]
        held = [_rows_in(pages, mask) for pages, mask in zip(leaves, chosen, strict=True)]
        union = np.logical_or.reduce(held)
        if all(np.array_equal(union, mask) for mask in held):
            return dict(zip(ordinals, chosen, strict=True))
        rows = union


def _rows_in(pages: ColumnPages, chosen: Mask) -> Mask:
    return np.repeat(chosen, pages.row_counts)


def _read_column(some: bytes, rows: int) -> pa.ChunkedArray:
    with pq.ParquetFile(pa.BufferReader(some), coerce_int96_timestamp_unit="us") as parquet:
        column = parquet.read(use_threads=False).column(0)
    if len(column) != rows:
        raise ParquetPagesError(f"pages of {rows} rows have {len(column)}")
    return column
