"""Every instant of a table, active and archived."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_pyspark.inspection.instant_columns import TIMES, instant_row
from hudi_pyspark.table.timeline import instant_path

if TYPE_CHECKING:
    from hudi_pyspark.format.timeline.instant import Instant
    from hudi_pyspark.table.view import TableView

TIMELINE = pa.schema(
    [
        *TIMES,
        ("action", pa.string()),
        ("state", pa.string()),
        ("archived", pa.bool_()),
        ("path", pa.string()),
    ]
)


def timeline(view: TableView, *, archived: bool) -> pa.Table:
    """Return one row per instant; see `Inspection.timeline`."""
    active = {(i.requested_time, i.comparable_action) for i in view.timeline.instants}
    rows = [
        _row(instant, instant_path(instant, view.config), is_archived=False)
        for instant in view.timeline.instants
    ]
    if archived:
        rows += [
            _row(entry.instant, entry.path, is_archived=True)
            for entry in view.history.archived
            # Writers archive an instant before they delete it from the active timeline.
            if (entry.requested_time, entry.instant.comparable_action) not in active
        ]
    rows.sort(key=lambda row: (str(row["requested_time"]), str(row["action"])))
    return pa.Table.from_pylist(rows, schema=TIMELINE)


def _row(instant: Instant, path: str, *, is_archived: bool) -> dict[str, object]:
    return {
        **instant_row(instant),
        "archived": is_archived,
        "path": path,
    }
