"""Catalogs: the path of a table by its name, and credentials for it where the catalog has some."""

from collections.abc import Callable, Mapping

from hudi_pyspark.catalogs import rest
from hudi_pyspark.catalogs.catalog_table import CatalogTable, Settings
from hudi_pyspark.catalogs.glue import find_in_glue
from hudi_pyspark.catalogs.hive import find_in_hive
from hudi_pyspark.errors import InvalidOptionError

CATALOGS: Mapping[str, Callable[[str, Settings], CatalogTable]] = {
    "hive": find_in_hive,
    "glue": find_in_glue,
    "unity": rest.find_in_unity,
    "polaris": rest.find_in_polaris,
}
_SETTINGS = ("type", "uri", "token", "credential", "region")


def find_table(name: str, settings: Settings) -> CatalogTable:
    """Return where a table is.

    Raises:
        InvalidOptionError: a setting is missing or unknown, or the name has other parts.
        CatalogError: the catalog fails, or does not have the table.
        ImportError: the extra of the catalog is not installed.
    """
    if unknown := settings.keys() - set(_SETTINGS):
        raise InvalidOptionError(f"catalog.{min(unknown)} is unknown; give {', '.join(_SETTINGS)}")
    kind = settings.get("type", "").lower()
    if kind not in CATALOGS:
        raise InvalidOptionError(f"catalog.type is {kind!r}; known: {', '.join(CATALOGS)}")
    return CATALOGS[kind](name, settings)
