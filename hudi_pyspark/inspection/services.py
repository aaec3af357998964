"""What table services did: compactions, cleans, rollbacks, savepoints, clusterings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_pyspark.errors import MissingFileError
from hudi_pyspark.format.timeline.instant import Action, Instant, InstantState
from hudi_pyspark.format.timeline.table_service_metadata import (
    CompactionPlan,
    ReplacePlan,
    parse_compaction_plan,
    parse_replace_plan,
    parse_rollback_plan,
    parse_savepoint_metadata,
)
from hudi_pyspark.table.table_services import known_cleans, known_restores, known_rollbacks
from hudi_pyspark.table.timeline import instant_path, read_instant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hudi_pyspark.format.timeline.commit_metadata import CommitMetadata
    from hudi_pyspark.format.timeline.table_service_metadata import (
        PlannedSlice,
        RollbackMetadata,
    )
    from hudi_pyspark.table.view import TableView

_TIMES = (pa.field("requested_time", pa.string()), pa.field("completion_time", pa.string()))
_STATE = pa.field("state", pa.string())

COMPACTIONS = pa.schema(
    [
        *_TIMES,
        pa.field("action", pa.string()),
        _STATE,
        pa.field("partition_paths", pa.list_(pa.string())),
        pa.field("slices", pa.int64()),
        pa.field("log_files", pa.int64()),
        pa.field("written_files", pa.int64()),
        pa.field("written_bytes", pa.int64()),
        pa.field("records", pa.int64()),
    ]
)

CLUSTERING = pa.schema(
    [
        *_TIMES,
        _STATE,
        pa.field("partition_paths", pa.list_(pa.string())),
        pa.field("input_groups", pa.int64()),
        pa.field("input_slices", pa.int64()),
        pa.field("replaced_file_groups", pa.int64()),
        pa.field("written_files", pa.int64()),
        pa.field("written_bytes", pa.int64()),
        pa.field("records", pa.int64()),
    ]
)

CLEANS = pa.schema(
    [
        *_TIMES,
        _STATE,
        pa.field("archived", pa.bool_()),
        pa.field("policy", pa.string()),
        pa.field("earliest_commit_to_retain", pa.string()),
        pa.field("last_completed_commit", pa.string()),
        pa.field("partition_paths", pa.list_(pa.string())),
        pa.field("deleted_files", pa.int64()),
        pa.field("undeleted_files", pa.int64()),
        pa.field("milliseconds", pa.int64()),
    ]
)

ROLLBACKS = pa.schema(
    [
        *_TIMES,
        pa.field("action", pa.string()),
        _STATE,
        pa.field("archived", pa.bool_()),
        pa.field("rolled_back", pa.list_(pa.string())),
        pa.field("partition_paths", pa.list_(pa.string())),
        pa.field("deleted_files", pa.int64()),
        pa.field("rollback_blocks", pa.int64()),
        pa.field("milliseconds", pa.int64()),
    ]
)

SAVEPOINTS = pa.schema(
    [
        *_TIMES,
        _STATE,
        pa.field("saved_at", pa.timestamp("ms", "UTC")),
        pa.field("saved_by", pa.string()),
        pa.field("comments", pa.string()),
        pa.field("partition_paths", pa.list_(pa.string())),
        pa.field("files", pa.int64()),
    ]
)


def compactions(view: TableView) -> pa.Table:
    """One row per compaction or log compaction; see `Inspection.compactions`."""
    rows = []
    for instant, action in _compaction_instants(view):
        plan = compaction_plan(view, instant, action)
        slices = plan.slices if plan is not None else None
        rows.append(
            {
                **_times(instant),
                "action": action,
                **_planned(slices),
                "slices": len(slices) if slices is not None else None,
                "log_files": (
                    sum(len(s.log_file_names) for s in slices) if slices is not None else None
                ),
                **_written(view, instant),
            }
        )
    return pa.Table.from_pylist(rows, schema=COMPACTIONS)


def clustering(view: TableView) -> pa.Table:
    """One row per clustering; see `Inspection.clustering`."""
    rows = []
    for instant in _clustering_instants(view):
        plan = replace_plan(view, instant)
        slices = tuple(plan.all_slices()) if plan is not None else None
        rows.append(
            {
                **_times(instant),
                **_planned(slices),
                "input_groups": len(plan.input_groups) if plan is not None else None,
                "input_slices": len(slices) if slices is not None else None,
                "replaced_file_groups": (
                    sum(
                        map(
                            len,
                            view.commit_metadata[instant.requested_time].replaced_file_ids.values(),
                        )
                    )
                    if instant.is_completed
                    else None
                ),
                **_written(view, instant),
            }
        )
    return pa.Table.from_pylist(rows, schema=CLUSTERING)


def cleans(view: TableView, *, archived: bool) -> pa.Table:
    """One row per clean; see `Inspection.cleans`."""
    done = known_cleans(view, archived=archived)
    rows = [
        {
            **_times(instant),
            "archived": is_archived,
            "policy": next((p.policy for p in clean.partitions if p.policy), None),
            "earliest_commit_to_retain": clean.earliest_commit_to_retain,
            "last_completed_commit": clean.last_completed_commit,
            "partition_paths": [p.partition_path for p in clean.partitions],
            "deleted_files": sum(len(p.deleted_files) for p in clean.partitions),
            "undeleted_files": sum(len(p.undeleted_files) for p in clean.partitions),
            "milliseconds": clean.milliseconds,
        }
        for instant, clean, is_archived in done
    ]
    rows += [{**_times(i), "archived": False} for i in _pending(view, Action.CLEAN)]
    return _in_order(rows, CLEANS)


def rollbacks(view: TableView, *, archived: bool) -> pa.Table:
    """One row per rollback or restore; see `Inspection.rollbacks`."""
    rows = [
        _rollback_row(instant, (rollback,), rollback.rolled_back_times, rollback.milliseconds)
        | {"archived": is_archived}
        for instant, rollback, is_archived in known_rollbacks(view, archived=archived)
    ]
    for instant, restore in known_restores(view):
        row = _rollback_row(
            instant, restore.rollbacks, restore.rolled_back_times, restore.milliseconds
        )
        rows.append(row | {"archived": False})
    for instant in (*_pending(view, Action.ROLLBACK), *_pending(view, Action.RESTORE)):
        body = _read_requested(view, instant, instant.action)
        path = instant_path(instant, view.config)
        planned = parse_rollback_plan(body, path=path) if body is not None else None
        rows.append(
            {**_times(instant), "action": str(instant.action), "archived": False}
            | {"rolled_back": planned}
        )
    return _in_order(rows, ROLLBACKS)


def savepoints(view: TableView) -> pa.Table:
    """One row per savepoint; see `Inspection.savepoints`."""
    rows: list[dict[str, object]] = []
    for instant in view.timeline.of_action(Action.SAVEPOINT):
        if not instant.is_completed:
            rows.append(_times(instant))
            continue
        path = instant_path(instant, view.config)
        saved = parse_savepoint_metadata(read_instant(view.storage, path), path=path)
        rows.append(
            {
                **_times(instant),
                "saved_at": saved.saved_at_ms or None,
                "saved_by": saved.saved_by,
                "comments": saved.comments,
                "partition_paths": list(saved.file_names),
                "files": sum(len(names) for names in saved.file_names.values()),
            }
        )
    return _in_order(rows, SAVEPOINTS)


def pending_plans(view: TableView) -> Iterator[tuple[Instant, str, tuple[PlannedSlice, ...]]]:
    """Compactions and clusterings that have not completed: instant, action, what they rewrite."""
    for instant, action in _compaction_instants(view):
        compaction = None if instant.is_completed else compaction_plan(view, instant, action)
        if compaction is not None:
            yield instant, action, compaction.slices
    for instant in _clustering_instants(view):
        plan = None if instant.is_completed else replace_plan(view, instant)
        if plan is not None:
            yield instant, str(Action.CLUSTERING), tuple(plan.all_slices())


def compaction_plan(view: TableView, instant: Instant, action: Action) -> CompactionPlan | None:
    """The plan of a compaction, pending or completed; None where its file is gone."""
    body = _read_requested(view, instant, action)
    return parse_compaction_plan(body, path=instant_path(instant, view.config)) if body else None


def replace_plan(view: TableView, instant: Instant) -> ReplacePlan | None:
    """The plan of a replace commit or clustering; None where its file is gone or empty."""
    for action in (Action.CLUSTERING, Action.REPLACE_COMMIT):
        body = _read_requested(view, instant, action)
        if body:
            return parse_replace_plan(body, path=instant_path(instant, view.config))
    return None


def _compaction_instants(view: TableView) -> Iterator[tuple[Instant, Action]]:
    """Compactions of the active timeline with the action under which they were requested."""
    for instant in view.timeline.instants:
        if instant.action in (Action.COMPACTION, Action.LOG_COMPACTION):
            yield instant, instant.action
        elif not (instant.is_completed and view.config.is_merge_on_read):
            continue
        elif instant.action == Action.COMMIT:
            # Writers of a MERGE_ON_READ table make delta commits; its commits are compactions.
            yield instant, Action.COMPACTION
        elif (
            instant.action == Action.DELTA_COMMIT
            and view.commit_metadata[instant.requested_time].operation_type == "LOG_COMPACT"
        ):
            yield instant, Action.LOG_COMPACTION


def _clustering_instants(view: TableView) -> Iterator[Instant]:
    for instant in view.timeline.instants:
        if instant.action == Action.CLUSTERING:
            yield instant
        elif instant.action == Action.REPLACE_COMMIT:
            if instant.is_completed:
                operation = view.commit_metadata[instant.requested_time].operation_type
                is_clustering = operation == "CLUSTER"
            else:
                plan = replace_plan(view, instant)
                is_clustering = plan is not None and plan.is_clustering
            if is_clustering:
                yield instant


def _read_requested(view: TableView, instant: Instant, action: Action) -> bytes | None:
    """The plan of an action; None where there is no such file."""
    requested = Instant(instant.requested_time, action, InstantState.REQUESTED)
    try:
        return read_instant(view.storage, instant_path(requested, view.config))
    except MissingFileError:
        return None


def _pending(view: TableView, action: Action) -> list[Instant]:
    return [i for i in view.timeline.of_action(action) if not i.is_completed]


def _times(instant: Instant) -> dict[str, object]:
    return {
        "requested_time": instant.requested_time,
        "completion_time": instant.completion_time,
        "state": instant.state.name.lower(),
    }


def _planned(slices: tuple[PlannedSlice, ...] | None) -> dict[str, object]:
    paths = sorted({s.partition_path for s in slices}) if slices is not None else None
    return {"partition_paths": paths}


def _written(view: TableView, instant: Instant) -> dict[str, object]:
    """What a completed action wrote; nothing while it is pending."""
    if not instant.is_completed:
        return {}
    metadata: CommitMetadata = view.commit_metadata[instant.requested_time]
    stats = [stat for _, stat in metadata.all_stats()]
    return {
        "written_files": len(stats),
        "written_bytes": sum(stat.total_write_bytes for stat in stats),
        "records": sum(stat.num_writes for stat in stats),
    }


def _rollback_row(
    instant: Instant,
    rollbacks_done: tuple[RollbackMetadata, ...],
    rolled_back: tuple[str, ...],
    milliseconds: int,
) -> dict[str, object]:
    undone = [p for rollback in rollbacks_done for p in rollback.partitions]
    return {
        **_times(instant),
        "action": str(instant.action),
        "rolled_back": rolled_back,
        "partition_paths": sorted({p.partition_path for p in undone}),
        "deleted_files": sum(len(p.deleted_files) for p in undone),
        "rollback_blocks": sum(len(p.rollback_log_files) for p in undone),
        "milliseconds": milliseconds,
    }


def _in_order(rows: list[dict[str, object]], schema: pa.Schema) -> pa.Table:
    rows.sort(key=lambda row: str(row["requested_time"]))
    return pa.Table.from_pylist(rows, schema=schema)
