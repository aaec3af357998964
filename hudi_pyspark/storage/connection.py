"""The file system of a storage, connected in each process, with credentials that are valid."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from hudi_pyspark.storage.attempts import Attempts
from hudi_pyspark.storage.connect import connect
from hudi_pyspark.storage.credentials import current_credentials
from hudi_pyspark.storage_options import file_system_arguments, secret_values

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hudi_pyspark.storage.credentials import Credentials, CredentialsProvider
    from hudi_pyspark.storage.file_systems import FileSystem
    from hudi_pyspark.storage.locations import Location
    from hudi_pyspark.storage_options import Value

    _T = TypeVar("_T")


class GivenFileSystem:
    """A file system that was given as an object; executors get a copy."""

    def __init__(self, filesystem: FileSystem) -> None:
        self._filesystem = filesystem

    def current(self) -> FileSystem:
        """Return the file system."""
        return self._filesystem

    def request(self, request: Callable[[FileSystem], _T], place: str) -> _T:
        """Make a request, several times where it fails; see `Attempts.run`."""
        return Attempts().run(lambda: request(self._filesystem), place)


class Connection:
    """A file system that is made from settings; the settings travel, and not the file system.

    ``provider`` supplies more of them, for a while; None if the arguments are all.
    """

    def __init__(
        self,
        location: Location,
        arguments: Mapping[str, Value],
        provider: CredentialsProvider | None,
        attempts: int,
    ) -> None:
        self._location = location
        self._arguments = dict(arguments)
        self._provider = provider
        self._attempts = attempts
        self._connected: tuple[FileSystem, Credentials | None] | None = None
        self._lock = Lock()

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_connected": None, "_lock": None}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state, _lock=Lock())

    def current(self) -> FileSystem:
        """Return the file system, with credentials that have not expired."""
        credentials = self._credentials()
        with self._lock:
            if self._connected is None or self._connected[1] is not credentials:
                self._connected = (self._connect(credentials), credentials)
            return self._connected[0]

    def request(self, request: Callable[[FileSystem], _T], place: str) -> _T:
        """Make a request, several times where it fails; see `Attempts.run`."""
        attempts = Attempts(self._attempts, self._secrets())
        return attempts.run(lambda: request(self.current()), place, self._renew)

    def _credentials(self, refused: Credentials | None = None) -> Credentials | None:
        if self._provider is None:
            return None
        host = self._location.host
        path = self._location.path if host else self._location.path.lstrip("/")
        where = f"{self._location.scheme}://{host}{path}"
        return current_credentials(self._provider, where, refused=refused)

    def _connect(self, credentials: Credentials | None) -> FileSystem:
        supplied = credentials.options if credentials is not None else {}
        more = file_system_arguments(self._location.kind, supplied, {})
        return connect(self._location, {**self._arguments, **more})

    def _renew(self) -> bool:
        used = self._connected[1] if self._connected is not None else None
        return used is not None and self._credentials(refused=used) is not used

    def _secrets(self) -> list[str]:
        used = self._connected[1] if self._connected is not None else None
        return secret_values({**self._arguments, **(used.options if used is not None else {})})
