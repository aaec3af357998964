"""Ranges of a file, as begins and ends in bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

Span: TypeAlias = "tuple[int, int]"

HOLE: Final = 1 << 20  # bytes that are read faster than skipped, where a read is a request


def coalesce(spans: Iterable[Span], *, hole: int = HOLE, most: int | None = None) -> list[Span]:
    """Return the ranges to request, in order and without overlaps.

    Up to ``hole`` bytes between two are requested along, but no request grows past ``most`` bytes.
    """
    ranges: list[Span] = []
    for begin, end in sorted(spans):
        if ranges:
            last_begin, last_end = ranges[-1]
            is_near = begin - last_end <= hole
            if begin < last_end or (is_near and (most is None or end - last_begin <= most)):
                ranges[-1] = (last_begin, max(last_end, end))
                continue
        ranges.append((begin, end))
    return ranges
