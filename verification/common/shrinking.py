"""The shortest plan whose answers still differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar


class Shortened(Protocol):
    """A plan that can do without each of its parts."""

    def shorter(self: AnyPlan) -> Iterator[AnyPlan]:
        """Yield plans with one part less, those without a large part first."""


AnyPlan = TypeVar("AnyPlan", bound=Shortened)


def shortest(plan: AnyPlan, differs: Callable[[AnyPlan], bool], *, trials: int) -> AnyPlan:
    """Return the plan without the parts whose answers differ without them as well.

    Args:
        plan: whose answers differ.
        differs: asks a plan.
        trials: how many plans are asked at most.
    """
    while trials:
        for shorter in plan.shorter():
            if not trials:
                return plan
            trials -= 1
            if differs(shorter):
                plan = shorter
                break
        else:
            return plan
    return plan
