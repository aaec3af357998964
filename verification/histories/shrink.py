"""Smaller histories that still fail."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count, takewhile

from verification.common.data import load_data
from verification.common.shrinking import shortest
from verification.histories.history import History

_KEPT_OPTIONS = tuple(load_data(__file__, "steps.toml")["kept"])


def shrink(
    history: History,
    fails: Callable[[History], bool],
    *,
    seconds: float,
    clock: Callable[[], float] = time.monotonic,
) -> History:
    """Drop steps, then rows, options and columns, as long as the history still fails.

    Args:
        history: one that fails.
        fails: whether a smaller one does too; what it takes is nearly all of the time.
        seconds: no attempt begins after them.
        clock: the time now.
    """
    end = clock() + seconds
    attempts = takewhile(lambda _: clock() < end, count())
    return shortest(history, _smaller, fails, attempts=attempts)


def _smaller(history: History) -> Iterator[History]:
    for cuts in (_fewer_steps, _fewer_rows, _fewer_options, _fewer_columns):
        yield from cuts(history)


def _fewer_steps(history: History) -> Iterator[History]:
    """Without the second half of the steps, then without each, the last first."""
    steps = history.steps
    if len(steps) > 3:
        yield history.with_steps(steps[: len(steps) // 2 + 1])
    for n in range(len(steps) - 1, 0, -1):
        yield history.with_steps(steps[:n] + steps[n + 1 :])


def _fewer_rows(history: History) -> Iterator[History]:
    """Without half of the rows of a step, without a quarter of them, … without one."""
    for number, step in enumerate(history.steps):
        size = len(step.rows) // 2
        while size:
            for start in range(0, len(step.rows), size):
                rows = step.rows[:start] + step.rows[start + size :]
                if rows:
                    smaller = replace(step, rows=rows)
                    steps = (*history.steps[:number], smaller, *history.steps[number + 1 :])
                    yield history.with_steps(steps)
            size //= 2


def _fewer_options(history: History) -> Iterator[History]:
    for key in history.options:
        if not key.endswith(_KEPT_OPTIONS):
            options = {k: v for k, v in history.options.items() if k != key}
            yield replace(history, options=options)


def _fewer_columns(history: History) -> Iterator[History]:
    """Without a column, in all steps; one that a statement names is kept."""
    names = dict.fromkeys(c.name for step in history.steps for c in step.columns)
    statements = " ".join(step.text for step in history.steps)
    for name in names:
        if name not in history.needed_columns and name not in statements:
            yield _without_column(history, name)


def _without_column(history: History, name: str) -> History:
    steps = []
    for step in history.steps:
        kept = [n for n, column in enumerate(step.columns) if column.name != name]
        columns = tuple(step.columns[n] for n in kept)
        rows = tuple(tuple(row[n] for n in kept) for row in step.rows)
        steps.append(replace(step, columns=columns, rows=rows))
    return history.with_steps(tuple(steps))
