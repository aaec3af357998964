"""The progress of long work, on standard error and only on a terminal."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import track as rich_track

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

_T = TypeVar("_T")


def track(items: Sequence[_T], description: str) -> Iterable[_T]:
    """Yield items and show a progress bar; the `Track` of the doctor."""
    console = Console(stderr=True)
    return rich_track(
        items, description, console=console, transient=True, disable=not console.is_terminal
    )


@contextmanager
def counting(description: str, unit: str) -> Iterator[Callable[[int], None]]:
    """Show a growing number, for work of unknown length."""
    console = Console(stderr=True)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TextColumn("{task.completed:,.0f} " + unit),
        TimeElapsedColumn(),
    )
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    with bar:
        task = bar.add_task(description, total=None)
        yield lambda count: bar.advance(task, count)
