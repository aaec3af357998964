"""Convert the settings of Hadoop's file systems in a classic session to storage options."""

from typing import Any

from pyspark.sql import SparkSession

from hudi_pyspark.errors import UnsupportedQueryError
from hudi_pyspark.storage.locations import Location
from hudi_pyspark.storage.stores import STORES

_DEFAULTS = "core-default.xml"


def is_hadoop_setting(name: str) -> bool:
    """Return whether `storage_options_from_spark` reads a setting.

    Spark makes further Hadoop settings by itself.
    """
    return any(
        name in store.names_in_hadoop() or name.startswith(store.hadoop_scopes) for store in STORES
    )


def storage_options_from_spark(spark: SparkSession, path: str) -> dict[str, str]:
    """Return the storage options that the Hadoop of a classic session would use for a path.

    Example:
        ``options = hudi_pyspark.storage_options_from_spark(spark, "s3a://lake/orders")``

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
    options = location.store.options_from_hadoop(location.authority, first_value)
    return {name: value for name, value in options.items() if value}
