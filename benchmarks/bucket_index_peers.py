"""Seconds that peers take for the look-ups of `bucket_index`, with what they take as options.

    python -m benchmarks.bucket_index_peers FOLDER ROWS        hudi-rs
    python -m benchmarks.bucket_index_peers FOLDER ROWS JAR    Apache Hudi, in Spark 3.5

Each look-up is made once to warm the engine up, and then with other keys, which are measured: all
threads and processes of the engine count.
"""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

from benchmarks.usage import watched

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

KEYS = (1, 100)
BUCKET_OPTIONS = {
    "hoodie.index.type": "BUCKET",
    "hoodie.bucket.index.num.buckets": "256",
    "hoodie.bucket.index.hash.field": "id",
    "hoodie.enable.data.skipping": "true",
    "hoodie.metadata.enable": "true",
}


def main(folder: str, rows: str, jar: str = "") -> None:
    path = f"{folder}/table"
    engines = hudi_in_spark(path, jar) if jar else {"hudi-rs": hudi_rs(path)}
    print("| look-up | processor s | seconds |")
    print("|---|---|---|")
    for name, look_up in engines.items():
        for count in KEYS:
            step = int(rows) // (count + 1)
            look_up([f"key-{1 + number * step}" for number in range(count)])
            keys = [f"key-{7 + number * step}" for number in range(count)]
            begin = time.perf_counter()
            with watched(os.getpid()) as usage:
                found = look_up(keys)
            seconds = time.perf_counter() - begin
            assert sorted(found) == sorted(keys)
            print(f"| {count} keys, {name} | {usage.cpu_seconds:.2f} | {seconds:.2f} |", flush=True)


def hudi_rs(path: str) -> Callable[[Sequence[str]], list[str]]:
    """Return a look-up by hudi-rs, which filters rows by what it can of the condition."""
    import hudi  # only one of the two environments has it

    def look_up(keys: Sequence[str]) -> list[str]:
        condition = ("id", "=", keys[0]) if len(keys) == 1 else ("id", "IN", ",".join(keys))
        options = hudi.HudiReadOptions().with_projection(["id", "fare"]).with_filters([condition])
        batches = hudi.HudiTable(path).read_stream(options)
        return [key for batch in batches for key in batch["id"].to_pylist() if key in keys]

    return look_up


def hudi_in_spark(path: str, jar: str) -> dict[str, Callable[[Sequence[str]], list[str]]]:
    """Return look-ups by Apache Hudi, by what is said of its index."""
    from benchmarks.spark_session import hudi_session  # hudi-rs needs no Spark

    spark = hudi_session(jar)

    def reader(options: dict[str, str]) -> Callable[[Sequence[str]], list[str]]:
        def look_up(keys: Sequence[str]) -> list[str]:
            frame = spark.read.format("hudi").options(**options).load(path).select("id", "fare")
            texts = ", ".join(f"'{key}'" for key in keys)
            return [row.id for row in frame.where(f"id IN ({texts})").collect()]

        return look_up

    return {"Apache Hudi": reader({}), "Apache Hudi, bucket options": reader(BUCKET_OPTIONS)}


if __name__ == "__main__":
    main(*sys.argv[1:])
