"""Catalogs that vend credentials, by HTTP: Unity Catalog and Apache Polaris, and their extras."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from hudi_pyspark.catalogs.catalog_table import (
    CatalogTable,
    Settings,
    location_of,
    split_name,
    uri_of,
)
from hudi_pyspark.errors import CatalogError, StorageError
from hudi_pyspark.extras import needs_extra
from hudi_pyspark.storage.credentials import EXPIRES_AT, CredentialsProvider
from hudi_pyspark.storage.masking import mask
from hudi_pyspark.storage.retries import RetryPolicy

_TIMEOUTS = (5, 30)  # seconds to connect, and between bytes
_UNITY = "api/2.1/unity-catalog"
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
_LEVELS = "\x1f"  # between the levels of a namespace of Polaris
# Ends of its credentials, in milliseconds since the epoch.
_ENDS = ("s3.session-token-expires-at-ms", "gcs.oauth2.token-expires-at", "expiration-time")
_SAS = "adls.sas-token"  # followed by the host of the account
_USED = ("s3.", "gcs.", "adls.", "client.region")


def find_in_unity(name: str, settings: Settings) -> CatalogTable:
    """Return a table of Unity Catalog, which vends credentials unless its path is local.

    Raises:
        InvalidOptionError: the name does not have three parts, or the address is missing.
        CatalogError: the catalog refuses, cannot be reached, or does not have the table.
    """
    split_name(name, "catalog.schema.table", 3, 3)
    uri = uri_of(settings, "https://workspace.cloud.databricks.com")
    token = settings.get("token", "")
    table = _call(f"{uri}/{_UNITY}/tables/{quote(name)}", "unity", token=token)
    location = location_of(name, table.get("storage_location"))
    if "://" not in location or location.startswith("file:"):
        return CatalogTable(location)
    return CatalogTable(location, UnityCredentials(uri, str(table["table_id"]), token))


@dataclass(frozen=True, slots=True)
class UnityCredentials(CredentialsProvider):
    """Asks Unity Catalog for credentials that read one table."""

    uri: str
    table_id: str
    token: str = field(repr=False)

    def credentials(self, location: str) -> Mapping[str, object]:
        url = f"{self.uri}/{_UNITY}/temporary-table-credentials"
        asked = {"table_id": self.table_id, "operation": "READ"}
        answer = _call(url, "unity", token=self.token, json=asked)
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


def find_in_polaris(name: str, settings: Settings) -> CatalogTable:
    """Return a generic table of Polaris, with credentials where the catalog vends some.

    Raises:
        InvalidOptionError: the name has fewer than three parts, or the address is missing.
        CatalogError: the catalog refuses, cannot be reached, or does not have the table.
    """
    catalog, *namespace, table = split_name(name, "catalog.namespace.table", 3, None)
    uri = uri_of(settings, "https://polaris/api/catalog")
    place, levels, leaf = (quote(n, safe="") for n in (catalog, _LEVELS.join(namespace), table))
    url = f"{uri}/polaris/v1/{place}/namespaces/{levels}/generic-tables/{leaf}"
    reader = PolarisTable(url, uri, settings.get("token", ""), settings.get("credential", ""))
    answer = reader.load()
    location = location_of(name, answer["table"].get("base-location"))
    return CatalogTable(location, reader if answer.get("storage-credentials") else None)


@dataclass(frozen=True, slots=True)
class PolarisTable(CredentialsProvider):
    """Loads one generic table, whose answer has credentials where Polaris vends them."""

    url: str
    uri: str
    token: str = field(repr=False)
    credential: str = field(repr=False)

    def load(self) -> Mapping[str, Any]:
        return _call(self.url, "polaris", token=self.token or self._exchanged())

    def credentials(self, location: str) -> Mapping[str, object]:
        vended = self.load().get("storage-credentials") or []
        fitting = [one for one in vended if _is_below(location, one["prefix"])]
        if not fitting:
            raise CatalogError(f"Polaris vends no credentials for {location}")
        most_specific = max(fitting, key=lambda one: len(one["prefix"]))
        options: dict[str, Any] = {}
        for name, value in most_specific["config"].items():
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
        answer = _call(f"{self.uri}/v1/oauth/tokens", "polaris", data=form, secrets=[secret])
        return str(answer["access_token"])


def _is_below(location: str, prefix: str) -> bool:
    """Return whether a prefix is that of a location: ``s3://lake`` is none of ``s3://lake-2``."""
    return f"{location}/".startswith(f"{prefix.rstrip('/')}/")


def _call(
    url: str,
    extra: str,
    *,
    token: str = "",
    secrets: Sequence[str] = (),
    **body: Any,  # noqa: ANN401  (of requests)
) -> Mapping[str, Any]:
    """Call a catalog, several times where it fails, and return the object in its answer.

    It is posted a ``body``, as the argument ``json`` or ``data`` of requests. No redirect is
    followed: it could send the secrets of the caller to any host.
    """
    with needs_extra(extra):
        import requests  # noqa: PLC0415  (of the extras unity and polaris)

    method = "POST" if body else "GET"
    headers = {"Accept": "application/json"}
    if token:
        headers["Authorization"] = f"Bearer {token}"

    def ask() -> Mapping[str, Any]:
        answer = requests.request(
            method, url, headers=headers, timeout=_TIMEOUTS, allow_redirects=False, **body
        )
        if answer.is_redirect:
            raise CatalogError(
                f"the catalog at {mask(url)} sends readers on to "
                f"{mask(answer.headers['location'])}, where no secret is sent. If that is the "
                "catalog, give its address as catalog.uri"
            )
        answer.raise_for_status()
        return dict(answer.json())

    try:
        return RetryPolicy(secrets=[s for s in (token, *secrets) if s]).run(ask, url)
    except FileNotFoundError:
        raise CatalogError(f"the catalog does not have {mask(url)}") from None
    except StorageError as error:
        raise CatalogError(f"the catalog at {mask(url)}: {error.problem}") from None
