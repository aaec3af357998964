"""What catalogs have in common: settings, names of tables, requests, and what is known of one."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from hudi_pyspark.errors import CatalogError, InvalidOptionError, StorageError
from hudi_pyspark.storage.attempts import Attempts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hudi_pyspark.storage.credentials import CredentialsProvider

Settings: TypeAlias = Mapping[str, str]

_READ_OPTIMIZED = "hoodie.query.as.ro.table"  # Apache Hudi writes it to the table `…_ro`
_TIMEOUTS = (5, 30)  # seconds to connect, and between bytes


@dataclass(frozen=True, slots=True)
class CatalogTable:
    """A table of a catalog.

    Attributes:
        location: its base path.
        provider: of the credentials that the catalog vends; None if it has none.
        is_read_optimized: whether its name means the base files alone.
    """

    location: str
    provider: CredentialsProvider | None = None
    is_read_optimized: bool = False

    @classmethod
    def of_serde(
        cls, name: str, location: str | None, parameters: Mapping[str, str] | None
    ) -> CatalogTable:
        """Make it of what Hive's catalogs know."""
        is_read_optimized = (parameters or {}).get(_READ_OPTIMIZED, "").lower() == "true"
        return cls(location_of(name, location), is_read_optimized=is_read_optimized)


def location_of(name: str, location: str | None) -> str:
    """Return the location that a catalog has for a table."""
    if not location:
        raise CatalogError(f"the catalog has no location for {name}: it may be a view")
    return location


def split_name(name: str, parts: str, fewest: int, most: int | None) -> list[str]:
    """Return the parts of a table's name."""
    names = name.split(".")
    if not all(names) or len(names) < fewest or (most is not None and len(names) > most):
        raise InvalidOptionError(f"table is {name!r}; this catalog has {parts}")
    return names


def required(settings: Settings, key: str, example: str) -> str:
    """Return a setting of the catalog."""
    value = settings.get(key, "")
    if not value:
        raise InvalidOptionError(f"catalog.{key} is not given, for example {example}")
    return value


def import_client(module: str, extra: str) -> Any:  # noqa: ANN401  (clients have no types)
    """Return the module of a catalog's client."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"catalog.type={extra} needs a package that is not installed: "
            f"pip install {module.partition('.')[0]}"
        ) from error


def call(
    method: str,
    url: str,
    extra: str,
    *,
    token: str = "",
    json: Mapping[str, object] | None = None,
    form: Mapping[str, str] | None = None,
    secrets: Sequence[str] = (),
) -> Mapping[str, Any]:
    """Call a catalog, several times where it fails, and return the object in its answer."""
    requests = import_client("requests", extra)
    headers = {"Accept": "application/json"}
    if token:
        headers["Authorization"] = f"Bearer {token}"

    def ask() -> Mapping[str, Any]:
        answer = requests.request(
            method, url, headers=headers, json=json, data=form, timeout=_TIMEOUTS
        )
        answer.raise_for_status()
        found: Mapping[str, Any] = answer.json()
        return found

    try:
        return Attempts(secrets=[s for s in (token, *secrets) if s]).run(ask, url)
    except FileNotFoundError:
        raise CatalogError(f"the catalog does not have {url}") from None
    except StorageError as error:
        raise CatalogError(f"the catalog at {url}: {error.problem}") from None
