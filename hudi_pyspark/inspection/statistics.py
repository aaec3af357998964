"""The sizes and ratios of a table, and of its partitions."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hudi_pyspark.errors import CorruptTableError, UnsupportedTableError
from hudi_pyspark.inspection.commits import file_kind
from hudi_pyspark.inspection.files import (
    commits_of_files,
    committed_by_path,
    files,
    stored_files,
)
from hudi_pyspark.inspection.timeline import counts
from hudi_pyspark.table.partition import partition_scalars
from hudi_pyspark.table.schema import resolve_schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hudi_pyspark.table.file_group import FileSlice
    from hudi_pyspark.table.file_groups import CommittedFile
    from hudi_pyspark.table.view import TableView

SMALL_FILE_BYTES = 104_857_600

STATISTICS = pa.schema(
    [
        *counts("partitions", "file_groups", "base_files", "base_bytes", "log_files", "log_bytes"),
        ("log_to_base_ratio", pa.float64()),
        *counts("slices_with_logs", "small_files"),
        *counts("stored_files", "stored_bytes", "older_bytes", "cdc_bytes", "uncommitted_bytes"),
        *counts("commits", "changed_records", "written_records"),
        ("write_amplification", pa.float64()),
        ("pending_compactions", pa.int64()),
    ]
)
_COLUMNS = (
    ("partition_path", pa.string()),
    *counts("slices", "base_files", "log_files", "bytes", "log_bytes"),
    *counts("stored_files", "stored_bytes", "rows"),
    ("last_commit", pa.string()),
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


def partitions_schema(view: TableView) -> pa.Schema:
    """Return the columns of `partitions`; the type of `partition` depends on the table."""
    types = _value_types(view)
    if not types:
        return pa.schema(_COLUMNS)
    values = pa.field("partition", pa.struct(list(types.items())))
    return pa.schema([_COLUMNS[0], values, *_COLUMNS[1:]])


def partitions(view: TableView) -> pa.Table:
    """Return one row per partition; see `Inspection.partitions`."""
    schema = partitions_schema(view)
    stored = [file for file in stored_files(view) if file.name is not None]
    committed = committed_by_path(commits_of_files(view, stored))
    slices: dict[str, list[FileSlice]] = defaultdict(list)
    for file_slice in view.file_slices(check_files=False):
        slices[file_slice.partition_path].append(file_slice)
    types = _value_types(view)
    rows = []
    for path in sorted({*view.listing.partitions(), *slices}):
        here = slices[path]
        bases = [s.base_file for s in here if s.base_file is not None]
        logs = [log for s in here for log in s.log_files]
        files = [file for file in stored if file.partition_path == path]
        writers = [committed[f.path].committed_by for f in files if f.path in committed]
        rows.append(
            {
                "partition_path": path,
                "partition": _values(path, view, types),
                "slices": len(here),
                "base_files": len(bases),
                "log_files": len(logs),
                "bytes": sum(base.size for base in bases) + sum(log.size for log in logs),
                "log_bytes": sum(log.size for log in logs),
                "stored_files": len(files),
                "stored_bytes": sum(file.size for file in files),
                "rows": _rows(here, committed),
                "last_commit": max(writers, default=None),
            }
        )
    return pa.Table.from_pylist(rows, schema=schema)


def _rows(slices: list[FileSlice], committed: Mapping[str, CommittedFile]) -> int | None:
    """Return the number of rows that commits recorded; None where log files must be merged."""
    count = 0
    for file_slice in slices:
        base = file_slice.base_file
        if base is None or file_slice.log_files or base.path not in committed:
            return None
        count += committed[base.path].rows
    return count


def _value_types(view: TableView) -> dict[str, pa.DataType]:
    """Return the types of the partition columns; text where folder names are formatted times."""
    config = view.config
    try:
        schema = resolve_schema(view)
    except UnsupportedTableError:  # nothing has been written yet
        schema = pa.schema([])
    return {
        name: schema.field(name).type
        if name in schema.names and name not in config.timestamp_partition_fields
        else pa.string()
        for name in config.partition_fields
    }


def _values(path: str, view: TableView, types: dict[str, pa.DataType]) -> dict[str, Any] | None:
    """Return the values of the partition columns; None if the path does not fit them."""
    try:
        return {
            name: value.as_py()
            for name, value in partition_scalars(path, view.config, types).items()
        }
    except CorruptTableError:
        return None
