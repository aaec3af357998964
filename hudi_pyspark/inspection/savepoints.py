"""The savepoints of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_pyspark.format.timeline.instant import Action
from hudi_pyspark.format.timeline.table_service_metadata import parse_savepoint_metadata
from hudi_pyspark.inspection.instant_columns import TIMES, instant_row, sorted_table
from hudi_pyspark.table.timeline import instant_path, read_instant

if TYPE_CHECKING:
    from hudi_pyspark.table.view import TableView

SAVEPOINTS = pa.schema(
    [
        *TIMES,
        ("state", pa.string()),
        ("saved_at", pa.timestamp("ms", "UTC")),
        ("saved_by", pa.string()),
        ("comments", pa.string()),
        ("partition_paths", pa.list_(pa.string())),
        ("files", pa.int64()),
    ]
)


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
