"""The file system of a storage: connected in each process, with credentials that are valid.

Settings and hosts are checked before a client uses them: without these checks the clients fail late
and obscurely. Azure's client ends the process if an account key or a port is malformed, S3's client
asks another port, other clients print the setting, and some repeat a connection to a missing host
for minutes.
"""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import ClassVar, NamedTuple, TypeVar

import pyarrow.fs as pafs

from hudi_pyspark.errors import HudiError, InvalidOptionError, StorageError
from hudi_pyspark.fork_safe_lock import ForkSafeLock
from hudi_pyspark.storage import hosts
from hudi_pyspark.storage.credentials import Credentials, CredentialsProvider, current_credentials
from hudi_pyspark.storage.file_systems import FileSystem
from hudi_pyspark.storage.locations import Location
from hudi_pyspark.storage.masking import masked_error
from hudi_pyspark.storage.options import file_system_arguments, secret_values
from hudi_pyspark.storage.retries import RetryPolicy
from hudi_pyspark.storage.stores.setting import HOST_AND_PORT, Options, Setting, is_endpoint
from hudi_pyspark.storage.stores.store import Authority, Store

_T = TypeVar("_T")

_THROTTLED_ADVICE = ". Run fewer tasks at a time, or raise the storage option attempts"
_NO_CREDENTIALS = Credentials({}, float("inf"))  # if all settings are arguments
_HAVE_HOSTS = (Authority.HOST, Authority.CONTAINER)
_CONNECT_SECONDS = 1.5  # a lost first packet of a connection is sent again after one second


class GivenFileSystem:
    """A file system that exists as an object: local files, or the user's; executors get a copy."""

    origin = None  # only the URI of the table says where it is

    def __init__(self, filesystem: FileSystem) -> None:
        self._filesystem = filesystem
        self.is_local = isinstance(filesystem.filesystem, pafs.LocalFileSystem)
        self.identity = "local" if self.is_local else ""  # else its credentials are unknown

    def current(self) -> FileSystem:
        return self._filesystem

    def request(self, request: Callable[[FileSystem], _T], place: str) -> _T:
        if self.is_local:
            return request(self._filesystem)
        return RetryPolicy().run(lambda: request(self._filesystem), place)


class _Connected(NamedTuple):
    filesystem: FileSystem
    arguments: Options  # with those that the location names
    credentials: Credentials
    process: int  # a forked process must not share the connections of its parent

    def is_of(self, credentials: Credentials) -> bool:
        return self.credentials is credentials and self.process == os.getpid()


@dataclass(eq=False, repr=False)  # the arguments may be secrets
class Connection:
    """A file system that is made from settings; the settings are pickled, not the file system."""

    location: Location
    arguments: Options
    provider: CredentialsProvider | None  # supplies further arguments for a while; None for none
    max_attempts: int  # of a request; 0 for the default
    is_local: ClassVar = False

    def __post_init__(self) -> None:
        self._connected: _Connected | None = None
        self._is_reached = False
        self._lock = ForkSafeLock()

    def __reduce__(self) -> tuple[object, ...]:
        return Connection, (self.location, self.arguments, self.provider, self.max_attempts)

    @property
    def identity(self) -> str:
        """A digest of the settings, and of the variables where file systems find credentials.

        "" with a provider: its credentials change, and may differ by reader.
        """
        if self.provider is not None:
            return ""
        prefixes = self.location.store.variables
        variables = sorted(item for item in os.environ.items() if item[0].startswith(prefixes))
        parts = self.location, sorted(self.arguments.items()), variables
        return sha256(repr(parts).encode()).hexdigest()

    @property
    def origin(self) -> tuple[str, str, str]:
        """Like `Location.origin`, with the account of Azure that a storage option names."""
        kind, host, bucket = self.location.origin
        if not host and "account_name" in self.arguments:
            host = f"{self.arguments['account_name']}.core.windows.net"
        return kind, host, bucket

    def current(self) -> FileSystem:
        """Return the file system, with credentials that have not expired.

        Raises:
            InvalidOptionError: an argument has a form that no client understands.
            StorageError: the file system cannot be made, or has no credentials.
            ImportError: a package that the file system needs is not installed.
        """
        credentials = self._credentials()
        with self._lock:
            connected = self._connected
            if connected is None or not connected.is_of(credentials):
                self._connected = connected = self._connect(credentials)
            return connected.filesystem

    def request(self, request: Callable[[FileSystem], _T], place: str) -> _T:
        """Make a request on the file or folder ``place``; see `RetryPolicy.run`."""
        supplied = self._connected.credentials.options if self._connected else {}
        secrets = secret_values(self.location.store, {**self.arguments, **supplied})
        policy = RetryPolicy(self.max_attempts, secrets, _THROTTLED_ADVICE)
        return policy.run(lambda: request(self._reached()), place, self._renew)

    def _reached(self) -> FileSystem:
        """Return the file system; before the first request, its endpoint has to answer."""
        filesystem = self.current()
        if self._connected is not None and not self._is_reached:
            reach_endpoint(self.location.store, self._connected.arguments)
            self._is_reached = True
        return filesystem

    def _credentials(self, refused: Credentials | None = None) -> Credentials:
        if self.provider is None:
            return _NO_CREDENTIALS
        host = self.location.host
        path = self.location.path if host else self.location.path.lstrip("/")
        uri = f"{self.location.scheme}://{host}{path}"
        return current_credentials(self.provider, uri, refused=refused)

    def _connect(self, credentials: Credentials) -> _Connected:
        location = self.location
        supplied = file_system_arguments(location.store, credentials.options, {})
        arguments = {**self.arguments, **supplied}
        _check_arguments(location, arguments)
        place = f"{location.scheme}://{location.host}"
        try:
            complete = dict(arguments)  # the store adds what the location names
            filesystem = location.store.connect(location.scheme, location.authority, complete)
        except Exception as error:  # noqa: BLE001  (clients have errors of their own)
            secrets = secret_values(location.store, arguments)
            masked = masked_error(error, secrets, location.authority)
            if isinstance(masked, HudiError | ImportError):
                raise masked from None
            if isinstance(error, OSError):
                raise StorageError(place, str(masked), 1) from None
            raise InvalidOptionError(f"storage options of {place}: {masked}") from None
        return _Connected(filesystem, complete, credentials, os.getpid())

    def _renew(self) -> bool:
        refused = self._connected and self._connected.credentials
        return refused is not None and self._credentials(refused=refused) is not refused


def _check_arguments(location: Location, arguments: Options) -> None:
    """Check the form of the arguments for the file system of a location.

    Raises:
        InvalidOptionError: a value has a form that no client understands. The message names the
            option but not its value, which may be a secret.
    """
    store = location.store
    by_argument = {setting.argument: setting for setting in store.settings}
    for name, value in arguments.items():
        setting = by_argument.get(name) or Setting(name)
        if problem := setting.problem_of(str(value)):
            raise InvalidOptionError(f"storage option {name}: {problem}")
    if not store.has_empty_folders and "//" in location.path:
        raise InvalidOptionError(
            f"{location.scheme}://{location.path} has an empty folder name: give "
            f"{location.scheme}://{re.sub('/+', '/', location.path)}"
        )
    authority = location.authority
    if store.authority in _HAVE_HOSTS and authority and not is_endpoint(f"//{authority}"):
        host = authority.rpartition("@")[2]
        raise InvalidOptionError(f"{location.scheme}://{host}: {HOST_AND_PORT}")


def reach_endpoint(store: Store, arguments: Options) -> None:
    """Check that the host of a file system accepts connections.

    Nothing is checked if the client of the store fails quickly by itself, and if a proxy is
    configured, which may be the only way to the host.

    Args:
        store: of the file system.
        arguments: of the file system, with what the path names: the account of Azure, or the host
            and port of WebHDFS.

    Raises:
        ConnectionError: the host does not answer; the message names the storage option to check.
    """
    endpoint = store.endpoint_of(arguments)
    if not endpoint or hosts.is_proxied():
        return
    protocol = arguments.get("scheme") or arguments.get("blob_storage_scheme")
    problem = hosts.connection_problem(
        endpoint, 80 if protocol == "http" else 443, _CONNECT_SECONDS
    )
    if problem:
        raise ConnectionError(
            f"{problem}. Check the path, or the storage option {store.endpoint_setting}"
        )
