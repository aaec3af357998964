"""Conveniences for a Spark session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hudi_pyspark.spark.datasource import SHORT_NAME, HudiDataSource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession


def register(spark: SparkSession) -> None:
    """Make ``format("hudi-py")`` known to a session.

    Needed with Spark Connect, and wherever Spark does not look for Python data sources itself; it
    does no harm elsewhere.
    """
    spark.dataSource.register(HudiDataSource)


def read(
    spark: SparkSession,
    path: str,
    columns: Sequence[str] | None = None,
    *,
    as_of: str | None = None,
    query_type: str = "snapshot",
    **options: Any,
) -> DataFrame:
    """Read a table with only the columns that are needed.

    Spark asks a Python data source for every column of its schema, so naming them here is what
    keeps the others from being read and decoded.

    Args:
        spark: the session; the source is registered with it.
        path: base path of the table.
        columns: names of the columns to read, in this order; all by default.
        as_of: instant of a time-travel query, inclusive.
        query_type: ``snapshot`` or ``read_optimized``.
        options: any other read option by its alias.
    """
    register(spark)
    reader = spark.read.format(SHORT_NAME).option("query_type", query_type)
    if columns is not None:
        reader = reader.option("columns", ",".join(columns))
    if as_of is not None:
        reader = reader.option("as_of", as_of)
    return reader.options(**options).load(path)
