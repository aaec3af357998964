"""Settings of a session that a Python data source does not see: one warning names them."""

import warnings
from types import SimpleNamespace
from typing import Any

import pytest

import hudi_pyspark
from hudi_pyspark.spark.optimizer import ENABLED
from hudi_pyspark.spark.session import _warn_of_settings
from tests.spark.deployment import client, connect_server

pytestmark = pytest.mark.spark


def session(*names: str) -> Any:
    return SimpleNamespace(conf=SimpleNamespace(getAll=dict.fromkeys(names, "value")))


@pytest.mark.parametrize(
    "name",
    [
        "hoodie.datasource.query.type",
        "hoodie.metadata.enable",
        "as.of.instant",
        "fs.s3a.access.key",
        "spark.hadoop.fs.s3a.endpoint",
        "spark.hadoop.fs.s3a.bucket.lake.endpoint",
        "spark.hadoop.fs.azure.account.key.acme.dfs.core.windows.net",
        "fs.oss.endpoint",
    ],
)
def test_setting_that_would_change_a_read_is_named(name):
    shown = name.removeprefix("spark.hadoop.")
    with pytest.warns(UserWarning, match=f"settings of the session such as {shown}: give them to"):
        _warn_of_settings(session("spark.app.name", name))


@pytest.mark.parametrize(
    ("name", "has_advice"),
    [("hoodie.datasource.query.type", False), ("spark.hadoop.fs.s3a.endpoint", True)],
)
def test_advice_about_settings_of_hadoop_needs_one(name, has_advice, monkeypatch):
    monkeypatch.setattr("hudi_pyspark.spark.session.is_classic", lambda _: True)
    with pytest.warns(UserWarning, match=r"give them to each read as options") as seen:
        _warn_of_settings(session(name))
    assert ("storage_options_from_spark" in str(seen[0].message)) is has_advice


def test_settings_of_writers_and_of_spark_itself_are_no_reason_to_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _warn_of_settings(
            session(
                "hoodie.datasource.write.operation",
                "spark.hadoop.fs.s3a.vectored.read.min.seek.size",  # Spark's own default
                "spark.hadoop.fs.defaultFS",
                "spark.sql.session.timeZone",
            )
        )


def test_register_warns_of_a_setting_and_not_of_those_of_spark(spark):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hudi_pyspark.register(spark)
    spark.conf.set("hoodie.datasource.query.type", "read_optimized")
    try:
        with pytest.warns(UserWarning, match="such as hoodie.datasource.query.type: give") as seen:
            hudi_pyspark.register(spark)
        assert "storage_options_from_spark" not in str(seen[0].message)  # none of Hadoop is set
    finally:
        spark.conf.unset("hoodie.datasource.query.type")


@pytest.fixture
def log(spark):
    """What the optimizer's rule logs at WARN or above."""
    log4j = spark._jvm.org.apache.logging.log4j
    writer = spark._jvm.java.io.StringWriter()
    builder = log4j.core.appender.WriterAppender.newBuilder().setTarget(writer)
    appender = builder.setName("settings").build()
    appender.start()
    logger = log4j.LogManager.getLogger("hudi_pyspark.NarrowScans")
    logger.addAppender(appender)
    logger.setLevel(log4j.Level.WARN)
    yield writer
    logger.setLevel(log4j.Level.ERROR)  # as the tests set it
    logger.removeAppender(appender)
    appender.stop()


def test_first_query_that_ignores_a_later_setting_says_so_once(spark, golden_table, log):
    session = spark.newSession()
    session.conf.set(ENABLED, "true")
    hudi_pyspark.register(session)
    path = str(golden_table("v9_mor_archived"))

    def count(**options):
        return session.read.format("hudi-py").options(**options).load(path).count()

    count()
    session.sql("SET hoodie.datasource.query.type=read_optimized")
    session.sql("SET hoodie.datasource.write.operation=upsert")
    count(**{"hoodie.datasource.query.type": "snapshot"})
    assert str(log.toString()) == ""
    count()
    count()
    session.sql("SET hoodie.metadata.enable=false")
    count()
    lines = str(log.toString()).splitlines()
    assert ["ignores the setting" in line for line in lines] == [True, True]
    assert "option('hoodie.datasource.query.type', ...)" in lines[0]
    assert "setting hoodie.metadata.enable of the session" in lines[1]


CONNECT = """
import json, sys, warnings
from pyspark.sql import SparkSession
import hudi_pyspark

spark = SparkSession.builder.remote(f"sc://127.0.0.1:{sys.argv[1]}").getOrCreate()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    hudi_pyspark.register(spark)
hadoop = spark.conf.get("fs.s3a.secret.key", None)
said = [str(warning.message) for warning in caught if "Python data source" in str(warning.message)]
print("ANSWERS", json.dumps({"said": said, "hadoop": hadoop}))
"""
CORE_SITE = """<configuration>
  <property><name>fs.s3a.secret.key</name><value>of the server</value></property>
</configuration>
"""


@pytest.mark.cluster
@pytest.mark.usefixtures("spark_environment")
def test_register_over_connect_warns_of_what_a_client_sees(tmp_path, monkeypatch):
    # Spark passes on the settings of the server's Spark, but not those of its Hadoop.
    (tmp_path / "spark-defaults.conf").write_text("spark.hadoop.fs.s3a.endpoint http://minio\n")
    (tmp_path / "core-site.xml").write_text(CORE_SITE)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    with connect_server() as port:
        answers = client(CONNECT, port)
    assert answers["hadoop"] is None
    (said,) = answers["said"]
    assert "settings of the session such as fs.s3a.endpoint: give them" in said
    assert "storage_options_from_spark" not in said
