"""The sizes and ratios of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_pyspark.inspection.commits import file_kind
from hudi_pyspark.inspection.files import files

if TYPE_CHECKING:
    from hudi_pyspark.table.view import TableView

SMALL_FILE_BYTES = 104_857_600

STATISTICS = pa.schema(
    [
        ("partitions", pa.int64()),
        ("file_groups", pa.int64()),
        ("base_files", pa.int64()),
        ("base_bytes", pa.int64()),
        ("log_files", pa.int64()),
        ("log_bytes", pa.int64()),
        ("log_to_base_ratio", pa.float64()),
        ("slices_with_logs", pa.int64()),
        ("small_files", pa.int64()),
        ("stored_files", pa.int64()),
        ("stored_bytes", pa.int64()),
        ("older_bytes", pa.int64()),
        ("cdc_bytes", pa.int64()),
        ("uncommitted_bytes", pa.int64()),
        ("commits", pa.int64()),
        ("changed_records", pa.int64()),
        ("written_records", pa.int64()),
        ("write_amplification", pa.float64()),
        ("pending_compactions", pa.int64()),
    ]
)


def statistics(view: TableView, small_file_bytes: int) -> pa.Table:
    """Return one row; see `Inspection.statistics`."""
    slices = view.file_slices(check_files=False)
    bases = [s.base_file for s in slices if s.base_file is not None]
    logs = [log for s in slices for log in s.log_files]
    base_bytes, log_bytes = sum(b.size for b in bases), sum(log.size for log in logs)
    stored = files(view).select(["kind", "bytes", "is_committed", "in_latest_slice"]).to_pylist()
    changed, written = _amplification(view)
    row = {
        "partitions": len(view.listing.partitions()),
        "file_groups": len(slices),
        "base_files": len(bases),
        "base_bytes": base_bytes,
        "log_files": len(logs),
        "log_bytes": log_bytes,
        "log_to_base_ratio": log_bytes / base_bytes if base_bytes else None,
        "slices_with_logs": sum(bool(s.log_files) for s in slices),
        "small_files": sum(base.size < small_file_bytes for base in bases),
        "stored_files": len(stored),
        "stored_bytes": sum(file["bytes"] for file in stored),
        "older_bytes": sum(
            f["bytes"]
            for f in stored
            if f["kind"] != "cdc" and f["is_committed"] and not f["in_latest_slice"]
        ),
        "cdc_bytes": sum(f["bytes"] for f in stored if f["kind"] == "cdc"),
        "uncommitted_bytes": sum(f["bytes"] for f in stored if not f["is_committed"]),
        "commits": len(view.commits),
        "changed_records": changed,
        "written_records": written,
        "write_amplification": written / changed if changed else None,
        "pending_compactions": len(view.timeline.pending_compactions),
    }
    return pa.Table.from_pylist([row], schema=STATISTICS)


def _amplification(view: TableView) -> tuple[int, int]:
    """Return the number of records that users changed, and that users and services wrote."""
    changed = written = 0
    for metadata in view.commit_metadata.of(view.commit_metadata).values():
        for _, stat in metadata.all_stats():
            # A delete removes a record from a base file, but writes one to a log file.
            is_log = file_kind(stat.path) == "log"
            written += stat.num_writes + (stat.num_deletes if is_log else 0)
            if not metadata.operation_type.is_table_service:
                changed += stat.num_inserts + stat.num_update_writes + stat.num_deletes
    return changed, written
