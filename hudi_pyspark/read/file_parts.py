"""Parts of a Parquet file, read by their offsets."""

from __future__ import annotations

import struct
from bisect import bisect_right
from typing import IO, TYPE_CHECKING

from hudi_pyspark.format.parquet_pages import MAGIC, TAIL, ParquetPagesError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeAlias

    import pyarrow as pa

    File: TypeAlias = pa.NativeFile | IO[bytes]

_HOLE = 1 << 20  # bytes that are sooner read than skipped, where a read is a request


def read_footer(file: File) -> bytes:
    """The metadata at the end of a Parquet file, as it is stored."""
    end = file.seek(0, 2)
    file.seek(end - TAIL)
    tail = file.read(TAIL)
    (size,) = struct.unpack_from("<I", tail)
    if tail[4:] != MAGIC:  # encrypted footers end in other letters
        raise ParquetPagesError("there is no readable footer")
    file.seek(end - TAIL - size)
    return bytes(file.read(size))


class FileParts:
    """Parts of a file, those close to each other read at once.

    Args:
        file: to read from.
        spans: begins and ends of the parts, in bytes.
        hole: most bytes between two parts that are read at once.
    """

    def __init__(self, file: File, spans: Iterable[tuple[int, int]], *, hole: int = _HOLE) -> None:
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
        """The bytes between two offsets, which lie within one of the parts."""
        block = bisect_right(self._begins, begin) - 1
        start = begin - self._begins[block]
        return self._blocks[block][start : start + end - begin]
