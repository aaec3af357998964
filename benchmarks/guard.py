"""Guard against queries that become slower: processor time and requests of fourteen queries.

    python -m benchmarks.guard            compare with guard.json; the exit code is 1 beyond 15 %
    python -m benchmarks.guard --record   write guard.json anew

Processor time is measured in units of a fixed piece of Python, numpy and pyarrow, which runs in
turn with the queries, so that machines and their load matter little. Of all rounds the lowest
counts. Requests are those of the storage.
"""

from __future__ import annotations

import io
import json
import sys
import tempfile
import time
import zipfile
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.counted_storage import CountedStorage
from benchmarks.spill import write_table
from hudi_pyspark import HudiTable
from hudi_pyspark.table.view import open_table

if TYPE_CHECKING:
    from collections.abc import Callable

GOLDEN = Path(__file__).resolve().parents[1] / "tests" / "golden"
RECORDED = Path(__file__).with_name("guard.json")
TOLERANCE = 1.15
ROUNDS = 12
SMALL, LSM, CDC = "v9_mor_mdt_indexes", "v10_lsm_mor_deletes", "v9_mor_cdc_data_before_after"
LARGE, BLOCKS, WIDE = "large", "blocks", "wide"
LARGE_ROWS = 40_000  # of its base file, and of its log file
# Of the tables that `write_table` writes: rows of the base file, and the arguments that differ.
WRITTEN: dict[str, tuple[int, dict[str, int]]] = {
    LARGE: (LARGE_ROWS, {}),
    BLOCKS: (5_000, {"block_rows": 5}),
    WIDE: (100, {"more_columns": 984}),
}


@dataclass(frozen=True, slots=True)
class Guarded:
    """A query of a table, and how often it runs in a round."""

    table: str
    repeat: int
    run: Callable[[HudiTable], object]


QUERIES = {
    "open": Guarded(SMALL, 20, lambda t: open_table(t.storage).history.commits),
    "plan": Guarded(SMALL, 8, lambda t: t.scan().plan()),
    "plan, folders": Guarded(SMALL, 8, lambda t: t.scan(use_metadata_table=False).plan()),
    "plan, key": Guarded(SMALL, 5, lambda t: t.scan(filter="id = 'id3'").plan()),
    "all rows": Guarded(SMALL, 4, lambda t: t.scan().to_arrow()),
    "one column": Guarded(SMALL, 4, lambda t: t.scan(columns=["name"]).to_arrow()),
    "count": Guarded(SMALL, 4, lambda t: t.scan().count()),
    "incremental": Guarded(SMALL, 4, lambda t: t.scan(begin="000").to_arrow()),
    "changes": Guarded(CDC, 2, lambda t: t.scan(begin="000", cdc=True).to_arrow()),
    "LSM rows": Guarded(LSM, 4, lambda t: t.scan().to_arrow()),
    "merge": Guarded(LARGE, 1, lambda t: t.scan().to_arrow()),
    "merge, one column": Guarded(LARGE, 1, lambda t: t.scan(columns=["fare"]).to_arrow()),
    "1,000 blocks": Guarded(BLOCKS, 1, lambda t: t.scan().to_arrow()),
    "1,000 columns": Guarded(WIDE, 1, lambda t: t.scan().to_arrow()),
}


def reference() -> float:
    """Return the processor time of the unit."""
    begin = time.process_time()
    numbers = np.arange(60_000) * 7919 % 60_013
    texts = pc.cast(pa.array(numbers), pa.string())
    for _ in range(3):
        pc.take(texts, pc.array_sort_indices(texts))
        dict(zip(texts.to_pylist(), np.sort(numbers).tolist(), strict=True))
    return time.process_time() - begin


def measure(query: Guarded, path: Path) -> tuple[float, int]:
    """Return processor time per run, in units, and requests."""
    table = HudiTable(str(path))
    CountedStorage.count(table)
    query.run(table)  # also warms up
    requests = CountedStorage.requests
    del table  # objects of one path share what they have merged
    begin = time.process_time()
    for _ in range(query.repeat):
        query.run(HudiTable(str(path)))
    spent = (time.process_time() - begin) / query.repeat
    return spent / reference(), requests


def measured(folder: Path) -> dict[str, dict[str, float]]:
    """Return the cost and the requests of each query."""
    found: dict[str, dict[str, float]] = {}
    for _ in range(ROUNDS):
        for name, query in QUERIES.items():
            cost, requests = measure(query, folder / query.table)
            known = found.setdefault(name, {"cost": cost, "requests": requests})
            known["cost"] = round(min(cost, known["cost"]), 4)
    return found


def write_tables(folder: Path) -> None:
    for case in (SMALL, LSM, CDC):
        with zipfile.ZipFile(GOLDEN / case / "table.zip") as archive:
            archive.extractall(folder)
    for name, (rows, more) in WRITTEN.items():
        (folder / name).mkdir()
        with redirect_stdout(io.StringIO()):
            write_table(folder / name, rows, rows, **more)


def report(found: dict[str, dict[str, float]], recorded: dict[str, Any]) -> int:
    """Print each query beside its record; return 1 if one is beyond the tolerance."""
    slower = []
    print(f"{'query':18} {'cost':>8} {'recorded':>9} {'requests':>9} {'recorded':>9}")
    for name, now in found.items():
        before = recorded.get(name, now)  # a new query is compared once it is recorded
        is_slower = any(now[what] > before[what] * TOLERANCE for what in ("cost", "requests"))
        slower += [name] * is_slower
        costs = f"{now['cost']:>8.3f} {before['cost']:>9.3f}"
        requests = f"{now['requests']:>9} {before['requests']:>9}"
        print(f"{name:18} {costs} {requests}{'  SLOWER' if is_slower else ''}")
    if slower:
        print(
            f"Beyond {TOLERANCE - 1:.0%}: {', '.join(slower)}. Find out why; where it is worth it,"
        )
        print("record it: python -m benchmarks.guard --record")
    return int(bool(slower))


def main(arguments: list[str]) -> int:
    with tempfile.TemporaryDirectory() as name:
        write_tables(Path(name))
        found = measured(Path(name))
    if arguments == ["--record"]:
        RECORDED.write_text(json.dumps(found, indent=1) + "\n")
    return report(found, json.loads(RECORDED.read_text()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
