"""Sizes and ratios of a table and of its partitions."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.errors import CorruptTableError
from hudi_pyspark.inspection.commits import file_kind, known_schema
from hudi_pyspark.inspection.definition import InspectionRows, schema_of, table_of, with_columns
from hudi_pyspark.inspection.files import commits_of, committed_by_path
from hudi_pyspark.planning.partitions import (
    ambiguous_columns,
    partition_scalars,
    shares_folder,
)
from hudi_pyspark.table.file_groups import CommittedFile
from hudi_pyspark.table.view import TableView

SMALL_FILE_BYTES = 104_857_600

_COLUMNS = schema_of(
    "partition_path, slices int, base_files int, log_files int, bytes int, log_bytes int, "
    "stored_files int, stored_bytes int, rows int, last_commit"
)


@with_columns(
    "partitions int, file_groups int, base_files int, base_bytes int, log_files int, "
    "log_bytes int, log_to_base_ratio float, slices_with_logs int, small_files int, "
    "stored_files int, stored_bytes int, older_bytes int, cdc_bytes int, uncommitted_bytes int, "
    "commits int, changed_records int, written_records int, write_amplification float, "
    "pending_compactions int"
)
def statistics(
    view: TableView, small_file_bytes: int, slices: pa.Table, all_files: pa.Table
) -> InspectionRows:
    """Return the one row of `Inspection.statistics`.

    Args:
        view: the table.
        small_file_bytes: base files below this size are small.
        slices: as `Inspection.file_slices` returns them.
        all_files: as `Inspection.files` returns them.
    """
    base_bytes, log_bytes = _total(slices["base_bytes"]), _total(slices["log_bytes"])
    is_cdc = pc.equal(all_files["kind"], "cdc")
    is_committed = all_files["is_committed"]
    is_old = pc.and_not(pc.and_not(is_committed, all_files["in_latest_slice"]), is_cdc)
    changed_records, written_records = _amplification(view)
    row = {
        "partitions": len(view.listing.partitions()),
        "file_groups": slices.num_rows,
        "base_files": pc.count(slices["base_bytes"]).as_py(),
        "base_bytes": base_bytes,
        "log_files": _total(slices["log_count"]),
        "log_bytes": log_bytes,
        "log_to_base_ratio": log_bytes / base_bytes if base_bytes else None,
        "slices_with_logs": _total(pc.greater(slices["log_count"], 0)),
        "small_files": _total(pc.less(slices["base_bytes"], small_file_bytes)),
        "stored_files": all_files.num_rows,
        "stored_bytes": _total(all_files["bytes"]),
        "older_bytes": _total(all_files["bytes"].filter(is_old)),
        "cdc_bytes": _total(all_files["bytes"].filter(is_cdc)),
        "uncommitted_bytes": _total(all_files["bytes"].filter(pc.invert(is_committed))),
        "commits": len(view.history.commits),
        "changed_records": changed_records,
        "written_records": written_records,
        "write_amplification": written_records / changed_records if changed_records else None,
        "pending_compactions": len(view.timeline.pending_compactions),
    }
    return [row]


def _total(values: pa.ChunkedArray) -> int:
    return int(pc.sum(values).as_py() or 0)


def _amplification(view: TableView) -> tuple[int, int]:
    """Return how many records users changed, and how many users and table services wrote."""
    changed = written = 0
    for metadata in view.history.metadata_of().values():
        for _, stat in metadata.all_stats():
            # A delete removes a record from a base file, but adds a record to a log file.
            is_log = file_kind(stat.path) == "log"
            written += stat.num_writes + (stat.num_deletes if is_log else 0)
            if not metadata.operation_type.is_table_service:
                changed += stat.num_inserts + stat.num_update_writes + stat.num_deletes
    return changed, written


def partitions_schema(view: TableView) -> pa.Schema:
    """Return the columns of `partitions`; the type of ``partition`` depends on the table."""
    types = _value_types(view)
    values = pa.field("partition", pa.struct(list(types.items())))
    return _COLUMNS.insert(1, values) if types else _COLUMNS


def partitions(view: TableView, slices: pa.Table, all_files: pa.Table) -> pa.Table:
    """Return one row per partition; see `Inspection.partitions`.

    Args:
        view: the table.
        slices: as `Inspection.file_slices` returns them.
        all_files: as `Inspection.files` returns them.
    """
    names = (all_files[name].to_pylist() for name in ("path", "instant_time"))
    committed = committed_by_path(commits_of(view, zip(*names, strict=True)))
    sums = [(name, "sum") for name in ("base_bytes", "log_count", "log_bytes")]
    of_slices = _by_partition(slices, [*sums, ("base_bytes", "count"), ("file_id", "count")])
    of_files = _by_partition(all_files, [("bytes", "sum"), ("bytes", "count")])
    writers = {file.committed_by for file in committed.values()}
    is_of_commit = pc.is_in(all_files["committed_by"], pa.array(writers, pa.string()))
    last_commits = _by_partition(all_files.filter(is_of_commit), [("committed_by", "max")])
    row_counts = _row_counts(slices, committed)
    types = _value_types(view)

    def row(path: str) -> dict[str, object]:
        latest = of_slices.get(path, {})
        files = of_files.get(path, {})
        log_bytes = latest.get("log_bytes_sum", 0)
        return {
            "partition_path": path,
            "partition": _values(path, view, types),
            "slices": latest.get("file_id_count", 0),
            "base_files": latest.get("base_bytes_count", 0),
            "log_files": latest.get("log_count_sum", 0),
            "bytes": (latest.get("base_bytes_sum") or 0) + log_bytes,
            "log_bytes": log_bytes,
            "stored_files": files.get("bytes_count", 0),
            "stored_bytes": files.get("bytes_sum", 0),
            "rows": row_counts.get(path, 0),
            "last_commit": last_commits.get(path, {}).get("committed_by_max"),
        }

    paths = sorted({*view.listing.partitions(), *of_slices})
    return table_of(map(row, paths), partitions_schema(view))


def _by_partition(table: pa.Table, sums: list[tuple[str, str]]) -> dict[str, dict[str, Any]]:
    grouped = table.group_by("partition_path").aggregate(sums).to_pylist()
    return {row["partition_path"]: row for row in grouped}


def _row_counts(slices: pa.Table, committed: Mapping[str, CommittedFile]) -> dict[str, int | None]:
    """Return the recorded number of rows by partition; None if log files must be merged to know."""
    counts: dict[str, int | None] = {}
    columns = (slices[name].to_pylist() for name in ("partition_path", "base_file", "log_count"))
    for path, base_file, log_count in zip(*columns, strict=True):
        rows_before = counts.get(path, 0)
        file = None if log_count else committed.get(base_file)
        counts[path] = None if file is None or rows_before is None else rows_before + file.rows
    return counts


def _value_types(view: TableView) -> dict[str, pa.DataType]:
    """Return the types of the partition columns; text if folder names are formatted times."""
    config = view.config
    schema = known_schema(view)
    typed = {*schema.names}.difference(config.timestamp_partition_fields)
    names = config.partition_fields
    return {n: schema.field(n).type if n in typed else pa.string() for n in names}


def _values(path: str, view: TableView, types: dict[str, pa.DataType]) -> dict[str, Any] | None:
    """Return the values of the partition columns; None if the path does not fit them.

    A value is null if the path alone does not decide it.
    """
    try:
        # Scalars stay as they are: Python has no years beyond 9999.
        values = partition_scalars(path, view.config, types)
    except CorruptTableError:
        return None
    undecided = ambiguous_columns(path, view.config, types)
    undecided |= {name for name, value in values.items() if shares_folder(value, view.config)}
    return {name: None if name in undecided else value for name, value in values.items()}
