"""Settings of Hadoop's file systems in a classic session, as storage options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hudi_pyspark.errors import UnsupportedQueryError
from hudi_pyspark.storage.locations import Location
from hudi_pyspark.storage_options import COMMON, SETTINGS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_S3 = "fs.s3a."
_NAMES = [
    name
    for settings in (COMMON, *SETTINGS.values())
    for name in " ".join(settings.values()).split()
    if name.startswith((_S3, "fs.gs.", "fs.oss."))
]
# By their names in Hadoop, which end in the host of the account or in nothing.
_AZURE = {
    "fs.azure.account.key": "adls.account-key",
    "fs.azure.sas.fixed.token": "adls.sas-token",
    "fs.azure.account.oauth2.client.id": "adls.client-id",
    "fs.azure.account.oauth2.client.secret": "adls.client-secret",
}
_AZURE_TENANT = "fs.azure.account.oauth2.client.endpoint"  # https://host/TENANT/oauth2/token
_DEFAULTS = "core-default.xml"


def is_hadoop_setting(name: str) -> bool:
    """Return whether `storage_options_from_spark` looks for a setting; Spark sets others itself."""
    return name in _NAMES or name.startswith((f"{_S3}bucket.", *_AZURE))


def storage_options_from_spark(spark: SparkSession, path: str) -> dict[str, str]:
    """Return the storage options of a path; see `hudi_pyspark.storage_options_from_spark`."""
    if ".connect." in type(spark).__module__:
        raise UnsupportedQueryError(
            "with Spark Connect a client does not see the settings of Hadoop: give storage "
            "options, or a credentials_provider that the server can import"
        )
    # A session has settings that its context does not have.
    hadoop: Any = spark._jsparkSession.sessionState().newHadoopConf()  # noqa: SLF001

    def made(*names: str) -> str:
        """Return the first of some settings that somebody made, or put in a file (jceks)."""
        for name in names:
            is_default = _DEFAULTS in list(hadoop.getPropertySources(name) or [])
            if not is_default and (letters := hadoop.getPassword(name)):
                return "".join(letters)
        return ""

    location = Location.parse(path)
    of_bucket = f"{_S3}bucket.{location.authority}."
    options = {
        name: made(name.replace(_S3, of_bucket), name)
        for name in _NAMES
        if location.kind == "s3" or not name.startswith(_S3)
    }
    if location.kind == "s3":
        endpoint, ssl = options["fs.s3a.endpoint"], made("fs.s3a.connection.ssl.enabled")
        if endpoint and "://" not in endpoint and ssl == "false":
            options["fs.s3a.endpoint"] = f"http://{endpoint}"
    if location.kind == "abfs":
        host = location.authority.rpartition("@")[2]
        options |= {ours: made(f"{name}.{host}", name) for name, ours in _AZURE.items()}
        tenant = made(f"{_AZURE_TENANT}.{host}", _AZURE_TENANT).split("/")
        options["adls.tenant-id"] = tenant[3] if len(tenant) > 3 else ""
    return {name: value for name, value in options.items() if value}
