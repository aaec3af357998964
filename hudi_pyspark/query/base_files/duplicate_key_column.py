"""A column of a Parquet file that holds the record keys once more, and so need not be read."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np

from hudi_pyspark.format.parquet.page_values import HEAD, TAIL, page_values
from hudi_pyspark.format.parquet.pages import ParquetPagesError
from hudi_pyspark.format.parquet.thrift_compact import ThriftError
from hudi_pyspark.table.schema import RECORD_KEY_COLUMN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow.parquet as pq

    from hudi_pyspark.format.parquet.page_values import PageValues
    from hudi_pyspark.query.base_files.parquet_ranges import PagedFile

_FEWEST_BYTES = 1 << 20  # uncompressed, of the keys: what is smaller is inflated as fast
_GZIP = "GZIP"
_DICTIONARIES = {"PLAIN_DICTIONARY", "RLE_DICTIONARY"}


def record_key_twin(file: PagedFile, groups: Sequence[int], columns: Sequence[str]) -> str | None:
    """The column whose values are those of the record key column, page by page.

    Where the record key is one field, its text is stored twice, and as nothing else in most files
    is as hard to compress, inflating it is a good part of the work. That the two are the same is
    not concluded from the table's properties, but from sizes and checksums of their pages.

    Args:
        file: to read from; its parts are cheap to read twice.
        groups: ordinals of the row groups that will be read.
        columns: names of the columns that will be read.

    Returns:
        The column's name; None if there is none, or none that is worth it.
    """
    if RECORD_KEY_COLUMN not in columns:
        return None
    parquet = file.parquet
    leaves = {parquet.schema.column(i).path: i for i in range(len(parquet.schema))}
    key = leaves.get(RECORD_KEY_COLUMN)
    if key is None or len(leaves) < len(parquet.schema):
        return None
    size = sum(parquet.metadata.row_group(g).column(key).total_uncompressed_size for g in groups)
    if size < _FEWEST_BYTES:
        return None
    kind = parquet.schema_arrow.field(RECORD_KEY_COLUMN).type
    for name in columns:
        leaf = leaves.get(name)
        if leaf in (None, key) or parquet.schema_arrow.field(name).type != kind:
            continue
        if all(_may_be_twins(parquet, group, key, leaf) for group in groups):
            return name if _are_twins(file, groups, (key, leaf)) else None
    return None


def _may_be_twins(parquet: pq.ParquetFile, group: int, first: int, second: int) -> bool:
    """By what the footer says."""
    row_group = parquet.metadata.row_group(group)
    chunks = [row_group.column(leaf) for leaf in (first, second)]
    if any(c.compression != _GZIP or _DICTIONARIES & set(c.encodings) for c in chunks):
        return False
    bounds = [
        (chunk.statistics.min, chunk.statistics.max)
        for chunk in chunks
        if chunk.statistics is not None and chunk.statistics.has_min_max
    ]
    return len(bounds) == len(chunks) and bounds[0] == bounds[1]


def _are_twins(file: PagedFile, groups: Sequence[int], leaves: Sequence[int]) -> bool:
    """By what each of their pages says."""
    try:
        for group in groups:
            first, second = (_values(file, group, leaf) for leaf in leaves)
            pairs = zip_longest(first, second)
            if not all(a is not None and a == b for a, b in pairs):
                return False
    except (ParquetPagesError, ThriftError, OSError):
        return False  # whatever is wrong with the file, reading it will tell
    return True


def _values(file: PagedFile, group: int, leaf: int) -> Iterator[PageValues | None]:
    """What each page of a leaf column holds."""
    levels = file.parquet.schema.column(leaf)
    if levels.max_repetition_level or levels.max_definition_level > 1:
        raise ParquetPagesError("a nested column")
    pages = file.pages(group, [leaf])[leaf]
    for begin, end in pages.spans(np.ones(len(pages.offsets), np.bool_)):
        head, tail = (begin, min(begin + HEAD, end)), (max(begin, end - TAIL), end)
        parts = file.parts([head, tail], hole=0)
        yield page_values(
            bytes(parts(*head)),
            bytes(parts(*tail)),
            end - begin,
            is_optional=levels.max_definition_level == 1,
        )
