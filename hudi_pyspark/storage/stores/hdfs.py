"""HDFS, by libhdfs or else by hdfs-native."""

import importlib
from typing import Any

import pyarrow.fs as pafs

from hudi_pyspark.errors import InvalidOptionError, StorageError
from hudi_pyspark.storage.file_systems import ArrowFileSystem, FileSystem, HdfsNativeFileSystem
from hudi_pyspark.storage.stores.setting import Form, Setting
from hudi_pyspark.storage.stores.store import Authority, Store, address_of

# What pyarrow says the first time in a process, and from then on.
_NO_LIBHDFS = ("Unable to load lib", "Prior attempt to load lib")


def _connect(_scheme: str, authority: str, arguments: dict[str, Any]) -> FileSystem:
    uri = f"hdfs://{authority.rpartition('@')[2]}"
    place = {**address_of(authority), **arguments}
    try:
        hdfs = pafs.HadoopFileSystem(**{**place, "host": place["host"] or "default"})
    except OSError as error:
        problem = str(error).partition("\n")[0]  # further lines list the searched folders
        if problem.startswith(_NO_LIBHDFS):
            return _connect_natively(uri, place, problem)
        raise StorageError(uri, problem, 1) from error
    return ArrowFileSystem(hdfs)


def _connect_natively(uri: str, place: dict[str, Any], problem: str) -> FileSystem:
    """Connect to HDFS with hdfs-native, because libhdfs has a problem."""
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
        return HdfsNativeFileSystem(make(skip_instance_cache=True, **place), uri)
    except RuntimeError as error:  # neither the URI nor a configuration file names a host
        raise StorageError(uri, str(error), 1) from error


HDFS = Store(
    scheme="hdfs",
    authority=Authority.HOST,
    default_port=8020,
    connect=_connect,
    settings=(
        Setting("host", "hdfs.host"),
        Setting("port", "hdfs.port", Form.PORT),
        Setting("user", "hdfs.user"),
        Setting("kerb_ticket", "hdfs.kerberos_ticket"),
    ),
    prefixes=("hdfs.",),
    variables=("HADOOP_", "KRB5"),
)
