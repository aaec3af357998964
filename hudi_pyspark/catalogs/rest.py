"""Catalogs with a REST API that vend credentials: Unity Catalog and Apache Polaris.

They need the extras ``unity`` and ``polaris``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from hudi_pyspark.catalogs.catalog_table import CatalogTable, Settings, split_name, uri_of
from hudi_pyspark.catalogs.entry_columns import EntryColumns
from hudi_pyspark.errors import CatalogError, StorageError
from hudi_pyspark.extras import needs_extra
from hudi_pyspark.storage.credentials import EXPIRES_AT, CredentialsProvider
from hudi_pyspark.storage.masking import mask
from hudi_pyspark.storage.retries import RetryPolicy

_TIMEOUTS = (5, 30)  # seconds to connect, and between bytes
_UNITY = "api/2.1/unity-catalog"
# By kind of credentials: names in Unity's answer, and the storage options that they become.
_VENDED = {
    "aws_temp_credentials": {
        "access_key_id": "access_key",
        "secret_access_key": "secret_key",
        "session_token": "session_token",
    },
    "azure_user_delegation_sas": {"sas_token": "sas_token"},
    "gcp_oauth_token": {"oauth_token": "access_token"},
}
# Of Polaris:
_LEVEL_SEPARATOR = "\x1f"  # between the levels of a namespace
_EXPIRATIONS = ("s3.session-token-expires-at-ms", "gcs.oauth2.token-expires-at", "expiration-time")
_SAS = "adls.sas-token"  # followed by the host of the account
_STORAGE_PREFIXES = ("s3.", "gcs.", "adls.")


def find_in_unity(name: str, settings: Settings) -> CatalogTable:
    """Find a table in Unity Catalog, which vends credentials unless the table's path is local.

    Args:
        name: ``catalog.schema.table``.
        settings: ``uri`` of the workspace, and ``token`` if it needs one.

    Raises:
        InvalidOptionError: the name does not have three parts, or ``uri`` is missing.
        CatalogError: the catalog refuses, cannot be reached, or does not have the table.
        ImportError: the extra ``unity`` is not installed.
    """
    split_name(name, "catalog.schema.table", 3, 3)
    uri = uri_of(settings, "https://workspace.cloud.databricks.com")
    token = settings.get("token", "")
    table = _call(f"{uri}/{_UNITY}/tables/{quote(name)}", "unity", token=token)
    location = table.get("storage_location") or ""
    is_local = "://" not in location or location.startswith("file:")
    return CatalogTable(
        location,
        None if is_local else UnityCredentials(uri, str(table["table_id"]), token),
        table_format=table.get("data_source_format") or "",
        columns=_unity_columns(table.get("columns") or ()),
    )


def _unity_columns(columns: Sequence[Mapping[str, Any]]) -> EntryColumns:
    partitions = sorted(
        (c for c in columns if c.get("partition_index") is not None),
        key=lambda c: int(c["partition_index"]),
    )
    return EntryColumns(
        partitions=tuple(c["name"] for c in partitions),
        comments={c["name"]: c["comment"] for c in columns if c.get("comment")},
    )


@dataclass(frozen=True, slots=True)
class UnityCredentials(CredentialsProvider):
    """The credentials that Unity Catalog vends for reading one table."""

    uri: str
    table_id: str
    token: str = field(repr=False)

    def credentials(self, location: str) -> Mapping[str, object]:
        url = f"{self.uri}/{_UNITY}/temporary-table-credentials"
        request = {"table_id": self.table_id, "operation": "READ"}
        answer = _call(url, "unity", token=self.token, json=request)
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
    """Find a generic table in Polaris, with credentials if the catalog vends some.

    Args:
        name: ``catalog.namespace.table``; a namespace may have several parts.
        settings: ``uri`` of the catalog, and ``token``, or ``credential`` as ``id:secret``.

    Raises:
        InvalidOptionError: the name has fewer than three parts, or ``uri`` is missing.
        CatalogError: the catalog refuses, cannot be reached, or does not have the table.
        ImportError: the extra ``polaris`` is not installed.
    """
    catalog, *namespace, table = split_name(name, "catalog.namespace.table", 3, None)
    uri = uri_of(settings, "https://polaris/api/catalog")
    names = (catalog, _LEVEL_SEPARATOR.join(namespace), table)
    catalog, levels, leaf = (quote(each, safe="") for each in names)
    url = f"{uri}/polaris/v1/{catalog}/namespaces/{levels}/generic-tables/{leaf}"
    polaris = PolarisTable(url, uri, settings.get("token", ""), settings.get("credential", ""))
    answer = polaris.load()
    return CatalogTable(
        answer["table"].get("base-location") or "",
        polaris if answer.get("storage-credentials") else None,
        table_format=answer["table"].get("format") or "",
    )


@dataclass(frozen=True, slots=True)
class PolarisTable(CredentialsProvider):
    """A generic table of Polaris; loading it returns credentials if Polaris vends some."""

    url: str
    uri: str
    token: str = field(repr=False)
    credential: str = field(repr=False)

    def load(self) -> Mapping[str, Any]:
        """Load the table's entry in the catalog.

        Raises:
            CatalogError: Polaris refuses, or cannot be reached.
        """
        return _call(self.url, "polaris", token=self.token or self._exchanged_token())

    def credentials(self, location: str) -> Mapping[str, object]:
        credentials = self.load().get("storage-credentials") or []
        usable = [each for each in credentials if _is_below(location, each["prefix"])]
        if not usable:
            raise CatalogError(f"Polaris vends no credentials for {location}")
        most_specific = max(usable, key=lambda each: len(each["prefix"]))
        options: dict[str, Any] = {}
        for name, value in most_specific["config"].items():
            if name.startswith(_SAS):
                options["sas_token"] = value
            elif name in _EXPIRATIONS:
                options[EXPIRES_AT] = int(value) / 1000  # from milliseconds
            elif name == "client.region":
                options["region"] = value
            elif name.startswith(_STORAGE_PREFIXES):
                options[name] = value
        return options

    def _exchanged_token(self) -> str:
        """Exchange the id and secret of the client for a token; "" without a credential."""
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
    """Return whether a location is a prefix or below it; ``s3://lake-2`` is not in ``s3://lake``."""
    return f"{location}/".startswith(f"{prefix.rstrip('/')}/")


def _call(
    url: str,
    extra: str,
    *,
    token: str = "",
    secrets: Sequence[str] = (),
    **body: Any,  # noqa: ANN401  (of requests)
) -> Mapping[str, Any]:
    """Call a catalog, several times if it fails, and return the object in its answer.

    No redirect is followed: it could send the secrets of the caller to any host.

    Args:
        url: of the request.
        extra: that brings ``requests``.
        token: sent as a bearer token, unless it is "".
        secrets: further texts that errors must not contain.
        **body: ``json`` or ``data`` of ``requests``, to be posted; without it the method is GET.

    Raises:
        CatalogError: the catalog refuses, cannot be reached, has nothing at the URL, or redirects.
        ImportError: the extra is not installed.
    """
    with needs_extra(extra):
        import requests  # noqa: PLC0415  (of the extras unity and polaris)

    method = "POST" if body else "GET"
    headers = {"Accept": "application/json"}
    if token:
        headers["Authorization"] = f"Bearer {token}"

    def request() -> Mapping[str, Any]:
        answer = requests.request(
            method, url, headers=headers, timeout=_TIMEOUTS, allow_redirects=False, **body
        )
        if answer.is_redirect:
            raise CatalogError(
                f"the catalog at {mask(url)} sends readers on to "
                f"{mask(answer.headers['location'])}, which gets no secrets",
                advice="If the catalog is there, give this address as catalog.uri",
            )
        answer.raise_for_status()
        return dict(answer.json())

    try:
        return RetryPolicy(secrets=[s for s in (token, *secrets) if s]).run(request, url)
    except FileNotFoundError:
        raise CatalogError(f"the catalog does not have {mask(url)}") from None
    except StorageError as error:
        raise CatalogError(f"the catalog at {mask(url)}: {error.found}") from None
