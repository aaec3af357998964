"""The cleans of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_pyspark.format.timeline.instant import Action
from hudi_pyspark.inspection.instant_columns import TIMES, instant_row, sorted_table
from hudi_pyspark.table.table_services import known_cleans

if TYPE_CHECKING:
    from hudi_pyspark.table.view import TableView

CLEANS = pa.schema(
    [
        *TIMES,
        ("state", pa.string()),
        ("archived", pa.bool_()),
        ("policy", pa.string()),
        ("earliest_commit_to_retain", pa.string()),
        ("last_completed_commit", pa.string()),
        ("partition_paths", pa.list_(pa.string())),
        ("deleted_files", pa.int64()),
        ("undeleted_files", pa.int64()),
        ("milliseconds", pa.int64()),
    ]
)


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
