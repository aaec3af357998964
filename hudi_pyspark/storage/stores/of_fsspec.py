"""Stores whose clients are file systems of fsspec: HDFS over HTTP, Alibaba's OSS, and memory."""

import importlib
from functools import partial
from typing import Any

from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.storage.file_systems import FileSystem, FsspecFileSystem, WebHdfsFileSystem
from hudi_pyspark.storage.stores.setting import Form, Setting
from hudi_pyspark.storage.stores.store import Authority, Store, address_of

_WEBHDFS_TIMEOUTS = (5, 30)  # seconds to connect, and between bytes; fsspec waits for ever
_WEBHDFS_PORT = 9870


def _connect_webhdfs(scheme: str, authority: str, arguments: dict[str, Any]) -> FileSystem:
    arguments.update({"port": _WEBHDFS_PORT, **address_of(authority), **arguments})
    if not arguments["host"]:
        raise InvalidOptionError("webhdfs:// has no host: give webhdfs://namenode:9870/path")
    packages = "fsspec requests (extra 'fsspec')"
    if arguments.get("kerberos"):
        packages += " requests-kerberos"
    client = _client(scheme, packages, arguments)
    session = client.session
    session.request = partial(session.request, timeout=_WEBHDFS_TIMEOUTS)
    return WebHdfsFileSystem(client)


def _connect_oss(scheme: str, _authority: str, arguments: dict[str, Any]) -> FileSystem:
    return FsspecFileSystem(_client(scheme, "ossfs (extra 'oss')", arguments))


def _connect_memory(scheme: str, _authority: str, arguments: dict[str, Any]) -> FileSystem:
    return FsspecFileSystem(_client(scheme, "fsspec requests (extra 'fsspec')", arguments))


def _client(scheme: str, packages: str, arguments: dict[str, Any]) -> Any:  # noqa: ANN401  (no types)
    try:
        make = importlib.import_module("fsspec").get_filesystem_class(scheme)
        # Instances from fsspec's cache would have the credentials of whoever made them first.
        return make(skip_instance_cache=True, use_listings_cache=False, **arguments)
    except ImportError as error:
        raise ImportError(
            f"{scheme}:// needs a package that is not installed: pip install {packages}"
        ) from error


WEBHDFS = Store(
    scheme="webhdfs",
    authority=Authority.HOST,
    default_port=_WEBHDFS_PORT,
    connect=_connect_webhdfs,
    settings=(
        Setting("host"),
        Setting("port", form=Form.PORT),
        Setting("token", is_secret=True),
        Setting("proxy_to"),
        Setting("kerberos", form=Form.SWITCH),
        Setting("use_https", form=Form.SWITCH),
        Setting("user", "hdfs.user"),
    ),
    prefixes=("hdfs.",),
    variables=("HADOOP_", "KRB5"),
    endpoint_of=lambda arguments: f"{arguments['host']}:{arguments['port']}",
    endpoint_setting="host",
)

OSS = Store(
    scheme="oss",
    authority=Authority.BUCKET,
    connect=_connect_oss,
    settings=(
        Setting("key", "fs.oss.accessKeyId", is_secret=True),
        Setting("secret", "fs.oss.accessKeySecret", is_secret=True),
        Setting("token", "fs.oss.securityToken", is_secret=True),
        Setting("endpoint", "fs.oss.endpoint", Form.ENDPOINT),
    ),
    variables=("OSS_",),
    hadoop_prefix="fs.oss.",
)

MEMORY = Store(
    scheme="memory", authority=Authority.FOLDER, connect=_connect_memory, takes_any_setting=True
)
