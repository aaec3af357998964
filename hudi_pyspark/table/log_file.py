"""Log files: whole in memory, or read from the storage piece by piece."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from hudi_pyspark.errors import MissingFileError
from hudi_pyspark.storage.remote_file import read_files

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from hudi_pyspark.format.bytes_source import BytesSource
    from hudi_pyspark.storage import Storage

_PIECE = 4 << 20  # bytes: few enough to hold, enough for one request to an object store


class LogFiles:
    """The log files of a slice: at most one is open at a time, and one piece of it in memory."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._path = ""
        self._file: pa.NativeFile | IO[bytes] | None = None
        self._piece = memoryview(b"")
        self._start = 0  # of the piece in its file

    def load(self, paths: Sequence[str]) -> dict[str, BytesSource]:
        """Read whole files into memory, in parallel where reads are requests."""
        loaded: dict[str, BytesSource] = {}
        try:
            for path, content in zip(paths, read_files(self._storage, paths), strict=True):
                loaded[path] = memoryview(content)
        except FileNotFoundError as error:
            lost = self._storage.describe(paths[len(loaded)])
            raise MissingFileError.since_planning(lost) from error
        return loaded

    def open(self, path: str) -> BytesSource:
        """Open a file that is read piece by piece, best from the start to the end."""
        file = self._opened(path)
        return _StoredFile(self, path, file.seek(0, os.SEEK_END))

    def read(self, path: str, start: int, stop: int) -> memoryview:
        """Read some bytes of a file; a request as long as a piece is not kept for the next one."""
        in_piece = self._start <= start and stop <= self._start + len(self._piece)
        if path != self._path or not in_piece:
            file = self._opened(path)
            file.seek(start)
            octets = memoryview(file.read(max(stop - start, _PIECE)))
            if stop - start >= _PIECE:
                return octets
            self._piece, self._start = octets, start
        return self._piece[start - self._start : stop - self._start]

    def open_input(self, path: str) -> pa.NativeFile | IO[bytes]:
        """Open a file for random access; the caller closes it."""
        try:
            return self._storage.open_input(path)
        except FileNotFoundError as error:
            raise MissingFileError.since_planning(self._storage.describe(path)) from error

    def _opened(self, path: str) -> pa.NativeFile | IO[bytes]:
        if self._file is None or path != self._path:
            self.close()
            self._file = self.open_input(path)
            self._path = path
        return self._file

    def close(self) -> None:
        """Close the open file; a later read opens it again."""
        if self._file is not None:
            self._file.close()
        self._file, self._path = None, ""
        self._piece, self._start = memoryview(b""), 0


@dataclass(frozen=True, slots=True)
class _StoredFile:
    """A log file whose bytes are read when needed."""

    files: LogFiles
    path: str
    size: int  # bytes when it was opened

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, span: slice, /) -> memoryview:
        start, stop, _ = span.indices(self.size)
        return self.files.read(self.path, start, max(start, stop))

    def open(self) -> pa.NativeFile | IO[bytes]:
        return self.files.open_input(self.path)
