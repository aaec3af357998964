"""Every instant of a table, active and archived, and the columns that tables of instants share."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_pyspark.table.timeline import instant_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hudi_pyspark.format.timeline.instant import Instant
    from hudi_pyspark.table.view import TableView


_ROWS_AT_ONCE = 65_536
_TYPES = {
    "": pa.string(),
    "int": pa.int64(),
    "float": pa.float64(),
    "bool": pa.bool_(),
    "time": pa.timestamp("ms", "UTC"),
    "texts": pa.list_(pa.string()),
    "map": pa.map_(pa.string(), pa.string()),
}


def schema_of(columns: str) -> pa.Schema:
    """Return a schema, given names with a type behind each, with commas between; mostly text."""
    named = (column.strip().partition(" ") for column in columns.split(","))
    return pa.schema([(name, _TYPES[kind]) for name, _, kind in named])


TIMELINE = schema_of("requested_time, completion_time, action, state, archived bool, path")


def timeline(view: TableView, *, archived: bool) -> pa.Table:
    """Return one row per instant; see `Inspection.timeline`."""
    active = {(i.requested_time, i.comparable_action) for i in view.timeline.instants}
    rows = [
        {**instant_row(i), "archived": False, "path": instant_path(i, view.config)}
        for i in view.timeline.instants
    ]
    if archived:
        rows += [
            {**instant_row(entry.instant), "archived": True, "path": entry.path}
            for entry in view.history.archived
            # Writers archive an instant before they delete it from the active timeline.
            if (entry.requested_time, entry.instant.comparable_action) not in active
        ]
    rows.sort(key=lambda row: (str(row["requested_time"]), str(row["action"])))
    return pa.Table.from_pylist(rows, schema=TIMELINE)


def instant_row(instant: Instant) -> dict[str, object]:
    """Return the columns of an instant; `pa.Table.from_pylist` drops those not in its schema."""
    return {
        "requested_time": instant.requested_time,
        "completion_time": instant.completion_time,
        "action": str(instant.action),
        "state": instant.state.name.lower(),
    }


def table_of(rows: Iterable[Mapping[str, object]], schema: pa.Schema) -> pa.Table:
    """Return rows as a table; of very many rows only some are Python values at a time."""
    rest = iter(rows)
    parts = iter(lambda: list(islice(rest, _ROWS_AT_ONCE)), [])
    tables = [pa.Table.from_pylist(part, schema=schema) for part in parts]
    return pa.concat_tables(tables) if tables else schema.empty_table()


def sorted_table(rows: list[dict[str, object]], schema: pa.Schema) -> pa.Table:
    """Return rows as a table, sorted by requested time; missing values are null."""
    rows = sorted(rows, key=lambda row: str(row["requested_time"]))
    return pa.Table.from_pylist(rows, schema=schema)
