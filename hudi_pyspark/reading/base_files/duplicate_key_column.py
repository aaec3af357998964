"""Search for a column of a Parquet file that repeats the record keys, so it need not be read.

`benchmarks/duplicate_key_column.py` measures the gain: a fifth of the processor time of a read.
"""

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

    from hudi_pyspark.format.parquet.page_values import PageValues
    from hudi_pyspark.reading.base_files.page_reads import PagedFile

_FEWEST_BYTES = 1 << 20  # of the uncompressed keys: fewer are inflated as fast


def find_duplicate_key_column(
    file: PagedFile, groups: Sequence[int], columns: Sequence[str]
) -> str | None:
    """Find the column whose values equal those of the record key column, page by page.

    Where the record key is one field, its text is stored twice. Few other columns are as hard to
    compress, so inflating it is a good part of the work. The proof that both are equal is not in
    the table's properties, but in sizes and checksums of their pages.

    Args:
        file: to read from; its parts are cheap to read twice.
        groups: ordinals of the row groups that will be read.
        columns: names of the columns that will be read.

    Returns:
        The column's name; None if there is none, or if it is too small to matter.
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
        if leaf is None or leaf == key or parquet.schema_arrow.field(name).type != kind:
            continue
        try:
            if all(file.footer.may_be_equal(group, (key, leaf)) for group in groups):
                return name if _are_equal(file, groups, (key, leaf)) else None
        except (ParquetPagesError, ThriftError, OSError):
            return None  # reading the columns reports what is wrong with the file
    return None


def _are_equal(file: PagedFile, groups: Sequence[int], leaves: Sequence[int]) -> bool:
    """Decide by each of their pages whether two leaf columns have the same values."""
    for group in groups:
        first, second = (_values(file, group, leaf) for leaf in leaves)
        if not all(a is not None and a == b for a, b in zip_longest(first, second)):
            return False
    return True


def _values(file: PagedFile, group: int, leaf: int) -> Iterator[PageValues | None]:
    """Identify the values of each page of a leaf column; None where that is not possible."""
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
