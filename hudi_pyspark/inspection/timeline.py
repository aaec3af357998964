"""The instants of a table, active and archived."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_pyspark.inspection.definition import InspectionRows, with_columns
from hudi_pyspark.table.timeline import instant_path

if TYPE_CHECKING:
    from hudi_pyspark.format.timeline.instant import Instant
    from hudi_pyspark.table.view import TableView


@with_columns("requested_time, completion_time, action, state, archived bool, path")
def timeline(view: TableView, *, archived: bool) -> InspectionRows:
    """Return one row per instant; see `Inspection.timeline`."""
    active = {(i.requested_time, i.comparable_action) for i in view.timeline.instants}
    rows = [
        {**instant_row(i), "archived": False, "path": instant_path(i, view.config)}
        for i in view.timeline.instants
    ]
    if archived:
        rows += [
            {**instant_row(entry), "archived": True, "path": entry.path}
            for entry in view.history.archived
            # Writers archive an instant before they delete it from the active timeline.
            if (entry.requested_time, entry.comparable_action) not in active
        ]
    return sorted(rows, key=lambda row: (str(row["requested_time"]), str(row["action"])))


def instant_row(instant: Instant) -> dict[str, object]:
    """Return the columns of an instant: its times, action and state."""
    return {
        "requested_time": instant.requested_time,
        "completion_time": instant.completion_time,
        "action": str(instant.action),
        "state": instant.state.name.lower(),
    }


def sorted_by_time(rows: InspectionRows) -> InspectionRows:
    """Return rows in the order of their requested times."""
    return sorted(rows, key=lambda row: str(row["requested_time"]))
