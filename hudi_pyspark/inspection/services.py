"""Table services, from compactions to savepoints, and the history of a file group."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

from hudi_pyspark.errors import InvalidOptionError, MissingFileError
from hudi_pyspark.format.data_files import parse_data_file_name
from hudi_pyspark.format.timeline import instant_metadata
from hudi_pyspark.format.timeline.instant import Action, Instant, WriteOperationType
from hudi_pyspark.format.timeline.instant_body import BodyParser
from hudi_pyspark.inspection.commits import counts_of, file_kind, known_commits
from hudi_pyspark.inspection.definition import InspectionRows, instant_row, with_columns
from hudi_pyspark.table.listing import path_in
from hudi_pyspark.table.table_services import (
    completed_cleans,
    completed_restores,
    completed_rollbacks,
)
from hudi_pyspark.table.timeline import plan_path, read_instant
from hudi_pyspark.table.view import TableView
from hudi_pyspark.wording import did_you_mean

_T = TypeVar("_T")
# The action that requested a compaction, by the action that completes it, and the operations that
# show that it is one: the first bulk insert of a MERGE_ON_READ table is also a commit. Old releases
# did not record the operation of a compaction.
_COMPACTED_AS = {
    Action.COMMIT: (Action.COMPACTION, (WriteOperationType.COMPACT, WriteOperationType.UNKNOWN)),
    Action.DELTA_COMMIT: (Action.LOG_COMPACTION, (WriteOperationType.LOG_COMPACT,)),
}


@with_columns(
    "requested_time, completion_time, state, archived bool, policy, earliest_commit_to_retain, "
    "last_completed_commit, partition_paths texts, deleted_files int, undeleted_files int, "
    "milliseconds int"
)
def cleans(view: TableView, *, archived: bool) -> InspectionRows:
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
        for instant, clean, is_archived in completed_cleans(view, archived=archived)
    ]
    pending = (i for i in view.timeline.pending if i.action is Action.CLEAN)
    return _sorted_by_time([*rows, *({**instant_row(i), "archived": False} for i in pending)])


@with_columns(
    "requested_time, completion_time, action, state, partition_paths texts, slices int, "
    "log_files int, written_files int, written_bytes int, records int"
)
def compactions(view: TableView) -> Iterator[dict[str, object]]:
    """Yield one row per compaction or log compaction; see `Inspection.compactions`."""
    for instant, action in _compaction_instants(view):
        row = {**instant_row(instant), "action": action, **_written(view, instant)}
        plan = _plan(view, instant, action, instant_metadata.parse_compaction_plan)
        if plan is not None:
            row |= {
                "partition_paths": sorted({planned.partition_path for planned in plan}),
                "slices": len(plan),
                "log_files": sum(len(s.log_file_names) for s in plan),
            }
        yield row


@with_columns(
    "requested_time, completion_time, state, partition_paths texts, input_groups int, "
    "input_slices int, replaced_file_groups int, written_files int, written_bytes int, records int"
)
def clustering(view: TableView) -> Iterator[dict[str, object]]:
    """Yield one row per clustering; see `Inspection.clustering`."""
    for instant in filter(view.history.is_clustering, view.timeline.instants):
        row = {**instant_row(instant), **_written(view, instant)}
        plan = _replace_plan(view, instant)
        if plan is not None:
            slices = list(plan.all_slices())
            row |= {
                "partition_paths": sorted({planned.partition_path for planned in slices}),
                "input_groups": len(plan.input_groups),
                "input_slices": len(slices),
            }
        yield row


def _replace_plan(view: TableView, instant: Instant) -> instant_metadata.ReplacePlan | None:
    """Load the plan of a clustering, which may have been requested as a replace commit."""
    plan = _plan(view, instant, Action.CLUSTERING, instant_metadata.parse_replace_plan)
    return plan or _plan(view, instant, Action.REPLACE_COMMIT, instant_metadata.parse_replace_plan)


def _plan(view: TableView, instant: Instant, action: Action, parse: BodyParser[_T]) -> _T | None:
    """Load the plan that requested an action; None if its file is missing or empty."""
    path = plan_path(replace(instant, action=action), view.config)
    with suppress(MissingFileError):
        body = read_instant(view.storage, path)
        return parse(body, path=path) if body else None
    return None


def _compaction_instants(view: TableView) -> Iterator[tuple[Instant, Action]]:
    """Yield the compactions of the active timeline, and the action that requested each."""
    compacted_as = _COMPACTED_AS if view.config.is_merge_on_read else {}
    for instant in view.timeline.instants:
        if instant.action in (Action.COMPACTION, Action.LOG_COMPACTION):
            yield instant, instant.action
        elif instant.is_completed and instant.action in compacted_as:
            service, operations = compacted_as[instant.action]
            if view.history.metadata(instant.requested_time).operation_type in operations:
                yield instant, service


def _written(view: TableView, instant: Instant) -> dict[str, object]:
    """Count what a completed action wrote, by column; {} while the action is pending."""
    if not instant.is_completed:
        return {}
    metadata = view.history.metadata(instant.requested_time)
    stats = [stat for _, stat in metadata.all_stats()]
    replaced = sum(map(len, metadata.replaced_file_ids.values()))
    return {"written_files": len(stats), "replaced_file_groups": replaced, **counts_of(stats)}


@with_columns(
    "requested_time, completion_time, action, state, archived bool, rolled_back texts, "
    "partition_paths texts, deleted_files int, rollback_blocks int, milliseconds int"
)
def rollbacks(view: TableView, *, archived: bool) -> InspectionRows:
    """Return one row per rollback or restore; see `Inspection.rollbacks`."""
    done = [*completed_rollbacks(view, archived=archived), *completed_restores(view)]
    rows: list[dict[str, object]] = [
        {
            **instant_row(instant),
            "archived": is_archived,
            "rolled_back": metadata.rolled_back_times,
            "partition_paths": sorted({p.partition_path for p in metadata.partitions}),
            "deleted_files": sum(len(p.deleted_files) for p in metadata.partitions),
            "rollback_blocks": sum(len(p.rollback_log_files) for p in metadata.partitions),
            "milliseconds": metadata.milliseconds,
        }
        for instant, metadata, is_archived in done
    ]
    for instant in view.timeline.pending:
        if instant.action in (Action.ROLLBACK, Action.RESTORE):
            undone = _plan(view, instant, instant.action, instant_metadata.parse_rollback_plan)
            rows.append({**instant_row(instant), "archived": False, "rolled_back": undone})
    return _sorted_by_time(rows)


@with_columns(
    "requested_time, completion_time, state, saved_at time, saved_by, comments, "
    "partition_paths texts, files int"
)
def savepoints(view: TableView) -> Iterator[dict[str, object]]:
    """Yield one row per savepoint; see `Inspection.savepoints`."""
    for instant in view.timeline.of_action(Action.SAVEPOINT):
        row = instant_row(instant)
        if instant.is_completed:
            savepoint = view.history.load(instant, instant_metadata.parse_savepoint_metadata)
            row |= {
                "saved_at": savepoint.saved_at_ms or None,
                "saved_by": savepoint.saved_by,
                "comments": savepoint.comments,
                "partition_paths": list(savepoint.file_names),
                "files": sum(map(len, savepoint.file_names.values())),
            }
        yield row


@with_columns(
    "requested_time, completion_time, action, operation, event, partition_path, path, records int, "
    "inserts int, updates int, deletes int, bytes int"
)
def history(view: TableView, file_id: str) -> InspectionRows:
    """Return one row per event; see `Inspection.history`."""
    return _sorted_by_time(_events(view, file_id) or _events(view, _whole_file_id(view, file_id)))


def _events(view: TableView, file_id: str) -> list[dict[str, object]]:
    return [*_writes(view, file_id), *_plans(view, file_id), *_removals(view, file_id)]


def _writes(view: TableView, file_id: str) -> Iterator[dict[str, object]]:
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
    """Yield the pending compactions and clusterings that read a group."""
    plans: list[tuple[Instant, Action, Iterable[instant_metadata.PlannedSlice]]] = [
        (i, action, _plan(view, i, action, instant_metadata.parse_compaction_plan) or ())
        for i, action in _compaction_instants(view)
        if not i.is_completed
    ]
    for instant in filter(view.history.is_clustering, view.timeline.pending):
        plan = _replace_plan(view, instant)
        plans.append((instant, Action.CLUSTERING, plan.all_slices() if plan is not None else ()))
    for instant, action, slices in plans:
        for planned in slices:
            if planned.file_id == file_id:
                event = {"event": f"{action} planned", "partition_path": planned.partition_path}
                yield {**instant_row(instant), **event}


def _removals(view: TableView, file_id: str) -> Iterator[dict[str, object]]:
    """Yield what cleans and rollbacks did to the files of a group."""
    removals = [
        (instant, "file cleaned", cleaned.partition_path, cleaned.deleted_files)
        for instant, clean, _ in completed_cleans(view, archived=True)
        for cleaned in clean.partitions
    ]
    for instant, rollback, _ in completed_rollbacks(view, archived=True):
        for undone in rollback.partitions:
            path = undone.partition_path
            blocks = undone.rollback_log_files
            removals.append((instant, "file rolled back", path, undone.deleted_files))
            removals.append((instant, "rollback block written", path, blocks))
    for instant, event, partition_path, names in removals:
        for name in names:
            parsed = parse_data_file_name(name)
            if parsed is not None and parsed.file_id == file_id:
                place = {"partition_path": partition_path, "path": path_in(partition_path, name)}
                yield {**instant_row(instant), "event": event, **place}


def _whole_file_id(view: TableView, beginning: str) -> str:
    """Expand the beginning of a file id, which is all that a narrow terminal shows.

    Raises:
        InvalidOptionError: no file id, or several, begin with the text.
    """
    commits = known_commits(view, archived=True)
    all_ids = {stat.file_id for c in commits for _, stat in c.metadata.all_stats()}
    ids = [file_id for file_id in all_ids if file_id.startswith(beginning) and beginning]
    if len(ids) == 1:
        return ids[0]
    if ids:
        raise InvalidOptionError(
            f"{len(ids)} file groups begin with {beginning!r}: {', '.join(sorted(ids))}"
        )
    hint = did_you_mean(beginning, sorted(all_ids), cutoff=0.3)
    raise InvalidOptionError(
        f"no instant of the table names a file group {beginning!r}{hint} (inspect.file_slices() "
        "lists the file ids)"
    )


def _sorted_by_time(rows: InspectionRows) -> InspectionRows:
    """Return rows in the order of their requested times."""
    return sorted(rows, key=lambda row: str(row["requested_time"]))
