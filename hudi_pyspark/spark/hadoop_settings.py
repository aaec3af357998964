"""Convert the settings of Hadoop's file systems in a classic session to storage options."""

from typing import Any

from pyspark.sql import SparkSession

from hudi_pyspark.errors import UnsupportedQueryError
from hudi_pyspark.storage.locations import Location
from hudi_pyspark.storage_options import COMMON, SETTINGS

_S3 = "fs.s3a."
_NAMES = [
    name
    for settings in (COMMON, *SETTINGS.values())
    for name in " ".join(settings.values()).split()
    if name.startswith((_S3, "fs.gs.", "fs.oss."))
]
# Storage options by Hadoop's names, to which a setting may append the host of the account.
_AZURE = {
    "fs.azure.account.key": "adls.account-key",
    "fs.azure.sas.fixed.token": "adls.sas-token",
    "fs.azure.account.oauth2.client.id": "adls.client-id",
    "fs.azure.account.oauth2.client.secret": "adls.client-secret",
}
_AZURE_TENANT = "fs.azure.account.oauth2.client.endpoint"  # https://host/TENANT/oauth2/token
_DEFAULTS = "core-default.xml"


def is_hadoop_setting(name: str) -> bool:
    """Return whether `storage_options_from_spark` reads a setting.

    Spark makes further Hadoop settings by itself.
    """
    return name in _NAMES or name.startswith((f"{_S3}bucket.", *_AZURE))


def storage_options_from_spark(spark: SparkSession, path: str) -> dict[str, str]:
    """Return the storage options that the Hadoop of a classic session would use for a path.

    Their names are those of Hadoop and PyIceberg, so ``spark.read.options(**options)`` and
    ``HudiTable(path, storage_options=options)`` both take them. They contain secrets, which travel
    with the tasks. Settings of one bucket or account take precedence over general settings.

    Args:
        spark: a classic session.
        path: URI of the table.

    Raises:
        UnsupportedQueryError: the session is one of Spark Connect, whose client has no settings of
            Hadoop.
        InvalidOptionError: only the JVM can reach the path.
    """
    if ".connect." in type(spark).__module__:
        raise UnsupportedQueryError(
            "with Spark Connect a client does not see the settings of Hadoop: give storage "
            "options, or a credentials_provider that the server can import"
        )
    # The session has settings that its context lacks.
    hadoop: Any = spark._jsparkSession.sessionState().newHadoopConf()  # noqa: SLF001

    def first_value(*names: str) -> str:
        """Return the first value that was set, also in a credential file; "" if none was."""
        for name in names:
            is_default = _DEFAULTS in list(hadoop.getPropertySources(name) or [])
            if not is_default and (characters := hadoop.getPassword(name)):
                return "".join(characters)
        return ""

    location = Location.parse(path)
    of_bucket = f"{_S3}bucket.{location.authority}."
    options = {
        name: first_value(name.replace(_S3, of_bucket), name)
        for name in _NAMES
        if location.kind == "s3" or not name.startswith(_S3)
    }
    if location.kind == "s3":
        endpoint = options["fs.s3a.endpoint"]
        ssl = first_value("fs.s3a.connection.ssl.enabled")
        if endpoint and "://" not in endpoint and ssl == "false":
            options["fs.s3a.endpoint"] = f"http://{endpoint}"
    if location.kind == "abfs":
        host = location.authority.rpartition("@")[2]
        for name, option in _AZURE.items():
            options[option] = first_value(f"{name}.{host}", name)
        endpoint_parts = first_value(f"{_AZURE_TENANT}.{host}", _AZURE_TENANT).split("/")
        options["adls.tenant-id"] = endpoint_parts[3] if len(endpoint_parts) > 3 else ""
    return {name: value for name, value in options.items() if value}
