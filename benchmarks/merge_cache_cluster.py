"""Hit rate of kept merges in a standalone cluster of two workers, each with a disk of its own.

    python -m benchmarks.merge_cache_cluster

Ten queries of one table run one after the other, each with other columns. Spark gives a task to
any worker that is free, and a worker keeps in its local folder what it has merged: what both have
merged is kept twice. A new entry is a merge; all other tasks on slices with log files found one.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests import copied_partitions
from tests.conftest import set_spark_environment
from tests.spark.deployment import standalone_cluster, submit

if TYPE_CHECKING:
    from collections.abc import Iterator

COPIES = 16
MERGED = 3  # slices with log files, in each copy
JOB = """
import json, os, sys
from pathlib import Path
from pyspark.sql import SparkSession
import hudi_pyspark

path, options = sys.argv[1], json.loads(sys.argv[2])
spark = SparkSession.builder.getOrCreate()
hudi_pyspark.register(spark)
table = spark.read.format("hudi-py").options(**options).load(path)
QUERIES = [
    lambda: table.count(),
    lambda: table.agg({"ts": "sum"}).collect(),
    lambda: table.select("name").distinct().count(),
    lambda: table.groupBy("region").count().collect(),
    lambda: table.where("ts > 150").count(),
    lambda: table.select("id", "ts").collect(),
    lambda: table.agg({"amount": "max"}).collect(),
    lambda: table.collect(),
    lambda: table.where("name LIKE '%1'").collect(),
    lambda: table.count(),
]


def kept(_):
    folders = Path(os.environ["SPARK_LOCAL_DIRS"].partition(",")[0])
    files = [f.stat().st_size for f in folders.glob("hudi-py-merges-*/*") if f.is_file()]
    yield os.environ["SPARK_LOCAL_DIRS"], len(files), sum(files)


def disks():
    everywhere = spark.sparkContext.parallelize(range(64), 64).mapPartitions(kept)
    return sorted(set(everywhere.collect()))


answers = [disks()]
for query in QUERIES:
    query()
    answers.append(disks())
print("ANSWERS", json.dumps({"disks": answers}))
spark.stop()
"""


def measured() -> Iterator[tuple[list[int], list[int]]]:
    """Yield files and bytes on the disk of each worker, after each query."""
    set_spark_environment()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = copied_partitions.write(folder, COPIES)
        script = folder / "job.py"
        script.write_text(JOB)
        options = json.dumps({**copied_partitions.OPTIONS, "task_bytes": "1"})
        with standalone_cluster(folder) as cluster:
            answers = submit(cluster.url, sys.executable, script, str(table), options, options=[])
    for disks in answers["disks"]:
        yield [files for _, files, _ in disks], [octets for _, _, octets in disks]


def main() -> None:
    """Print, for each query, how many slices were merged by it, and what lies on each disk."""
    merged = COPIES * MERGED
    print("| Query | Merged now | Found | Files on each disk | KB on each disk |")
    print("|---:|---:|---:|---:|---:|")
    before = 0
    for query, (files, octets) in enumerate(measured()):
        new = sum(files) - before
        before = sum(files)
        if query:
            shown = ", ".join(map(str, files)), ", ".join(f"{n / 1000:.0f}" for n in octets)
            print(f"| {query} | {new} | {1 - new / merged:.0%} | {' | '.join(shown)} |")


if __name__ == "__main__":
    main()
