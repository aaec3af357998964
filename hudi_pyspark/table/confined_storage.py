"""The storage of a table, for paths that the table's own metadata names."""

import errno
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, TypeVar

import pyarrow as pa

from hudi_pyspark.errors import CorruptTableError, PathOutsideTableError
from hudi_pyspark.storage.protocol import FileInfo, Storage, rises

_T = TypeVar("_T")
# Errors of the operating system for paths that are too long, circular or not in its encoding.
_REFUSED_NAMES = frozenset({errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL, errno.EILSEQ})
_ABSOLUTE = re.compile(r"[/\\]|[A-Za-z][A-Za-z0-9+.-]*://")
_NOT_IN_NAMES = re.compile("[\0\ud800-\udfff]")  # halves of characters are not UTF-8


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
        return self._ask(self.inner.list_directory, directory)

    def list_file_names(self, directory: str) -> list[str]:
        return self._ask(self.inner.list_file_names, directory)

    def read_bytes(self, path: str) -> bytes:
        return self._ask(self.inner.read_bytes, path)

    def open_input(self, path: str) -> pa.NativeFile | IO[bytes]:
        return self._ask(self.inner.open_input, path)

    def describe(self, path: str) -> str:
        return self.inner.describe(path)

    def at(self, location: str, *, is_given: bool = False) -> Storage:
        return self.inner.at(location, is_given=is_given)

    def _ask(self, request: Callable[[str], _T], path: str) -> _T:
        """Make a request for a path below the base path on every file system.

        Raises:
            PathOutsideTableError: the path could lead elsewhere.
            FileNotFoundError: there is no such file.
            CorruptTableError: no file can have the path, or it leads through a file.
        """
        if rises(path) or _ABSOLUTE.match(path) or _NOT_IN_NAMES.search(path):
            raise PathOutsideTableError(
                f"the metadata of {self.inner.describe('')} names the path {path!r}, which is not "
                "inside the table",
                advice=(
                    "The metadata is damaged, or was written to make readers open other files: "
                    "find out who wrote it"
                ),
            )
        try:
            return request(path)
        except FileNotFoundError:  # messages of libraries do not escape the path
            place = self.describe(path)
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), place) from None
        except OSError as error:
            if not isinstance(error, NotADirectoryError) and error.errno not in _REFUSED_NAMES:
                raise
            reason = os.strerror(error.errno or errno.ENOTDIR)
            raise CorruptTableError(
                f"the metadata of {self.inner.describe('')} names the path {path!r:.500}, which "
                f"cannot be opened: {reason}",
                advice="Restore the metadata, or the folder, from a copy",
            ) from None
