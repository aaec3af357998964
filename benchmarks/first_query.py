"""The first query of a session, step by step, beside the second one of the same session.

    python -m benchmarks.first_query TABLE [--daemon]

Prints seconds, and the processor time of the JVM and of Python. `--daemon` sets
``spark.python.daemon.module`` to this package's own.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

import hudi_pyspark
from benchmarks.spark_session import HUDI_PY, plain_session
from benchmarks.transport import processor_seconds
from hudi_pyspark.short_name import SHORT_NAME

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

DAEMON = {"spark.python.daemon.module": "hudi_pyspark.spark.daemon"}


def steps(spark: SparkSession, table: str) -> Iterator[str]:
    """Run a query in steps; yield the name of each when it is done."""
    hudi_pyspark.register(spark)
    yield "register the source and the rule"
    frame = spark.read.format(SHORT_NAME).load(table)
    yield "find the source, ask for the schema"
    frame._jdf.queryExecution().optimizedPlan()  # noqa: SLF001  (has no public name)
    yield "optimize"
    frame.rdd.getNumPartitions()
    yield "plan the tasks"
    frame.write.format("noop").mode("overwrite").save()
    yield "read all rows and columns"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table")
    parser.add_argument("--daemon", action="store_true")
    given = parser.parse_args()
    spark = plain_session({**HUDI_PY, **(DAEMON if given.daemon else {})})
    for name in ("first", "second"):
        print(f"{name} query{'':22} seconds      JVM   Python")
        begin = time.perf_counter()
        used = processor_seconds()
        whole = begin
        for step in steps(spark, given.table):
            now = time.perf_counter()
            uses = processor_seconds()
            jvm, python = (after - before for after, before in zip(uses, used, strict=True))
            print(f"  {step:34} {now - begin:6.2f} {jvm:8.2f} {python:8.2f}", flush=True)
            begin = time.perf_counter()
            used = processor_seconds()
        print(f"  {'all':34} {begin - whole:6.2f}")
    spark.stop()


if __name__ == "__main__":
    main()
