"""Processor time of reads whose merges are kept, beside merging each time and bare base files.

    python benchmarks/merge_cache.py [TABLE COLUMN …]

Without a table, one of a million base rows and 200,000 log records is written into a temporary
folder (`spill.py`). Each way reads the same rows, but for the bare base files, which lack those of
the logs; the least of twenty rounds counts. Ways take turns within a round, so that other work on
the machine meets all of them.
"""

from __future__ import annotations

import contextlib
import io
import shutil
import sys
import tempfile
import time
from pathlib import Path

from hudi_pyspark import HudiTable
from hudi_pyspark.scan import Scan

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import spill

ROUNDS = 20
LOG_ROWS = 200_000
WAYS = {
    "bare base files": {"query_type": "read_optimized"},
    "off": {"merge_cache": "off"},
    "memory, cold": {"merge_cache": "memory"},
    "memory, warm": {"merge_cache": "memory"},
    "disk, cold": {"merge_cache": "disk"},
    "disk, warm": {"merge_cache": "disk"},
}


def main(path: str, columns: list[str], kept: str) -> None:
    queries = {
        "count": None,
        ", ".join(columns): columns,
        "all columns": HudiTable(path).schema.names,
    }
    head = " | ".join(WAYS)
    print(f"| Query | {head} |\n|---|{'---:|' * len(WAYS)}")
    for query, wanted in queries.items():
        seconds = {way: [] for way in WAYS}
        for _ in range(ROUNDS):
            shutil.rmtree(kept, ignore_errors=True)
            table = None  # objects of one path share what they have merged
            table = HudiTable(path)
            rows = set()
            for way, options in WAYS.items():
                # A table that has merged nothing yet, except for the way that is warm.
                table = table if way == "memory, warm" else HudiTable(path)
                given = options | {"merge_cache_folder": kept}
                taken, count = measure(table.scan(wanted, **given), is_count=wanted is None)
                seconds[way].append(taken)
                if way != "bare base files":
                    rows.add(count)
            assert len(rows) == 1, rows
        times = " | ".join(f"{min(taken):.3f}" for taken in seconds.values())
        print(f"| {query} | {times} |", flush=True)


def measure(scan: Scan, *, is_count: bool) -> tuple[float, int]:
    """Return the processor time of all threads in seconds, and the number of rows."""
    begin = time.process_time()
    rows = scan.count() if is_count else sum(batch.num_rows for batch in scan.to_batches())
    return time.process_time() - begin, rows


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        given = sys.argv[1:]
        if not given:
            with contextlib.redirect_stdout(io.StringIO()):
                spill.write_table(Path(folder), LOG_ROWS)
            given = [folder, "fare"]
        main(given[0], given[1:], str(Path(folder, "kept")))
