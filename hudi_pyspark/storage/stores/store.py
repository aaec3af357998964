"""What the storage has to know of a store: one value for each.

A store is a kind of storage: S3, HDFS, and so on. A new one is a module of this folder with such a
value, and a line in the table `STORES`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from hudi_pyspark.storage.file_systems import FileSystem
from hudi_pyspark.storage.stores.setting import COMMON, Options, Setting

# Returns the first value that Hadoop's configuration has under one of some names; "" if none.
Hadoop = Callable[..., str]


class Authority(Enum):
    """What a URI of a store has between ``://`` and the next slash."""

    BUCKET = auto()  # s3://bucket/folder: the path begins with it
    CONTAINER = auto()  # abfss://container@account.host/folder: the path begins with the container
    HOST = auto()  # hdfs://user@host:port/folder: no part of the path
    FOLDER = auto()  # memory://folder/folder: only a part of the path


@dataclass(frozen=True, slots=True)
class Store:
    """A kind of storage."""

    scheme: str  # by which this package calls the store
    authority: Authority
    connect: Callable[[str, str, dict[str, Any]], FileSystem]
    """Makes a file system from the scheme and the authority of a URI, and checked arguments.

    It adds to the arguments what the authority names. It raises StorageAccessError if the client
    would find no credentials, and ImportError if a package is not installed.
    """
    settings: tuple[Setting, ...] = ()
    takes_any_setting: bool = False  # and passes it on as it is
    other_schemes: tuple[str, ...] = ()  # which Hadoop has for the same store
    default_port: int = 0  # of hosts
    has_empty_folders: bool = True  # false if the client fails obscurely at bucket//file
    prefixes: tuple[str, ...] = ()
    """Of names of settings in PyIceberg, delta-rs and polars, in lower case.

    Such a name is a storage option without a mark. It is ignored if no store knows it."""
    ignored_settings: tuple[str, ...] = ()  # names that have no effect on reads
    refused_settings: Mapping[str, str] = field(default_factory=dict)  # why, by name
    variables: tuple[str, ...] = ()
    """Prefixes of the environment variables in which the client looks for credentials."""
    look_up: Callable[[str, Options, bool], Options] = lambda _authority, _arguments, _bare: {}
    """Finds arguments that the client would look up again in each process.

    Takes the authority, the arguments, and whether there is a provider of credentials."""
    endpoint_of: Callable[[Options], str] = lambda _arguments: ""
    """Returns the host that must answer before the first request; "" if the client fails soon."""
    endpoint_setting: str = ""  # the argument to check if it does not answer
    answer: re.Pattern[str] | None = None
    """Matches what the store answered in the text of its client's errors, as groups.

    pyarrow has one class for all failures, so only the text says it."""
    hadoop_prefix: str = ""  # of the names in Hadoop of its settings
    hadoop_scopes: tuple[str, ...] = ()
    """Prefixes of names in Hadoop that hold for one bucket or account."""
    from_hadoop: Callable[[str, Hadoop], dict[str, str]] | None = None
    """Returns the storage options for an authority; by default those with `hadoop_prefix`."""

    @property
    def schemes(self) -> tuple[str, ...]:
        """All schemes of the store."""
        return self.scheme, *self.other_schemes

    def names_in_hadoop(self) -> list[str]:
        """Return the names that settings of the store have in Hadoop's configuration."""
        if not self.hadoop_prefix:
            return []
        names = " ".join(setting.other_names for setting in (*COMMON, *self.settings)).split()
        return [name for name in names if name.startswith(self.hadoop_prefix)]

    def options_from_hadoop(self, authority: str, first_value: Hadoop) -> dict[str, str]:
        """Return the storage options of Hadoop's configuration for the authority of a URI."""
        if self.from_hadoop is not None:
            return self.from_hadoop(authority, first_value)
        return {name: first_value(name) for name in self.names_in_hadoop()}


def address_of(authority: str) -> dict[str, Any]:
    """Return the host of the authority of a URI, and its port and user if it names them."""
    user, _, place = authority.rpartition("@")
    host, _, port = place.partition(":")
    address: dict[str, Any] = {"host": host}
    if port:
        address["port"] = int(port)
    if user:
        address["user"] = user
    return address
