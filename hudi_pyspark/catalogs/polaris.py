"""Generic tables of Apache Polaris, with the credentials that it vends (extra ``polaris``)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

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
    from collections.abc import Mapping, Sequence

_LEVELS = "\x1f"  # between the levels of a namespace
# Ends of credentials, in milliseconds since the epoch.
_ENDS = ("s3.session-token-expires-at-ms", "gcs.oauth2.token-expires-at", "expiration-time")
_SAS = "adls.sas-token"  # followed by the host of the account
_USED = ("s3.", "gcs.", "adls.", "client.region")


def find_in_polaris(name: str, settings: Settings) -> CatalogTable:
    """Return a generic table of Polaris."""
    catalog, *namespace, table = split_name(name, "catalog.namespace.table", 3, None)
    reader = _reader(settings, catalog, namespace, f"/{quote(table, safe='')}")
    answer = reader.load()
    location = location_of(name, answer["table"].get("base-location"))
    return CatalogTable(location, reader if answer.get("storage-credentials") else None)


def list_in_polaris(database: str, settings: Settings) -> list[str]:
    """Return the names of the generic tables of a namespace; errors as of `find_in_polaris`."""
    catalog, *namespace = split_name(database, "catalog.namespace", 2, None)
    names: list[str] = []
    token = ""
    while True:
        page = f"?pageToken={quote(token)}" if token else ""
        answer = _reader(settings, catalog, namespace, page).load()
        names += [f"{database}.{table['name']}" for table in answer.get("identifiers", ())]
        token = answer.get("next-page-token") or ""
        if not token:
            return names


def _reader(settings: Settings, catalog: str, namespace: list[str], rest: str) -> PolarisTable:
    """Return what loads the generic tables of a namespace, or one of them."""
    uri = required(settings, "uri", "https://polaris/api/catalog").rstrip("/")
    levels = quote(_LEVELS.join(namespace), safe="")
    return PolarisTable(
        f"{uri}/polaris/v1/{quote(catalog, safe='')}/namespaces/{levels}/generic-tables{rest}",
        uri,
        settings.get("token", ""),
        settings.get("credential", ""),
    )


@dataclass(frozen=True, slots=True)
class PolarisTable(CredentialsProvider):
    """Loads one generic table, whose answer has credentials where Polaris vends them."""

    url: str
    uri: str
    token: str = field(repr=False)
    credential: str = field(repr=False)

    def load(self) -> Mapping[str, Any]:
        """Return the answer to the request for the table."""
        return call("GET", self.url, "polaris", token=self.token or self._exchanged())

    def credentials(self, location: str) -> Mapping[str, object]:
        config = _most_specific(location, self.load().get("storage-credentials") or [])
        options: dict[str, Any] = {}
        for name, value in config.items():
            if name.startswith(_SAS):
                options["sas_token"] = value
            elif name in _ENDS:
                options[EXPIRES_AT] = int(value) / 1000
            elif name == "client.region":
                options["region"] = value
            elif name.startswith(_USED):
                options[name] = value
        return options

    def _exchanged(self) -> str:
        """Return a token for the id and the secret of a client; "" if there are none."""
        if not self.credential:
            return ""
        client, _, secret = self.credential.partition(":")
        form = {
            "grant_type": "client_credentials",
            "client_id": client,
            "client_secret": secret,
            "scope": "PRINCIPAL_ROLE:ALL",
        }
        url = f"{self.uri}/v1/oauth/tokens"
        answer = call("POST", url, "polaris", form=form, secrets=[secret])
        return str(answer["access_token"])


def _most_specific(location: str, vended: Sequence[Mapping[str, Any]]) -> Mapping[str, str]:
    fitting = [one for one in vended if location.startswith(one["prefix"].rstrip("/"))]
    if not fitting:
        raise CatalogError(f"Polaris vends no credentials for {location}")
    config: Mapping[str, str] = max(fitting, key=lambda one: len(one["prefix"]))["config"]
    return config
