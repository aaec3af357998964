"""Checks before a client of a store is used: the form of its settings, and whether a host answers.

Without these checks the clients fail late and obscurely. Azure's client ends the process if an
account key or a port is malformed, S3's client asks another port, other clients print the setting,
and some repeat a connection to a missing host for minutes.
"""

import re
import socket
from urllib.parse import urlsplit

from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.storage.locations import Location
from hudi_pyspark.storage_options import Options

_SCHEMES = ("scheme", "blob_storage_scheme", "dfs_storage_scheme")
_AUTHORITIES = ("blob_storage_authority", "dfs_storage_authority")
_ENDPOINTS = ("endpoint_override", "endpoint")
_HOST_AND_PORT = "give host or host:port, with a port of at most 65535"
_UNPRINTED = re.compile(r"[\x00-\x1f\x7f]")
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_URI_CHARACTERS = re.compile(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]*")
_KINDS_WITH_BUCKETS = ("s3", "gs")
_KINDS_WITH_HOSTS = ("hdfs", "webhdfs", "abfs")  # in their URIs
_CONNECT_SECONDS = 1.5  # a lost first packet of a connection is sent again after one second
_HOST_OPTIONS = {"gs": "endpoint_override", "abfs": "blob_storage_authority", "webhdfs": "host"}


def check_arguments(location: Location, arguments: Options) -> None:
    """Check the form of the arguments for the file system of a location.

    Raises:
        InvalidOptionError: a value has a form that no client understands. The message names the
            option but not its value, which may be a secret.
    """
    for name, value in arguments.items():
        problem = _problem_of(name, str(value))
        if problem:
            raise InvalidOptionError(f"storage option {name}: {problem}")
    if location.kind in _KINDS_WITH_BUCKETS and "//" in location.path:
        raise InvalidOptionError(
            f"{location.scheme}://{location.path} has an empty folder name: give "
            f"{location.scheme}://{re.sub('/+', '/', location.path)}"
        )
    authority = f"//{location.authority}"
    if location.kind in _KINDS_WITH_HOSTS and location.authority and not _is_endpoint(authority):
        host = location.authority.rpartition("@")[2]
        raise InvalidOptionError(f"{location.scheme}://{host}: {_HOST_AND_PORT}")
    plain = [name for name in _SCHEMES if arguments.get(name) == "http"]
    if location.kind == "abfs" and plain and not arguments.keys() & {"account_key", "sas_token"}:
        raise InvalidOptionError(
            f"storage option {plain[0]}: tokens are not sent over http: give https, or the storage "
            "option account_key or sas_token"
        )


def _problem_of(name: str, value: str) -> str:
    """Return what is wrong with the value of an argument; "" if nothing is."""
    has_scheme = value.startswith(("http://", "https://"))
    is_endpoint = _is_endpoint(value if has_scheme else f"//{value}")
    if _UNPRINTED.search(value):
        return "it contains a line break or another control character"
    if name in _SCHEMES and value not in ("http", "https"):
        return "give http or https"
    if (name in _ENDPOINTS and not is_endpoint) or (
        name in _AUTHORITIES and (has_scheme or not is_endpoint)
    ):
        return _HOST_AND_PORT
    if name == "proxy_options" and not (has_scheme and is_endpoint):
        return (
            "give http://host:port or http://user:password@host:port; in user and password, "
            "characters other than letters, digits and -._~ are written as %40"
        )
    if name == "account_key" and not _BASE64.fullmatch(value):
        return "it is not Base64: give the whole key, with the = signs at its end"
    return ""


def _is_endpoint(uri: str) -> bool:
    """Return whether a URI has a host, and either a valid port or none."""
    try:
        parts = urlsplit(uri)
        return bool(parts.netloc and _URI_CHARACTERS.fullmatch(uri)) and parts.port != 0
    except ValueError:  # also if an IPv6 address lacks a bracket
        return False


def reach_endpoint(kind: str, arguments: Options) -> None:
    """Check that the host of a file system of GCS, Azure or WebHDFS accepts connections.

    Nothing is checked for S3, whose client fails quickly; for GCS without an endpoint; and if a
    proxy is configured, which may be the only way to the host.

    Args:
        kind: the canonical scheme.
        arguments: of the file system, with what the path names: the account of Azure, or the host
            and port of WebHDFS.

    Raises:
        ConnectionError: the host does not answer; the message names the storage option to check.
    """
    option = _HOST_OPTIONS.get(kind, "")
    endpoint = str(arguments.get(option) or "")
    scheme = arguments.get("scheme") or arguments.get("blob_storage_scheme")
    if kind == "webhdfs":
        endpoint = f"{endpoint}:{arguments['port']}"
    elif kind == "abfs" and (not endpoint or endpoint.startswith(".")):
        endpoint = f"{arguments['account_name']}{endpoint or '.blob.core.windows.net'}"
    if endpoint and not is_proxied():
        problem = connection_problem(endpoint, 80 if scheme == "http" else 443, _CONNECT_SECONDS)
        if problem:
            raise ConnectionError(f"{problem}. Check the path, or the storage option {option}")


def is_proxied() -> bool:
    """Say whether the environment names a proxy, without which a host may be out of reach."""
    from urllib.request import getproxies  # noqa: PLC0415  (loads http and email, rarely needed)

    return bool(getproxies())


def connection_problem(endpoint: str, port: int, seconds: float) -> str:
    """Connect to an endpoint once, without a request, and return why that fails.

    Args:
        endpoint: a URL, a host, or host:port.
        port: used if the endpoint has no port.
        seconds: how long to wait for each address of the host.

    Returns:
        A sentence without a full stop; "" if the endpoint accepts the connection.
    """
    parts = urlsplit(endpoint if "://" in endpoint else f"//{endpoint}")
    host = str(parts.hostname)
    port = parts.port or port
    try:
        socket.create_connection((host, port), seconds).close()
    except (OSError, UnicodeError) as error:  # UnicodeError: no host can have this name
        return f"{host}:{port} cannot be reached: {error}"
    return ""
