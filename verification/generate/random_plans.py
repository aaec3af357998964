"""Have Apache Hudi write the tables of random plans: ``extremes.zip``, and ``shared_names.zip``.

    python -m verification.generate.random_plans ends names

It runs beside PySpark 3.5, as `verification.generate.golden` does. Some rows get their values by an
upsert, and some are deleted, so that MERGE_ON_READ tables have log files to merge.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from tests.golden.case import REFERENCE
from verification.common.archives import pack
from verification.histories.bundles import bundle
from verification.histories.worker import start_session
from verification.random_plans import extremes, shared_names

_WRITE = "hoodie.datasource.write"
_OF_ENDS = {
    f"{_WRITE}.recordkey.field": "k",
    f"{_WRITE}.precombine.field": "ordering",
    f"{_WRITE}.partitionpath.field": "part",
    f"{_WRITE}.hive_style_partitioning": "true",
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.compact.inline": "false",
    "hoodie.parquet.max.file.size": "60000",
    "hoodie.parquet.small.file.limit": "0",
    "hoodie.bulkinsert.shuffle.parallelism": "2",
    "hoodie.upsert.shuffle.parallelism": "2",
}
_OF_NAMES = {
    f"{_WRITE}.recordkey.field": shared_names.KEY,
    f"{_WRITE}.precombine.field": shared_names.ORDERING,
    f"{_WRITE}.hive_style_partitioning": "true",
    "hoodie.compact.inline": "false",
    "hoodie.bulkinsert.shuffle.parallelism": "1",
    "hoodie.upsert.shuffle.parallelism": "1",
}
_TYPES = {"cow": "COPY_ON_WRITE", "mor": "MERGE_ON_READ"}
_VERSIONS_AND_TYPES = {
    "one": ("9", "MERGE_ON_READ"),
    "two": ("9", "COPY_ON_WRITE"),
    "three": ("6", "MERGE_ON_READ"),
    "four": ("8", "MERGE_ON_READ"),
}
_DELETED = {"ends": 8, "names": 3}
_SETTINGS = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.avro.datetimeRebaseModeInWrite": "CORRECTED",
}


def main(names: list[str]) -> None:
    """Write the archives of plans over the ends of types, or over names that tables share."""
    with tempfile.TemporaryDirectory() as scratch:
        spark = start_session(str(bundle(REFERENCE)), scratch, _SETTINGS)
        for name in names:
            folder = Path(scratch) / name
            folder.mkdir()
            {"ends": _write_ends, "names": _write_names}[name](spark, folder)
        spark.stop()


def _write_ends(spark: SparkSession, folder: Path) -> None:
    """Write a table of each type; the rows themselves say what is expected of them."""
    final = extremes.rows()
    count = final.num_rows
    # Half of the rows have other values at first; a few more are deleted in the end.
    first = extremes.rows(seed=2, count=count + _DELETED["ends"])
    parts = pa.concat_arrays(
        [final["part"].combine_chunks(), first["part"][count:].combine_chunks()]
    )
    first = first.set_column(first.schema.get_field_index("part"), "part", parts)
    chosen = sorted(random.Random(3).sample(range(count), count // 2))
    others = [number for number in range(count) if number not in set(chosen)]
    deleted = list(range(count, first.num_rows))
    rows = {
        "bulk_insert": pa.concat_tables([first.take(chosen + deleted), final.take(others)]),
        "upsert": final.take(chosen),
        "delete": first.take(deleted),
    }
    for operation, of_step in rows.items():
        pq.write_table(of_step, folder / f"{operation}.parquet")
    frames = {name: spark.read.parquet(str(folder / f"{name}.parquet")) for name in rows}
    for name, kind in _TYPES.items():
        _write(frames, {**_OF_ENDS, f"{_WRITE}.table.type": kind}, folder / name)
    pq.write_table(final, folder / "rows.parquet")
    pack(folder, extremes.ARCHIVE, (*_TYPES, "rows.parquet"))


def _write_names(spark: SparkSession, folder: Path) -> None:
    """Write the tables, and Apache Hudi's answers as Parquet files beside them."""
    for table in shared_names.HUDI_TABLES:
        version, kind = _VERSIONS_AND_TYPES[table]
        has_metadata = str(table == "one").lower()
        options = {
            **_OF_NAMES,
            "hoodie.write.table.version": version,
            f"{_WRITE}.table.type": kind,
            "hoodie.metadata.enable": has_metadata,
            "hoodie.metadata.index.column.stats.enable": has_metadata,
        }
        if table in shared_names.PARTITIONED:
            options[f"{_WRITE}.partitionpath.field"] = "part"
        first, second = shared_names.rows(table), shared_names.rows(table, 1)
        rows = {"bulk_insert": first, "upsert": second[::2], "delete": second[-_DELETED["names"] :]}
        frames = {name: _frame(spark, table, of_step) for name, of_step in rows.items()}
        _write(frames, options, folder / table)
        answer = spark.read.format("hudi").load(str(folder / table))
        answer.coalesce(1).write.parquet(str(folder / f"{table}.parquet"))
    for table in shared_names.PARQUET_TABLES:
        _frame(spark, table, shared_names.rows(table)).write.parquet(
            str(folder / f"{table}.parquet")
        )
    pack(folder, shared_names.ARCHIVE)


def _frame(spark: SparkSession, table: str, rows: list[dict[str, object]]) -> DataFrame:
    names = list(shared_names.TYPES[table])
    tuples = [tuple(row[name] for name in names) for row in rows]
    return spark.createDataFrame(tuples, shared_names.schema_text(table)).coalesce(1)


def _write(frames: Mapping[str, DataFrame], options: Mapping[str, str], path: Path) -> None:
    """Write frames by their operations to the table of a path."""
    for operation, frame in frames.items():
        writer = frame.write.format("hudi").options(**options)
        writer = writer.option("hoodie.table.name", path.name)
        writer.option(f"{_WRITE}.operation", operation).mode("append").save(str(path))


if __name__ == "__main__":
    main(sys.argv[1:])
