"""Read a real MERGE_ON_READ table, first with Spark, then without it.

    make demo                                  (installs everything first)
    python examples/demo.py                    (with Java 17+ and pyspark)
    python examples/demo.py --without-spark    (with neither)

Apache Hudi 1.2.0 wrote the table: six commits of orders in four regions. Their updates and deletes
are in log files, which were never compacted into the Parquet files. It stays in the folder `build`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import hudi_pyspark
from hudi_pyspark import HudiTable

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

FOLDER = "build"
COLUMNS = ["id", "name", "amount", "qty", "ts", "region"]
FIRST_COMMIT = "20261121062534259"


def describe_files(path: str) -> None:
    regions = [entry for entry in Path(path).iterdir() if entry.name != ".hoodie"]
    base_files = [file for region in regions for file in region.glob("*.parquet")]
    log_files = [file for region in regions for file in region.glob(".*.log.*")]
    say("The table")
    print(f"A MERGE_ON_READ table with {len(regions)} partitions at {path}:")
    print(f"{len(base_files)} Parquet base files and {len(log_files)} log files on top of them.")


def start_spark() -> SparkSession:
    from pyspark.sql import SparkSession

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    return (
        SparkSession.builder.master("local[*]")
        .appName("hudi-pyspark demo")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.shuffle.partitions", "4")
        .getOrCreate()
    )


def show_with_spark(spark: SparkSession, path: str) -> None:
    def load(**options: str) -> int:
        return spark.read.format("hudi-py").options(**options).load(path).count()

    say(f"Spark {spark.version} reads it, without any jar")
    print(">>> hudi_pyspark.register(spark)")
    hudi_pyspark.register(spark)
    print('>>> orders = spark.read.format("hudi-py").load(path)')
    orders = spark.read.format("hudi-py").load(path)
    orders.select(COLUMNS).orderBy("id").show(10)

    print('>>> orders.groupBy("region").count()')
    orders.groupBy("region").count().orderBy("region").show()

    say("Three views of the same table")
    first = {"as.of.instant": FIRST_COMMIT}
    fast = {"hoodie.datasource.query.type": "read_optimized"}
    explain_counts(now=orders.count(), base_only=load(**fast), at_first=load(**first))

    say("One record, at the first commit and now")
    before = spark.read.format("hudi-py").options(**first).load(path)
    before.where("id = 'k0008'").select(COLUMNS).show()
    orders.where("id = 'k0008'").select(COLUMNS).show()


def show_without_spark(path: str) -> None:
    table = HudiTable(path)
    say("Plain Python reads it, without Spark and Java")
    print(">>> HudiTable(path).scan(columns=[...]).to_arrow()")
    print_rows(table.scan(columns=COLUMNS).to_arrow().sort_by("id").slice(0, 10))

    say("Three views of the same table")
    explain_counts(
        now=table.scan().count(),
        base_only=table.scan(query_type="read_optimized").count(),
        at_first=table.scan(as_of=FIRST_COMMIT).count(),
    )


def explain_counts(*, now: int, base_only: int, at_first: int) -> None:
    print(
        f"snapshot        {now} rows: base files merged with the log files, the table as it is now"
    )
    print(f"read_optimized  {base_only} rows: only base files, without later updates and deletes")
    print(f"time travel     {at_first} rows: the table after its first commit, {FIRST_COMMIT}")


def show_next_step(path: str) -> None:
    program = Path(sys.executable)
    folder = Path.cwd()
    say("Next")
    print(f"The table stays in {path}. Read it yourself:")
    print(f"$ {program.relative_to(folder) if program.is_relative_to(folder) else program}")
    print(">>> from hudi_pyspark import HudiTable")
    print(f'>>> HudiTable("{path}").scan(filter="region = \'emea\'").to_arrow()')
    print("docs/quickstart.md goes on from here.")


def print_rows(table: pa.Table) -> None:
    rows = [table.column_names, *([str(v) for v in row.values()] for row in table.to_pylist())]
    for row in rows:
        print("  ".join(f"{value:<8}" for value in row))


def say(title: str) -> None:
    print(f"\n== {title} ==")


def main() -> None:
    without_spark = "--without-spark" in sys.argv[1:]
    hudi_pyspark.unpack_demo(FOLDER)
    path = str(Path(FOLDER, "orders"))
    describe_files(path)
    if not without_spark:
        spark = start_spark()
        show_with_spark(spark, path)
        spark.stop()
    show_without_spark(path)
    if without_spark:
        print("\nSpark was skipped: it needs Java 17 or newer, which is missing (see above).")
    show_next_step(path)


if __name__ == "__main__":
    main()
