"""Have Apache Hudi write the tables of random plans again, into their archives.

    python -m verification.generate.random_plans ends names

It runs beside PySpark 3.5, as `verification.generate.golden` does. The archives have the rows that
are written by each operation. Some rows get their values by an upsert, and some are deleted: so
MERGE_ON_READ tables have log files to merge.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from tests.golden.case import REFERENCE
from verification.common.archives import pack, unpack
from verification.common.data import load_data
from verification.histories.session import scratch_session
from verification.random_plans.tables import ARCHIVES

_OPERATIONS = ("bulk_insert", "upsert", "delete")


def main(families: list[str]) -> None:
    """Write the tables of some families into their archives."""
    described = load_data(__file__, "plan_tables.toml")
    with scratch_session(REFERENCE, described["settings"]) as (spark, scratch):
        for family in families:
            folder = unpack(ARCHIVES[family], scratch / family)
            of_all = {k: v for k, v in described[family].items() if k != "tables"}
            for table, options in described[family]["tables"].items():
                write(spark, folder, table, {**of_all, **options})
            pack(folder, ARCHIVES[family])


def write(spark: SparkSession, folder: Path, table: str, options: Mapping[str, str]) -> None:
    """Write a table of a family, and beside it the rows that Apache Hudi reads from it."""
    path = str(folder / table)
    shutil.rmtree(path, ignore_errors=True)
    for operation in _OPERATIONS:
        rows = spark.read.parquet(str(folder / "written" / table / f"{operation}.parquet"))
        writer = rows.coalesce(1).write.format("hudi").options(**options)
        writer = writer.option("hoodie.table.name", table)
        writer = writer.option("hoodie.datasource.write.operation", operation)
        writer.mode("append").save(path)
    copy = Path(f"{path}.parquet")
    if copy.exists():  # of the ends of types, the rows that were written are the copy
        answer = spark.read.format("hudi").load(path)
        answer.coalesce(1).write.mode("overwrite").parquet(str(copy))


if __name__ == "__main__":
    main(sys.argv[1:])
