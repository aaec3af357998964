"""Processor time of reading a few rows of a base file by record key, from their pages or whole.

    python benchmarks/page_reads.py [rows] [rounds]

Writes one GZIP Parquet file with pyarrow, of the default size and page size of Apache Hudi's base
files: five meta columns and twelve typical ones. Reads the rows of 1, 10 and 100 keys, all columns
and three, in alternating rounds with and without `read_keyed_rows`; prints the medians.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hudi_pyspark.reading.base_files import parquet
from hudi_pyspark.reading.base_files.base_file import read_base_file
from hudi_pyspark.reading.base_files.page_reads import read_keyed_rows
from hudi_pyspark.reading.base_files.parquet import RowGroupFilter
from hudi_pyspark.storage import ArrowStorage

KEY = "_hoodie_record_key"
UNIQUE = (KEY, "uuid", "_hoodie_commit_seqno", "fare", "tip", "distance")
THREE = [KEY, "fare", "distance"]
BATCH_ROWS = 65_536


def trips(count: int) -> pa.Table:
    rng = random.Random(7)
    numbers = np.random.default_rng(7)
    keys = [f"{rng.getrandbits(128):032x}" for _ in range(count)]
    return pa.table(
        {
            "_hoodie_commit_time": ["20250316025816068"] * count,
            "_hoodie_commit_seqno": [f"20250316025816068_3_{n}" for n in range(count)],
            KEY: keys,
            "_hoodie_partition_path": ["city=chennai"] * count,
            "_hoodie_file_name": ["6c2f6b33-2f6e-4d2a-9b6f-6a8a1fb1f5a1-0_3-1-0.parquet"] * count,
            "uuid": keys,
            "rider": [f"rider-{n}" for n in numbers.integers(0, 1000, count)],
            "driver": [f"driver-{n}" for n in numbers.integers(0, 100_000, count)],
            "distance": numbers.integers(0, 1 << 40, count),
            "updated_at": pa.array(numbers.integers(1 << 50, 1 << 51, count)).cast(
                pa.timestamp("us", "UTC")
            ),
            "fare": numbers.random(count) * 100,
            "tip": numbers.random(count) * 10,
            "seats": numbers.integers(0, 6, count).astype(np.int32),
            "day": pa.array(numbers.integers(20_000, 20_300, count).astype(np.int32)).cast(
                pa.date32()
            ),
            "is_paid": numbers.random(count) < 0.9,
            "note": [f"{rng.getrandbits(256):064x}"[:n] for n in numbers.integers(0, 60, count)],
            "city": ["chennai"] * count,
        }
    )


def read_seconds(storage: ArrowStorage, columns: list[str], keys: tuple[str, ...]) -> float:
    begin = time.process_time()
    wanted = RowGroupFilter(record_keys=keys)
    for table in read_base_file(storage, "base.parquet", columns, BATCH_ROWS, wanted):
        table.filter(pc.is_in(table.column(KEY), value_set=pa.array(keys)))
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
            row_group_size=rows,
            max_rows_per_page=20_000,
        )
        storage = ArrowStorage.parse(folder)
        reads = {"pages": read_keyed_rows, "whole": lambda *_: None}
        for count in (1, 10, 100):
            keys = tuple(table.column(KEY)[:: -(-rows // count)].to_pylist())
            for columns in (table.schema.names, THREE):
                seconds: dict[str, list[float]] = {name: [] for name in reads}
                for _ in range(rounds):
                    for name, read in reads.items():
                        with patch.object(parquet, "read_keyed_rows", read):
                            seconds[name].append(read_seconds(storage, columns, keys))
                pages, whole = (statistics.median(seconds[name]) for name in reads)
                print(
                    f"{count:3} keys, {len(columns):2} columns: pages {pages:.3f} s, "
                    f"whole {whole:.3f} s, {whole / pages:.2f} times"
                )


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:]]
    main(*(numbers + [1_300_000, 5][len(numbers) :]))
