"""Planning by Apache Hudi and by this package, side by side, in the environment of Spark 3.5.

    python -m benchmarks.planning_by_hudi JAR LAKE TABLE

First Apache Hudi lists LAKE, a table of `lake.py`, from its metadata table: partitions, files and
sizes have to be those that this package finds. Then both plan the same queries of a table that
Apache Hudi writes, with column statistics, and of TABLE, which is (f) of `write_tables`. A query is
planned from opening the table to the division of its files among tasks; nothing is read. The times
are the best of three, after a warm-up.
"""

from __future__ import annotations

import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.spark_session import hudi_session
from hudi_pyspark import HudiTable
from hudi_pyspark.tasks import ScanTask

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession

FILE_GROUPS = 40  # of the table with column statistics
ROUNDS = 3
BY_STATISTICS = (
    "id < 1500",
    "id = 20000",
    "id IN (10, 39990)",
    "id > 12000 AND id <= 13000",
    "name = 'n00020000'",
    "name >= 'n0003'",
    "score IS NULL",
    "score > 0.9 AND id < 5000",
    "id < 500 OR id > 39500",
    "day = DATE'2025-01-11'",
)
OF_SMALL_SLICES = ("", "city = 'berlin'", "ts < 1700000001000", "uuid = 'no such key'")


def hudi_listing(spark: SparkSession, path: Path) -> dict[str, int]:
    """Return path and size of all files in the metadata table, as Apache Hudi reads it."""
    jvm = spark._jvm  # noqa: SLF001  (Spark has no other way to Hudi's classes)
    context = spark._jsc  # noqa: SLF001
    assert jvm is not None
    hudi = jvm.org.apache.hudi
    engine = hudi.client.common.HoodieSparkEngineContext(context)
    location = hudi.storage.StoragePath(str(path))
    storage = hudi.storage.hadoop.HoodieHadoopStorage(location, engine.getStorageConf())
    config = hudi.common.config.HoodieMetadataConfig.newBuilder().build()  # enabled
    metadata = hudi.metadata.HoodieBackedTableMetadata(engine, storage, config, str(path))
    partitions = metadata.getAllPartitionPaths()
    found = metadata.getAllFilesInPartitions([f"{path}/{p}" for p in partitions])
    root = f"{path}/"
    return {
        file.getPath().toUri().getPath().removeprefix(root): file.getLength()
        for files in found.values()
        for file in files
    }


def our_listing(path: Path) -> dict[str, int]:
    """Return path and size of all base files that this package plans."""
    tasks = HudiTable(str(path)).scan().plan()
    files = [
        file
        for task in tasks
        if isinstance(task, ScanTask)
        for file in (task.file_slice.base_file, *task.file_slice.log_files)
        if file is not None
    ]
    return {file.path: file.size for file in files}


def by_hudi(spark: SparkSession, path: Path, condition: str) -> int:
    """Plan by Apache Hudi; return the number of file slices."""
    options = {"hoodie.metadata.enable": "true", "hoodie.enable.data.skipping": "true"}
    frame = spark.read.format("hudi").options(**options).load(str(path))
    frame = frame.where(condition) if condition else frame
    execution = frame._jdf.queryExecution()  # noqa: SLF001
    execution.toRdd().getNumPartitions()  # divides the files
    scan = execution.executedPlan().collectLeaves().apply(0)
    return int(scan.metrics().apply("numFiles").value())


def by_us(path: Path, condition: str) -> int:
    """Plan by this package; return the number of file slices."""
    options = {"filter": condition} if condition else {}
    return sum(len(group) for group in HudiTable(str(path)).scan(**options)._plan_groups())


def best(plan: Callable[[], int]) -> tuple[int, float]:
    found = plan()
    seconds = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        found = plan()
        seconds.append(time.perf_counter() - begin)
    return found, min(seconds)


def compare(spark: SparkSession, path: Path, conditions: Sequence[str]) -> bool:
    """Print slices and seconds of both; return whether we never read more."""
    print(f"{'':32} {'Apache Hudi':>20} {'hudi-py':>20}")
    print(f"{'filter':32} {'slices':>11} {'seconds':>8} {'slices':>11} {'seconds':>8}")
    never_more = True
    for condition in conditions:
        theirs, their_seconds = best(partial(by_hudi, spark, path, condition))
        ours, our_seconds = best(partial(by_us, path, condition))
        never_more &= ours <= theirs
        numbers = f"{theirs:>11,} {their_seconds:>8.2f} {ours:>11,} {our_seconds:>8.2f}"
        print(f"{condition or 'none':32} {numbers}", flush=True)
    return never_more


def write_statistics_table(spark: SparkSession, path: Path) -> None:
    """Write file groups that differ in all columns; one in four has a null in each row."""
    frame = spark.range(0, FILE_GROUPS * 1000, 1, FILE_GROUPS).selectExpr(
        "id",
        "format_string('n%08d', id) as name",
        "if(int(id / 1000) % 4 = 0, null, (id % 997) / 997D) as score",
        "date_add(date'2025-01-01', int(id / 1000)) as day",
        "id as ts",
    )
    options = {
        "hoodie.table.name": "statistics",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.partitionpath.field": "",
        "hoodie.datasource.write.operation": "bulk_insert",
        "hoodie.bulkinsert.sort.mode": "NONE",
        "hoodie.bulkinsert.shuffle.parallelism": str(FILE_GROUPS),
        "hoodie.metadata.index.column.stats.enable": "true",
        "hoodie.embed.timeline.server": "false",
    }
    frame.write.format("hudi").options(**options).mode("append").save(str(path))


def main(jar: str, lake: str, table: str) -> int:
    spark = hudi_session(jar)
    path = Path(lake).resolve()
    theirs = hudi_listing(spark, path)
    ours = our_listing(path)
    is_same = theirs == ours
    verdict = "the same" if is_same else "NOT the same"
    print(f"{len(theirs):,} files listed by Apache Hudi, {len(ours):,} by hudi-py: {verdict}")
    with tempfile.TemporaryDirectory() as folder:
        statistics = Path(folder).resolve() / "statistics"
        write_statistics_table(spark, statistics)
        print(f"\n{FILE_GROUPS} file groups with column statistics")
        never_more = compare(spark, statistics, BY_STATISTICS)
    print(f"\n{table}")
    compare(spark, Path(table).resolve(), OF_SMALL_SLICES)
    spark.stop()
    return int(not (is_same and never_more))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
