"""The data source for Spark's automatic lookup, which imports all modules named ``pyspark_*``.

Spark imports this module in every session, so it stays this small.
"""

from hudi_pyspark.spark.datasource import HudiDataSource as DefaultSource

__all__ = ["DefaultSource"]
