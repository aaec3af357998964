"""The Spark sessions of the benchmark, which differ only in the reader of the table."""

from __future__ import annotations

from pyspark.sql import SparkSession

from benchmarks.object_store import hadoop_settings

COMMON = {
    "spark.driver.memory": "4g",
    "spark.driver.extraJavaOptions": "-Duser.timezone=UTC",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "localhost",
    "spark.driver.bindAddress": "127.0.0.1",
}
HUDI = {  # as Apache Hudi's quick start has them
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
    "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
}
HUDI_PY = {"spark.python.daemon.module": "hudi_pyspark.spark.daemon"}  # see spark-conf/


def plain_session(more: dict[str, str] | None = None, remote: str = "") -> SparkSession:
    """Start a session, over Spark Connect if `remote` is the master of its server."""
    builder = SparkSession.builder.appName("benchmark")
    builder = builder.remote(remote) if remote else builder.master("local[2]")
    for key, value in {**COMMON, **(more or {})}.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    if not remote:
        session.sparkContext.setLogLevel("ERROR")
    return session


def hudi_session(jar: str) -> SparkSession:
    return plain_session({**HUDI, **hadoop_settings(), "spark.jars": jar})
