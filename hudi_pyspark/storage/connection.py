"""The file system of a storage: connected in each process, with credentials that are valid."""

import importlib
import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

import pyarrow.fs as pafs

from hudi_pyspark.errors import HudiError, InvalidOptionError, StorageAccessError, StorageError
from hudi_pyspark.fork_safe_lock import ForkSafeLock
from hudi_pyspark.storage import file_systems, preflight
from hudi_pyspark.storage.aws_environment import check_credentials
from hudi_pyspark.storage.credentials import Credentials, CredentialsProvider, current_credentials
from hudi_pyspark.storage.file_systems import FileSystem
from hudi_pyspark.storage.locations import Location
from hudi_pyspark.storage.masking import masked_error
from hudi_pyspark.storage.retries import RetryPolicy
from hudi_pyspark.storage_options import Options, file_system_arguments, secret_values

_T = TypeVar("_T")

_GCS_RETRY_SECONDS = 10  # for which its client repeats a request; its default is 15 minutes
_GOOGLE_METADATA = "metadata.google.internal"  # answers on machines of Google, which have accounts
_WEBHDFS_TIMEOUTS = (5, 30)  # seconds to connect, and between bytes; fsspec waits for ever
_THROTTLED_ADVICE = ". Run fewer tasks at a time, or raise the storage option attempts"
_AZURE_CREDENTIALS = frozenset({"account_key", "sas_token", "client_id", "client_secret"})
_NO_AZURE_CREDENTIALS = (
    "there are no credentials. Give the storage option account_key, or sas_token, or tenant_id, "
    "client_id and client_secret; or log in (az login, the variables AZURE_…, an identity of the "
    "machine)"
)
# Where clients of Azure find an identity; the machines of a cloud have one at this address.
_AZURE_VARIABLES = ("AZURE_CLIENT_ID", "AZURE_FEDERATED_TOKEN_FILE", "IDENTITY_ENDPOINT")
_AZURE_METADATA = "169.254.169.254"
# What pyarrow says the first time in a process, and from then on.
_NO_LIBHDFS = ("Unable to load lib", "Prior attempt to load lib")
# Prefixes of the variables in which clients of storages look for credentials.
_CREDENTIAL_VARIABLES = ("AWS_", "AZURE_", "GOOGLE_", "HADOOP_", "KRB5", "OSS_")
_NO_CREDENTIALS = Credentials({}, float("inf"))  # if all settings are arguments
_FSSPEC_KINDS = ("webhdfs", "oss", "memory")
_WEBHDFS_PORT = 9870


class GivenFileSystem:
    """A file system that exists as an object: local files, or the user's; executors get a copy."""

    store = None  # only the URI of the table says where it is

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
        variables = sorted(
            item for item in os.environ.items() if item[0].startswith(_CREDENTIAL_VARIABLES)
        )
        parts = self.location, sorted(self.arguments.items()), variables
        return sha256(repr(parts).encode()).hexdigest()

    @property
    def store(self) -> tuple[str, str, str]:
        """Like `Location.store`, with the account of Azure that a storage option names."""
        kind, host, bucket = self.location.store
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
        secrets = secret_values({**self.arguments, **supplied})
        policy = RetryPolicy(self.max_attempts, secrets, _THROTTLED_ADVICE)
        return policy.run(lambda: request(self._reached()), place, self._renew)

    def _reached(self) -> FileSystem:
        """Return the file system; before the first request, its endpoint has to answer."""
        filesystem = self.current()
        if self._connected is not None and not self._is_reached:
            preflight.reach_endpoint(self.location.kind, self._connected.arguments)
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
        supplied = file_system_arguments(self.location.kind, credentials.options, {})
        arguments = {**self.arguments, **supplied}
        preflight.check_arguments(self.location, arguments)
        place = f"{self.location.scheme}://{self.location.host}"
        try:
            complete = dict(arguments)  # the maker adds what the location names
            filesystem = _MAKERS.get(self.location.kind, _fsspec)(self.location, complete)
        except Exception as error:  # noqa: BLE001  (clients have errors of their own)
            masked = masked_error(error, secret_values(arguments), self.location.authority)
            if isinstance(masked, HudiError | ImportError):
                raise masked from None
            if isinstance(error, OSError):
                raise StorageError(place, str(masked), 1) from None
            if self.location.kind == "abfs" and arguments.keys().isdisjoint(_AZURE_CREDENTIALS):
                address = f"{self.location.scheme}://{self.location.authority}"
                raise StorageAccessError(address, _NO_AZURE_CREDENTIALS) from None
            raise InvalidOptionError(f"storage options of {place}: {masked}") from None
        return _Connected(filesystem, complete, credentials, os.getpid())

    def _renew(self) -> bool:
        refused = self._connected and self._connected.credentials
        return refused is not None and self._credentials(refused=refused) is not refused


def _s3(location: Location, arguments: dict[str, Any]) -> FileSystem:
    check_credentials(f"s3://{location.authority}", arguments, os.environ)
    # `RetryPolicy` repeats requests, in the same way for all storages.
    once = pafs.AwsStandardS3RetryStrategy(max_attempts=1)
    return file_systems.S3FileSystem(pafs.S3FileSystem(retry_strategy=once, **arguments))


def _gcs(location: Location, arguments: dict[str, Any]) -> FileSystem:
    scheme, separator, host = str(arguments.get("endpoint_override", "")).partition("://")
    if separator:
        arguments.update(scheme=scheme, endpoint_override=host)
    if not (arguments.get("access_token") or arguments.get("anonymous") or _has_google_identity()):
        raise StorageAccessError(
            f"gs://{location.authority}",
            "there are no credentials. Give the storage option access_token (or "
            "GOOGLE_APPLICATION_CREDENTIALS, gcloud auth application-default login, an account of "
            "the machine), or anonymous=true for a public bucket",
        )
    limit = timedelta(seconds=arguments.pop("retry_time_limit", _GCS_RETRY_SECONDS))
    expires_at = arguments.pop("credential_token_expiration", None) or time.time() + 3600
    if "access_token" in arguments:  # pyarrow requires the time when a token expires
        end = datetime.fromtimestamp(float(expires_at), timezone.utc)
        arguments["credential_token_expiration"] = end
    return file_systems.ArrowFileSystem(pafs.GcsFileSystem(retry_time_limit=limit, **arguments))


def _has_google_identity() -> bool:
    """Return whether Google's client will find credentials.

    The client itself waits a minute if the machine is not one of Google.
    """
    home = os.environ.get("HOME")  # all that the client looks at
    folder = os.environ.get("APPDATA") or (f"{home}/.config" if home else "")
    has_login = Path(folder, "gcloud/application_default_credentials.json").exists()
    is_named = bool(os.environ.get("GOOGLE_APPLICATION_CREDENTIALS"))
    if is_named or (folder and has_login) or preflight.is_proxied():
        return True
    return not preflight.connection_problem(
        os.environ.get("GCE_METADATA_ROOT") or _GOOGLE_METADATA, 80, 1
    )


def _azure(location: Location, arguments: dict[str, Any]) -> FileSystem:
    if "sas_token" in arguments:  # without the ? the token would become part of the path
        arguments["sas_token"] = f"?{arguments['sas_token'].lstrip('?')}"
    host = location.authority.rpartition("@")[2] if "." in location.authority else ""
    account, _, domain = host.partition(".")
    if account:
        arguments.setdefault("account_name", account)
        _, _, suffix = domain.partition(".")  # after "dfs" or "blob"
        if suffix and suffix != "core.windows.net":
            arguments.setdefault("blob_storage_authority", f".blob.{suffix}")
            arguments.setdefault("dfs_storage_authority", f".dfs.{suffix}")
    if "account_name" not in arguments:
        raise InvalidOptionError(
            f"{location.scheme}:// needs the account: {location.scheme}://container@account.dfs."
            "core.windows.net/path, or the storage option account_name"
        )
    if arguments.keys().isdisjoint(_AZURE_CREDENTIALS) and not _has_azure_identity():
        # Azure's client would start a shell for az, which prints that there is none.
        raise StorageAccessError(f"{location.scheme}://{location.authority}", _NO_AZURE_CREDENTIALS)
    filesystem = pafs.AzureFileSystem(**arguments)
    if not arguments.keys() & {"account_key", "sas_token"}:
        # If Azure issues no token, opening a file would end the process; this request raises an
        # error instead. A failure of the network is left to later requests, which are repeated.
        with suppress(OSError):
            filesystem.get_file_info(f"{location.authority.partition('@')[0]}/t")
    return file_systems.ArrowFileSystem(filesystem)


def _has_azure_identity() -> bool:
    if any(map(os.environ.get, _AZURE_VARIABLES)) or shutil.which("az"):
        return True
    return not preflight.connection_problem(_AZURE_METADATA, 80, 1)  # which no proxy reaches


def _hdfs(location: Location, arguments: dict[str, Any]) -> FileSystem:
    place = {**_address(location), **arguments}
    try:
        hdfs = pafs.HadoopFileSystem(**{**place, "host": place["host"] or "default"})
    except OSError as error:
        problem = str(error).partition("\n")[0]  # further lines list the searched folders
        if problem.startswith(_NO_LIBHDFS):
            return _hdfs_native(location, place, problem)
        raise StorageError(f"hdfs://{location.host}", problem, 1) from error
    return file_systems.ArrowFileSystem(hdfs)


def _address(location: Location) -> dict[str, Any]:
    """Return the host of an HDFS URI, and its port and user if the URI has them."""
    user = location.authority.rpartition("@")[0]
    host, _, port = location.host.partition(":")
    address: dict[str, Any] = {"host": host}
    if port:
        address["port"] = int(port)
    if user:
        address["user"] = user
    return address


def _hdfs_native(location: Location, place: dict[str, Any], problem: str) -> FileSystem:
    """Connect to HDFS with hdfs-native, because libhdfs has a problem."""
    uri = f"hdfs://{location.host}"
    try:
        make = importlib.import_module("hdfs_native.fsspec").HdfsFileSystem
    except ImportError:
        problem = (
            f"{problem}. hdfs:// needs libhdfs and Java on every machine (ARROW_LIBHDFS_DIR, "
            "JAVA_HOME, CLASSPATH), or pip install hdfs-native (extra 'hdfs'); "
            "webhdfs:// needs neither"
        )
        raise StorageError(uri, problem, 1) from None
    unknown = sorted(place.keys() - {"host", "port"})
    if unknown:
        raise InvalidOptionError(
            f"storage options {', '.join(unknown)} need libhdfs, but: {problem}. hdfs-native takes "
            "the user from HADOOP_USER_NAME, and the ticket from KRB5CCNAME"
        )
    try:
        return file_systems.HdfsNativeFileSystem(make(skip_instance_cache=True, **place), uri)
    except RuntimeError as error:  # neither the URI nor a configuration file names a host
        raise StorageError(uri, str(error), 1) from error


def _fsspec(location: Location, arguments: dict[str, Any]) -> FileSystem:
    if location.kind not in _FSSPEC_KINDS:
        raise InvalidOptionError(
            f"{location.scheme}:// is not supported. Supported: local paths, s3://, gs://, "
            "abfss://, hdfs://, webhdfs://, oss://; or pass a file system of fsspec to HudiTable"
        )
    if location.kind == "webhdfs":
        arguments.update({"port": _WEBHDFS_PORT, **_address(location), **arguments})
        if not arguments["host"]:
            raise InvalidOptionError("webhdfs:// has no host: give webhdfs://namenode:9870/path")
    try:
        make = importlib.import_module("fsspec").get_filesystem_class(location.kind)
        # Instances from fsspec's cache would have the credentials of whoever made them first.
        filesystem = make(skip_instance_cache=True, use_listings_cache=False, **arguments)
    except ImportError as error:
        is_oss = location.kind == "oss"
        packages = "ossfs (extra 'oss')" if is_oss else "fsspec requests (extra 'fsspec')"
        if arguments.get("kerberos"):
            packages += " requests-kerberos"
        raise ImportError(
            f"{location.scheme}:// needs a package that is not installed: pip install {packages}"
        ) from error
    if location.kind != "webhdfs":
        return file_systems.FsspecFileSystem(filesystem)
    session = filesystem.session
    session.request = partial(session.request, timeout=_WEBHDFS_TIMEOUTS)
    return file_systems.WebHdfsFileSystem(filesystem)


_MAKERS = {"s3": _s3, "gs": _gcs, "abfs": _azure, "hdfs": _hdfs}
