"""Tables of the AWS Glue Data Catalog (extra ``glue``)."""

from __future__ import annotations

from hudi_pyspark.catalogs.catalog_table import CatalogTable, Settings, import_client, split_name
from hudi_pyspark.errors import CatalogError


def find_in_glue(name: str, settings: Settings) -> CatalogTable:
    """Return a table of Glue; the AWS environment has the credentials for both."""
    *catalog, database, table = split_name(name, "[catalog id.]database.table", 2, 3)
    boto3 = import_client("boto3", "glue")
    config = import_client("botocore.config", "glue")
    errors = import_client("botocore.exceptions", "glue")
    try:
        client = boto3.client(
            "glue",
            region_name=settings.get("region") or None,
            endpoint_url=settings.get("uri") or None,
            config=config.Config(retries={"mode": "standard", "max_attempts": 5}),
        )
        place = {"CatalogId": catalog[0]} if catalog else {}
        found = client.get_table(DatabaseName=database, Name=table, **place)["Table"]
    except (errors.ClientError, errors.BotoCoreError) as error:
        raise CatalogError(f"Glue, table {name}: {error}") from error
    storage = found.get("StorageDescriptor", {})
    serde = storage.get("SerdeInfo", {})
    return CatalogTable.of_serde(name, storage.get("Location"), serde.get("Parameters"))
