"""Whether a host accepts connections.

Clients of stores repeat a connection to a missing host for minutes, so one is made beforehand.
"""

import socket
from urllib.parse import urlsplit


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
