"""The rows of a query in SQL as an answer that engines have in common."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def rows_answer(rows: Iterable[Sequence[Any]]) -> dict[str, Any]:
    """Return the rows by number; of fractions, engines have between four and all digits."""
    return {f"row {number}": [*map(plain, row)] for number, row in enumerate(rows)}


def plain(value: Any) -> Any:
    if isinstance(value, Decimal | float):
        return round(float(value), 4)
    return value.isoformat() if isinstance(value, date) else value
