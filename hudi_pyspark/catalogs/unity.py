"""Tables of Unity Catalog, with the credentials that it vends (extra ``unity``)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from hudi_pyspark.catalogs.catalog_table import (
    CatalogTable,
    Settings,
    call,
    location_of,
    required,
    split_name,
)
from hudi_pyspark.errors import CatalogError
from hudi_pyspark.storage.credentials import EXPIRES_AT, CredentialsProvider

if TYPE_CHECKING:
    from collections.abc import Mapping

_API = "api/2.1/unity-catalog"
# Names in the answer, by kind of credentials, and the storage options that they are.
_VENDED = {
    "aws_temp_credentials": {
        "access_key_id": "access_key",
        "secret_access_key": "secret_key",
        "session_token": "session_token",
    },
    "azure_user_delegation_sas": {"sas_token": "sas_token"},
    "gcp_oauth_token": {"oauth_token": "access_token"},
}


def find_in_unity(name: str, settings: Settings) -> CatalogTable:
    """Return a table of Unity Catalog."""
    split_name(name, "catalog.schema.table", 3, 3)
    uri = required(settings, "uri", "https://workspace.cloud.databricks.com").rstrip("/")
    token = settings.get("token", "")
    found = call("GET", f"{uri}/{_API}/tables/{quote(name)}", "unity", token=token)
    location = location_of(name, found.get("storage_location"))
    if "://" not in location or location.startswith("file:"):
        return CatalogTable(location)
    return CatalogTable(location, UnityCredentials(uri, str(found["table_id"]), token))


def list_in_unity(database: str, settings: Settings) -> list[str]:
    """Return the names of the tables of ``catalog.schema``; errors as of `find_in_unity`."""
    catalog, schema = split_name(database, "catalog.schema", 2, 2)
    uri = required(settings, "uri", "https://workspace.cloud.databricks.com").rstrip("/")
    query = {"catalog_name": catalog, "schema_name": schema}
    names: list[str] = []
    while True:
        url = f"{uri}/{_API}/tables?{urlencode(query)}"
        answer = call("GET", url, "unity", token=settings.get("token", ""))
        names += [f"{database}.{table['name']}" for table in answer.get("tables", ())]
        if not answer.get("next_page_token"):
            return names
        query["page_token"] = answer["next_page_token"]


@dataclass(frozen=True, slots=True)
class UnityCredentials(CredentialsProvider):
    """Asks Unity Catalog for credentials that read one table."""

    uri: str
    table_id: str
    token: str = field(repr=False)

    def credentials(self, location: str) -> Mapping[str, object]:
        answer = call(
            "POST",
            f"{self.uri}/{_API}/temporary-table-credentials",
            "unity",
            token=self.token,
            json={"table_id": self.table_id, "operation": "READ"},
        )
        options: dict[str, Any] = {}
        for kind, names in _VENDED.items():
            vended = answer.get(kind) or {}
            options |= {ours: vended[theirs] for theirs, ours in names.items() if theirs in vended}
        if not options:
            kinds = ", ".join(sorted(answer.keys() - {"expiration_time", "url"})) or "none"
            raise CatalogError(
                f"Unity Catalog has no credentials for {location} that can be used here; it "
                f"vends: {kinds}"
            )
        if answer.get("expiration_time"):
            options[EXPIRES_AT] = answer["expiration_time"] / 1000
        return options
