"""Seconds and requests to look up keys in a table with a bucket index.

    python -m benchmarks.bucket_index FOLDER [ROWS]

FOLDER is what ``write_bucket_table`` wrote, with that number of rows. Each look-up is made cold, in
a table that has just been opened, and warm, in the same one again with other keys; on this machine,
and as if each request took 20 ms. ``no buckets`` is the same look-up without the index.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from benchmarks.counted_storage import CountedStorage, lap
from hudi_pyspark import HudiTable

if TYPE_CHECKING:
    from collections.abc import Sequence

LATENCIES = (0.0, 0.02)
KEYS = (1, 100)
WITHOUT = "column_stats,bloom_filters"


def main(folder: str, rows: str = "2000000") -> None:
    print("| look-up | latency | state | processor s | seconds | requests | slices |")
    print("|---|---|---|---|---|---|---|")
    for latency in LATENCIES:
        CountedStorage.latency = latency
        for skipping in ("bucket_index", WITHOUT):
            name = "by buckets" if skipping == "bucket_index" else "no buckets"
            for count in KEYS:
                table = None
                for state, offset in (("cold", 1), ("warm", 7)):
                    step = int(rows) // (count + 1)
                    keys = [f"key-{offset + number * step}" for number in range(count)]
                    with lap() as measured:
                        table = table or opened(folder)
                        slices = look_up(table, keys, skipping)
                    print(
                        f"| {count} keys, {name} | {latency * 1000:.0f} ms | {state} "
                        f"| {measured} | {slices:,} |",
                        flush=True,
                    )


def opened(folder: str) -> HudiTable:
    """Open the table; its requests are counted from then on."""
    table = HudiTable(f"{folder}/table")
    CountedStorage.count(table)
    return table


def look_up(table: HudiTable, keys: Sequence[str], skipping: str) -> int:
    """Look up keys, each of which has a row; return how many slices were read."""
    text = ", ".join(f"'{key}'" for key in keys)
    scan = table.scan(["id", "fare"], filter=f"id IN ({text})", data_skipping=skipping)
    found = scan.to_arrow()
    assert sorted(found["id"].to_pylist()) == sorted(keys)
    return len(scan.plan())


if __name__ == "__main__":
    main(*sys.argv[1:])
