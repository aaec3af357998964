"""The history of one file group: the instants that touched it, and how."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.inspection.commits import counts_of, data_file_name, file_kind, known_commits
from hudi_pyspark.inspection.services import pending_plans
from hudi_pyspark.inspection.timeline import Rows, instant_row, sorted_by_time, with_columns
from hudi_pyspark.table.commit_history import known_cleans, known_rollbacks
from hudi_pyspark.table.listing import path_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hudi_pyspark.table.view import TableView


@with_columns(
    "requested_time, completion_time, action, operation, event, partition_path, path, records int, "
    "inserts int, updates int, deletes int, bytes int"
)
def history(view: TableView, file_id: str) -> Rows:
    """Return one row per event; see `Inspection.history`."""
    events = _events(view, file_id) or _events(view, _whole_file_id(view, file_id))
    return sorted_by_time(events)


def _events(view: TableView, file_id: str) -> list[dict[str, object]]:
    return [*_commits(view, file_id), *_plans(view, file_id), *_removals(view, file_id)]


def _commits(view: TableView, file_id: str) -> Iterator[dict[str, object]]:
    for commit in known_commits(view, archived=True):
        metadata = commit.metadata
        common = {**instant_row(commit.instant), "operation": metadata.operation_type.value}
        for partition, stat in metadata.all_stats():
            if stat.file_id == file_id:
                yield common | {
                    "event": f"{file_kind(stat.path) or 'file'} written",
                    "partition_path": partition,
                    "path": stat.path,
                    **counts_of([stat]),
                }
        for partition, file_ids in metadata.replaced_file_ids.items():
            if file_id in file_ids:
                yield common | {"event": "replaced", "partition_path": partition}


def _plans(view: TableView, file_id: str) -> Iterator[dict[str, object]]:
    for instant, action, slices in pending_plans(view):
        for planned in slices:
            if planned.file_id == file_id:
                event = {"event": f"{action} planned", "partition_path": planned.partition_path}
                yield {**instant_row(instant), **event}


def _removals(view: TableView, file_id: str) -> Iterator[dict[str, object]]:
    """Yield what cleans and rollbacks did to the files of the group."""
    found = [
        (instant, "file cleaned", cleaned.partition_path, cleaned.deleted_files)
        for instant, clean, _ in known_cleans(view, archived=True)
        for cleaned in clean.partitions
    ]
    for instant, rollback, _ in known_rollbacks(view, archived=True):
        for undone in rollback.partitions:
            path, blocks = undone.partition_path, undone.rollback_log_files
            found.append((instant, "file rolled back", path, undone.deleted_files))
            found.append((instant, "rollback block written", path, blocks))
    for instant, event, partition_path, names in found:
        for name in names:
            parsed = data_file_name(name)
            if parsed is not None and parsed.file_id == file_id:
                place = {"partition_path": partition_path, "path": path_in(partition_path, name)}
                yield {**instant_row(instant), "event": event, **place}


def _whole_file_id(view: TableView, beginning: str) -> str:
    """Return the only file id that begins so; lists of a narrow terminal have no more of it."""
    known = {
        stat.file_id
        for commit in known_commits(view, archived=True)
        for _, stat in commit.metadata.all_stats()
    }
    found = [file_id for file_id in known if file_id.startswith(beginning) and beginning]
    if len(found) == 1:
        return found[0]
    if found:
        raise InvalidOptionError(
            f"{len(found)} file groups begin with {beginning!r}: {', '.join(sorted(found))}"
        )
    near = difflib.get_close_matches(beginning, sorted(known), n=1, cutoff=0.3)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise InvalidOptionError(
        f"no instant of the table names a file group {beginning!r}{hint} (inspect.file_slices() "
        "lists the file ids)"
    )
