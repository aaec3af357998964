"""The files of a table: its file slices, and every data file on the storage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_pyspark.format.file_name import NotADataFile, parse_data_file_name
from hudi_pyspark.inspection.commits import file_kind, known_commits
from hudi_pyspark.inspection.timeline import counts, texts
from hudi_pyspark.table.listing import path_in
from hudi_pyspark.table.table_services import known_rollbacks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hudi_pyspark.format.timeline.commit_metadata import WriteStat
    from hudi_pyspark.inspection.commits import KnownCommit
    from hudi_pyspark.table.file_group import FileSlice
    from hudi_pyspark.table.view import TableView

FILE_SLICES = pa.schema(
    [
        *texts("partition_path", "file_id", "base_instant_time", "base_file"),
        ("base_bytes", pa.int64()),
        ("log_files", pa.list_(pa.string())),
        *counts("log_count", "log_bytes"),
        ("missing_files", pa.list_(pa.string())),
        ("is_latest", pa.bool_()),
    ]
)

FILES = pa.schema(
    [
        *texts("path", "partition_path", "file_id", "kind"),
        ("bytes", pa.int64()),
        ("modified", pa.timestamp("ms", "UTC")),
        *texts("instant_time", "committed_by"),
        ("is_committed", pa.bool_()),
        ("in_latest_slice", pa.bool_()),
    ]
)


@dataclass(frozen=True, slots=True)
class DataFile:
    """A base or log file on the storage."""

    path: str
    partition_path: str
    file_id: str
    kind: str  # base, log or cdc
    size: int  # bytes
    modified_ms: int  # 0 where the storage has no times
    instant_time: str  # of its name


def file_slices(view: TableView, as_of: str | None, *, older: bool) -> pa.Table:
    """Return one row per slice; see `Inspection.file_slices`."""
    current = view.file_slices(as_of, check_files=False)
    if as_of is not None:
        writers = _first_writers(view)
        current = [_without_later_logs(s, as_of, writers) for s in current]
    if not older:
        rows = [{**_slice_row(s), "is_latest": True} for s in current]
        return pa.Table.from_pylist(rows, schema=FILE_SLICES)
    latest = paths_of(current)
    rows = [
        {**_slice_row(s), "is_latest": not latest.isdisjoint(paths_of([s]))}
        for s in view.slices.all()
        if _is_stored(s) or not latest.isdisjoint(paths_of([s]))
    ]
    return pa.Table.from_pylist(rows, schema=FILE_SLICES)


def _first_writers(view: TableView) -> Mapping[str, str]:
    """Map the path of each file to the requested time of the oldest commit that names it."""
    oldest_last = reversed(list(writes(known_commits(view, archived=False))))
    return {path: time for path, time, _ in oldest_last}


def _without_later_logs(file_slice: FileSlice, as_of: str, writers: Mapping[str, str]) -> FileSlice:
    """Remove the log files of later commits; a read keeps them and skips their blocks."""
    return file_slice.with_logs(
        log for log in file_slice.log_files if writers.get(log.path, "") <= as_of
    )


def _is_stored(file_slice: FileSlice) -> bool:
    """Return whether a slice still has a file; commits also name slices that a clean removed."""
    base = file_slice.base_file
    return (base is not None and base.is_listed) or any(f.is_listed for f in file_slice.log_files)


def _slice_row(file_slice: FileSlice) -> dict[str, object]:
    base, logs = file_slice.base_file, file_slice.log_files
    missing = [base.path] if base is not None and not base.is_listed else []
    return {
        "partition_path": file_slice.partition_path,
        "file_id": file_slice.file_id,
        "base_instant_time": file_slice.base_instant_time,
        "base_file": base.path if base is not None else None,
        "base_bytes": base.size if base is not None else None,
        "log_files": [log.path for log in logs],
        "log_count": len(logs),
        "log_bytes": sum(log.size for log in logs),
        "missing_files": [*missing, *(log.path for log in logs if not log.is_listed)],
    }


def files(view: TableView) -> pa.Table:
    """Return one row per data file on the storage; see `Inspection.files`."""
    on_storage = stored_files(view)
    commits = commits_of_files(view, on_storage)
    known_times = {c.instant.requested_time for c in commits}
    writers = {**_rollback_writers(view), **{path: time for path, time, _ in writes(commits)}}
    latest = paths_of(view.file_slices(check_files=False))
    rows = [
        {
            "path": file.path,
            "partition_path": file.partition_path,
            "file_id": file.file_id,
            "kind": file.kind,
            "bytes": file.size,
            "modified": file.modified_ms or None,
            "instant_time": file.instant_time,
            "committed_by": writers.get(file.path),
            "is_committed": file.path in writers
            # A failed attempt leaves files that its commit does not name. The metadata of old
            # archived commits is no longer known, so all of their files count as committed.
            or (file.instant_time not in known_times and file.instant_time in view.committed),
            "in_latest_slice": file.path in latest,
        }
        for file in on_storage
    ]
    return pa.Table.from_pylist(rows, schema=FILES)


def stored_files(view: TableView) -> list[DataFile]:
    """Return the base, log and CDC files in the folders of the table's partitions."""
    data_files = []
    for partition, listed in view.listing.files(view.listing.partitions()).items():
        for file in sorted(listed, key=lambda f: f.name):
            try:
                name = parse_data_file_name(file.name)
            except NotADataFile:
                continue
            data_files.append(
                DataFile(
                    path=path_in(partition, file.name),
                    partition_path=partition,
                    file_id=name.file_id,
                    kind=file_kind(file.name),
                    size=file.size,
                    modified_ms=file.modified_ms,
                    instant_time=name.instant,
                )
            )
    return data_files


def commits_of_files(view: TableView, on_storage: Iterable[DataFile]) -> list[KnownCommit]:
    """Return the commits that can name some files; archived ones only if a file is old enough."""
    active = known_commits(view, archived=False)
    named = {path for path, _, _ in writes(active)}
    first = active[0].instant.requested_time if active else ""
    is_old = any(f.path not in named and f.instant_time < first for f in on_storage)
    return known_commits(view, archived=True) if is_old else active


def writes(commits: Iterable[KnownCommit]) -> Iterator[tuple[str, str, WriteStat]]:
    """Yield path, requested time and statistics of each file that commits name, oldest first."""
    for commit in commits:
        for _, stat in commit.metadata.all_stats():
            for path in (stat.path, *(cdc for cdc, _ in stat.cdc_files)):
                if path:
                    yield path.lstrip("/"), commit.instant.requested_time, stat


def paths_of(slices: Iterable[FileSlice]) -> set[str]:
    """Return the paths of all files of some slices."""
    return {file.path for s in slices for file in (s.base_file, *s.log_files) if file is not None}


def _rollback_writers(view: TableView) -> Mapping[str, str]:
    """Map the path of each log file with a rollback's command block to the rollback's time."""
    return {
        path_in(partition.partition_path, name): instant.requested_time
        for instant, rollback, _ in known_rollbacks(view, archived=False)
        for partition in rollback.partitions
        for name in partition.rollback_log_files
    }
