"""Spark's daemon of Python workers, which here has loaded this package before it forks them.

    spark.python.daemon.module   hudi_pyspark.spark.daemon

Spark ends a Python worker whose rows it does not want to the end, as after a ``LIMIT``; the next
query then starts another, which is ready at once with this module instead of after its imports.
It is named before a session starts, and the package has to be installed on every executor.
"""

from __future__ import annotations

import gc

import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet
from pyspark import daemon

import hudi_pyspark.spark.reader  # noqa: F401

if __name__ == "__main__":
    pa.array([0])  # the first array that pyarrow makes loads pandas, where it is installed
    # Workers share the memory of what is loaded as long as no garbage collection writes into it.
    gc.collect()
    gc.freeze()
    daemon.manager()
