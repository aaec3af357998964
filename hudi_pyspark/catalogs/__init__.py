"""Catalogs: find the base path of a table, and its credentials if the catalog vends some."""

import os
from collections.abc import Callable, Mapping

from hudi_pyspark.catalogs import hive, rest
from hudi_pyspark.catalogs.catalog_table import CatalogTable, Settings
from hudi_pyspark.errors import CatalogError, InvalidOptionError
from hudi_pyspark.storage import ArrowStorage, open_storage
from hudi_pyspark.storage.options import CATALOG_PREFIX, from_environment, without_prefix
from hudi_pyspark.storage.stores.setting import CREDENTIALS_PROVIDER, Options

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


def find_in_catalog(
    name: str, catalog: Settings, storage_options: Options | None = None
) -> tuple[CatalogTable, ArrowStorage]:
    """Find a table in a catalog, and its storage, without opening the table.

    Settings that are missing come from the environment. The catalog's credentials are used, unless
    the storage options name a provider of others.

    Raises:
        InvalidOptionError: a setting is missing or unknown.
        CatalogError: the catalog fails, or does not have the table.
        StorageError: the storage does not answer.
        ImportError: the extra of the catalog is not installed.
    """
    defaults = without_prefix(from_environment(os.environ), CATALOG_PREFIX)
    table = find_table(name, {**defaults, **catalog})
    own_provider = (storage_options or {}).get(CREDENTIALS_PROVIDER)
    vended = None if own_provider else table.provider
    return table, open_storage(table.location, storage_options, vended)


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
