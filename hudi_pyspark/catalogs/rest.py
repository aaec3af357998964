"""Requests to catalogs that speak JSON over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hudi_pyspark.catalogs.catalog_table import import_client
from hudi_pyspark.errors import CatalogError, StorageError
from hudi_pyspark.storage.attempts import Attempts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_TIMEOUTS = (5, 30)  # seconds to connect, and between bytes


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
