"""Have Apache Hudi write the tables of `verification/random_plans/shared_names.zip`, and read them.

    PYTHONPATH=. python verification/generate/names.py hudi-spark3.5-bundle_2.12-1.2.0.jar

It runs beside PySpark 3.5. Half of the rows get their values by an upsert, and some are deleted, so
that MERGE_ON_READ tables have log files to merge. The Parquet files have Apache Hudi's answer.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from verification.common.archives import pack
from verification.generate.session import hudi_session
from verification.random_plans import shared_names as tables

_TABLES = {  # table version, type
    "one": ("9", "MERGE_ON_READ"),
    "two": ("9", "COPY_ON_WRITE"),
    "three": ("6", "MERGE_ON_READ"),
    "four": ("8", "MERGE_ON_READ"),
}
_DELETED = 3


def main() -> None:
    """Write the archive."""
    os.environ["TZ"] = "UTC"
    settings = {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}
    spark = hudi_session(sys.argv[1], settings)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for table in tables.HUDI_TABLES:
            _write(spark, table, folder)
            answer = spark.read.format("hudi").load(str(folder / table))
            answer.coalesce(1).write.parquet(str(folder / f"{table}.parquet"))
        for table in tables.PARQUET_TABLES:
            _frame(spark, table, tables.rows(table)).write.parquet(str(folder / f"{table}.parquet"))
        pack(folder, tables.ARCHIVE)
    spark.stop()


def _frame(spark: SparkSession, table: str, rows: list[dict[str, object]]) -> DataFrame:
    names = list(tables.TYPES[table])
    tuples = [tuple(row[name] for name in names) for row in rows]
    return spark.createDataFrame(tuples, tables.schema_text(table)).coalesce(1)


def _write(spark: SparkSession, table: str, folder: Path) -> None:
    version, kind = _TABLES[table]
    options = {
        "hoodie.table.name": table,
        "hoodie.write.table.version": version,
        "hoodie.datasource.write.table.type": kind,
        "hoodie.datasource.write.recordkey.field": tables.KEY,
        "hoodie.datasource.write.precombine.field": tables.ORDERING,
        "hoodie.datasource.write.hive_style_partitioning": "true",
        "hoodie.compact.inline": "false",
        "hoodie.metadata.enable": str(table == "one").lower(),
        "hoodie.metadata.index.column.stats.enable": str(table == "one").lower(),
        "hoodie.bulkinsert.shuffle.parallelism": "1",
        "hoodie.upsert.shuffle.parallelism": "1",
    }
    if table in tables.PARTITIONED:
        options["hoodie.datasource.write.partitionpath.field"] = "part"
    first, second = tables.rows(table), tables.rows(table, 1)
    steps = {"bulk_insert": first, "upsert": second[::2], "delete": second[-_DELETED:]}
    for operation, rows in steps.items():
        writer = _frame(spark, table, rows).write.format("hudi").options(**options)
        writer = writer.option("hoodie.datasource.write.operation", operation)
        writer.mode("append").save(str(folder / table))


if __name__ == "__main__":
    main()
