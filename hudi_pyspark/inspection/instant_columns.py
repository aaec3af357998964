"""The columns that describe an instant, shared by many inspection tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from hudi_pyspark.format.timeline.instant import Instant

TIMES = (("requested_time", pa.string()), ("completion_time", pa.string()))
ACTION = ("action", pa.string())
STATE = ("state", pa.string())


def times_of(instant: Instant) -> dict[str, object]:
    """Return the values of `TIMES`."""
    return {"requested_time": instant.requested_time, "completion_time": instant.completion_time}


def state_of(instant: Instant) -> dict[str, object]:
    """Return the value of `STATE`."""
    return {"state": instant.state.name.lower()}


def action_of(instant: Instant) -> dict[str, object]:
    """Return the value of `ACTION`."""
    return {"action": str(instant.action)}


def sorted_table(rows: list[dict[str, object]], schema: pa.Schema) -> pa.Table:
    """Return rows as a table, sorted by requested time; missing values are null."""
    rows = sorted(rows, key=lambda row: str(row["requested_time"]))
    return pa.Table.from_pylist(rows, schema=schema)
