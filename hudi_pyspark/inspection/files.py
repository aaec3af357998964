"""The file slices of a table, and every data file on the storage."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.format.data_files import BaseFileName, LogFileName, parse_data_file_name
from hudi_pyspark.inspection.commits import KnownCommit, kind_of, known_commits
from hudi_pyspark.inspection.definition import COLUMNS, schema_of, table_of, with_columns
from hudi_pyspark.table.file_group import FileSlice, LogFile
from hudi_pyspark.table.file_groups import CommittedFile, by_path, committed_files
from hudi_pyspark.table.listing import path_in
from hudi_pyspark.table.table_services import completed_rollbacks
from hudi_pyspark.table.view import TableView

FILES = schema_of(
    "path, partition_path, file_id, kind, bytes int, modified time, instant_time, committed_by, "
    "is_committed bool, in_latest_slice bool"
)
COLUMNS["files"] = FILES


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file in the folder of a partition."""

    path: str
    partition_path: str
    name: BaseFileName | LogFileName | None  # None if it belongs to no file group
    size: int  # bytes
    modified_ms: int  # since 1970; 0 if the storage has no times


@with_columns(
    "partition_path, file_id, base_instant_time, base_file, base_bytes int, log_files texts, "
    "log_count int, log_bytes int, log_to_base_ratio float, missing_files texts, is_latest bool"
)
def file_slices(
    view: TableView, as_of: str | None = None, *, older: bool = False
) -> Iterator[dict[str, object]]:
    """Yield one row per slice; see `Inspection.file_slices`."""
    current = view.slices.as_of(as_of, check_files=False)
    if as_of is not None:
        committed = committed_by_path(known_commits(view, archived=False))

        def may_count(log: LogFile) -> bool:
            return log.path not in committed or committed[log.path].first_committed_by <= as_of

        # A slice also has log files of later commits, whose blocks a read skips.
        current = [s.filter_logs(may_count) for s in current]
    if older:
        latest = _paths_of(*current)
        for file_slice in view.slices.all():
            is_latest = not latest.isdisjoint(_paths_of(file_slice))
            # Commits also name slices of which a clean has removed all files.
            if is_latest or any(file.is_listed for file in file_slice.files):
                yield {**_slice_row(file_slice), "is_latest": is_latest}
        return
    # Each slice is dropped after its row is made: a large table has millions.
    current.reverse()
    while current:
        yield {**_slice_row(current.pop()), "is_latest": True}


def _slice_row(file_slice: FileSlice) -> dict[str, object]:
    base = file_slice.base_file
    logs = file_slice.log_files
    log_bytes = sum(log.size for log in logs)
    return {
        "partition_path": file_slice.partition_path,
        "file_id": file_slice.file_id,
        "base_instant_time": file_slice.base_instant_time,
        "base_file": base.path if base is not None else None,
        "base_bytes": base.size if base is not None else None,
        "log_files": [log.path for log in logs],
        "log_count": len(logs),
        "log_bytes": log_bytes,
        "log_to_base_ratio": log_bytes / base.size if base is not None and base.size else None,
        "missing_files": [file.path for file in file_slice.files if not file.is_listed],
    }


def files(view: TableView, slices: pa.Table) -> pa.Table:
    """Return one row per data file on the storage; see `Inspection.files`.

    Args:
        view: the table.
        slices: the latest slices, whose files are marked in the answer: columns ``base_file`` and
            ``log_files`` of `Inspection.file_slices`.
    """
    rows = (
        {
            "path": file.path,
            "partition_path": file.partition_path,
            "file_id": file.name.file_id,
            "kind": kind_of(file.name),
            "bytes": file.size,
            "modified": file.modified_ms or None,
            "instant_time": file.name.instant,
        }
        for file in stored_files(view)
        if file.name is not None
    )
    table = table_of(rows, pa.schema(list(FILES)[:-3]))
    paths = table["path"]
    times = table["instant_time"]
    commits = commits_of(view, _pairs(paths, times))
    known_times = {c.instant.requested_time for c in commits}
    committed = committed_by_path(commits)
    writers = _rollback_writers(view) | {path: f.committed_by for path, f in committed.items()}
    latest = pa.chunked_array(
        [*slices["base_file"].chunks, *(c.flatten() for c in slices["log_files"].chunks)],
        pa.string(),
    )
    # A failed write leaves files that its commit does not name. Old archived commits no longer have
    # metadata, so all of their files count as committed.
    are_committed = (
        path in writers or (time not in known_times and time in view.history.committed)
        for path, time in _pairs(paths, times)
    )
    committed_by = pa.array((writers.get(path) for path, _ in _pairs(paths, times)), pa.string())
    is_committed = pa.array(are_committed, pa.bool_())
    in_latest_slice = pc.is_in(paths, value_set=latest)
    return pa.table([*table.columns, committed_by, is_committed, in_latest_slice], schema=FILES)


def _pairs(left: pa.ChunkedArray, right: pa.ChunkedArray) -> Iterator[tuple[str, str]]:
    """Yield the texts of two columns in pairs; few of them are Python values at a time."""
    for left_chunk, right_chunk in zip(left.chunks, right.chunks, strict=True):
        yield from zip(left_chunk.to_pylist(), right_chunk.to_pylist(), strict=True)


def stored_files(view: TableView, also: Iterable[str] = ()) -> Iterator[StoredFile]:
    """Yield the files in the folders of partitions, in order of partition and name.

    Args:
        view: the table.
        also: paths of partitions to list besides those of the table.
    """
    for partition, files in view.groups.listed(sorted({*view.listing.partitions(), *also})):
        for file in sorted(files, key=lambda f: f.name):
            path = path_in(partition, file.name)
            name = parse_data_file_name(file.name)
            yield StoredFile(path, partition, name, file.size, file.modified_ms)


def commits_of(view: TableView, on_storage: Iterable[tuple[str, str]]) -> list[KnownCommit]:
    """Return the commits that may name files; archived commits only if a file is old enough.

    Args:
        view: the table.
        on_storage: of each file its path, and the instant in its name.
    """
    active = known_commits(view, archived=False)
    committed = committed_by_path(active)
    first = active[0].instant.requested_time if active else ""
    is_old = any(path not in committed and instant < first for path, instant in on_storage)
    return known_commits(view, archived=True) if is_old else active


def committed_by_path(commits: Iterable[KnownCommit]) -> Mapping[str, CommittedFile]:
    """Return what commits record about files.

    Args:
        commits: oldest first; the last commit that names a file counts.

    Returns:
        Path, relative to the base path, to what is recorded about the file.
    """
    return by_path(committed_files({c.instant.requested_time: c.metadata for c in commits}))


def _paths_of(*slices: FileSlice) -> set[str]:
    return {file.path for s in slices for file in s.files}


def _rollback_writers(view: TableView) -> dict[str, str]:
    """Return the time of the rollback that wrote a command block, by the path of its log file."""
    return {
        path_in(partition.partition_path, name): instant.requested_time
        for instant, rollback, _ in completed_rollbacks(view, archived=False)
        for partition in rollback.partitions
        for name in partition.rollback_log_files
    }
