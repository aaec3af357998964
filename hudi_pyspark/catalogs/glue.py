"""Tables of the AWS Glue Data Catalog (extra ``glue``)."""

from hudi_pyspark.catalogs.catalog_table import CatalogTable, Settings, split_name
from hudi_pyspark.errors import CatalogError
from hudi_pyspark.extras import needs_extra
from hudi_pyspark.storage.masking import mask


def find_in_glue(name: str, settings: Settings) -> CatalogTable:
    """Return a table of Glue; the AWS environment has the credentials for both.

    Raises:
        InvalidOptionError: the name does not have two or three parts.
        CatalogError: Glue refuses, cannot be reached, or does not have the table.
        ImportError: the extra ``glue`` is not installed.
    """
    *catalog, database, table = split_name(name, "[catalog id.]database.table", 2, 3)
    place = {"CatalogId": catalog[0]} if catalog else {}
    with needs_extra("glue"):
        import boto3  # noqa: PLC0415  (an optional extra, as what follows)
        from botocore.config import Config  # noqa: PLC0415  (likewise)
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415  (likewise)

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
    serde = storage.get("SerdeInfo", {})
    return CatalogTable.of_serde(name, storage.get("Location"), serde.get("Parameters"))
