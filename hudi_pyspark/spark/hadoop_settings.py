"""Settings of Hadoop's file systems in a classic session, as storage options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hudi_pyspark.errors import UnsupportedQueryError
from hudi_pyspark.storage.locations import Location

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_S3 = (
    "access.key",
    "secret.key",
    "session.token",
    "endpoint",
    "endpoint.region",
    "path.style.access",
    "assumed.role.arn",
    "assumed.role.session.name",
    "attempts.maximum",
)
# By their names in Hadoop, which end in the host of the account or in nothing.
_AZURE = {
    "fs.azure.account.key": "adls.account-key",
    "fs.azure.sas.fixed.token": "adls.sas-token",
    "fs.azure.account.oauth2.client.id": "adls.client-id",
    "fs.azure.account.oauth2.client.secret": "adls.client-secret",
}
_AZURE_TENANT = "fs.azure.account.oauth2.client.endpoint"  # https://host/TENANT/oauth2/token
_OTHERS = (
    "fs.gs.project.id",
    "fs.oss.accessKeyId",
    "fs.oss.accessKeySecret",
    "fs.oss.securityToken",
    "fs.oss.endpoint",
)
_DEFAULTS = "core-default.xml"


def storage_options_from_spark(spark: SparkSession, path: str) -> dict[str, str]:
    """Return the storage options of a path; see `hudi_pyspark.storage_options_from_spark`."""
    if ".connect." in type(spark).__module__:
        raise UnsupportedQueryError(
            "with Spark Connect a client does not see the settings of Hadoop: give storage "
            "options, or a credentials_provider that the server can import"
        )
    settings = _Settings(spark)
    location = Location.parse(path)
    options = {name: settings[name] for name in _OTHERS}
    if location.kind == "s3":
        options |= _s3(settings, location.authority)
    if location.kind == "abfs":
        options |= _azure(settings, location.authority.rpartition("@")[2])
    return {name: value for name, value in options.items() if value}


class _Settings:
    """The settings that somebody made; those of a credential file of Hadoop (jceks) as well."""

    def __init__(self, spark: SparkSession) -> None:
        # A session has settings that its context does not have.
        self._hadoop: Any = spark._jsparkSession.sessionState().newHadoopConf()  # noqa: SLF001

    def __getitem__(self, name: str) -> str:
        """Return a setting; "" if nobody made it."""
        if _DEFAULTS in list(self._hadoop.getPropertySources(name) or []):
            return ""
        letters = self._hadoop.getPassword(name)
        return "".join(letters) if letters is not None else ""


def _s3(settings: _Settings, bucket: str) -> dict[str, str]:
    options = {
        f"fs.s3a.{name}": settings[f"fs.s3a.bucket.{bucket}.{name}"] or settings[f"fs.s3a.{name}"]
        for name in _S3
    }
    endpoint = options["fs.s3a.endpoint"]
    if endpoint and "://" not in endpoint and settings["fs.s3a.connection.ssl.enabled"] == "false":
        options["fs.s3a.endpoint"] = f"http://{endpoint}"
    return options


def _azure(settings: _Settings, host: str) -> dict[str, str]:
    def of_account(name: str) -> str:
        return settings[f"{name}.{host}"] or settings[name]

    options = {ours: of_account(theirs) for theirs, ours in _AZURE.items()}
    parts = of_account(_AZURE_TENANT).split("/")
    return {**options, "adls.tenant-id": parts[3] if len(parts) > 3 else ""}
