"""Conveniences for a Spark session; `hudi_pyspark.read` and `register` describe them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_pyspark.spark.datasource import SHORT_NAME, HudiDataSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def register(spark: SparkSession) -> None:
    """Register the data source with a session."""
    spark.dataSource.register(HudiDataSource)


def read(spark: SparkSession, path: str, **options: str | bool | float) -> DataFrame:
    """Load a table through the data source; options by alias."""
    register(spark)
    return spark.read.format(SHORT_NAME).options(**options).load(path)
