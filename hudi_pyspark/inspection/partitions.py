"""Partitions of a table and what they hold."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hudi_pyspark.errors import CorruptTableError, UnsupportedTableError
from hudi_pyspark.inspection.files import commits_of_files, stored_files, writes
from hudi_pyspark.table.partition import partition_scalars
from hudi_pyspark.table.schema import resolve_schema

if TYPE_CHECKING:
    from hudi_pyspark.format.timeline.commit_metadata import WriteStat
    from hudi_pyspark.table.file_group import FileSlice
    from hudi_pyspark.table.view import TableView

_COLUMNS = (
    pa.field("partition_path", pa.string()),
    pa.field("slices", pa.int64()),
    pa.field("base_files", pa.int64()),
    pa.field("log_files", pa.int64()),
    pa.field("bytes", pa.int64()),
    pa.field("log_bytes", pa.int64()),
    pa.field("stored_files", pa.int64()),
    pa.field("stored_bytes", pa.int64()),
    pa.field("rows", pa.int64()),
    pa.field("last_commit", pa.string()),
)


def partitions_schema(view: TableView) -> pa.Schema:
    """Columns of `partitions`; that of the values depends on the table."""
    types = _value_types(view)
    if not types:
        return pa.schema(_COLUMNS)
    values = pa.field("partition", pa.struct(list(types.items())))
    return pa.schema([_COLUMNS[0], values, *_COLUMNS[1:]])


def partitions(view: TableView) -> pa.Table:
    """One row per partition; see `Inspection.partitions`."""
    schema = partitions_schema(view)
    stored = stored_files(view)
    by_path = {path: (time, stat) for path, time, stat in writes(commits_of_files(view, stored))}
    slices: dict[str, list[FileSlice]] = defaultdict(list)
    for file_slice in view.file_slices(check_files=False):
        slices[file_slice.partition_path].append(file_slice)
    types = _value_types(view)
    rows = []
    for path in sorted({*view.listing.partitions(), *slices}):
        chosen = slices[path]
        bases = [s.base_file for s in chosen if s.base_file is not None]
        logs = [log for s in chosen for log in s.log_files]
        here = [file for file in stored if file.partition_path == path]
        writers = [by_path[f.path][0] for f in here if f.path in by_path]
        rows.append(
            {
                "partition_path": path,
                "partition": _values(path, view, types),
                "slices": len(chosen),
                "base_files": len(bases),
                "log_files": len(logs),
                "bytes": sum(base.size for base in bases) + sum(log.size for log in logs),
                "log_bytes": sum(log.size for log in logs),
                "stored_files": len(here),
                "stored_bytes": sum(file.size for file in here),
                "rows": _rows(chosen, by_path),
                "last_commit": max(writers, default=None),
            }
        )
    return pa.Table.from_pylist(rows, schema=schema)


def _rows(slices: list[FileSlice], by_path: dict[str, tuple[str, WriteStat]]) -> int | None:
    """Rows of some slices by what commits say; None where log files have to be merged for it."""
    count = 0
    for file_slice in slices:
        base = file_slice.base_file
        if base is None or file_slice.log_files or base.path not in by_path:
            return None
        count += by_path[base.path][1].num_writes
    return count


def _value_types(view: TableView) -> dict[str, pa.DataType]:
    """Types of the partition columns; text where the folders hold formatted times."""
    config = view.config
    try:
        schema = resolve_schema(view)
    except UnsupportedTableError:  # nothing was written yet
        schema = pa.schema([])
    return {
        name: schema.field(name).type
        if name in schema.names and name not in config.timestamp_partition_fields
        else pa.string()
        for name in config.partition_fields
    }


def _values(path: str, view: TableView, types: dict[str, pa.DataType]) -> dict[str, Any] | None:
    """Values of the partition columns; None where the path does not tell them."""
    try:
        return {
            name: value.as_py()
            for name, value in partition_scalars(path, view.config, types).items()
        }
    except CorruptTableError:
        return None
