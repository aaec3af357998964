"""Catalogs: the path of a table by its name, and credentials for it where the catalog has some."""

from collections.abc import Callable, Mapping

from hudi_pyspark.catalogs import rest
from hudi_pyspark.catalogs.catalog_table import CatalogTable, Settings
from hudi_pyspark.catalogs.glue import find_in_glue, list_in_glue
from hudi_pyspark.catalogs.hive import find_in_hive, list_in_hive
from hudi_pyspark.errors import InvalidOptionError

__all__ = ["CATALOGS", "find_table", "list_tables"]

CATALOGS: Mapping[
    str, tuple[Callable[[str, Settings], CatalogTable], Callable[[str, Settings], list[str]]]
] = {
    "hive": (find_in_hive, list_in_hive),
    "glue": (find_in_glue, list_in_glue),
    "unity": (rest.find_in_unity, rest.list_in_unity),
    "polaris": (rest.find_in_polaris, rest.list_in_polaris),
}
_SETTINGS = ("type", "uri", "token", "credential", "region")


def find_table(name: str, settings: Settings) -> CatalogTable:
    """Return where a table is."""
    return CATALOGS[_kind(settings)][0](name, settings)


def list_tables(database: str, settings: Settings) -> list[str]:
    """Return the names of all tables of a database, also those that are not of Hudi."""
    return CATALOGS[_kind(settings)][1](database, settings)


def _kind(settings: Settings) -> str:
    if unknown := settings.keys() - set(_SETTINGS):
        raise InvalidOptionError(f"catalog.{min(unknown)} is unknown; give {', '.join(_SETTINGS)}")
    kind = settings.get("type", "").lower()
    if kind not in CATALOGS:
        raise InvalidOptionError(f"catalog.type is {kind!r}; known: {', '.join(CATALOGS)}")
    return kind
