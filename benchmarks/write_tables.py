"""Write one table with Apache Hudi, in the environment of Spark 3.5.

    python -m benchmarks.write_tables LETTER SCALE FOLDER JAR

Writes ``FOLDER/table`` and then ``FOLDER/facts.json``; a table without it is unfinished.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.spark_session import hudi_session
from benchmarks.tables import TABLES, Sized, core_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WRITE_OPTIONS = {
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.datasource.write.recordkey.field": "uuid",
    "hoodie.datasource.write.partitionpath.field": "city",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.bulkinsert.sort.mode": "NONE",  # one file group per Spark partition
    "hoodie.index.type": "SIMPLE",
    "hoodie.simple.index.parallelism": "4",
    "hoodie.upsert.shuffle.parallelism": "4",
    "hoodie.markers.delete.parallelism": "4",
    "hoodie.finalize.write.parallelism": "4",
    "hoodie.rollback.parallelism": "4",
    "hoodie.parquet.small.file.limit": "0",
    "hoodie.copyonwrite.insert.auto.split": "false",
    "hoodie.compact.inline": "false",
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.embed.timeline.server": "false",
}


def first_rows(spark: SparkSession, sized: Sized) -> DataFrame:
    ids = spark.range(0, sized.rows, 1, sized.file_groups).selectExpr("id", "0 as round")
    return with_columns(ids, sized)


def upserted_rows(spark: SparkSession, sized: Sized, number: int) -> DataFrame:
    step = sized.step
    id_of = f"id * {step} + if(id % 2 = 0, 0, {number} % {step})"
    ids = spark.range(0, sized.rows // step, 1, 4).selectExpr(
        f"{id_of} as id", f"{number} as round"
    )
    return with_columns(ids, sized)


def with_columns(ids: DataFrame, sized: Sized) -> DataFrame:
    columns = {**core_columns(sized.rows), **sized.table.more_columns}
    return ids.selectExpr(*(f"{sql} as {name}" for name, sql in columns.items()))


def write(spark: SparkSession, sized: Sized, path: Path) -> None:
    for number in range(sized.table.upserts + 1):
        is_bulk = number == 0 and not sized.table.is_log_only
        frame = first_rows(spark, sized) if number == 0 else upserted_rows(spark, sized, number)
        begin = time.perf_counter()
        (
            frame.write.format("hudi")
            .options(**WRITE_OPTIONS)
            .option("hoodie.table.name", f"bench_{sized.table.letter}")
            .option("hoodie.datasource.write.operation", "bulk_insert" if is_bulk else "upsert")
            .option("hoodie.bulkinsert.shuffle.parallelism", str(sized.file_groups))
            .option("hoodie.copyonwrite.insert.split.size", str(sized.rows // sized.file_groups))
            .options(**sized.table.hudi_options)
            .mode("append")
            .save(str(path))
        )
        print(f"  commit {number + 1}: {time.perf_counter() - begin:.0f} s", flush=True)


def facts_of(path: Path, sized: Sized) -> dict[str, object]:
    """Return the facts about the table that the queries and the report need."""
    completed = sorted(
        file.name.split("_")[1].split(".")[0]
        for file in (path / ".hoodie" / "timeline").glob("*_*.*commit")
    )
    files = [file for file in path.glob("*/*") if file.is_file() and not file.match("*.crc")]
    base = [file.stat().st_size for file in files if file.suffix == ".parquet"]
    logs = [file.stat().st_size for file in files if ".log." in file.name]
    if sized.table.is_log_only and base:
        raise RuntimeError(f"expected no base files, but {len(base)} were written")
    return {
        "rows": sized.rows,
        "last_commit_after": completed[-2],  # completion time of the commit before
        "base_files": len(base),
        "base_bytes": sum(base),
        "log_files": len(logs),
        "log_bytes": sum(logs),
    }


def main(letter: str, scale: str, folder: str, jar: str) -> None:
    sized = TABLES[letter].at(float(scale))
    path = Path(folder).resolve() / "table"
    shutil.rmtree(path.parent, ignore_errors=True)
    path.parent.mkdir(parents=True)
    spark = hudi_session(jar)
    write(spark, sized, path)
    spark.stop()
    facts = facts_of(path, sized)
    (path.parent / "facts.json").write_text(json.dumps(facts, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
