"""Azure: Blob Storage and Data Lake Storage."""

import os
import re
import shutil
from contextlib import suppress
from typing import Any

import pyarrow.fs as pafs

from hudi_pyspark.errors import HudiError, InvalidOptionError, StorageAccessError
from hudi_pyspark.storage import hosts
from hudi_pyspark.storage.file_systems import ArrowFileSystem, FileSystem
from hudi_pyspark.storage.stores.setting import Form, Options, Setting
from hudi_pyspark.storage.stores.store import Authority, Hadoop, Store

_KEYS = frozenset({"account_key", "sas_token"})
_CREDENTIALS = _KEYS | {"client_id", "client_secret"}
_PROTOCOLS = ("blob_storage_scheme", "dfs_storage_scheme")
_NO_CREDENTIALS = (
    "there are no credentials. Give the storage option account_key, or sas_token, or tenant_id, "
    "client_id and client_secret; or log in (az login, the variables AZURE_…, an identity of the "
    "machine)"
)
# Where its clients find an identity; the machines of the cloud have one at this address.
_VARIABLES = ("AZURE_CLIENT_ID", "AZURE_FEDERATED_TOKEN_FILE", "IDENTITY_ENDPOINT")
_METADATA_SERVICE = "169.254.169.254"
# Storage options by Hadoop's names, to which a setting may append the host of the account.
_IN_HADOOP = {
    "fs.azure.account.key": "adls.account-key",
    "fs.azure.sas.fixed.token": "adls.sas-token",
    "fs.azure.account.oauth2.client.id": "adls.client-id",
    "fs.azure.account.oauth2.client.secret": "adls.client-secret",
}
_TENANT_IN_HADOOP = "fs.azure.account.oauth2.client.endpoint"  # https://host/TENANT/oauth2/token


def _connect(scheme: str, authority: str, arguments: dict[str, Any]) -> FileSystem:
    place = f"{scheme}://{authority}"
    if "sas_token" in arguments:  # without the ? the token would become part of the path
        arguments["sas_token"] = f"?{arguments['sas_token'].lstrip('?')}"
    plain = [name for name in _PROTOCOLS if arguments.get(name) == "http"]
    if plain and arguments.keys().isdisjoint(_KEYS):
        raise InvalidOptionError(
            f"storage option {plain[0]}: tokens are not sent over http: give https, or the storage "
            "option account_key or sas_token"
        )
    _add_account(authority, arguments)
    if "account_name" not in arguments:
        raise InvalidOptionError(
            f"{scheme}:// needs the account: {scheme}://container@account.dfs."
            "core.windows.net/path, or the storage option account_name"
        )
    has_credentials = not arguments.keys().isdisjoint(_CREDENTIALS)
    if not has_credentials and not _has_identity():
        # Azure's client would start a shell for az, which prints that there is none.
        raise StorageAccessError(place, _NO_CREDENTIALS)
    try:
        return ArrowFileSystem(_client(authority.partition("@")[0], arguments))
    except (HudiError, OSError, ImportError):
        raise
    except Exception:
        if has_credentials:
            raise
        raise StorageAccessError(place, _NO_CREDENTIALS) from None


def _add_account(authority: str, arguments: dict[str, Any]) -> None:
    """Add the account that the authority of a URI names, and its hosts."""
    host = authority.rpartition("@")[2] if "." in authority else ""
    account, _, domain = host.partition(".")
    if not account:
        return
    arguments.setdefault("account_name", account)
    _, _, suffix = domain.partition(".")  # after "dfs" or "blob"
    if suffix and suffix != "core.windows.net":
        arguments.setdefault("blob_storage_authority", f".blob.{suffix}")
        arguments.setdefault("dfs_storage_authority", f".dfs.{suffix}")


def _client(container: str, arguments: dict[str, Any]) -> pafs.FileSystem:
    filesystem = pafs.AzureFileSystem(**arguments)
    if arguments.keys().isdisjoint(_KEYS):
        # If Azure issues no token, opening a file would end the process; this request raises an
        # error instead. A failure of the network is left to later requests, which are repeated.
        with suppress(OSError):
            filesystem.get_file_info(f"{container}/t")
    return filesystem


def _has_identity() -> bool:
    if any(map(os.environ.get, _VARIABLES)) or shutil.which("az"):
        return True
    return not hosts.connection_problem(_METADATA_SERVICE, 80, 1)  # which no proxy reaches


def _endpoint_of(arguments: Options) -> str:
    host = str(arguments.get("blob_storage_authority") or "")
    if host and not host.startswith("."):
        return host
    return f"{arguments['account_name']}{host or '.blob.core.windows.net'}"


def _from_hadoop(authority: str, first_value: Hadoop) -> dict[str, str]:
    """Return the settings of Hadoop; those of the account win."""
    host = authority.rpartition("@")[2]
    options = {option: first_value(f"{name}.{host}", name) for name, option in _IN_HADOOP.items()}
    endpoint_parts = first_value(f"{_TENANT_IN_HADOOP}.{host}", _TENANT_IN_HADOOP).split("/")
    options["adls.tenant-id"] = endpoint_parts[3] if len(endpoint_parts) > 3 else ""
    return options


AZURE = Store(
    scheme="abfs",
    other_schemes=("abfss", "wasb", "wasbs", "az"),
    authority=Authority.CONTAINER,
    connect=_connect,
    settings=(
        Setting("account_name", "adls.account-name azure_storage_account_name"),
        Setting(
            "account_key",
            "adls.account-key azure_storage_account_key azure_storage_access_key "
            "azure_storage_master_key access_key master_key",
            Form.BASE64,
            is_secret=True,
        ),
        Setting(
            "sas_token",
            "adls.sas-token azure_storage_sas_token azure_storage_sas_key sas_key",
            is_secret=True,
        ),
        Setting(
            "tenant_id",
            "adls.tenant-id azure_storage_tenant_id azure_storage_authority_id azure_tenant_id "
            "azure_authority_id authority_id",
        ),
        Setting("client_id", "adls.client-id azure_storage_client_id azure_client_id"),
        Setting(
            "client_secret",
            "adls.client-secret azure_storage_client_secret azure_client_secret",
            is_secret=True,
        ),
        Setting("blob_storage_authority", "adls.blob-storage-authority", Form.AUTHORITY),
        Setting("dfs_storage_authority", "adls.dfs-storage-authority", Form.AUTHORITY),
        Setting("blob_storage_scheme", "adls.blob-storage-scheme", Form.PROTOCOL),
        Setting("dfs_storage_scheme", "adls.dfs-storage-scheme", Form.PROTOCOL),
    ),
    prefixes=("adls.", "azure_"),
    ignored_settings=("azure_allow_http",),
    variables=("AZURE_",),
    endpoint_of=_endpoint_of,
    endpoint_setting="blob_storage_authority",
    answer=re.compile(r"Azure Error: \[(\w*)\] (\d{3} [\w ]+)?"),
    hadoop_scopes=tuple(_IN_HADOOP),
    from_hadoop=_from_hadoop,
)
