"""The columns of a table: types, null shares, bounds, and their changes."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.columns.type_text import type_text
from hudi_pyspark.inspection.definition import schema_history

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hudi_pyspark.report.facts import Facts

_LONGEST_BOUND = 80  # characters
_MOST_CHANGES = 100
_COUNTS = ("values", "nulls")


def schema_section(facts: Facts) -> dict[str, Any]:
    """Return the columns with their statistics, and every change with its commit."""
    table = facts.column_statistics
    history = schema_history(facts.view)
    comments = _comments(history["avro_schema"][-1].as_py()) if history else {}
    changes = history.drop_columns(["avro_schema"]).to_pylist()
    return {
        "columns": [
            {**_column(field, table), "comment": comments.get(field.name, "")}
            for field in facts.schema
        ],
        "files_with_statistics": pc.count_distinct(table["path"]).as_py(),
        "statistics_problems": facts.problems,
        "sampled_file_groups": facts.sampled_slices.num_rows,
        "changes": changes[-_MOST_CHANGES:],
        "all_changes": len(changes),
    }


def _comments(avro_schema: str) -> dict[str, str]:
    """Return the comments of columns, which Avro calls doc."""
    fields = json.loads(avro_schema)["fields"]
    return {field["name"]: str(field["doc"]) for field in fields if field.get("doc")}


def _column(field: pa.Field, statistics: pa.Table) -> dict[str, Any]:
    rows = statistics.filter(pc.equal(statistics["column"], field.name))
    is_known = rows and not rows["nulls"].null_count
    values, nulls = (pc.sum(rows[name]).as_py() if is_known else None for name in _COUNTS)
    low, high = (rows[name].drop_null().to_pylist() for name in ("min", "max"))
    order = order_of(field.type, [*low, *high])
    return {
        "column": field.name,
        "type": type_text(field.type),
        "values": values,
        "nulls": nulls,
        "null_share": nulls / values if values else None,
        "min": min(low, key=order)[:_LONGEST_BOUND] if low else None,
        "max": max(high, key=order)[:_LONGEST_BOUND] if high else None,
        "bytes": pc.sum(rows["bytes"]).as_py() or None,
        "files_per_value": files_per_value(rows, order),
    }


def order_of(kind: pa.DataType, texts: Iterable[str]) -> Callable[[str], Any]:
    """Return the key by which texts of bounds are ordered as values."""
    order: Callable[[str], Any] = str
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        order = float if pa.types.is_floating(kind) else Decimal
    try:
        for text in texts:
            order(text)
    except (ValueError, ArithmeticError):  # bounds from before the column had this type
        return str
    return order


def files_per_value(rows: pa.Table, order: Callable[[str], Any]) -> float | None:
    """Return the share of files that a search for one value reads, on average over their minima.

    1 means that the statistics rule out no file. None with fewer than two files.
    """
    known = [(row["min"], row["max"]) for row in rows.to_pylist() if row["min"] is not None]
    if len(known) < 2:
        return None
    lows, highs = (sorted(map(order, bounds)) for bounds in zip(*known, strict=True))
    # Of the files that begin up to a value, those that ended before it are not read.
    read = sum(bisect_right(lows, value) - bisect_left(highs, value) for value in lows)
    return read / len(known) ** 2
