"""What the optimizer's rule writes into the metadata of the columns that it asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql.types import StructType

_FILTERS = "hudi-py.filters"
_LIMIT = "hudi-py.limit"
_PLACEHOLDER = "hudi-py.placeholder"
_PINNED = "hudi-py.pinned"


@dataclass(frozen=True, slots=True)
class Hints:
    """What the rule says of a query, beyond its columns.

    Attributes:
        columns: those whose values matter.
        filters: texts of conditions that Spark applies above the scan, each by itself.
        limit: rows after which Spark stops; None for all.
        is_pinned: the table is read as it was when the DataFrame was loaded, since the scans of a
            DataFrame are planned one by one and must agree.
    """

    columns: StructType
    filters: tuple[str, ...] = ()
    limit: int | None = None
    is_pinned: bool = False


def read_hints(schema: StructType) -> Hints:
    """Read the hints out of the schema that Spark asks for."""
    first: dict[str, Any] = schema[0].metadata or {} if len(schema) else {}
    text = first.get(_FILTERS, "")
    limit = first.get(_LIMIT)
    return Hints(
        columns=StructType([f for f in schema if _PLACEHOLDER not in (f.metadata or {})]),
        filters=tuple(text.split("\n")) if text else (),
        limit=int(limit) if limit is not None else None,
        is_pinned=_PINNED in first,
    )
