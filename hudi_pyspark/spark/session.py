"""Conveniences for a Spark session; `hudi_pyspark.read` and `register` describe them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException

from hudi_pyspark.errors import UnsupportedQueryError
from hudi_pyspark.query.merge.custom_merger import registered_payloads
from hudi_pyspark.short_name import SHORT_NAME
from hudi_pyspark.spark.datasource import HudiDataSource
from hudi_pyspark.spark.optimizer import install_optimizer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


def register(spark: SparkSession) -> None:
    """Register the data source with a session, along with all registered payload mergers.

    Where Spark's optimizer can have a rule, it passes on the columns, conditions and limits of
    queries. Elsewhere conditions are pushed down by Spark itself.
    """
    if install_optimizer(spark):
        spark.conf.set(_PUSHDOWN, "true")
    mergers = registered_payloads()
    if not mergers:
        _try_to_register(spark, HudiDataSource)
        return
    # Spark plans in a Python process of its own. A class that says it is from __main__ travels
    # there by value, and the functions in it too, wherever the user defined them.
    carrier = type(
        HudiDataSource.__name__,
        (HudiDataSource,),
        {"payload_mergers": mergers, "__module__": "__main__"},
    )
    if not _try_to_register(spark, carrier):
        raise UnsupportedQueryError(
            "this Spark keeps the source that it found by itself, which does not know the "
            "registered mergers. Use a newer Spark, or give each read the option "
            "payload_merger=module:function"
        )


def _try_to_register(spark: SparkSession, source: type[HudiDataSource]) -> bool:
    """Register; False on a Spark that keeps the source that it found by itself, as 4.0 does."""
    try:
        spark.dataSource.register(source)
    except AnalysisException as error:
        if "DATA_SOURCE_ALREADY_EXISTS" not in str(error):
            raise
        return False
    return True


def read(spark: SparkSession, path: str, **options: str | bool | float) -> DataFrame:
    """Load a table through the data source; options by alias."""
    register(spark)
    return spark.read.format(SHORT_NAME).options(**options).load(path)
