"""Bytes of files: where they come from, and how values are cut out of them."""

from functools import lru_cache
from typing import IO, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Offsets: TypeAlias = npt.NDArray[np.int64]


class BytesSource(Protocol):
    """The bytes of a file: a memoryview, or an object that reads them from a storage on demand."""

    def __len__(self) -> int: ...

    def __getitem__(self, span: slice, /) -> memoryview:
        """Return the bytes between two offsets; fewer at the end of the file."""


class StoredBytes(BytesSource):
    """The bytes of a file on a storage; readers of its format read only the ranges they need."""

    def open(self) -> pa.NativeFile | IO[bytes]:
        """Open the whole file; the caller closes it."""
        raise NotImplementedError


class FileSource(BytesSource):
    """A file that a storage opened for random access; the caller closes it."""

    def __init__(self, file: pa.NativeFile | IO[bytes]) -> None:
        self._file = file
        self._size: int = file.seek(0, 2)

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, span: slice, /) -> memoryview:
        start, stop, _ = span.indices(self._size)
        self._file.seek(start)
        return memoryview(self._file.read(stop - start))


def cut_values(
    source: pa.Buffer, begins: Offsets, ends: Offsets, data_type: pa.DataType
) -> pa.Array:
    """Return many ranges of a buffer as one array of strings or binaries, without a Python loop.

    Args:
        source: the bytes; below 2 GiB unless the type has 64-bit offsets.
        begins: the offset of each value, in any order.
        ends: the offset after each value.
        data_type: string, binary or a large one; texts are not validated.
    """
    if not len(begins):
        return pa.nulls(0, data_type)
    # An Arrow array has no gaps between its values. So the gaps become values as well: the slots of
    # an array over the source itself are value, gap, value, gap …, and only the values are taken.
    # Values in any order give gaps of negative length; Arrow checks only the ends of the offsets.
    is_large = pa.types.is_large_binary(data_type) or pa.types.is_large_string(data_type)
    offsets = np.empty(2 * len(begins) + 1, np.int64 if is_large else np.int32)
    offsets[0:-1:2] = begins
    offsets[1::2] = ends
    offsets[-1] = source.size
    buffers = [None, pa.py_buffer(offsets), source]
    slots = pa.Array.from_buffers(data_type, 2 * len(begins), buffers)
    return pc.take(slots, _even_slots(len(begins)), boundscheck=False)


@lru_cache(maxsize=8)
def _even_slots(count: int) -> pa.Array:
    buffer = pa.py_buffer(np.arange(0, 2 * count, 2, dtype=np.int32))
    return pa.Array.from_buffers(pa.int32(), count, [None, buffer])
