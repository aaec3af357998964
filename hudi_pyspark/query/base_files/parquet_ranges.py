"""Byte ranges of a Parquet file, read by their offsets."""

from __future__ import annotations

import struct
from bisect import bisect_right
from functools import cached_property
from typing import IO, TYPE_CHECKING

from hudi_pyspark.format.parquet.pages import MAGIC, TAIL, ParquetPages, ParquetPagesError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeAlias

    import pyarrow as pa
    import pyarrow.parquet as pq

    from hudi_pyspark.format.parquet.pages import ColumnPages

    File: TypeAlias = pa.NativeFile | IO[bytes]

_HOLE = 1 << 20  # bytes that are read faster than skipped, where a read is a request


class FileParts:
    """Parts of a file, those close to each other read at once.

    Args:
        file: to read from.
        spans: begins and ends of the parts, in bytes.
        hole: most bytes between two parts that are read at once.
    """

    def __init__(self, file: File, spans: Iterable[tuple[int, int]], *, hole: int) -> None:
        self._begins: list[int] = []
        ends: list[int] = []
        for begin, end in sorted(spans):
            if ends and begin - ends[-1] <= hole:
                ends[-1] = max(ends[-1], end)
            else:
                self._begins.append(begin)
                ends.append(end)
        self._blocks = []
        for begin, end in zip(self._begins, ends, strict=True):
            file.seek(begin)
            self._blocks.append(memoryview(file.read(end - begin)))

    def __call__(self, begin: int, end: int) -> memoryview:
        """Return the bytes between two offsets, which lie within one of the parts."""
        block = bisect_right(self._begins, begin) - 1
        start = begin - self._begins[block]
        return self._blocks[block][start : start + end - begin]


class PagedFile:
    """A Parquet file that pyarrow reads, with access to single pages.

    Args:
        file: its parts are read beside pyarrow.
        parquet: the same file, opened.
    """

    def __init__(self, file: File, parquet: pq.ParquetFile) -> None:
        self._file = file
        self.parquet = parquet

    @cached_property
    def footer(self) -> ParquetPages:
        """The metadata at the end of the file.

        Raises:
            ParquetPagesError: it is encrypted.
            ThriftError: it is damaged.
        """
        end = self._file.seek(0, 2)
        self._file.seek(end - TAIL)
        tail = self._file.read(TAIL)
        (size,) = struct.unpack_from("<I", tail)
        if tail[4:] != MAGIC:  # encrypted footers end in other letters
            raise ParquetPagesError("there is no readable footer")
        self._file.seek(end - TAIL - size)
        return ParquetPages.parse(bytes(self._file.read(size)))

    def pages(self, group: int, leaves: Iterable[int]) -> dict[int, ColumnPages]:
        """Return the pages of some leaf columns of a row group, by the columns' ordinals.

        Raises:
            ParquetPagesError: the file has no offset index, or one that cannot be right.
            ThriftError: it is damaged.
        """
        spans = {leaf: self.footer.index_span(group, leaf) for leaf in leaves}
        indexes = self.parts(spans.values())
        return {
            leaf: self.footer.pages(group, leaf, indexes(*span)) for leaf, span in spans.items()
        }

    def parts(self, spans: Iterable[tuple[int, int]], *, hole: int = _HOLE) -> FileParts:
        """Read parts of the file; see `FileParts`."""
        return FileParts(self._file, spans, hole=hole)
