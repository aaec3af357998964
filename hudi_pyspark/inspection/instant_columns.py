"""The columns that describe an instant, shared by many inspection tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from hudi_pyspark.format.timeline.instant import Instant

TIMES = (("requested_time", pa.string()), ("completion_time", pa.string()))


def instant_row(instant: Instant) -> dict[str, object]:
    """Return the columns of an instant; `pa.Table.from_pylist` drops those not in its schema."""
    return {
        "requested_time": instant.requested_time,
        "completion_time": instant.completion_time,
        "action": str(instant.action),
        "state": instant.state.name.lower(),
    }


def sorted_table(rows: list[dict[str, object]], schema: pa.Schema) -> pa.Table:
    """Return rows as a table, sorted by requested time; missing values are null."""
    rows = sorted(rows, key=lambda row: str(row["requested_time"]))
    return pa.Table.from_pylist(rows, schema=schema)
