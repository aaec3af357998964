"""The rollbacks and restores of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_pyspark.format.timeline.instant import Action
from hudi_pyspark.format.timeline.table_service_metadata import parse_rollback_plan
from hudi_pyspark.inspection.instant_columns import TIMES, instant_row, sorted_table
from hudi_pyspark.inspection.rewrites import read_requested
from hudi_pyspark.table.table_services import known_restores, known_rollbacks
from hudi_pyspark.table.timeline import instant_path

if TYPE_CHECKING:
    from hudi_pyspark.format.timeline.instant import Instant
    from hudi_pyspark.format.timeline.table_service_metadata import (
        RestoreMetadata,
        RollbackMetadata,
    )
    from hudi_pyspark.table.view import TableView

ROLLBACKS = pa.schema(
    [
        *TIMES,
        ("action", pa.string()),
        ("state", pa.string()),
        ("archived", pa.bool_()),
        ("rolled_back", pa.list_(pa.string())),
        ("partition_paths", pa.list_(pa.string())),
        ("deleted_files", pa.int64()),
        ("rollback_blocks", pa.int64()),
        ("milliseconds", pa.int64()),
    ]
)


def rollbacks(view: TableView, *, archived: bool) -> pa.Table:
    """Return one row per rollback or restore; see `Inspection.rollbacks`."""
    rows = [
        _completed_row(instant, rollback, (rollback,), is_archived=is_archived)
        for instant, rollback, is_archived in known_rollbacks(view, archived=archived)
    ]
    rows += [
        _completed_row(instant, restore, restore.rollbacks, is_archived=False)
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
    instant: Instant,
    metadata: RollbackMetadata | RestoreMetadata,
    rollbacks_done: tuple[RollbackMetadata, ...],
    *,
    is_archived: bool,
) -> dict[str, object]:
    partitions = [p for rollback in rollbacks_done for p in rollback.partitions]
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
    body = read_requested(view, instant, instant.action)
    path = instant_path(instant, view.config)
    return {
        **instant_row(instant),
        "archived": False,
        "rolled_back": parse_rollback_plan(body, path=path) if body is not None else None,
    }
