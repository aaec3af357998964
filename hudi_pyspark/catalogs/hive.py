"""Catalogs that store Hive's definitions of tables: a Hive Metastore, and AWS Glue.

They need the extras ``hive`` and ``glue``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from hudi_pyspark.catalogs.catalog_table import CatalogTable, Settings, split_name, uri_of
from hudi_pyspark.catalogs.entry_columns import EntryColumns
from hudi_pyspark.catalogs.hive_entry import hive_format, reads_base_files, table_format
from hudi_pyspark.errors import CatalogError, InvalidOptionError
from hudi_pyspark.extras import needs_extra
from hudi_pyspark.storage.masking import mask

_PORT = 9083
_TIMEOUT = 30_000  # milliseconds


def find_in_hive(name: str, settings: Settings) -> CatalogTable:
    """Find a table in a Hive Metastore without Kerberos or TLS.

    Args:
        name: ``[catalog.]database.table``.
        settings: ``uri`` may list several metastores, with commas between; the first that answers
            is asked.

    Raises:
        InvalidOptionError: the name does not have two or three parts, ``uri`` is missing, or it is
            not a Thrift address.
        CatalogError: no metastore answers, or the first that answers does not have the table.
        ImportError: the extra ``hive`` is not installed.
    """
    *catalog, database, table = split_name(name, "[catalog.]database.table", 2, 3)
    # A metastore expects a catalog and its database in the same text.
    definition = _ask(settings, f"@{catalog[0]}#{database}" if catalog else database, table)
    if definition is None:
        raise CatalogError(f"the metastore at {mask(settings['uri'])} does not have {name}")
    storage = definition.sd
    if storage is None:
        return CatalogTable("")
    return _Definition(
        location=storage.location,
        input_format=storage.inputFormat,
        properties=storage.serdeInfo and storage.serdeInfo.parameters,
        parameters=definition.parameters,
        columns=[(each.name, each.comment) for each in storage.cols or ()],
        partitions=[(each.name, each.comment) for each in definition.partitionKeys or ()],
    ).table()


def find_in_glue(name: str, settings: Settings) -> CatalogTable:
    """Find a table in the AWS Glue Data Catalog, with the credentials of the AWS environment.

    Args:
        name: ``[catalog id.]database.table``.
        settings: ``region`` and ``uri``, the endpoint; by default those of the environment.

    Raises:
        InvalidOptionError: the name does not have two or three parts.
        CatalogError: Glue refuses, cannot be reached, or does not have the table.
        ImportError: the extra ``glue`` is not installed.
    """
    *catalog, database, table = split_name(name, "[catalog id.]database.table", 2, 3)
    place = {"CatalogId": catalog[0]} if catalog else {}
    with needs_extra("glue"):
        import boto3  # noqa: PLC0415  (an optional extra)
        from botocore.config import Config  # noqa: PLC0415  (an optional extra)
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415  (an extra)

    try:
        client = boto3.client(
            "glue",
            region_name=settings.get("region") or None,
            endpoint_url=settings.get("uri") or None,
            config=Config(retries={"mode": "standard", "max_attempts": 5}),
        )
        definition = client.get_table(DatabaseName=database, Name=table, **place)["Table"]
    except (ClientError, BotoCoreError) as error:
        raise CatalogError(f"Glue, table {name}: {mask(str(error))}") from None
    storage = definition.get("StorageDescriptor", {})
    columns = storage.get("Columns", ())
    partitions = definition.get("PartitionKeys", ())
    return _Definition(
        location=storage.get("Location"),
        input_format=storage.get("InputFormat"),
        properties=storage.get("SerdeInfo", {}).get("Parameters"),
        parameters=definition.get("Parameters"),
        columns=[(each["Name"], each.get("Comment")) for each in columns],
        partitions=[(each["Name"], each.get("Comment")) for each in partitions],
    ).table()


@dataclass(frozen=True, slots=True)
class _Definition:
    """What Hive's definition of a table says that counts here."""

    location: str | None  # its base path
    input_format: str | None
    properties: Mapping[str, str] | None  # of its storage
    parameters: Mapping[str, str] | None  # of the table
    # Names and comments:
    columns: Sequence[tuple[str, str | None]]  # without partition columns
    partitions: Sequence[tuple[str, str | None]]

    def table(self) -> CatalogTable:
        """Return the table that the definition is of."""
        parameters = self.parameters or {}
        as_hive = hive_format(parameters, self.input_format or "")
        listed = [*self.columns, *self.partitions]
        return CatalogTable(
            self.location or "",
            is_read_optimized=bool(reads_base_files(self.properties or {}, as_hive)),
            table_format=table_format(parameters),
            columns=EntryColumns(
                is_of_hive=bool(as_hive),
                partitions=tuple(name for name, _ in self.partitions),
                comments={name: comment for name, comment in listed if comment},
            ),
        )


def _ask(settings: Settings, database: str, table: str) -> Any:  # noqa: ANN401
    """Ask the first metastore that answers for a table; None if it does not have the table."""
    with needs_extra("hive"):
        from pymetastore.hive_metastore import ThriftHiveMetastore  # noqa: PLC0415  (an extra)
        from thrift.protocol.TBinaryProtocol import TBinaryProtocol  # noqa: PLC0415  (an extra)
        from thrift.Thrift import TException  # noqa: PLC0415  (an extra)
        from thrift.transport.TSocket import TSocket  # noqa: PLC0415  (an extra)
        from thrift.transport.TTransport import TBufferedTransport  # noqa: PLC0415  (an extra)

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
