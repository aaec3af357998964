"""HDFS without libhdfs: over HTTP, and by hdfs-native."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Any, TypeVar

from hudi_pyspark.errors import StorageError
from hudi_pyspark.storage.file_systems import FileOfRanges, FsspecFileSystem
from hudi_pyspark.storage.protocol import FileInfo

if TYPE_CHECKING:
    from collections.abc import Callable

    from hudi_pyspark.storage.file_systems import OpenFile

_T = TypeVar("_T")


class WebHdfsFileSystem(FsspecFileSystem):
    """HDFS over HTTP, by fsspec."""

    # Files that fsspec opens take the error page of a data node for content, and read 5 MB ahead.

    def _read_range(self, path: str, begin: int, end: int) -> bytes:
        answer = self._fsspec._call("OPEN", path=path, offset=begin, length=end - begin)  # noqa: SLF001
        content: bytes = answer.content
        return content


class HdfsNativeFileSystem(FsspecFileSystem):
    """HDFS by hdfs-native, past its file system for fsspec: that one cuts names at ? and #."""

    def __init__(self, filesystem: Any, root: str) -> None:  # noqa: ANN401  (fsspec has no types)
        super().__init__(filesystem)
        self._client = filesystem.client
        self._root = root

    def list_directory(self, path: str) -> list[FileInfo]:
        try:
            found = self._ask(path, lambda: list(self._client.list_status(path)))
        except FileNotFoundError:
            return []
        if [status.path for status in found if not status.isdir] == [path]:
            raise NotADirectoryError(path)
        return [
            FileInfo(
                name=posixpath.basename(status.path),
                is_directory=status.isdir,
                size=status.length,
                modified_ms=status.modification_time,
            )
            for status in found
        ]

    def open(self, path: str) -> OpenFile:
        file = self._ask(path, lambda: self._client.read(path))
        return FileOfRanges(lambda begin, end: file.read_range(begin, end - begin), len(file))

    def _ask(self, path: str, request: Callable[[], _T]) -> _T:
        """Make a request to the name node; OSError where it refuses."""
        # StorageError: it does not answer; hdfs-native has repeated the request for minutes.
        try:
            return request()
        except FileNotFoundError as error:
            raise FileNotFoundError(_without_trace(error)) from None
        except OSError as error:
            raise StorageError(f"{self._root}{path}", str(error), 1) from error
        except RuntimeError as error:
            raise OSError(_without_trace(error)) from None


def _without_trace(error: Exception) -> str:
    """Return the text of an error without the stack trace of the name node."""
    text = str(error).replace("\\n", "\n").replace("\\t", "\t")  # it may be Rust's debug format
    return text.partition("\n\tat ")[0]
