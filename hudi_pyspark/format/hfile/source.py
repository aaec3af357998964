"""Where the bytes of an HFile come from: memory, or a file that is read in ranges."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pyarrow as pa


class ByteSource(Protocol):
    """Bytes that are read in ranges."""

    @property
    def size(self) -> int:
        """Number of bytes in all."""

    def read(self, offset: int, length: int) -> bytes | memoryview:
        """Return a range that lies within the size; fewer bytes if the source turns out shorter."""


class MemorySource:
    """Bytes in memory; ranges are views of them."""

    def __init__(self, data: bytes | memoryview) -> None:
        self._view = memoryview(data).cast("B")

    @property
    def size(self) -> int:
        """Number of bytes in all."""
        return len(self._view)

    def read(self, offset: int, length: int) -> memoryview:
        """Return a range."""
        return self._view[offset : offset + length]


class FileSource:
    """A file that a storage opened for random access; the caller closes it."""

    def __init__(self, file: pa.NativeFile | IO[bytes]) -> None:
        self._file = file
        self._size: int = file.seek(0, 2)

    @property
    def size(self) -> int:
        """Number of bytes in all."""
        return self._size

    def read(self, offset: int, length: int) -> bytes:
        """Read a range.

        Raises:
            OSError: the storage fails.
        """
        self._file.seek(offset)
        octets: bytes = self._file.read(length)
        return octets
