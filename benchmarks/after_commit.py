"""Processor time of the first query after a commit, while a table of one slice grows by log files.

    python benchmarks/after_commit.py [SHARE …]

A share is that of the base rows which a log file has: 0.01 and 0.1 by default, of a million rows.
One record in ten is an insert. In each round the table grows log file by log file, and each query
is asked after each commit. The least of all rounds counts. `off` merges anew, `bare` reads the base
file alone.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from hudi_pyspark import HudiTable

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import spill

ROWS = 1_000_000
ROUNDS = 3
SHARES = {0.01: (1, 2, 5, 20, 50), 0.1: (1, 2, 5)}  # and log files after which the time is shown
QUERIES = {"count": None, "one column": ["fare"], "all columns": spill.COLUMNS}
OTHERS = {"off": {"merge_cache": "off"}, "bare": {"query_type": "read_optimized"}}


def main(shares: list[float]) -> None:
    print("| log records | log files | query | first after a commit | again | off | bare |")
    print("|---:|---:|---|---:|---:|---:|---:|")
    for share in shares:
        seconds: dict[tuple[int, str], dict[str, float]] = {}
        for query, columns in QUERIES.items():
            for _ in range(ROUNDS):
                with tempfile.TemporaryDirectory() as folder:
                    ask_while_growing(Path(folder), share, query, columns, seconds)
        for (count, query), ways in seconds.items():
            spelled = " | ".join(f"{least:.3f}" for least in ways.values())
            print(f"| {share:.0%} | {count} | {query} | {spelled} |", flush=True)


def ask_while_growing(
    folder: Path,
    share: float,
    query: str,
    columns: list[str] | None,
    seconds: dict[tuple[int, str], dict[str, float]],
) -> None:
    write_base(folder)
    shown = SHARES.get(share, (1, 2, 5))
    table = HudiTable(str(folder))
    for number in range(1, max(shown) + 1):
        add_log_file(folder, number, share)
        table = table.refresh()
        first, rows = measure(table, columns)
        if number not in shown:
            continue
        ways = {"first": first, "again": measure(table, columns)[0]}
        counts = {rows}
        for way, options in OTHERS.items():
            ways[way], count = measure(table, columns, **options)
            counts |= {count} if way == "off" else set()
        assert len(counts) == 1, counts
        least = seconds.setdefault((number, query), ways)
        seconds[number, query] = {way: min(least[way], ways[way]) for way in ways}


def measure(table: HudiTable, columns: list[str] | None, **options: str) -> tuple[float, int]:
    """Return processor time and rows of a query."""
    begin = time.process_time()
    scan = table.scan(columns, **options)
    rows = scan.count() if columns is None else sum(b.num_rows for b in scan.to_batches())
    return time.process_time() - begin, rows


def write_base(folder: Path) -> None:
    (folder / ".hoodie").mkdir()
    (folder / ".hoodie" / "hoodie.properties").write_text(spill.PROPERTIES)
    (folder / ".hoodie_partition_metadata").write_bytes(b"commitTime=0")
    pq.write_table(spill.base_rows(ROWS), folder / spill.BASE_FILE)
    spill.write_commit(folder, spill.BASE_INSTANT, spill.BASE_FILE)


def add_log_file(folder: Path, number: int, share: float) -> None:
    random = np.random.default_rng(number)
    ordering = np.zeros(round(ROWS * 1.1))
    instant = f"202501010000{number:02}000" if number < 60 else f"202501010001{number - 60:02}000"
    name = f".{spill.FILE_ID}_{spill.BASE_INSTANT}.log.{number}_0-{number}-0"
    with (folder / name).open("wb") as file:
        spill.write_data_block(file, random, ordering, round(ROWS * share), instant)
    spill.write_commit(folder, instant, name)


if __name__ == "__main__":
    main([*map(float, sys.argv[1:])] or [*SHARES])
