"""The storage of a table, for paths that the table's own metadata names."""

import re
from dataclasses import dataclass
from typing import IO

import pyarrow as pa

from hudi_pyspark.errors import PathOutsideTableError
from hudi_pyspark.storage.locations import leads_up
from hudi_pyspark.storage.protocol import FileInfo, Storage

_ABSOLUTE = re.compile(r"[/\\]|[A-Za-z][A-Za-z0-9+.-]*://")
_NOT_IN_NAMES = re.compile("[\0\ud800-\udfff]")  # of files; halves of characters are not UTF-8


@dataclass(frozen=True, slots=True)
class ConfinedStorage:
    """A storage that refuses paths which could lead out of the base path.

    Commits, the metadata table and archives name files. Whoever can write these should not choose
    which other files the reader opens with its credentials. Only `at` leads elsewhere: to
    the source files of a bootstrap, in the same store unless the caller names another.
    """

    inner: Storage

    @property
    def is_local(self) -> bool:
        return self.inner.is_local

    @property
    def identity(self) -> str:
        return self.inner.identity

    def list_directory(self, directory: str) -> list[FileInfo]:
        return self.inner.list_directory(self._inside(directory))

    def read_bytes(self, path: str) -> bytes:
        return self.inner.read_bytes(self._inside(path))

    def open_input(self, path: str) -> pa.NativeFile | IO[bytes]:
        return self.inner.open_input(self._inside(path))

    def describe(self, path: str) -> str:
        return self.inner.describe(path)

    def at(self, location: str, *, is_given: bool = False) -> Storage:
        return self.inner.at(location, is_given=is_given)

    def _inside(self, path: str) -> str:
        """Return the path; refuse one not below the base path on every file system."""
        if leads_up(path) or _ABSOLUTE.match(path) or _NOT_IN_NAMES.search(path):
            raise PathOutsideTableError(
                f"the metadata of {self.inner.describe('')} names the path {path!r}, which is not "
                "inside the table. The metadata is damaged, or was written to make readers open "
                "other files: find out who wrote it"
            )
        return path
