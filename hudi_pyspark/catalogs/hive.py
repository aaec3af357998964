"""Tables of a Hive Metastore, by its Thrift protocol (extra ``hive``)."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from hudi_pyspark.catalogs.catalog_table import CatalogTable, Settings, split_name, uri_of
from hudi_pyspark.errors import CatalogError, InvalidOptionError
from hudi_pyspark.extras import needs_extra
from hudi_pyspark.storage.masking import mask

_PORT = 9083
_TIMEOUT = 30_000  # milliseconds


def find_in_hive(name: str, settings: Settings) -> CatalogTable:
    """Return a table of a Hive Metastore without Kerberos or TLS."""
    *catalog, database, table = split_name(name, "[catalog.]database.table", 2, 3)
    place = _place(catalog, database)
    found = _ask(settings, lambda client: client.get_table(place, table))
    if found is None:
        raise CatalogError(f"the metastore at {mask(settings['uri'])} does not have {name}")
    serde = found.sd.serdeInfo if found.sd else None
    return CatalogTable.of_serde(
        name, found.sd.location if found.sd else None, serde.parameters if serde else None
    )


def list_in_hive(database: str, settings: Settings) -> list[str]:
    """Return the names of the tables of a database; arguments and errors as of `find_in_hive`."""
    *catalog, name = split_name(database, "[catalog.]database", 1, 2)
    place = _place(catalog, name)
    found = _ask(settings, lambda client: client.get_all_tables(place)) or ()
    return [f"{database}.{table}" for table in found]


def _place(catalog: list[str], database: str) -> str:
    """Return a database as a metastore looks for it, with its catalog in the same text."""
    return f"@{catalog[0]}#{database}" if catalog else database


def _ask(settings: Settings, question: Callable[[Any], Any]) -> Any:  # noqa: ANN401
    """Ask the first metastore that answers; None if it does not have what is asked for."""
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
            return question(ThriftHiveMetastore.Client(TBinaryProtocol(transport)))
        except ThriftHiveMetastore.NoSuchObjectException:
            return None
        except (TException, OSError) as error:
            failures.append(mask(f"{uri}: {error}"))
        finally:
            transport.close()
    raise CatalogError(f"no Hive Metastore answers: {'; '.join(failures)}")
