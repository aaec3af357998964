"""Write the eight tables with Apache Hudi, in the environment of Spark 3.5.

    python -m benchmarks.tpch.write PARQUET FOLDER JAR

PARQUET has the rows, one file per table, by `tpchgen-cli parquet`. lineitem (partitioned by the
year of shipment), orders and partsupp are MERGE_ON_READ, the others COPY_ON_WRITE. Two upserts
correct a tenth of the orders each, with all their lines; one correction in ten is late and loses.
One order in a thousand is deleted with its lines, as by refresh function 2 of TPC-H. Writes
``FOLDER/table``, a folder of tables, and then ``FOLDER/facts.json``.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from benchmarks.spark_session import hudi_session

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

KEYS = {
    "lineitem": "l_orderkey,l_linenumber",
    "orders": "o_orderkey",
    "partsupp": "ps_partkey,ps_suppkey",
    "part": "p_partkey",
    "supplier": "s_suppkey",
    "customer": "c_custkey",
    "nation": "n_nationkey",
    "region": "r_regionkey",
}
PARTITIONED = {"lineitem": "l_year", "orders": "o_orderpriority"}
MERGE_ON_READ = ("lineitem", "orders", "partsupp")
WRITE_OPTIONS = {
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.record.merge.mode": "EVENT_TIME_ORDERING",
    "hoodie.index.type": "SIMPLE",
    "hoodie.compact.inline": "false",
    "hoodie.clean.automatic": "false",
    "hoodie.bulkinsert.shuffle.parallelism": "2",
    "hoodie.upsert.shuffle.parallelism": "2",
    "hoodie.delete.shuffle.parallelism": "2",
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.embed.timeline.server": "false",
}


class Tables:
    """The rows and the tables that they are written to.

    Args:
        spark: has Apache Hudi's bundle.
        source: folder of Parquet files.
        target: folder of tables.
    """

    def __init__(self, spark: SparkSession, source: Path, target: Path) -> None:
        self._spark = spark
        self._source = source
        self._target = target

    def rows(self, table: str) -> DataFrame:
        rows = self._spark.read.parquet(str(self._source / f"{table}.parquet"))
        rows = rows.withColumn("ts", f.lit(1).cast("long"))
        return rows.withColumn("l_year", f.year("l_shipdate")) if table == "lineitem" else rows

    def write(self, rows: DataFrame, table: str, operation: str) -> None:
        kind = "MERGE_ON_READ" if table in MERGE_ON_READ else "COPY_ON_WRITE"
        begin = time.perf_counter()
        (
            rows.write.format("hudi")
            .options(**WRITE_OPTIONS, **partitioning(table))
            .option("hoodie.table.name", table)
            .option("hoodie.datasource.write.table.type", kind)
            .option("hoodie.datasource.write.recordkey.field", KEYS[table])
            .option("hoodie.datasource.write.operation", operation)
            .mode("append")
            .save(str(self._target / table))
        )
        print(f"  {operation} of {table}: {time.perf_counter() - begin:.0f} s", flush=True)

    def correct(self, table: str, key: str, column: str, number: int) -> None:
        """Upsert a tenth of a table's rows, by order, with a larger value in a column."""
        rows = self.rows(table)
        larger = (f.col(column) + number).cast(rows.schema[column].dataType)
        time_of = f.when(drawn(10, key), 0).otherwise(10 * number).cast("long")
        chosen = rows.where(drawn(10, key, number))
        self.write(chosen.withColumn(column, larger).withColumn("ts", time_of), table, "upsert")

    def delete(self, table: str, key: str) -> None:
        gone = self.rows(table).where(drawn(1000, key, "gone"))
        self.write(gone.withColumn("ts", f.lit(99).cast("long")), table, "delete")


def partitioning(table: str) -> dict[str, str]:
    if table in PARTITIONED:
        return {"hoodie.datasource.write.partitionpath.field": PARTITIONED[table]}
    generator = "org.apache.hudi.keygen.NonpartitionedKeyGenerator"
    return {"hoodie.datasource.write.keygenerator.class": generator}


def drawn(one_in: int, key: str, *salt: int | str) -> Column:
    """Return a condition that holds for one row in ``one_in``, always the same by its key."""
    return f.abs(f.xxhash64(f.col(key), *map(f.lit, salt))) % one_in == 0


def facts_of(folder: Path, rows: int) -> dict[str, int]:
    files = [path for path in folder.glob("*/**/*") if ".hoodie" not in path.parts]
    files = [path for path in files if path.is_file() and path.suffix != ".crc"]
    base = [path.stat().st_size for path in files if path.suffix == ".parquet"]
    logs = [path.stat().st_size for path in files if ".log." in path.name]
    return {
        "rows": rows,
        "base_files": len(base),
        "base_bytes": sum(base),
        "log_files": len(logs),
        "log_bytes": sum(logs),
    }


def main(source: str, folder: str, jar: str) -> None:
    path = Path(folder).resolve() / "table"
    shutil.rmtree(path.parent, ignore_errors=True)
    path.mkdir(parents=True)
    tables = Tables(hudi_session(jar), Path(source).resolve(), path)
    for table in KEYS:
        tables.write(tables.rows(table), table, "bulk_insert")
    for number in (1, 2):
        tables.correct("orders", "o_orderkey", "o_totalprice", number)
        tables.correct("lineitem", "l_orderkey", "l_quantity", number)
    tables.correct("partsupp", "ps_partkey", "ps_availqty", 1)
    tables.delete("orders", "o_orderkey")
    tables.delete("lineitem", "l_orderkey")
    facts = facts_of(path, sum(tables.rows(table).count() for table in KEYS))
    (path.parent / "facts.json").write_text(json.dumps(facts, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
