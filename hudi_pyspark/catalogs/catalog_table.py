"""Shared by all catalogs: their settings, the names of tables, and what they know of a table."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hudi_pyspark.catalogs.entry_columns import EntryColumns
from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.storage.credentials import CredentialsProvider

Settings = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class CatalogTable:
    """A table of a catalog."""

    location: str  # its base path; "" if the catalog has none, as for a view
    provider: CredentialsProvider | None = None  # None if the catalog vends no credentials
    is_read_optimized: bool = False  # whether its name means the base files alone
    table_format: str = ""  # by the catalog's own word; "" if it does not say
    columns: EntryColumns = field(default_factory=EntryColumns)


def split_name(name: str, form: str, fewest: int, most: int | None) -> list[str]:
    """Split a table's name at its dots.

    Args:
        name: of the table.
        form: of the catalog's names, for the message: ``catalog.schema.table``.
        fewest: parts that a name has.
        most: parts that a name has; None for no bound.

    Raises:
        InvalidOptionError: the name has an empty part, or the wrong number of parts.
    """
    parts = name.split(".")
    if not all(parts) or len(parts) < fewest or (most is not None and len(parts) > most):
        raise InvalidOptionError(f"table is {name!r}; names in this catalog have the form {form}")
    return parts


def uri_of(settings: Settings, example: str) -> str:
    """Return the URI of the catalog, without slashes at its end.

    Raises:
        InvalidOptionError: the settings have no URI; the message shows the ``example``.
    """
    uri = settings.get("uri", "")
    if not uri:
        raise InvalidOptionError(f"catalog.uri is missing: give it, for example {example}")
    return uri.rstrip("/")
