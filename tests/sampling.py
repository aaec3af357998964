"""A part of the questions of long tests for `make test`; `make test-full` asks all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar
from zlib import crc32

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

    Asked = TypeVar("Asked")

# For tests that take `is_whole`: they run twice, the second time only in `make test-full`.
SAMPLED = pytest.mark.parametrize(
    "is_whole", [False, pytest.param(True, marks=pytest.mark.full)], ids=["sample", "whole"]
)


def sample(questions: Iterable[Asked], name: str, every: int) -> list[Asked]:
    """Choose one of every few questions, the same ones in each run.

    Args:
        questions: in an order that mixes their kinds.
        name: of the case; where the choice begins depends on it, so that cases differ.
        every: how many questions one is chosen of; at least one is, if there is any.
    """
    listed = list(questions)
    first = crc32(name.encode()) % max(1, min(every, len(listed)))
    return listed[first::every]
