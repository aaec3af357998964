"""A PySpark daemon that imports this package before forking workers.

    spark.python.daemon.module   hudi_pyspark.spark.daemon

Spark kills a Python worker whose rows it does not read to the end, e.g. after a ``LIMIT``, and
starts another for the next query. With this module the new worker is ready at once, since its
imports are done. Set it before the session starts; every executor needs the package installed.
"""

import gc

import pyarrow as pa
from pyspark import daemon

import hudi_pyspark.spark.reader  # noqa: F401

if __name__ == "__main__":
    pa.array([0])  # the first array of pyarrow imports pandas, if it is installed
    # Workers share the memory of loaded modules as long as garbage collection does not write to it.
    gc.collect()
    gc.freeze()
    daemon.manager()
