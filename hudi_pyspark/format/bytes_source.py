"""Where the bytes of files come from."""

from typing import IO, Protocol

import pyarrow as pa


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
