"""Where the bytes of a file come from: memory, or a file that is read in ranges."""

from typing import IO, Protocol

import pyarrow as pa


class BytesSource(Protocol):
    """The bytes of a file: a memoryview, or what reads them from a storage when asked."""

    def __len__(self) -> int: ...

    def __getitem__(self, span: slice, /) -> memoryview:
        """Return the bytes from one place up to another; fewer at the end of the file."""


class StoredBytes(BytesSource):
    """The bytes of a file on a storage, of which a reader of its format reads what it needs."""

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
