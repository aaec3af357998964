"""Tables of the AWS Glue Data Catalog (extra ``glue``)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hudi_pyspark.catalogs.catalog_table import CatalogTable, Settings, split_name
from hudi_pyspark.errors import CatalogError
from hudi_pyspark.extras import needs_extra
from hudi_pyspark.storage.masking import mask


def find_in_glue(name: str, settings: Settings) -> CatalogTable:
    """Return a table of Glue; the AWS environment has the credentials for both."""
    *catalog, database, table = split_name(name, "[catalog id.]database.table", 2, 3)
    with _glue(settings, f"table {name}") as client:
        found = client.get_table(DatabaseName=database, Name=table, **_place(catalog))["Table"]
    storage = found.get("StorageDescriptor", {})
    serde = storage.get("SerdeInfo", {})
    return CatalogTable.of_serde(name, storage.get("Location"), serde.get("Parameters"))


def list_in_glue(database: str, settings: Settings) -> list[str]:
    """Return the names of the tables of a database; arguments and errors as of `find_in_glue`."""
    *catalog, name = split_name(database, "[catalog id.]database", 1, 2)
    with _glue(settings, f"database {database}") as client:
        pages = client.get_paginator("get_tables").paginate(DatabaseName=name, **_place(catalog))
        return [f"{database}.{table['Name']}" for page in pages for table in page["TableList"]]


def _place(catalog: list[str]) -> dict[str, str]:
    return {"CatalogId": catalog[0]} if catalog else {}


@contextmanager
def _glue(settings: Settings, subject: str) -> Iterator[Any]:
    """Yield Glue's client, and raise its errors as ours."""
    with needs_extra("glue"):
        import boto3  # noqa: PLC0415  (an optional extra, as what follows)
        from botocore.config import Config  # noqa: PLC0415  (likewise)
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415  (likewise)

    try:
        yield boto3.client(
            "glue",
            region_name=settings.get("region") or None,
            endpoint_url=settings.get("uri") or None,
            config=Config(retries={"mode": "standard", "max_attempts": 5}),
        )
    except (ClientError, BotoCoreError) as error:
        raise CatalogError(f"Glue, {subject}: {mask(str(error))}") from None
