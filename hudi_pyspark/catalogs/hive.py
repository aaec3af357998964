"""Tables of a Hive Metastore, by its Thrift protocol (extra ``hive``)."""

from typing import Any
from urllib.parse import urlsplit

from hudi_pyspark.catalogs.catalog_table import CatalogTable, Settings, split_name, uri_of
from hudi_pyspark.errors import CatalogError, InvalidOptionError
from hudi_pyspark.extras import needs_extra
from hudi_pyspark.storage.masking import mask

_PORT = 9083
_TIMEOUT = 30_000  # milliseconds


def find_in_hive(name: str, settings: Settings) -> CatalogTable:
    """Return a table of a Hive Metastore without Kerberos or TLS.

    Several metastores, with commas between, are asked in turn until one answers.

    Raises:
        InvalidOptionError: the name does not have two or three parts, or an address is not one of
            Thrift.
        CatalogError: no metastore answers, or the one that does lacks the table.
        ImportError: the extra ``hive`` is not installed.
    """
    *catalog, database, table = split_name(name, "[catalog.]database.table", 2, 3)
    # A metastore looks for a catalog and its database in the same text.
    definition = _ask(settings, f"@{catalog[0]}#{database}" if catalog else database, table)
    if definition is None:
        raise CatalogError(f"the metastore at {mask(settings['uri'])} does not have {name}")
    storage = definition.sd
    serde = storage.serdeInfo if storage else None
    return CatalogTable.of_serde(
        name, storage.location if storage else None, serde.parameters if serde else None
    )


def _ask(settings: Settings, database: str, table: str) -> Any:  # noqa: ANN401
    """Ask the first metastore that answers for a table; None if it does not have it."""
    with needs_extra("hive"):
        from pymetastore.hive_metastore import ThriftHiveMetastore  # noqa: PLC0415  (an extra)
        from thrift.protocol.TBinaryProtocol import TBinaryProtocol  # noqa: PLC0415  (likewise)
        from thrift.Thrift import TException  # noqa: PLC0415  (likewise)
        from thrift.transport.TSocket import TSocket  # noqa: PLC0415  (likewise)
        from thrift.transport.TTransport import TBufferedTransport  # noqa: PLC0415  (likewise)

    failures = []
    for uri in map(str.strip, uri_of(settings, "thrift://metastore:9083").split(",")):
        parts = urlsplit(uri)
        if parts.scheme != "thrift" or not parts.hostname:
            raise InvalidOptionError(f"catalog.uri is {mask(uri)!r}; give thrift://host:{_PORT}")
        socket = TSocket(parts.hostname, parts.port or _PORT)
        socket.setTimeout(_TIMEOUT)
        transport = TBufferedTransport(socket)
        try:
            transport.open()
            client = ThriftHiveMetastore.Client(TBinaryProtocol(transport))
            return client.get_table(database, table)
        except ThriftHiveMetastore.NoSuchObjectException:
            return None
        except (TException, OSError) as error:
            failures.append(mask(f"{uri}: {error}"))
        finally:
            transport.close()
    raise CatalogError(f"no Hive Metastore answers: {'; '.join(failures)}")
