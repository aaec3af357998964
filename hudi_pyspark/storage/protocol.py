"""The operations that the reader needs from a file system."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO, Protocol

import pyarrow as pa


@dataclass(slots=True, unsafe_hash=True)  # made faster than a frozen one; nothing changes it
class FileInfo:
    """One file or folder directly in a listed folder."""

    name: str  # without the folder
    is_directory: bool
    size: int  # bytes; 0 for a folder
    modified_ms: int  # milliseconds since the epoch, UTC; 0 where the storage does not record it


class Storage(Protocol):
    """The operations that the reader needs from a file system.

    Paths are relative to the table's base path, use ``/`` and are raw: nothing is URL-decoded.
    Implementations are picklable, since scan tasks take them to the executors. All operations raise
    StorageError where another machine, that keeps the files, fails or refuses.
    """

    @property
    def is_local(self) -> bool:
        """Whether reading needs no request to another machine, so that reading twice is cheap."""

    @property
    def identity(self) -> str:
        """A digest of the settings and credentials with which files are read; "" if not known.

        What was read with one identity is shown to no reader with another one.
        """

    def list_directory(self, directory: str) -> list[FileInfo]:
        """List the files and folders directly in a folder, in any order; [] if there is none."""

    def read_bytes(self, path: str) -> bytes:
        """Read a whole file; FileNotFoundError if it does not exist."""

    def open_input(self, path: str) -> pa.NativeFile | IO[bytes]:
        """Open a file for random access; FileNotFoundError if it does not exist."""

    def describe(self, path: str) -> str:
        """Return the path as a user would name it, for messages; an absolute path or a URI."""

    def at(self, location: str, *, is_given: bool = False) -> Storage:
        """Return the storage of another folder, by absolute path or URI, without URL-decoding.

        Raises:
            PathOutsideTableError: it is in another store, and not given by the caller.
        """
