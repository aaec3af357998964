"""Processor time that is saved by not reading a column that repeats the record key.

    python benchmarks/duplicate_key_column.py [rows] [rounds]

Writes one GZIP Parquet file with pyarrow, as Apache Hudi lays out its base files: five meta
columns and twelve typical ones, of which ``uuid`` is the record key once more. Reads all columns of
it, in alternating rounds with and without the search for that column, and prints the medians and
their ratio.
"""

from __future__ import annotations

import datetime as dt
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hudi_pyspark.reading.base_files import parquet
from hudi_pyspark.reading.base_files.base_file import read_base_file
from hudi_pyspark.storage import ArrowStorage

UNIQUE = ("_hoodie_record_key", "uuid", "_hoodie_commit_seqno", "fare", "tip", "distance")
SEARCH = parquet.find_duplicate_key_column
BATCH_ROWS = 65_536


def trips(count: int) -> pa.Table:
    rng, numbers = random.Random(7), np.random.default_rng(7)
    keys = [f"{rng.getrandbits(128):032x}" for _ in range(count)]
    start = dt.datetime(2025, 3, 16, tzinfo=dt.timezone.utc).timestamp()
    seconds = start + numbers.random(count) * 1e7
    return pa.table(
        {
            "_hoodie_commit_time": ["20250316025816068"] * count,
            "_hoodie_commit_seqno": [f"20250316025816068_3_{n}" for n in range(count)],
            "_hoodie_record_key": keys,
            "_hoodie_partition_path": ["city=chennai"] * count,
            "_hoodie_file_name": ["6c2f6b33-2f6e-4d2a-9b6f-6a8a1fb1f5a1-0_3-1-0.parquet"] * count,
            "uuid": keys,
            "rider": [f"rider-{n}" for n in numbers.integers(0, 1000, count)],
            "driver": [f"driver-{n}" for n in numbers.integers(0, 100_000, count)],
            "distance": numbers.integers(0, 1 << 40, count),
            "updated_at": pa.array((seconds * 1e6).astype(np.int64)).cast(
                pa.timestamp("us", "UTC")
            ),
            "fare": numbers.random(count) * 100,
            "tip": numbers.random(count) * 10,
            "seats": numbers.integers(0, 6, count).astype(np.int32),
            "day": pa.array((seconds // 86_400).astype(np.int32)).cast(pa.date32()),
            "is_paid": numbers.random(count) < 0.9,
            "note": [f"{rng.getrandbits(256):064x}"[:n] for n in numbers.integers(0, 60, count)],
            "city": ["chennai"] * count,
        }
    )


def read_seconds(storage: ArrowStorage, name: str, columns: list[str]) -> float:
    begin = time.process_time()
    for _ in read_base_file(storage, name, columns, BATCH_ROWS):
        pass
    return time.process_time() - begin


def main(rows: int, rounds: int) -> None:
    table = trips(rows)
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(
            table,
            Path(folder) / "base.parquet",
            compression="gzip",
            use_dictionary=[name for name in table.schema.names if name not in UNIQUE],
            write_page_index=True,
            store_schema=False,  # as parquet-mr
        )
        storage = ArrowStorage.parse(folder)
        searches = {"with": SEARCH, "without": lambda *_: None}
        seconds: dict[str, list[float]] = {name: [] for name in searches}
        for _ in range(rounds):
            for name, search in searches.items():
                parquet.find_duplicate_key_column = search
                seconds[name].append(read_seconds(storage, "base.parquet", table.schema.names))
    medians = {name: statistics.median(found) for name, found in seconds.items()}
    for name, value in medians.items():
        print(f"{name:<8} the search: {value:.3f} s of processor time")
    print(f"ratio {medians['with'] / medians['without']:.3f}")


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:]]
    main(*(numbers + [1_000_000, 11][len(numbers) :]))
