"""Every instant of a table, active and archived."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_pyspark.table.timeline import instant_path

if TYPE_CHECKING:
    from hudi_pyspark.table.view import TableView

TIMELINE = pa.schema(
    [
        pa.field("requested_time", pa.string()),
        pa.field("completion_time", pa.string()),
        pa.field("action", pa.string()),
        pa.field("state", pa.string()),
        pa.field("archived", pa.bool_()),
        pa.field("path", pa.string()),
    ]
)


def timeline(view: TableView, *, archived: bool) -> pa.Table:
    """One row per instant; see `Inspection.timeline`."""
    active = {(i.requested_time, i.comparable_action) for i in view.timeline.instants}
    rows = [
        {
            "requested_time": instant.requested_time,
            "completion_time": instant.completion_time,
            "action": str(instant.action),
            "state": instant.state.name.lower(),
            "archived": False,
            "path": instant_path(instant, view.config),
        }
        for instant in view.timeline.instants
    ]
    if archived:
        rows += [
            {
                "requested_time": old.requested_time,
                "completion_time": old.completion_time,
                "action": str(old.action),
                "state": old.instant.state.name.lower(),
                "archived": True,
                "path": old.path,
            }
            for old in view.history.archived
            # A writer archives first and deletes from the active timeline then.
            if (old.requested_time, old.instant.comparable_action) not in active
        ]
    rows.sort(key=lambda row: (str(row["requested_time"]), str(row["action"])))
    return pa.Table.from_pylist(rows, schema=TIMELINE)
