"""Tables of a Hive Metastore, by its Thrift protocol (extra ``hive``)."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from hudi_pyspark.catalogs.catalog_table import (
    CatalogTable,
    Settings,
    import_client,
    required,
    split_name,
)
from hudi_pyspark.errors import CatalogError, InvalidOptionError

_PORT = 9083
_TIMEOUT = 30_000  # milliseconds


def find_in_hive(name: str, settings: Settings) -> CatalogTable:
    """Return a table of a Hive Metastore without Kerberos or TLS."""
    *catalog, database, table = split_name(name, "[catalog.]database.table", 2, 3)
    # A metastore looks for a catalog in the text of the database.
    place = f"@{catalog[0]}#{database}" if catalog else database
    failures = []
    for uri in required(settings, "uri", "thrift://metastore:9083").split(","):
        try:
            found = _get_table(uri.strip(), place, table)
        except _thrift_errors() as error:
            failures.append(f"{uri.strip()}: {error}")
            continue
        if found is None:
            raise CatalogError(f"the metastore at {uri.strip()} does not have {name}")
        serde = found.sd.serdeInfo if found.sd else None
        return CatalogTable.of_serde(
            name, found.sd.location if found.sd else None, serde.parameters if serde else None
        )
    raise CatalogError(f"no Hive Metastore answers: {'; '.join(failures)}")


def _get_table(uri: str, database: str, table: str) -> Any:  # noqa: ANN401
    """Ask one metastore for a table; None if it does not have it."""
    metastore = import_client("pymetastore.hive_metastore.ThriftHiveMetastore", "hive")
    sockets = import_client("thrift.transport.TSocket", "hive")
    transports = import_client("thrift.transport.TTransport", "hive")
    protocols = import_client("thrift.protocol.TBinaryProtocol", "hive")
    parts = urlsplit(uri)
    if parts.scheme != "thrift" or not parts.hostname:
        raise InvalidOptionError(f"catalog.uri is {uri!r}; give thrift://host:{_PORT}")
    socket = sockets.TSocket(parts.hostname, parts.port or _PORT)
    socket.setTimeout(_TIMEOUT)
    transport = transports.TBufferedTransport(socket)
    client = metastore.Client(protocols.TBinaryProtocol(transport))
    transport.open()
    try:
        return client.get_table(database, table)
    except metastore.NoSuchObjectException:
        return None
    finally:
        transport.close()


def _thrift_errors() -> tuple[type[Exception], ...]:
    return (import_client("thrift.Thrift", "hive").TException, OSError)
