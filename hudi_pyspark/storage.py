"""The one seam between this package and a file system."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Protocol
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.fs as pafs

from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.storage_options import SETTINGS, file_system_arguments

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hudi_pyspark.storage_options import Value

_BUCKET_SCHEMES = frozenset({"s3", "gs"})  # their paths begin with the bucket


@dataclass(frozen=True, slots=True)
class FileInfo:
    """One file or folder directly in a listed folder."""

    name: str  # without the folder
    is_directory: bool
    size: int  # bytes; 0 for a folder
    modified_ms: int  # milliseconds since the epoch, UTC; 0 where the storage does not record it


class Storage(Protocol):
    """The operations that the reader needs from a file system.

    Paths are relative to the table's base path, use ``/`` and are raw: nothing is URL-decoded.
    Implementations are picklable, since scan tasks take them to the executors.
    """

    @property
    def is_local(self) -> bool:
        """Whether reading needs no request to another machine, so that reading twice is cheap."""

    def list_directory(self, directory: str) -> list[FileInfo]:
        """List the files and folders directly in a folder, in any order; [] if there is none."""

    def read_bytes(self, path: str) -> bytes:
        """Read a whole file.

        Raises:
            FileNotFoundError: it does not exist.
        """

    def open_input(self, path: str) -> pa.NativeFile | IO[bytes]:
        """Open a file for random access.

        Raises:
            FileNotFoundError: it does not exist.
        """

    def describe(self, path: str) -> str:
        """Return the path as a user would name it, for messages; an absolute path or a URI."""

    def at(self, location: str) -> Storage:
        """Return the storage of another folder, by absolute path or URI, without URL-decoding."""


class ArrowStorage:
    """A base path on any file system that pyarrow.fs reaches.

    Args:
        filesystem: a pyarrow file system; it is picklable.
        base_path: absolute path inside that file system, without a trailing slash.
        scheme: e.g. "s3"; only for messages.
    """

    def __init__(
        self,
        filesystem: pafs.FileSystem,
        base_path: str,
        scheme: str = "",
        settings: Mapping[str, Value] | None = None,
    ) -> None:
        self.filesystem = filesystem
        self.base_path = base_path
        self.scheme = scheme
        self._settings = dict(settings or {})

    @classmethod
    def parse(
        cls,
        uri: str,
        options: Mapping[str, Value] | None = None,
        environment: Mapping[str, Value] | None = None,
    ) -> ArrowStorage:
        """Return the storage of a URI (``s3://…``, ``file:///…``) or a local path.

        A text without a scheme is a local path, taken literally: ``%2F`` stays as it is.

        Args:
            uri: of the folder.
            options: settings of the storage; see `file_system_arguments`. A local folder has none.
            environment: more settings; the options take precedence over them.

        Raises:
            InvalidOptionError: unknown settings, or a URI that pyarrow cannot open.
        """
        scheme, separator, rest = uri.partition("://")
        if not separator and uri.startswith("file:/"):
            return cls(pafs.LocalFileSystem(), _trim(uri[len("file:") :]))
        if not separator:
            return cls(pafs.LocalFileSystem(), _trim(posixpath.abspath(uri)))
        if scheme == "file":
            return cls(pafs.LocalFileSystem(), _trim("/" + rest.lstrip("/")))
        canonical, given, more = _canonical(scheme), options or {}, environment or {}
        arguments = _arguments(canonical, given, more)
        if arguments and "?" in rest:
            raise InvalidOptionError(
                f"{uri.partition('?')[0]} has settings in its query, but storage options are given "
                "too: give all settings as storage options"
            )
        if arguments:
            filesystem, path = _connect(canonical, unquote(rest), arguments)
        else:
            filesystem, path = _connect_without_settings(f"{canonical}://{rest}")
        return cls(filesystem, _trim(path), scheme, {**more, **given})

    @classmethod
    def on(cls, filesystem: object, path: str) -> ArrowStorage:
        """Return storage on a file system of the caller.

        Args:
            filesystem: of pyarrow or of fsspec; executors get a pickled copy.
            path: of the folder inside it, with or without a scheme.
        """
        scheme, separator, rest = path.partition("://")
        if not isinstance(filesystem, pafs.FileSystem):
            filesystem = pafs.PyFileSystem(pafs.FSSpecHandler(filesystem))
        return cls(filesystem, _trim(rest if separator else path), scheme if separator else "")

    @property
    def is_local(self) -> bool:
        return isinstance(self.filesystem, pafs.LocalFileSystem)

    def list_directory(self, directory: str) -> list[FileInfo]:
        selector = pafs.FileSelector(self._absolute(directory), allow_not_found=True)
        return [
            FileInfo(
                name=info.base_name,
                is_directory=info.type == pafs.FileType.Directory,
                size=info.size or 0,
                modified_ms=(info.mtime_ns or 0) // 1_000_000,
            )
            for info in self.filesystem.get_file_info(selector)
        ]

    def read_bytes(self, path: str) -> bytes:
        with self.filesystem.open_input_file(self._absolute(path)) as file:
            content: bytes = file.read()
            return content

    def open_input(self, path: str) -> pa.NativeFile:
        return self.filesystem.open_input_file(self._absolute(path))

    def describe(self, path: str) -> str:
        absolute = self._absolute(path)
        return f"{self.scheme}://{absolute}" if self.scheme else absolute

    def at(self, location: str) -> ArrowStorage:
        scheme, separator, rest = location.partition("://")
        if not separator or scheme == "file":
            return ArrowStorage.parse(location)
        if _canonical(scheme) == _canonical(self.scheme) and _canonical(scheme) in _BUCKET_SCHEMES:
            # The same store with the same credentials; only the bucket may be another.
            return ArrowStorage(self.filesystem, _trim(rest), scheme)
        uri = f"{scheme}://{quote(rest, safe='/@:')}"
        return ArrowStorage.parse(uri, environment=self._settings)

    def _absolute(self, path: str) -> str:
        return f"{self.base_path}/{path}" if path else self.base_path


def _canonical(scheme: str) -> str:
    """Return the scheme that pyarrow knows; Hadoop has other names for the same stores."""
    return {"s3a": "s3", "s3n": "s3", "gcs": "gs"}.get(scheme, scheme)


def _arguments(
    scheme: str, options: Mapping[str, Value], environment: Mapping[str, Value]
) -> dict[str, Value]:
    if scheme in SETTINGS:
        return file_system_arguments(scheme, options, environment)
    if options:
        raise InvalidOptionError(
            f"storage options are not supported for {scheme}://, only for {', '.join(SETTINGS)}; "
            "pass a file system instead"
        )
    return {}


def _connect(scheme: str, rest: str, arguments: dict[str, Any]) -> tuple[pafs.FileSystem, str]:
    """Return a file system, and the path inside it of what follows ``://``."""
    authority, _, path = rest.partition("/")
    if scheme == "s3":
        if not arguments.keys() & {"region", "endpoint_override"}:
            arguments = {**arguments, "region": pafs.resolve_s3_region(authority)}
        return pafs.S3FileSystem(**arguments), rest
    if scheme == "gs":
        return pafs.GcsFileSystem(**arguments), rest
    if scheme == "hdfs":
        host, _, port = authority.partition(":")
        place = {"host": host or "default", **({"port": int(port)} if port else {})}
        return pafs.HadoopFileSystem(**{**place, **arguments}), f"/{path}"
    container, _, host = authority.partition("@")
    account = {"account_name": host.partition(".")[0]} if host else {}
    return pafs.AzureFileSystem(**{**account, **arguments}), f"{container}/{path}"


def _connect_without_settings(uri: str) -> tuple[pafs.FileSystem, str]:
    try:
        filesystem, path = pafs.FileSystem.from_uri(uri)
    except pa.ArrowInvalid as error:
        raise InvalidOptionError(
            f"Cannot open {uri!r}: {error}. Supported: local paths and pyarrow URIs (s3://, gs://, "
            "abfs://, hdfs://, file://)"
        ) from error
    return filesystem, path


def _trim(path: str) -> str:
    return path.rstrip("/") or "/"
