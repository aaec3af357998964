"""Write a table with a secondary index with Apache Hudi, in the environment of Spark 3.5.

    python -m benchmarks.write_secondary_table FOLDER JAR [FILES [ROWS]]

Writes ``FOLDER/table``: a COPY_ON_WRITE table of FILES base files, a record index, and a secondary
index on ``customer``, of whom each has four rows in random files.
"""

from __future__ import annotations

import sys

from benchmarks.spark_session import hudi_session

INDEXES = {
    "hoodie.metadata.index.column.stats.enable": "false",
    "hoodie.metadata.index.partition.stats.enable": "false",
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.global.record.level.index.enable": "true",
    "hoodie.write.lock.provider": ("org.apache.hudi.client.transaction.lock.InProcessLockProvider"),
}
OPTIONS = {
    "hoodie.table.name": "orders",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "",
    "hoodie.datasource.write.keygenerator.class": (
        "org.apache.hudi.keygen.NonpartitionedKeyGenerator"
    ),
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.operation": "bulk_insert",
    "hoodie.bulkinsert.sort.mode": "NONE",
    "hoodie.index.bloom.num_entries": "1000",
}


def main(folder: str, jar: str, files: str = "1000", rows: str = "400000") -> None:
    spark = hudi_session(jar)
    orders = spark.range(0, int(rows), 1, int(files)).selectExpr(
        "concat('key-', id) AS id",
        "id AS ts",
        f"concat('customer-', pmod(hash(id), {int(rows) // 4})) AS customer",
        "cast(id AS double) / 7 AS amount",
    )
    writer = orders.write.format("hudi").options(**OPTIONS, **INDEXES)
    writer.option("hoodie.bulkinsert.shuffle.parallelism", files).save(f"{folder}/table")
    for key, value in INDEXES.items():
        spark.conf.set(key, value)
    spark.sql(f"CREATE TABLE orders USING hudi LOCATION '{folder}/table'")
    spark.sql("CREATE INDEX by_customer ON orders (customer)")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
