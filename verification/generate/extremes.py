"""Have Apache Hudi write the tables of `verification/random_plans/extremes.zip`.

    PYTHONPATH=. python verification/generate/extremes.py hudi-spark3.5-bundle_2.12-1.2.0.jar

It runs beside PySpark 3.5. The rows are those of `verification.random_plans.extremes`: a copy of
them in Parquet is in the same archive, so that no reader of tables decides what is expected.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from verification.common.archives import pack
from verification.generate.session import hudi_session
from verification.random_plans.extremes import ARCHIVE, rows

_OPTIONS = {
    "hoodie.datasource.write.recordkey.field": "k",
    "hoodie.datasource.write.precombine.field": "ordering",
    "hoodie.datasource.write.partitionpath.field": "part",
    "hoodie.datasource.write.hive_style_partitioning": "true",
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.compact.inline": "false",
    "hoodie.parquet.max.file.size": "60000",
    "hoodie.parquet.small.file.limit": "0",
    "hoodie.bulkinsert.shuffle.parallelism": "2",
    "hoodie.upsert.shuffle.parallelism": "2",
}


def main() -> None:
    """Write a table of each type, and the archive."""
    os.environ["TZ"] = "UTC"
    settings = {
        f"spark.sql.{kind}.datetimeRebaseModeIn{way}": "CORRECTED"
        for kind in ("parquet", "avro")
        for way in ("Write", "Read")
    }
    spark = hudi_session(sys.argv[1], settings)
    final = rows()
    # Half of the rows have other values at first; a few more are deleted in the end.
    first = rows(seed=2, count=final.num_rows + 8)
    parts = pa.concat_arrays([final["part"].combine_chunks(), first["part"][-8:].combine_chunks()])
    first = first.set_column(first.schema.get_field_index("part"), "part", parts)
    chosen = sorted(random.Random(3).sample(range(final.num_rows), final.num_rows // 2))
    others = [number for number in range(final.num_rows) if number not in set(chosen)]
    deleted = list(range(final.num_rows, first.num_rows))
    begin = pa.concat_tables([first.take(chosen + deleted), final.take(others)])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        steps = {"begin": begin, "update": final.take(chosen), "delete": first.take(deleted)}
        for step, table in steps.items():
            pq.write_table(table, folder / f"{step}.parquet")
        for kind in ("cow", "mor"):
            options = _OPTIONS | {"hoodie.table.name": kind}
            options["hoodie.datasource.write.table.type"] = (
                "COPY_ON_WRITE" if kind == "cow" else "MERGE_ON_READ"
            )
            for step, operation in (("begin", "bulk_insert"), ("update", "upsert"), ("delete",) * 2):
                frame = spark.read.parquet(str(folder / f"{step}.parquet"))
                writer = frame.write.format("hudi").options(**options)
                writer.option("hoodie.datasource.write.operation", operation).mode("append").save(
                    str(folder / kind)
                )
        pq.write_table(final, folder / "rows.parquet")
        pack(folder, ARCHIVE, ("cow", "mor", "rows.parquet"))
    spark.stop()


if __name__ == "__main__":
    main()
