"""Settings of a session that a Python data source does not see: one warning names them."""

import warnings
from types import SimpleNamespace
from typing import Any

import pytest

import hudi_pyspark
from hudi_pyspark.spark.session import _warn_of_settings

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
        assert "storage_options_from_spark" in str(seen[0].message)
    finally:
        spark.conf.unset("hoodie.datasource.query.type")
