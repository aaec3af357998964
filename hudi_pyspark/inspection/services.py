"""The table services: compactions, clusterings, cleans, rollbacks, restores and savepoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_pyspark.errors import MissingFileError
from hudi_pyspark.format.timeline.instant import Action, Instant, InstantState, WriteOperationType
from hudi_pyspark.format.timeline.instant_metadata import (
    ReplacePlan,
    parse_compaction_plan,
    parse_replace_plan,
    parse_rollback_plan,
    parse_savepoint_metadata,
)
from hudi_pyspark.inspection.timeline import instant_row, schema_of, sorted_table
from hudi_pyspark.table.commit_history import known_cleans, known_restores, known_rollbacks
from hudi_pyspark.table.timeline import instant_path, read_instant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hudi_pyspark.format.timeline.instant_metadata import PlannedSlice, RollbackMetadata
    from hudi_pyspark.table.view import TableView

CLEANS = schema_of(
    "requested_time, completion_time, state, archived bool, policy, earliest_commit_to_retain, "
    "last_completed_commit, partition_paths texts, deleted_files int, undeleted_files int, "
    "milliseconds int"
)
COMPACTIONS = schema_of(
    "requested_time, completion_time, action, state, partition_paths texts, slices int, "
    "log_files int, written_files int, written_bytes int, records int"
)
CLUSTERING = schema_of(
    "requested_time, completion_time, state, partition_paths texts, input_groups int, "
    "input_slices int, replaced_file_groups int, written_files int, written_bytes int, records int"
)
ROLLBACKS = schema_of(
    "requested_time, completion_time, action, state, archived bool, rolled_back texts, "
    "partition_paths texts, deleted_files int, rollback_blocks int, milliseconds int"
)
SAVEPOINTS = schema_of(
    "requested_time, completion_time, state, saved_at time, saved_by, comments, "
    "partition_paths texts, files int"
)

# Writes to a MERGE_ON_READ table are delta commits, but its first bulk insert is a commit, too; old
# releases did not record the operation of a compaction.
_COMPACTED_AS = {
    Action.COMMIT: (Action.COMPACTION, (WriteOperationType.COMPACT, WriteOperationType.UNKNOWN)),
    Action.DELTA_COMMIT: (Action.LOG_COMPACTION, (WriteOperationType.LOG_COMPACT,)),
}


def cleans(view: TableView, *, archived: bool) -> pa.Table:
    """Return one row per clean; see `Inspection.cleans`."""
    rows: list[dict[str, object]] = [
        {
            **instant_row(instant),
            "archived": is_archived,
            "policy": next((p.policy for p in clean.partitions if p.policy), None),
            "earliest_commit_to_retain": clean.earliest_commit_to_retain,
            "last_completed_commit": clean.last_completed_commit,
            "partition_paths": [p.partition_path for p in clean.partitions],
            "deleted_files": sum(len(p.deleted_files) for p in clean.partitions),
            "undeleted_files": sum(len(p.undeleted_files) for p in clean.partitions),
            "milliseconds": clean.milliseconds,
        }
        for instant, clean, is_archived in known_cleans(view, archived=archived)
    ]
    rows += [
        {**instant_row(instant), "archived": False}
        for instant in view.timeline.of_action(Action.CLEAN)
        if not instant.is_completed
    ]
    return sorted_table(rows, CLEANS)


def compactions(view: TableView) -> pa.Table:
    """Return one row per compaction or log compaction; see `Inspection.compactions`."""
    rows = []
    for instant, action in _compaction_instants(view):
        row = {**instant_row(instant), "action": action}
        plan = _compaction_plan(view, instant, action)
        if plan is not None:
            row |= {
                "partition_paths": _partition_paths(plan),
                "slices": len(plan),
                "log_files": sum(len(s.log_file_names) for s in plan),
            }
        rows.append(row | _written(view, instant))
    return pa.Table.from_pylist(rows, schema=COMPACTIONS)


def clustering(view: TableView) -> pa.Table:
    """Return one row per clustering; see `Inspection.clustering`."""
    rows = []
    for instant in _clustering_instants(view):
        row = instant_row(instant)
        plan = _replace_plan(view, instant)
        if plan is not None:
            slices = tuple(plan.all_slices())
            row |= {
                "partition_paths": _partition_paths(slices),
                "input_groups": len(plan.input_groups),
                "input_slices": len(slices),
            }
        if instant.is_completed:
            replaced = view.commit_metadata[instant.requested_time].replaced_file_ids
            row["replaced_file_groups"] = sum(len(ids) for ids in replaced.values())
        rows.append(row | _written(view, instant))
    return pa.Table.from_pylist(rows, schema=CLUSTERING)


def pending_plans(view: TableView) -> Iterator[tuple[Instant, str, tuple[PlannedSlice, ...]]]:
    """Yield the instant, action and input slices of each pending compaction and clustering."""
    for instant, action in _compaction_instants(view):
        compaction = None if instant.is_completed else _compaction_plan(view, instant, action)
        if compaction is not None:
            yield instant, action, compaction
    for instant in _clustering_instants(view):
        plan = None if instant.is_completed else _replace_plan(view, instant)
        if plan is not None:
            yield instant, str(Action.CLUSTERING), tuple(plan.all_slices())


def _compaction_plan(
    view: TableView, instant: Instant, action: Action
) -> tuple[PlannedSlice, ...] | None:
    """Return the slices of a pending or completed compaction; None if its file is missing."""
    body = _read_requested(view, instant, action)
    return parse_compaction_plan(body, path=instant_path(instant, view.config)) if body else None


def _replace_plan(view: TableView, instant: Instant) -> ReplacePlan | None:
    """Return the plan of a replace commit or clustering; None if its file is missing or empty."""
    for action in (Action.CLUSTERING, Action.REPLACE_COMMIT):
        body = _read_requested(view, instant, action)
        if body:
            return parse_replace_plan(body, path=instant_path(instant, view.config))
    return None


def _compaction_instants(view: TableView) -> Iterator[tuple[Instant, Action]]:
    """Yield the compactions of the active timeline, with the action that requested them."""
    for instant in view.timeline.instants:
        if instant.action in (Action.COMPACTION, Action.LOG_COMPACTION):
            yield instant, instant.action
        elif not (instant.is_completed and view.config.is_merge_on_read):
            continue
        elif instant.action in _COMPACTED_AS:
            service, operations = _COMPACTED_AS[instant.action]
            if view.commit_metadata[instant.requested_time].operation_type in operations:
                yield instant, service


def _clustering_instants(view: TableView) -> Iterator[Instant]:
    return filter(view.history.is_clustering, view.timeline.instants)


def _read_requested(view: TableView, instant: Instant, action: Action) -> bytes | None:
    """Return the body of an action's plan; None if its file is missing."""
    requested = Instant(instant.requested_time, action, InstantState.REQUESTED)
    try:
        return read_instant(view.storage, instant_path(requested, view.config))
    except MissingFileError:
        return None


def _partition_paths(slices: tuple[PlannedSlice, ...]) -> list[str]:
    return sorted({planned.partition_path for planned in slices})


def _written(view: TableView, instant: Instant) -> dict[str, object]:
    """Return what a completed action wrote; nothing while it is pending."""
    if not instant.is_completed:
        return {}
    stats = [stat for _, stat in view.commit_metadata[instant.requested_time].all_stats()]
    return {
        "written_files": len(stats),
        "written_bytes": sum(stat.total_write_bytes for stat in stats),
        "records": sum(stat.num_writes for stat in stats),
    }


def rollbacks(view: TableView, *, archived: bool) -> pa.Table:
    """Return one row per rollback or restore; see `Inspection.rollbacks`."""
    rows = [
        _completed_row(instant, rollback, is_archived=is_archived)
        for instant, rollback, is_archived in known_rollbacks(view, archived=archived)
    ]
    rows += [
        _completed_row(instant, restore, is_archived=False)
        for instant, restore in known_restores(view)
    ]
    rows += [
        _pending_row(view, instant)
        for action in (Action.ROLLBACK, Action.RESTORE)
        for instant in view.timeline.of_action(action)
        if not instant.is_completed
    ]
    return sorted_table(rows, ROLLBACKS)


def _completed_row(
    instant: Instant, metadata: RollbackMetadata, *, is_archived: bool
) -> dict[str, object]:
    partitions = metadata.partitions
    return {
        **instant_row(instant),
        "archived": is_archived,
        "rolled_back": metadata.rolled_back_times,
        "partition_paths": sorted({p.partition_path for p in partitions}),
        "deleted_files": sum(len(p.deleted_files) for p in partitions),
        "rollback_blocks": sum(len(p.rollback_log_files) for p in partitions),
        "milliseconds": metadata.milliseconds,
    }


def _pending_row(view: TableView, instant: Instant) -> dict[str, object]:
    body = _read_requested(view, instant, instant.action)
    path = instant_path(instant, view.config)
    return {
        **instant_row(instant),
        "archived": False,
        "rolled_back": parse_rollback_plan(body, path=path) if body is not None else None,
    }


def savepoints(view: TableView) -> pa.Table:
    """Return one row per savepoint; see `Inspection.savepoints`."""
    rows: list[dict[str, object]] = []
    for instant in view.timeline.of_action(Action.SAVEPOINT):
        row = instant_row(instant)
        if instant.is_completed:
            path = instant_path(instant, view.config)
            savepoint = parse_savepoint_metadata(read_instant(view.storage, path), path=path)
            row |= {
                "saved_at": savepoint.saved_at_ms or None,
                "saved_by": savepoint.saved_by,
                "comments": savepoint.comments,
                "partition_paths": list(savepoint.file_names),
                "files": sum(len(names) for names in savepoint.file_names.values()),
            }
        rows.append(row)
    return sorted_table(rows, SAVEPOINTS)
