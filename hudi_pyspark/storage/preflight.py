"""Checks before a client of a store is used: the form of its settings, and whether a host answers.

Without these checks the clients fail late and obscurely. Azure's client ends the process if an
account key or a port is malformed, S3's client asks another port, other clients print the setting,
and some repeat a connection to a missing host for minutes.
"""

import re

from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.storage import hosts
from hudi_pyspark.storage.locations import Location
from hudi_pyspark.storage.stores.setting import HOST_AND_PORT, Options, Setting, is_endpoint
from hudi_pyspark.storage.stores.store import Authority, Store

_HAVE_HOSTS = (Authority.HOST, Authority.CONTAINER)
_CONNECT_SECONDS = 1.5  # a lost first packet of a connection is sent again after one second


def check_arguments(location: Location, arguments: Options) -> None:
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
