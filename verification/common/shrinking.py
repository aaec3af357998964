"""The shortest plan, or the smallest history, whose answers still differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def shortest(
    plan: T,
    shorter: Callable[[T], Iterator[T]],
    differs: Callable[[T], bool],
    *,
    attempts: Iterable[object],
) -> T:
    """Return a plan without the parts whose answers differ without them as well.

    Args:
        plan: whose answers differ.
        shorter: yields plans with one part less, those without a large part first.
        differs: asks a plan.
        attempts: as many items as plans may be asked.
    """
    position = 0
    is_shorter = False
    for _ in attempts:
        # What comes at a position after a plan became shorter is the next that was not tried.
        candidate = next(islice(shorter(plan), position, None), None)
        if candidate is None and not is_shorter:
            break
        if candidate is None:
            position = 0
            is_shorter = False
        elif differs(candidate):
            plan = candidate
            is_shorter = True
        else:
            position += 1
    return plan
