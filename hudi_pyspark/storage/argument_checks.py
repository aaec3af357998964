"""Settings are checked before a client of a store sees them.

Azure's client ends the process where an account key or a port has another form than it expects, the
client of S3 asks another port, and what the others say shows what is wrong.
"""

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.storage.locations import Location
from hudi_pyspark.storage_options import Value

_SCHEMES = ("scheme", "blob_storage_scheme", "dfs_storage_scheme")
_AUTHORITIES = ("blob_storage_authority", "dfs_storage_authority")
_ENDPOINTS = ("endpoint_override", "endpoint")
_HOST_AND_PORT = "give host or host:port, with a port of at most 65535"
_UNPRINTED = re.compile(r"[\x00-\x1f\x7f]")
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_OF_URIS = re.compile(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]*")
_BUCKETS = ("s3", "gs")
_HOSTS_IN_URIS = ("hdfs", "webhdfs", "abfs")


def check_arguments(location: Location, arguments: Mapping[str, Value]) -> None:
    """Check the arguments of the file system of a location.

    Raises:
        InvalidOptionError: a value has a form that no client understands; it is not shown.
    """
    for name, value in arguments.items():
        problem = _problem_of(name, str(value))
        if problem:
            raise InvalidOptionError(f"storage option {name}: {problem}")
    if location.kind in _BUCKETS and "//" in location.path:
        raise InvalidOptionError(
            f"{location.scheme}://{location.path} has an empty name of a folder: give "
            f"{location.scheme}://{re.sub('/+', '/', location.path)}"
        )
    authority = f"//{location.authority}"
    if location.kind in _HOSTS_IN_URIS and location.authority and not _is_endpoint(authority):
        host = location.authority.rpartition("@")[2]
        raise InvalidOptionError(f"{location.scheme}://{host}: {_HOST_AND_PORT}")
    plain = [name for name in _SCHEMES if arguments.get(name) == "http"]
    if location.kind == "abfs" and plain and not arguments.keys() & {"account_key", "sas_token"}:
        raise InvalidOptionError(
            f"storage option {plain[0]}: tokens are not sent over http: give https, or the storage "
            "option account_key or sas_token"
        )


def _problem_of(name: str, value: str) -> str:
    """Return what is wrong with the value of an argument, or an empty text."""
    has_scheme = value.startswith(("http://", "https://"))
    is_endpoint = _is_endpoint(value if has_scheme else f"//{value}")
    if _UNPRINTED.search(value):
        return "it has a line break or another character that is not printed"
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
    """Return whether a URI has a host, and a port that is one or is not given."""
    try:
        parts = urlsplit(uri)
        return bool(parts.netloc and _OF_URIS.fullmatch(uri)) and parts.port != 0
    except ValueError:  # also where an address of IPv6 lacks a bracket
        return False
