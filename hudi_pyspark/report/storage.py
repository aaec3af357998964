"""Where the bytes of a table are: partitions, sizes of files, file groups, and their log files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.inspection.statistics import SMALL_FILE_BYTES
from hudi_pyspark.plot.file_groups import largest_groups, older_bytes

if TYPE_CHECKING:
    from hudi_pyspark.report.facts import Facts

MOST_PARTITIONS = 200  # shown one by one
MOST_GROUPS = 100
LARGEST_FILE_BYTES = 125_829_120  # hoodie.parquet.max.file.size, 120 MiB
_KIB = 1024
# Between powers of two of a KiB up to a TiB.
_EDGES = [0, *(_KIB << power for power in range(31))]


def storage_section(facts: Facts) -> dict[str, Any]:
    """Return the largest partitions and file groups, and the histogram of base files."""
    slices, statistics = facts.slices, facts.statistics
    older = older_bytes(facts.files)
    names = ("partition_path", "file_id", "base_instant_time", "base_bytes", "log_count")
    groups = [
        {
            **{name: group[name] for name in (*names, "log_bytes")},
            "older_bytes": older.get((group["partition_path"], group["file_id"]), 0),
        }
        for group in largest_groups(slices, MOST_GROUPS)
    ]
    base_bytes, log_bytes = statistics["base_bytes"], statistics["log_bytes"]
    return {
        "partitions": _largest_partitions(facts.partitions),
        "other_partitions": _rest(facts.partitions),
        "histogram": histogram(slices["base_bytes"]),
        "small_file_bytes": SMALL_FILE_BYTES,
        "largest_file_bytes": LARGEST_FILE_BYTES,
        "groups": groups,
        "read_optimized_bytes": base_bytes,
        "snapshot_bytes": base_bytes + log_bytes,
        "snapshot_factor": (base_bytes + log_bytes) / base_bytes if base_bytes else None,
    }


def _ordered(partitions: pa.Table) -> pa.Table:
    keys = [("bytes", "descending"), ("partition_path", "ascending")]
    return partitions.take(pc.sort_indices(partitions, sort_keys=keys))


def _largest_partitions(partitions: pa.Table) -> list[dict[str, Any]]:
    shown = _ordered(partitions).slice(0, MOST_PARTITIONS)
    names = [name for name in shown.column_names if name != "partition"]  # which the path has
    rows: list[dict[str, Any]] = shown.select(names).to_pylist()
    return rows


def _rest(partitions: pa.Table) -> dict[str, int]:
    """Return the sums of the partitions that are not shown one by one."""
    rest = _ordered(partitions).slice(MOST_PARTITIONS)
    sums = {name: pc.sum(rest[name]).as_py() or 0 for name in ("slices", "bytes", "log_bytes")}
    return {"partitions": rest.num_rows, **sums}


def histogram(sizes: pa.ChunkedArray) -> list[dict[str, int]]:
    """Count files between powers of two of a KiB, from the first such range to the last."""
    rows = []
    for low, high in zip(_EDGES, [*_EDGES[1:], 1 << 62], strict=True):
        within = sizes.filter(pc.and_(pc.greater_equal(sizes, low), pc.less(sizes, high)))
        total = pc.sum(within).as_py() or 0
        rows.append({"from": low, "to": high, "files": len(within), "bytes": total})
    used = [place for place, row in enumerate(rows) if row["files"]]
    return rows[used[0] : used[-1] + 1] if used else []
