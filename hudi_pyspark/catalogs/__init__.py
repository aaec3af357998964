"""Catalogs: find the base path of a table, and its credentials if the catalog vends some."""

from collections.abc import Callable, Mapping

from hudi_pyspark.catalogs import hive, rest
from hudi_pyspark.catalogs.catalog_table import CatalogTable, Settings
from hudi_pyspark.errors import CatalogError, InvalidOptionError

CATALOGS: Mapping[str, Callable[[str, Settings], CatalogTable]] = {
    "hive": hive.find_in_hive,
    "glue": hive.find_in_glue,
    "unity": rest.find_in_unity,
    "polaris": rest.find_in_polaris,
}
# How catalogs record tables of Apache Hudi, in lower case: some have no word for it, and record the
# format of the base files, or that Hive reads the table.
_FORMATS = (
    "",
    "hudi",
    "hudi-py",
    "delta_uniform_hudi",
    "parquet",
    "orc",
    "hive",
    "hive_serde",
    "hive_custom",
)
_SETTINGS = ("type", "uri", "token", "credential", "region")


def find_table(name: str, settings: Settings) -> CatalogTable:
    """Find a table in a catalog.

    Args:
        name: of the table, with as many parts as the catalog's names have.
        settings: ``type``, a key of `CATALOGS`, and what that catalog needs.

    Raises:
        InvalidOptionError: a setting is missing or unknown, or the name has the wrong number of
            parts.
        CatalogError: the catalog fails, does not have the table, has no location for it, or
            records another format. Files of Apache Hudi at its location, as a converter leaves
            them, may be older than its rows.
        ImportError: the extra of the catalog is not installed.
    """
    check_settings(settings)
    table = CATALOGS[settings["type"].lower()](name, settings)
    if not table.location:
        raise CatalogError(f"the catalog has no location for {name}: it may be a view")
    if table.table_format.lower() not in _FORMATS:
        raise CatalogError(
            f"the catalog records {name} as a table of the format {table.table_format}, not of "
            "Apache Hudi",
            advice=(
                "Use a reader of that format; if Apache Hudi writes the table, correct the entry, "
                "or read the table by its path"
            ),
        )
    return table


def check_settings(settings: Settings) -> None:
    """Check the names of a catalog's settings, and its type.

    Raises:
        InvalidOptionError: a setting is unknown, or there is no such type.
    """
    if unknown := settings.keys() - set(_SETTINGS):
        raise InvalidOptionError(f"catalog.{min(unknown)} is unknown; give {', '.join(_SETTINGS)}")
    catalog_type = settings.get("type", "").lower()
    if catalog_type not in CATALOGS:
        raise InvalidOptionError(f"catalog.type is {catalog_type!r}; known: {', '.join(CATALOGS)}")
