"""Whether rows are those of a state that a table had."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, TypeAlias

Row: TypeAlias = tuple[Any, ...]
Rows: TypeAlias = Iterable[Row]

_SHOWN = 5  # rows of a difference
_LONGEST = 120  # characters of such a row


def difference(found: Rows, expected: Rows) -> str:
    """Return which rows are missing and which are there besides, each with its count; "" if none.

    The order of rows has no meaning.
    """
    answered, right = Counter(found), Counter(expected)
    if answered == right:
        return ""
    return f"lacks {_some(right - answered)}, has also {_some(answered - right)}"


def difference_from_all(found: Rows, answers: Iterable[Rows]) -> str:
    """Return "" if rows are those of one of the answers, or how they differ from the nearest."""
    answered = Counter(found)
    nearest: Counter[Row] | None = None
    least = 0
    for answer in map(Counter, answers):
        distance = (answered - answer).total() + (answer - answered).total()
        if not distance:
            return ""
        if nearest is None or distance < least:
            nearest = answer
            least = distance
    return (
        "no answer is right"
        if nearest is None
        else difference(answered.elements(), nearest.elements())
    )


def _some(rows: Counter[Row]) -> str:
    shown = [str(row)[:_LONGEST] for row in sorted(rows.elements(), key=str)[:_SHOWN]]
    return f"{rows.total()} rows: {', '.join(shown)}" if shown else "no row"
