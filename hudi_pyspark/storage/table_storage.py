"""The storage of a table on any file system of pyarrow or fsspec."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, cast

import pyarrow as pa
import pyarrow.fs as pafs

from hudi_pyspark.errors import InvalidOptionError, PathOutsideTableError
from hudi_pyspark.storage.connection import Connection, GivenFileSystem
from hudi_pyspark.storage.credentials import CredentialsProvider, NamedProvider
from hudi_pyspark.storage.file_systems import ArrowFileSystem, FileSystem, FsspecFileSystem
from hudi_pyspark.storage.locations import LOCAL, Location, same_store, trim, without_secrets
from hudi_pyspark.storage.options import common_settings, file_system_arguments, from_environment
from hudi_pyspark.storage.protocol import FileInfo, Storage, rises
from hudi_pyspark.storage.remote_file import RemoteFile
from hudi_pyspark.storage.stores.setting import Options

_LOCAL_FILES = ArrowFileSystem(pafs.LocalFileSystem())
# What a system says of a path at which there can be nothing.
_NO_PATH = (errno.ELOOP, errno.ENAMETOOLONG)


def open_storage(
    path: str,
    storage_options: Options | None = None,
    provider: CredentialsProvider | None = None,
) -> ArrowStorage:
    """Return the storage of a path, with options of the environment besides the given ones.

    Args and errors are those of `ArrowStorage.parse`.

    Raises:
        InvalidOptionError: the path contains settings, or an option is unknown or has a wrong
            value.
        StorageError: the storage does not answer, or there are no credentials.
    """
    return ArrowStorage.parse(path, storage_options, from_environment(os.environ), provider)


@dataclass(frozen=True, eq=False, repr=False)
class ArrowStorage(Storage):
    """A base path on a file system of pyarrow or fsspec."""

    files: Connection | GivenFileSystem
    base_path: str  # absolute inside the file system
    scheme: str = ""  # "" for a local path
    host: str = ""  # for messages; "" if the path begins with a bucket
    # For other locations that the user names.
    settings: Options = field(default_factory=dict)
    provider: CredentialsProvider | None = None

    @classmethod
    def parse(
        cls,
        uri: str,
        options: Options | None = None,
        environment: Options | None = None,
        provider: CredentialsProvider | None = None,
    ) -> ArrowStorage:
        """Return the storage of a URI (``s3://…``, ``file:///…``) or a local path.

        Args:
            uri: without a scheme it is a local path, taken literally: ``%2F`` stays as it is.
            options: storage options, see `file_system_arguments`.
            environment: further storage options; ``options`` win over them.
            provider: of credentials; wins over a provider that the options name.

        Raises:
            InvalidOptionError: the URI contains settings, an option is unknown or has a wrong
                value, or a local path cannot be followed.
            StorageError: the storage does not answer, or there are no credentials.
            ImportError: a package that the storage needs is not installed.
        """
        location = Location.parse(uri)
        if location.kind == LOCAL:
            try:
                location.path.encode()  # Arrow's paths are UTF-8
                Path(location.path).stat()
            except (OSError, ValueError) as error:  # a path that no system has raises ValueError
                if not isinstance(error, OSError) or error.errno in _NO_PATH:
                    problem = getattr(error, "strerror", str(error))
                    raise InvalidOptionError(f"{uri!r} cannot be followed: {problem}") from None
            return cls(GivenFileSystem(_LOCAL_FILES), location.path)
        if (bare_uri := without_secrets(uri)) != uri:
            raise InvalidOptionError(
                f"{bare_uri} has settings in its URI: give them as storage options"
            )
        options = options or {}
        environment = environment or {}
        reference, max_attempts = common_settings(options, environment)
        provider = NamedProvider(reference) if reference and provider is None else provider
        arguments = file_system_arguments(location.store, options, environment)
        found = location.store.look_up(location.authority, arguments, provider is not None)
        arguments = {**arguments, **found}
        connection = Connection(location, arguments, provider, max_attempts)
        connection.current()  # raises now if the location cannot be reached
        settings = {**environment, **options}
        return cls(connection, location.path, location.scheme, location.host, settings, provider)

    @classmethod
    def on(cls, filesystem: object, path: str) -> ArrowStorage:
        """Return the storage of a path on a file system of the user; executors get a copy.

        Args:
            filesystem: of pyarrow or fsspec, picklable.
            path: inside the file system; a scheme in front of it appears in messages only.
        """
        scheme, separator, inside = path.partition("://")
        is_arrow = isinstance(filesystem, pafs.FileSystem)
        files = GivenFileSystem((ArrowFileSystem if is_arrow else FsspecFileSystem)(filesystem))
        return cls(files, trim(inside), scheme) if separator else cls(files, trim(path))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.describe('')!r})"

    @property
    def filesystem(self) -> pafs.FileSystem:
        """The file system, for pyarrow."""
        return self.files.current().filesystem

    @property
    def is_local(self) -> bool:
        return self.files.is_local

    @property
    def identity(self) -> str:
        return self.files.identity

    def list_directory(self, directory: str) -> list[FileInfo]:
        path = self._absolute(directory)
        place = self.describe(directory)
        return self.files.request(lambda files: files.list_directory(path), place)

    def list_file_names(self, directory: str) -> list[str]:
        if not self.is_local:
            return super().list_file_names(directory)
        with suppress(FileNotFoundError), os.scandir(self._absolute(directory)) as found:
            # Only links are looked at: one that leads nowhere, or to itself, is no file.
            return [e.name for e in found if e.is_file(follow_symlinks=False) or Path(e).is_file()]
        return []

    def read_bytes(self, path: str) -> bytes:
        with self.open_input(path) as file:
            return bytes(file.read())

    def open_input(self, path: str) -> pa.NativeFile | IO[bytes]:
        absolute = self._absolute(path)
        if self.is_local:
            return self.filesystem.open_input_file(absolute)

        place = self.describe(path)

        def open_now(files: FileSystem) -> IO[bytes]:
            opened = files.open(absolute)
            file = RemoteFile(lambda r: self.files.request(r, place), files, opened, absolute)
            return cast("IO[bytes]", file)

        return self.files.request(open_now, place)

    def describe(self, path: str) -> str:
        absolute = self._absolute(path)
        return f"{self.scheme}://{self.host}{absolute}" if self.scheme else absolute

    def at(self, location: str, *, is_given: bool = False) -> ArrowStorage:
        """Return the storage of another folder: a path or a URI, as a bootstrap records it.

        A folder in the same store has the same file system and credentials. Another store is
        opened with the settings of this one, which may not fit.

        Args:
            location: absolute path or URI; it is not URL-decoded.
            is_given: whether the user named the location, rather than a file of the table.

        Raises:
            PathOutsideTableError: the location is in another store, and the user did not name it.
            InvalidOptionError: the location is not a path or URI, or the settings do not fit it.
            StorageError: the other store does not answer.
        """
        path = self._own_path(location)
        if path is not None:
            return replace(self, base_path=trim(path))
        if not is_given:
            raise PathOutsideTableError(
                f"the table at {self.describe('')} names {location!r}, which is not in its own "
                "store (scheme, host, account and bucket), so no request is sent there",
                advice=(
                    "If you trust that place, name it yourself with the option bootstrap_base_path"
                ),
            )
        scheme, separator, inside = location.partition("://")
        if separator and same_store(self.scheme, scheme):
            # The same store with the same credentials; only the bucket may differ.
            return replace(self, base_path=trim(inside), scheme=scheme, host="")
        uri = Location.uri_of(location)
        return ArrowStorage.parse(uri, environment=self.settings, provider=self.provider)

    def _own_path(self, location: str) -> str | None:
        """Return the path of a location inside the file system; None if it is elsewhere."""
        here = self.describe("")
        if location.startswith(f"{here}/"):  # on any file system
            below = location.removeprefix(here)
            return None if rises(below) else f"{self.base_path}{below}"
        if rises(location):
            return None
        if not (self.scheme or self.is_local or ":/" in location):
            return location  # on a file system that was passed as an object
        place = Location.parse(Location.uri_of(location))
        kind, host, bucket = place.origin
        ours = self.files.origin or Location.parse(Location.uri_of(here)).origin
        # A URI without a host means the host of the settings, which is that of the table.
        is_own = (kind, host or ours[1], bucket) == ours
        return place.path if is_own else None

    def _absolute(self, path: str) -> str:
        return f"{self.base_path}/{path}" if path else self.base_path
