"""Seconds and requests to look up rows by a column with a secondary index.

    python -m benchmarks.secondary_index FOLDER [ROWS]
    python -m benchmarks.secondary_index FOLDER ROWS JAR     # Apache Hudi, with Spark 3.5

FOLDER is what ``write_secondary_table`` wrote, with that number of rows. Each look-up is made cold,
in a table that has just been opened, and warm, in the same one again with another customer.
"""

from __future__ import annotations

import os
import sys
import time

KEY = "hoodie.enable.data.skipping"


def main(folder: str, rows: str = "400000", jar: str = "") -> None:
    customers = [f"customer-{int(rows) // 4 * part // 10}" for part in (3, 7)]
    print("| look-up | state | processor s | seconds | requests | slices |")
    print("|---|---|---|---|---|---|")
    (by_hudi if jar else by_hudi_py)(folder, customers, jar)


def by_hudi_py(folder: str, customers: list[str], _: str) -> None:
    from benchmarks.bucket_index import opened
    from benchmarks.counted_storage import lap

    for trusted in ("false", "secondary"):
        table = None
        for state, customer in zip(("cold", "warm"), customers, strict=True):
            with lap() as measured:
                table = table or opened(folder)
                scan = table.scan(filter=f"customer = '{customer}'", trust_indexes=trusted)
                count = scan.to_arrow().num_rows
            print(
                f"| trust_indexes={trusted}: {count} rows | {state} | {measured} "
                f"| {len(scan.plan()):,} |",
                flush=True,
            )


def by_hudi(folder: str, customers: list[str], jar: str) -> None:
    from benchmarks.spark_session import hudi_session
    from benchmarks.usage import watched

    spark = hudi_session(jar)
    for skipping in ("warm-up", "false", "true"):
        for state, customer in zip(("cold", "warm"), customers, strict=True):
            begin = time.perf_counter()
            with watched(os.getpid()) as usage:
                frame = spark.read.format("hudi").option(KEY, str(skipping == "true").lower())
                found = frame.load(f"{folder}/table").where(f"customer = '{customer}'")
                count = len(found.collect())
            seconds = time.perf_counter() - begin
            print(
                f"| Apache Hudi, {skipping}: {count} rows | {state} | {usage.cpu_seconds:.2f} "
                f"| {seconds:.2f} | | |",
                flush=True,
            )
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
