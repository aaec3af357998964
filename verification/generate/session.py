"""A session of Spark 3.5 in which Apache Hudi writes and reads."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

_SETTINGS = {
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
    "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
}


def hudi_session(jar: str, settings: Mapping[str, str]) -> SparkSession:
    """Start a session with Apache Hudi's bundle.

    Args:
        jar: path of the bundle.
        settings: further settings of Spark.
    """
    builder = SparkSession.builder.master("local[2]").config("spark.jars", jar)
    for name, value in {**_SETTINGS, **settings}.items():
        builder = builder.config(name, value)
    session: SparkSession = builder.getOrCreate()
    return session
