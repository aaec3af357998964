"""The storage of a table, on any file system of pyarrow or fsspec."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TypeVar

import pyarrow as pa
import pyarrow.fs as pafs

from hudi_pyspark.errors import InvalidOptionError, PathOutsideTableError
from hudi_pyspark.storage.aws_environment import place_in_environment, region_of
from hudi_pyspark.storage.connection import Connection, GivenFileSystem
from hudi_pyspark.storage.credentials import CredentialsProvider, NamedProvider
from hudi_pyspark.storage.file_systems import ArrowFileSystem, FileSystem, FsspecFileSystem
from hudi_pyspark.storage.locations import LOCAL, Location, rises, same_store, trim, without_secrets
from hudi_pyspark.storage.protocol import FileInfo
from hudi_pyspark.storage.remote_file import RemoteFile
from hudi_pyspark.storage_options import Value, common_settings, file_system_arguments

_T = TypeVar("_T")
_LOCAL_FILES = ArrowFileSystem(pafs.LocalFileSystem())


@dataclass(frozen=True, eq=False, repr=False)
class ArrowStorage:
    """A base path on a file system; the file systems of fsspec are reached as pyarrow's are.

    The path is absolute inside of it. ``host`` is for messages, where the path does not begin with
    a bucket; ``settings`` and ``provider`` are for other locations that the caller names.
    """

    files: Connection | GivenFileSystem
    base_path: str
    scheme: str = ""
    host: str = ""
    settings: Mapping[str, Value] = field(default_factory=dict)
    provider: CredentialsProvider | None = None

    @classmethod
    def parse(
        cls,
        uri: str,
        options: Mapping[str, Value] | None = None,
        environment: Mapping[str, Value] | None = None,
        provider: CredentialsProvider | None = None,
    ) -> ArrowStorage:
        """Return the storage of a URI (``s3://…``, ``file:///…``) or a local path.

        A text without a scheme is a local path, taken literally: ``%2F`` stays as it is. Options,
        see `file_system_arguments`, win over ``environment``; a ``provider`` over the one they
        name.

        Raises:
            InvalidOptionError: the URI has settings in it, or a setting is unknown or has no such
                value.
            StorageError: nothing reaches the location, or the storage does not answer.
        """
        location = Location.parse(uri)
        if location.kind == LOCAL:
            try:
                Path(location.path).stat()
            except (OSError, ValueError) as error:  # one that Python cannot pass on has no number
                if getattr(error, "errno", errno.ELOOP) == errno.ELOOP:
                    problem = getattr(error, "strerror", str(error))
                    raise InvalidOptionError(f"{uri!r} cannot be followed: {problem}") from None
            return cls(GivenFileSystem(_LOCAL_FILES), location.path)
        if (shown := without_secrets(uri)) != uri:
            raise InvalidOptionError(
                f"{shown} has settings in its URI: give them as storage options"
            )
        given, more = options or {}, environment or {}
        name, attempts = common_settings(given, more)
        provider = NamedProvider(name) if name and provider is None else provider
        arguments = file_system_arguments(location.kind, given, more)
        if location.kind == "s3":  # found once for all processes
            arguments |= place_in_environment(arguments, os.environ)
            if provider is None and "region" not in arguments:
                arguments["region"] = region_of(location.authority)
        connection = Connection(location, arguments, provider, attempts)
        connection.current()  # raises now where nothing reaches the location
        settings = {**more, **given}
        return cls(connection, location.path, location.scheme, location.host, settings, provider)

    @classmethod
    def on(cls, filesystem: object, path: str) -> ArrowStorage:
        """Return storage on a file system of the caller; executors get a pickled copy."""
        scheme, separator, rest = path.partition("://")
        is_arrow = isinstance(filesystem, pafs.FileSystem)
        files = GivenFileSystem((ArrowFileSystem if is_arrow else FsspecFileSystem)(filesystem))
        return cls(files, trim(rest), scheme) if separator else cls(files, trim(path))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.describe('')!r})"

    @property
    def filesystem(self) -> pafs.FileSystem:
        """The file system as pyarrow has it."""
        return self.files.current().filesystem

    @property
    def is_local(self) -> bool:
        return isinstance(self.files, GivenFileSystem) and isinstance(
            self.filesystem, pafs.LocalFileSystem
        )

    @property
    def identity(self) -> str:
        return "local" if self.is_local else self.files.identity

    def list_directory(self, directory: str) -> list[FileInfo]:
        path = self._absolute(directory)
        return self._request(lambda files: files.list_directory(path), directory)

    def read_bytes(self, path: str) -> bytes:
        with self.open_input(path) as file:
            return bytes(file.read())

    def open_input(self, path: str) -> pa.NativeFile | IO[bytes]:
        absolute = self._absolute(path)
        if self.is_local:
            return self.filesystem.open_input_file(absolute)

        def open_now(files: FileSystem) -> RemoteFile:
            opened = files.open(absolute)
            place = self.describe(path)
            return RemoteFile(lambda r: self.files.request(r, place), files, opened, absolute)

        return self._request(open_now, path)

    def describe(self, path: str) -> str:
        absolute = self._absolute(path)
        return f"{self.scheme}://{self.host}{absolute}" if self.scheme else absolute

    def at(self, location: str, *, is_given: bool = False) -> ArrowStorage:
        """Return the storage of another location: a path or a URI, as a bootstrap records it.

        In the same store it has the same file system and credentials. Only the caller may name
        another store, which is opened with the same settings; these may not fit.
        """
        path = self._own_path(location)
        if path is not None:
            return replace(self, base_path=trim(path))
        if not is_given:
            raise PathOutsideTableError(
                f"the table at {self.describe('')} names {location!r}, which is not in its own "
                "store (scheme, host, account and bucket), so nothing is asked for there. If you "
                "trust that place, name it yourself with the option bootstrap_base_path"
            )
        scheme, separator, rest = location.partition("://")
        if separator and same_store(self.scheme, scheme):
            # The same store with the same credentials; only the bucket may be another.
            return replace(self, base_path=trim(rest), scheme=scheme, host="")
        uri = Location.uri_of(location)
        return ArrowStorage.parse(uri, environment=self.settings, provider=self.provider)

    def _own_path(self, location: str) -> str | None:
        """Return the path of a location inside of the file system; None if it is elsewhere."""
        here = self.describe("")
        if location.startswith(f"{here}/"):  # whatever file system this is
            rest = location.removeprefix(here)
            return None if rises(rest) else f"{self.base_path}{rest}"
        if rises(location):
            return None
        if not (self.scheme or self.is_local or ":/" in location):
            return location  # of a file system that was given as an object
        place = Location.parse(Location.uri_of(location))
        kind, host, bucket = place.store
        ours = self.files.store or Location.parse(Location.uri_of(here)).store
        # A URI without a host leaves it to the settings, and the table has one already.
        is_own = (kind, host or ours[1], bucket) == ours
        return place.path if is_own else None

    def _request(self, request: Callable[[FileSystem], _T], path: str) -> _T:
        if self.is_local:
            return request(self.files.current())
        return self.files.request(request, self.describe(path))

    def _absolute(self, path: str) -> str:
        return f"{self.base_path}/{path}" if path else self.base_path
