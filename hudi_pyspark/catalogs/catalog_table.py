"""What catalogs have in common: settings, names of tables, and what is known of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hudi_pyspark.errors import CatalogError, InvalidOptionError
from hudi_pyspark.storage.credentials import CredentialsProvider

Settings = Mapping[str, str]

_READ_OPTIMIZED = "hoodie.query.as.ro.table"  # Apache Hudi writes it to the table `…_ro`


@dataclass(frozen=True, slots=True)
class CatalogTable:
    """A table of a catalog."""

    location: str  # its base path
    provider: CredentialsProvider | None = None  # of vended credentials; None if there are none
    is_read_optimized: bool = False  # whether its name means the base files alone

    @classmethod
    def of_serde(
        cls, name: str, location: str | None, parameters: Mapping[str, str] | None
    ) -> CatalogTable:
        """Make it of what Hive's catalogs know."""
        is_read_optimized = (parameters or {}).get(_READ_OPTIMIZED, "").lower() == "true"
        return cls(location_of(name, location), is_read_optimized=is_read_optimized)


def location_of(name: str, location: str | None) -> str:
    """Return the location that a catalog has for a table.

    Raises:
        CatalogError: it has none, as for a view.
    """
    if not location:
        raise CatalogError(f"the catalog has no location for {name}: it may be a view")
    return location


def split_name(name: str, parts: str, fewest: int, most: int | None) -> list[str]:
    """Return the parts of a table's name, which are separated by dots.

    Raises:
        InvalidOptionError: the name has an empty part, or another number of parts than the catalog.
    """
    names = name.split(".")
    if not all(names) or len(names) < fewest or (most is not None and len(names) > most):
        raise InvalidOptionError(f"table is {name!r}; this catalog has {parts}")
    return names


def uri_of(settings: Settings, example: str) -> str:
    """Return the URI of the catalog, without slashes at its end.

    Raises:
        InvalidOptionError: none is given.
    """
    uri = settings.get("uri", "")
    if not uri:
        raise InvalidOptionError(f"catalog.uri is not given, for example {example}")
    return uri.rstrip("/")
