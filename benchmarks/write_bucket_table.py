"""Write a table with a bucket index with Apache Hudi, in the environment of Spark 3.5.

    python -m benchmarks.write_bucket_table FOLDER JAR [ROWS [BUCKETS [ENGINE]]]

Writes ``FOLDER/table``: a MERGE_ON_READ table of four partitions, two of them with base files and
two with only log files. ENGINE is SIMPLE or CONSISTENT_HASHING.
"""

from __future__ import annotations

import sys

from benchmarks.spark_session import hudi_session

OPTIONS = {
    "hoodie.table.name": "buckets",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "part",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.index.type": "BUCKET",
    "hoodie.bucket.index.hash.field": "id",
    "hoodie.metadata.enable": "false",
    "hoodie.compact.inline": "false",
    "hoodie.clean.automatic": "false",
    "hoodie.embed.timeline.server": "false",
    "hoodie.upsert.shuffle.parallelism": "4",
    "hoodie.finalize.write.parallelism": "4",
    "hoodie.markers.delete.parallelism": "4",
}


def main(
    folder: str, jar: str, rows: str = "2000000", buckets: str = "256", engine: str = "SIMPLE"
) -> None:
    spark = hudi_session(jar)
    options = {
        **OPTIONS,
        "hoodie.bucket.index.num.buckets": buckets,
        "hoodie.index.bucket.engine": engine,
    }
    ids = spark.range(0, int(rows), 1, 4).selectExpr(
        "concat('key-', id) as id",
        "id as ts",
        "concat('p', id % 4) as part",
        "cast(id as double) / 7 as fare",
        "concat('rider ', id % 1000) as rider",
    )
    for condition, operation in (("part < 'p2'", "bulk_insert"), ("part >= 'p2'", "upsert")):
        writer = ids.where(condition).write.format("hudi").options(**options)
        writer = writer.option("hoodie.datasource.write.operation", operation)
        writer.mode("append").save(f"{folder}/table")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
