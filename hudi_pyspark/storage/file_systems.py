"""File systems of pyarrow, fsspec and HDFS behind the same two operations."""

import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Protocol, TypeVar

import pyarrow as pa
import pyarrow.fs as pafs

from hudi_pyspark import thresholds
from hudi_pyspark.errors import StorageAccessError, StorageError
from hudi_pyspark.storage.protocol import FileInfo

_T = TypeVar("_T")
_WITHOUT_REASON = re.compile(r"(HTTP status (301|400)\)|ACCESS_DENIED) during HeadObject")
_OTHER_REGION = re.compile(r"HTTP status 301|PermanentRedirect")
_REGION = re.compile(r"(?:expecting|the bucket is located in) '([a-z0-9-]+)'")
_REFUSED_CONTENT = re.compile(r"ACCESS_DENIED during GetObject|GetObject.*storage class")
_CONTENT_REFUSED = (
    "The store has the object and refuses its content: an archived object (Glacier) must be "
    "restored first, an encrypted one needs the permission to use its key"
)
_GZIP = b"\x1f\x8b"  # no file of a table begins like this
_COMPRESSED = (
    "the content is compressed by gzip (Content-Encoding), either by its writer or by a proxy on "
    "the way: switch that off, since parts of files are read"
)
_MARK, _OTHER_MARK = b"\xa7", b"\x58"  # written into a buffer before its bytes arrive


@dataclass(frozen=True, slots=True)
class TimeOfChange:
    """The version of a file in a store that has no other: two files in a row may have the same."""

    ms: int  # since the epoch, UTC

    @classmethod
    def of(cls, ms: int) -> "TimeOfChange | None":
        """Return the time; None for 0, which stands for an unknown time."""
        return cls(ms) if ms else None


@dataclass(frozen=True, slots=True)
class OpenFile:
    """An open file; several threads may read it at a time."""

    size: int  # bytes
    # An ETag or generation, which another file has not; else a `TimeOfChange`, or None.
    version: object
    read_range: Callable[[int, int], bytes]  # takes begin and end, both within the file
    close: Callable[[], object] = lambda: None  # nothing is open if each range is a request


class FileSystem(Protocol):
    """The operations that a storage needs; paths are absolute inside the file system."""

    filesystem: pafs.FileSystem  # the same file system for pyarrow

    def list_directory(self, path: str) -> list[FileInfo]:
        """List the files and folders directly in a folder; [] if there is none.

        Raises:
            NotADirectoryError: the path is a file.
            OSError: the storage failed, or refuses the request.
            StorageError: a library has already repeated the request.
        """

    def open(self, path: str) -> OpenFile:
        """Open a file.

        Raises:
            FileNotFoundError: the file does not exist.
            OSError: the storage failed, or refuses the request.
            StorageError: a library has already repeated the request.
        """


class ArrowFileSystem(FileSystem):
    """A file system of pyarrow; picklable."""

    def __init__(self, filesystem: pafs.FileSystem) -> None:
        self.filesystem = filesystem

    def list_directory(self, path: str) -> list[FileInfo]:
        """List a folder.

        Raises:
            ConnectionError: a page of the answer was lost.
        """
        entries = self._entries(path)
        # If S3, or a proxy in front of it, answers the request for the next page with anything but
        # a list, pyarrow ends the listing. The folder itself may be an object of a page.
        page = thresholds.LISTING_PAGE
        may_be_cut = entries and len(entries) % page in (0, page - 1)
        if self.filesystem.type_name != "s3" or not may_be_cut:
            return entries
        second_entries = self._entries(path)
        if len(second_entries) < len(entries):
            raise ConnectionError(f"{len(second_entries)} entries came, but {len(entries)} before")
        return second_entries

    def _entries(self, path: str) -> list[FileInfo]:
        # With allow_not_found, pyarrow lists nothing if a request to HDFS fails or is refused.
        selector = pafs.FileSelector(path, allow_not_found=self.filesystem.type_name != "hdfs")
        try:
            infos = self.filesystem.get_file_info(selector)
        except FileNotFoundError:
            return []
        return [
            FileInfo(
                name=info.base_name,
                is_directory=info.type == pafs.FileType.Directory,
                size=info.size or 0,
                modified_ms=(info.mtime_ns or 0) // 1_000_000,
            )
            for info in infos
        ]

    def open(self, path: str) -> OpenFile:
        file = self.filesystem.open_input_file(path)
        metadata = file.metadata()
        version = metadata.get("generation") or _strong_tag(metadata.get("ETag"))
        version = version or self._time_of_change(path)
        return OpenFile(file.size(), version, partial(self._read_range, path, file), file.close)

    def _time_of_change(self, path: str) -> TimeOfChange | None:
        modified_ns = self.filesystem.get_file_info(path).mtime_ns or 0
        return TimeOfChange.of(modified_ns // 1_000_000)

    def _read_range(self, _path: str, file: pa.NativeFile, begin: int, end: int) -> bytes:
        return bytes(file.read_at(end - begin, begin))


class S3FileSystem(ArrowFileSystem):
    """S3 by pyarrow; errors say why a request was refused.

    The answer to a HEAD request has no body, so only its status is known. The answer to a LIST
    request has a body, and the answer to the HEAD of a bucket has the region in a header.
    """

    def list_directory(self, path: str) -> list[FileInfo]:
        try:
            return super().list_directory(path)
        except OSError as error:
            raise self._explained(error, path) from None

    def open(self, path: str) -> OpenFile:
        try:
            return super().open(path)
        except OSError as error:
            raise self._explained(error, path) from None

    def _explained(self, error: OSError, path: str) -> Exception:
        """Return a refusal with its reason, which takes further requests to find out."""
        text = str(error)
        if _WITHOUT_REASON.search(text):
            text += self._problem_of(pafs.FileSelector(path, allow_not_found=True))
        bucket = path.partition("/")[0]
        if _OTHER_REGION.search(text):
            text += self._problem_of(bucket)
        region = _REGION.search(text)
        if region is not None:
            return StorageAccessError(
                f"s3://{path}",
                f"the bucket {bucket} is in the region {region[1]}. Give the storage option "
                f"region={region[1]} (or AWS_REGION)",
            )
        if "TOO_SKEWED" in text:
            text += ". Set the clock of this machine: it differs from that of the store"
        return type(error)(text)

    def _problem_of(self, files: str | pafs.FileSelector) -> str:
        try:
            self.filesystem.get_file_info(files)
        except OSError as error:
            return f" {error}"
        return ""

    def _read_range(self, path: str, file: pa.NativeFile, begin: int, end: int) -> bytes:
        """Read a range of a file.

        pyarrow returns as many bytes as were requested, even if fewer arrived: the missing ones are
        whatever was in memory. So the last byte of the buffer is marked beforehand; if it still is
        the mark, it is read again with another mark.

        Raises:
            ConnectionError: fewer bytes arrived than were requested.
            StorageError: the content is compressed.
            PermissionError: the store refuses the content.
        """
        content = self._read_marked(file, begin, end, _MARK)
        if content.endswith(_MARK):  # one byte of 256 really has this value
            last = self._read_marked(file, end - 1, end, _OTHER_MARK)
            if last != _MARK:
                raise ConnectionError(f"fewer than {end - begin} bytes came from {begin} on")
        if begin == 0 and content.startswith(_GZIP):
            raise StorageError(f"s3://{path}", _COMPRESSED, 1)
        return bytes(content)

    def _read_marked(self, file: pa.NativeFile, begin: int, end: int, mark: bytes) -> bytearray:
        content = bytearray(end - begin - 1) + mark
        try:
            count = file.get_stream(begin, end - begin).readinto(content)
        except OSError as error:
            if _REFUSED_CONTENT.search(str(error)):
                raise PermissionError(f"{error} {_CONTENT_REFUSED}") from None
            raise
        return content[:count]


class FsspecFileSystem(FileSystem):
    """A file system of fsspec, without its caches: they hide new commits and swallow errors.

    pyarrow's own wrapper calls ``isdir`` before it lists. If that request fails, the answer is no,
    and the folder would look empty.
    """

    def __init__(self, filesystem: Any) -> None:  # noqa: ANN401  (fsspec has no types)
        self._fsspec = filesystem
        self.filesystem = pafs.PyFileSystem(pafs.FSSpecHandler(filesystem))

    def list_directory(self, path: str) -> list[FileInfo]:
        self._fsspec.invalidate_cache()
        try:
            entries = self._fsspec.ls(path, detail=True)
        except FileNotFoundError:
            return []
        here = path.strip("/")
        infos = [
            FileInfo(
                name=posixpath.basename(str(entry["name"]).rstrip("/")),
                is_directory=entry["type"] == "directory",
                size=int(entry.get("size") or 0) if entry["type"] != "directory" else 0,
                modified_ms=_modified_ms(entry),
            )
            for entry in entries
            if str(entry["name"]).strip("/") != here
        ]
        if not infos and any(e["type"] == "file" for e in entries):
            raise NotADirectoryError(path)
        return infos

    def open(self, path: str) -> OpenFile:
        self._fsspec.invalidate_cache()
        info = self._fsspec.info(path)
        tag = _strong_tag(info.get("ETag", info.get("etag")))
        version = tag or TimeOfChange.of(_modified_ms(info))
        return OpenFile(int(info["size"]), version, partial(self._read_range, path))

    def _read_range(self, path: str, begin: int, end: int) -> bytes:
        return bytes(self._fsspec.cat_file(path, start=begin, end=end))


def _strong_tag(tag: bytes | str | None) -> str | None:
    """Return an ETag; None for a weak one, which files with other bytes may share."""
    text = tag.decode("latin-1") if isinstance(tag, bytes) else tag
    return text if text and not text.startswith("W/") else None


def _modified_ms(entry: Mapping[str, Any]) -> int:
    """Return the modification time; each implementation has its own name and format for it."""
    if "modificationTime" in entry:  # WebHDFS
        return int(entry["modificationTime"])
    for name in ("LastModified", "last_modified", "mtime", "updated", "created"):
        value = entry.get(name)
        if isinstance(value, datetime):
            return int(value.timestamp() * 1000)
        if isinstance(value, int | float):
            return int(value * 1000)
        if isinstance(value, str):
            text = value.replace("Z", "+00:00")  # Python 3.10 does not parse the Z
            return int(datetime.fromisoformat(text).timestamp() * 1000)
    return 0


class WebHdfsFileSystem(FsspecFileSystem):
    """HDFS over HTTP, by fsspec, but without its file objects.

    They take the error page of a data node for content, and read 5 MB ahead.
    """

    def _read_range(self, path: str, begin: int, end: int) -> bytes:
        answer = self._fsspec._call("OPEN", path=path, offset=begin, length=end - begin)  # noqa: SLF001
        return bytes(answer.content)


class HdfsNativeFileSystem(FsspecFileSystem):
    """HDFS by hdfs-native itself: its file system for fsspec cuts names at ? and #."""

    def __init__(self, filesystem: Any, root: str) -> None:  # noqa: ANN401  (fsspec has no types)
        super().__init__(filesystem)
        self._client = filesystem.client
        self._root = root

    def list_directory(self, path: str) -> list[FileInfo]:
        try:
            statuses = self._ask(path, lambda: list(self._client.list_status(path)))
        except FileNotFoundError:
            return []
        if [status.path for status in statuses if not status.isdir] == [path]:
            raise NotADirectoryError(path)
        return [
            FileInfo(posixpath.basename(s.path), s.isdir, s.length, s.modification_time)
            for s in statuses
        ]

    def open(self, path: str) -> OpenFile:
        file = self._ask(path, lambda: self._client.read(path))
        status = self._ask(path, lambda: self._client.get_file_info(path))
        version = TimeOfChange.of(status.modification_time)
        return OpenFile(len(file), version, lambda begin, end: file.read_range(begin, end - begin))

    def _ask(self, path: str, request: Callable[[], _T]) -> _T:
        """Make a request to the name node.

        Raises:
            FileNotFoundError: the path does not exist.
            StorageError: the name node does not answer, although hdfs-native repeated the request
                for minutes.
            OSError: the name node refuses the request.
        """
        try:
            return request()
        except FileNotFoundError as error:
            raise FileNotFoundError(_without_trace(error)) from None
        except OSError as error:
            raise StorageError(f"{self._root}{path}", str(error), 1) from error
        except RuntimeError as error:
            raise OSError(_without_trace(error)) from None


def _without_trace(error: Exception) -> str:
    text = str(error).replace("\\n", "\n").replace("\\t", "\t")  # may be in Rust's debug format
    return text.partition("\n\tat ")[0]
