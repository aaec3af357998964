"""Hosts are connected to before a client asks them, since some repeat that for minutes."""

import socket
from collections.abc import Mapping
from urllib.parse import urlsplit
from urllib.request import getproxies

from hudi_pyspark.storage_options import Value

_WAIT = 1.5  # seconds: the first packet of a connection is sent again after one
_OPTIONS = {"gs": "endpoint_override", "abfs": "blob_storage_authority", "webhdfs": "host"}


def reach_endpoint(kind: str, arguments: Mapping[str, Value]) -> None:
    """Connect to the host that the arguments of a file system of GCS, Azure or WebHDFS name.

    S3's client finds out itself. Nothing is asked of GCS without an endpoint, nor where a proxy is
    configured, which may be the only way to the host.

    Args:
        kind: the canonical scheme.
        arguments: with those that the path names: account of Azure, host and port of WebHDFS.

    Raises:
        ConnectionError: it does not answer; the message names path and storage option.
    """
    option = _OPTIONS.get(kind, "")
    endpoint = str(arguments.get(option) or "")
    scheme = arguments.get("scheme") or arguments.get("blob_storage_scheme")
    if kind == "webhdfs":
        endpoint = f"{endpoint}:{arguments['port']}"
    elif kind == "abfs" and (not endpoint or endpoint.startswith(".")):
        endpoint = f"{arguments['account_name']}{endpoint or '.blob.core.windows.net'}"
    if endpoint and not getproxies():
        problem = problem_of(endpoint, 80 if scheme == "http" else 443, _WAIT)
        if problem:
            raise ConnectionError(f"{problem}. Check the path, or the storage option {option}")


def problem_of(endpoint: str, port: int, seconds: float) -> str:
    """Connect to an endpoint once, without a request, and return why it cannot be reached.

    Args:
        endpoint: a URL, a host, or host:port.
        port: the one to connect to where the endpoint has none.
        seconds: how long to wait for each address of the host.

    Returns:
        A sentence without a full stop, or "" where the endpoint answers.
    """
    parts = urlsplit(endpoint if "://" in endpoint else f"//{endpoint}")
    host, port = str(parts.hostname), parts.port or port
    try:
        socket.create_connection((host, port), seconds).close()
    except (OSError, UnicodeError) as error:  # the latter for a name that no host can have
        return f"{host}:{port} cannot be reached: {error}"
    return ""
