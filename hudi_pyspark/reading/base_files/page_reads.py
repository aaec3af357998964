"""Read some rows of a Parquet row group from the pages that hold them."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import IO, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hudi_pyspark import thresholds
from hudi_pyspark.cached_property import cached_property
from hudi_pyspark.columns.arrays import Mask, RowNumbers, is_true
from hudi_pyspark.format.bytes_source import FileSource
from hudi_pyspark.format.parquet.checked_file import check_row_count, chunk_begin, open_parquet
from hudi_pyspark.format.parquet.pages import ColumnPages, ParquetPages, ParquetPagesError
from hudi_pyspark.format.parquet.thrift_compact import ThriftError
from hudi_pyspark.storage.remote_file import ByteRange, RemoteFile, coalesce, prefetch
from hudi_pyspark.table.meta_columns import RECORD_KEY_COLUMN

File: TypeAlias = pa.NativeFile | IO[bytes]

_BATCH_ROWS = 1 << 14


class PagedFile:
    """A Parquet file that pyarrow reads, with access to single pages of the same open file.

    Args:
        file: open for reading.
        parquet: the same file, for pyarrow.
        place: its path or URI, for errors.
    """

    def __init__(self, file: File, parquet: pq.ParquetFile, place: str) -> None:
        self._file = file
        self.parquet = parquet
        self.place = place
        self.is_remote = isinstance(file, RemoteFile)
        """Whether each read is a request to another machine."""
        self.row_count = int(parquet.metadata.num_rows)
        """The number of rows, as the footer says."""

    def prefetch(self, groups: Iterable[int], columns: Sequence[str]) -> None:
        """Fetch columns, or leaf columns, of row groups in parallel if reads are requests."""
        if not self.is_remote:
            return
        spans: list[ByteRange] = []
        for group in groups:
            row_group = self.parquet.metadata.row_group(group)
            chunks = map(row_group.column, range(row_group.num_columns))
            for chunk in (c for c in chunks if is_among(columns, c.path_in_schema)):
                begin = chunk_begin(chunk)
                spans.append((begin, begin + chunk.total_compressed_size))
        prefetch(self._file, spans)

    @cached_property
    def footer(self) -> ParquetPages:
        """The metadata at the end of the file.

        Raises:
            ParquetPagesError: it is encrypted.
            ThriftError: it cannot be decoded.
        """
        return ParquetPages.load(FileSource(self._file))

    def pages(self, group: int, leaves: Iterable[int]) -> dict[int, ColumnPages]:
        """Return the pages of some leaf columns of a row group, by the columns' ordinals."""
        spans = {leaf: self.footer.index_span(group, leaf) for leaf in leaves}
        indexes = self.parts(spans.values())
        return {
            leaf: self.footer.pages(group, leaf, indexes(*span)) for leaf, span in spans.items()
        }

    def parts(self, spans: Iterable[ByteRange]) -> Callable[[int, int], memoryview]:
        """Read parts of the file, and return a function of the bytes between two offsets.

        Two parts are read at once if the hole between them is small. The two offsets of a call lie
        in one part.
        """
        ranges = coalesce(spans)
        prefetch(self._file, ranges)
        begins = [begin for begin, _ in ranges]
        blocks = []
        for begin, end in ranges:
            self._file.seek(begin)
            blocks.append(memoryview(self._file.read(end - begin)))

        def bytes_between(begin: int, end: int) -> memoryview:
            block = bisect_right(begins, begin) - 1
            return blocks[block][begin - begins[block] : end - begins[block]]

        return bytes_between


def read_keyed_rows(
    file: PagedFile, group: int, columns: Sequence[str], keys: pa.Array, dropped: Mask | None = None
) -> pa.Table | None:
    """Read the rows of a row group that have some record keys, in the file's own types and order.

    Args:
        file: the open file.
        group: ordinal of the row group.
        columns: names in the file, with or without the record key.
        keys: of the rows to read.
        dropped: rows to leave out, by ordinal in the row group; None to leave out no row.

    Returns:
        The rows, and maybe neighbouring rows with other keys. None if the row group should be read
        whole: that is as fast (`benchmarks/page_reads.py`), or the file has no usable page index.
    """
    metadata = file.parquet.metadata
    row_group = metadata.row_group(group)
    other_columns = [name for name in columns if name != RECORD_KEY_COLUMN]
    share_of_page = min(1, thresholds.ROWS_OF_PAGE / max(row_group.num_rows, 1))
    if (
        not other_columns
        or 1 - (1 - share_of_page) ** len(keys) > thresholds.MOST_PAGES  # keys may be anywhere
        or row_group.total_byte_size < thresholds.PAGED_COLUMN_BYTES * metadata.num_columns
    ):
        return None
    file.prefetch([group], [RECORD_KEY_COLUMN])
    rows, stored_keys = _find_rows(file.parquet, group, keys)
    if dropped is not None:
        is_kept = ~dropped[rows]
        rows = rows[is_kept]
        stored_keys = stored_keys.filter(pa.array(is_kept))
    if not len(rows):
        return file.parquet.schema_arrow.empty_table().select(columns)
    try:
        from_pages = _read_pages(file, group, other_columns, rows)
    except (ParquetPagesError, ThriftError, pa.ArrowException, OSError):
        return None  # a read of the whole row group reports what is wrong with the file
    if not from_pages:
        return None
    return pa.table({RECORD_KEY_COLUMN: stored_keys, **from_pages}).select(columns)


def _find_rows(
    parquet: pq.ParquetFile, group: int, keys: pa.Array
) -> tuple[RowNumbers, pa.ChunkedArray]:
    """Return ordinals and keys of the rows that have some record keys."""
    rows = [np.empty(0, np.int64)]
    key_parts = []
    before = 0
    batches = parquet.iter_batches(_BATCH_ROWS, [group], [RECORD_KEY_COLUMN], use_threads=False)
    for batch in batches:
        mask = is_true(pc.is_in(batch.column(0), value_set=keys))
        key_parts.append(batch.column(0).filter(pa.array(mask)))
        rows.append(np.flatnonzero(mask) + before)
        before += len(mask)
    check_row_count(parquet.metadata, [group], before)
    return np.concatenate(rows), pa.chunked_array(key_parts, keys.type)


def _read_pages(
    file: PagedFile, group: int, columns: Sequence[str], rows: RowNumbers
) -> dict[str, pa.ChunkedArray]:
    """Read the rows from their pages; return no column if these pages have most of the bytes."""
    leaves = {column: file.footer.leaves(group, column) for column in columns}
    all_leaves = [leaf for of_column in leaves.values() for leaf in of_column]
    pages = file.pages(group, all_leaves)
    masks: dict[int, Mask] = {}
    for of_column in leaves.values():
        column_masks = _choose_pages([pages[leaf] for leaf in of_column], rows)
        masks.update(zip(of_column, column_masks, strict=True))
    size = sum(int(pages[leaf].sizes[masks[leaf]].sum()) for leaf in all_leaves)
    if size > thresholds.MOST_PAGES * sum(int(pages[leaf].sizes.sum()) for leaf in all_leaves):
        return {}
    parts = file.parts(s for leaf in all_leaves for s in pages[leaf].spans(masks[leaf]))
    values: dict[str, pa.ChunkedArray] = {}
    for column, of_column in leaves.items():
        chunks = {leaf: (pages[leaf], masks[leaf]) for leaf in of_column}
        small_file = file.footer.file_of(group, column, chunks, parts)
        first_pages, mask = chunks[of_column[0]]
        whole = _read_column(small_file, int(first_pages.row_counts[mask].sum()))
        values[column] = whole.take(pa.array(first_pages.places(rows, mask)))
    return values


def _choose_pages(leaves: Sequence[ColumnPages], rows: RowNumbers) -> list[Mask]:
    """Choose pages of a column's leaves so that all leaves have the same rows, with ``rows``."""
    while True:
        masks = [pages.holding(rows) for pages in leaves]
        if len(leaves) == 1:
            return masks
        rows_of_pages = [
            np.flatnonzero(np.repeat(mask, pages.row_counts))
            for pages, mask in zip(leaves, masks, strict=True)
        ]
        if all(np.array_equal(rows_of_pages[0], of_leaf) for of_leaf in rows_of_pages[1:]):
            return masks
        rows = np.unique(np.concatenate(rows_of_pages))


def _read_column(small_file: bytes, rows: int) -> pa.ChunkedArray:
    with open_parquet(
        pa.BufferReader(small_file), verify_checksums=False, coerce_int96_timestamp_unit="us"
    ) as parquet:
        column = parquet.read(use_threads=False).column(0)
    if len(column) != rows:
        raise ParquetPagesError(f"pages of {rows} rows have {len(column)}")
    return column


def is_among(columns: Sequence[str], leaf: str) -> bool:
    """Return whether a leaf column's path is one of some columns, or belongs to one of them."""
    return leaf in columns or leaf.partition(".")[0] in columns
