"""Seconds and requests to plan queries of a table with a very long timeline.

    python benchmarks/long_timeline.py [ACTIVE] [ARCHIVED] [--latency MILLISECONDS] [--data FOLDER]

The MERGE_ON_READ table has ten files per active commit (10,000 by default) and an archive (100,000
by default, 1,000 to a file of the LSM history). Requests are those of the storage, each of which
may be delayed; each query opens the table anew, in a new process.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

from benchmarks.counted_storage import CountedStorage  # noqa: E402
from benchmarks.incremental_planning import AVRO_SCHEMA, instant, write_table  # noqa: E402
from benchmarks.lake import plan  # noqa: E402
from hudi_pyspark import HudiTable  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

PER_FILE = 1_000  # archived instants


def write_archive(base: Path, archived: int) -> None:
    """Write the LSM history of a table: instants before the active ones."""
    folder = base / ".hoodie" / "timeline" / "history"
    folder.mkdir()
    body = {"extraMetadata": {"schema": AVRO_SCHEMA}, "operationType": "UPSERT"}
    names = []
    for start in range(0, archived, PER_FILE):
        numbers = range(start, min(start + PER_FILE, archived))
        times = [archived_instant(number, 0) for number in numbers]
        table = pa.table(
            {
                "instantTime": times,
                "completionTime": [archived_instant(number, 500) for number in numbers],
                "action": ["deltacommit"] * len(times),
                "metadata": pa.array([json.dumps(body).encode()] * len(times), pa.binary()),
                "plan": pa.array([b""] * len(times), pa.binary()),
            }
        )
        names.append(f"{times[0]}_{times[-1]}_1.parquet")
        pq.write_table(table, folder / names[-1])
    files = [{"fileName": name, "fileLen": (folder / name).stat().st_size} for name in names]
    (folder / "manifest_1").write_text(json.dumps({"files": files}))
    (folder / "_version_").write_text("1")


def archived_instant(number: int, millis: int) -> str:
    days, seconds = divmod(number, 86_400)
    return f"202401{days + 1:02}{instant(seconds, millis)[8:]}"


def queries(active: int) -> dict[str, Callable[[HudiTable], int]]:
    middle = active // 2
    return {
        "latest snapshot": plan,
        "as of the middle": partial(plan, as_of=instant(middle, 0)),
        "the last commit": partial(plan, begin=instant(active - 2, 500)),
        "ten commits in the middle": partial(
            plan, begin=instant(middle, 500), end=instant(middle + 10, 500)
        ),
        "from the archive on": partial(
            plan,
            begin=archived_instant(10, 500),
            end=instant(9, 500),
            on_missing="full_scan",
        ),
    }


def measure(path: str, name: str, active: int, latency: float) -> None:
    """Run one query in this process and print what it took."""
    warnings.simplefilter("ignore")
    CountedStorage.latency = latency
    begin = time.perf_counter()
    cpu = time.process_time()
    table = HudiTable(path)
    CountedStorage.count(table)
    found = queries(active)[name](table)
    seconds = time.perf_counter() - begin
    cpu = time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    requests = CountedStorage.requests
    print(f"{name:26} {found:>8,} {seconds:>8.2f} {cpu:>8.2f} {peak:>9,.0f} {requests:>9,}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("active", type=int, nargs="?", default=10_000)
    parser.add_argument("archived", type=int, nargs="?", default=100_000)
    parser.add_argument("--latency", type=float, default=0.0, help="milliseconds per request")
    parser.add_argument("--data", type=Path, help="folder that keeps the table for other runs")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        base = (given.data or Path(folder)) / f"{given.active}-{given.archived}"
        if not base.exists():
            write_table(base, "MERGE_ON_READ", given.active)
            write_archive(base, given.archived)
        print(f"{given.active:,} active and {given.archived:,} archived instants")
        print(
            f"{'query':26} {'tasks':>8} {'seconds':>8} {'cpu':>8} {'peak MiB':>9} {'requests':>9}"
        )
        for name in queries(given.active):
            arguments = (str(base), name, given.active, given.latency / 1000)
            code = f"from benchmarks.long_timeline import measure; measure(*{arguments!r})"
            subprocess.run([sys.executable, "-c", code], cwd=PROJECT, check=True)


if __name__ == "__main__":
    main()
