"""Paths and URIs: which storage they mean, and where in it."""

import os
import posixpath
import re
from dataclasses import dataclass
from urllib.parse import quote, unquote, unquote_to_bytes

from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.storage.stores import Authority, Store, store_of

_SECRETS = re.compile(r"(?<=://)[^/@]*:[^/@]*@|\?.*", re.DOTALL)
LOCAL = ""
_VOLUMES = "/Volumes/"  # where Databricks mounts volumes, on every machine


def trim(path: str) -> str:
    """Remove the slashes at the end of a path; ``/`` stays."""
    return path.rstrip("/") or "/"


def without_secrets(uri: str) -> str:
    """Remove user, password and query from a URI, where people put credentials."""
    return _SECRETS.sub("", uri) if "://" in uri else uri


@dataclass(frozen=True, slots=True)
class Location:
    """A folder of a storage."""

    scheme: str  # as the user wrote it, for messages; "" for a local path
    kind: str  # the scheme of its store, "" for local files
    authority: str  # bucket, container and account, or host and port; decoded
    path: str  # inside the file system, absolute, without a slash at its end

    @property
    def store(self) -> Store:
        """The store of the location; one that cannot be connected to for local files."""
        return store_of(self.kind)

    @property
    def host(self) -> str:
        """Host and port of HDFS, without a user; "" for other storages, or if the URI has none."""
        is_host = self.store.authority is Authority.HOST
        return self.authority.rpartition("@")[2] if is_host else ""

    @staticmethod
    def uri_of(text: str) -> str:
        """Return the URI of a location as Hudi records it, where nothing is encoded."""
        scheme, separator, place = text.partition("://")
        is_local = scheme == "file" or not separator
        return text if is_local else f"{scheme}{separator}{quote(place, safe='/@:')}"

    @property
    def origin(self) -> tuple[str, str, str]:
        """Kind, host or account, and bucket or container: the unit that credentials are for.

        The host is "" if the settings of the storage name it, or if the kind has no hosts.
        """
        _, at, host = self.authority.lower().rpartition("@")
        form = self.store.authority
        begins_with_bucket = form in (Authority.BUCKET, Authority.CONTAINER)
        bucket = self.path.partition("/")[0] if begins_with_bucket else ""
        if form is Authority.CONTAINER and (at or "." in host):
            # An account has a host for each of its protocols: account.dfs.domain, account.blob.…
            host = re.sub(r"\.(dfs|blob)\.", ".", host)
        elif bucket or form is Authority.FOLDER:
            host = ""
        elif host and ":" not in host and self.store.default_port:
            host += f":{self.store.default_port}"
        return self.kind, host, bucket

    @classmethod
    def parse(cls, uri: str) -> "Location":
        """Parse a URI or a local path. A local path is taken literally: ``%2F`` stays as it is.

        Raises:
            InvalidOptionError: the text is empty, a path of ``dbfs:/`` that only Spark's JVM
                reaches, a ``file:`` URI with the name of another machine, or a path in the home
                folder of a user who has none.
        """
        if not uri:
            raise InvalidOptionError("the path is empty: give the base path of a table")
        scheme, separator, inside = uri.partition(":/")
        if separator and (inside.startswith("/") or scheme.lower() in ("file", "dbfs")):
            uri = f"{scheme.lower()}{separator}{inside}"
        if uri.startswith("dbfs:/"):
            path = trim("/" + uri[len("dbfs:") :].lstrip("/"))
            if not path.startswith(_VOLUMES):
                raise InvalidOptionError(
                    f"{uri} can only be reached from Spark's JVM",
                    advice=(
                        "Give the URI of the storage (s3://, abfss://, gs://), or of a volume: "
                        "/Volumes/catalog/schema/volume/…"
                    ),
                )
            return cls(LOCAL, LOCAL, "", path)
        if uri.startswith("file:/"):
            return cls(LOCAL, LOCAL, "", trim(_local_path(uri)))
        scheme, separator, place = uri.partition("://")
        if not separator:
            return cls(LOCAL, LOCAL, "", trim(posixpath.abspath(_without_tilde(uri))))
        store = store_of(scheme)
        authority, _, inside = unquote(place).partition("/")
        if store.authority is Authority.BUCKET:
            path = f"{authority}/{inside}"
        elif store.authority is Authority.CONTAINER:
            # Without a container, the host of the account stands in its place.
            container = "" if "@" not in authority and "." in authority else authority
            path = f"{container.partition('@')[0]}/{inside}".lstrip("/")
        elif store.authority is Authority.FOLDER:
            path = f"/{unquote(place).lstrip('/')}"
        else:
            path = f"/{inside}"
        return cls(scheme, store.scheme, authority, trim(path))


def _without_tilde(path: str) -> str:
    """Return a path with the home folder that ``~`` stands for, unless a folder is named so.

    Raises:
        InvalidOptionError: this user has no home folder.
    """
    if not path.startswith("~") or os.path.lexists(path):
        return path
    expanded = os.path.expanduser(path)  # noqa: PTH111  (may be no path)
    if expanded == path and path.partition("/")[0] == "~":
        raise InvalidOptionError(
            f"{path} is in the home folder, and this user has none: set HOME, or give the absolute "
            "path"
        )
    return expanded


def _local_path(uri: str) -> str:
    """Return the path of a URI ``file:…``: as it is written, or decoded if only that exists.

    Spark and Hudi write file URIs without encoding, ``Path.as_uri`` with it.
    """
    path = uri.removeprefix("file:")
    if path.startswith("//") and not path.startswith("///"):
        host, _, inside = path[2:].partition("/")
        if host not in ("", "localhost"):
            raise InvalidOptionError(
                f"{uri} names the host {host}, but only files of this machine can be read: give "
                f"file:///{inside}, or file:///{host}/{inside} if {host} is a folder"
            )
        path = inside
    path = f"/{path.lstrip('/')}"
    decoded = os.fsdecode(unquote_to_bytes(os.fsencode(path)))
    return decoded if not os.path.lexists(path) and os.path.lexists(decoded) else path


def same_store(scheme: str, other_scheme: str) -> bool:
    """Return whether two schemes mean one store, whose buckets have the same credentials."""
    store = store_of(scheme)
    return store.authority is Authority.BUCKET and store.scheme == store_of(other_scheme).scheme
