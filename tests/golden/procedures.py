"""Apache Hudi's answers to calls of its procedures."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from tests.conftest import GOLDEN
from tests.golden.case import load_cases

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    Row = dict[str, Any]

ASKED = {case.name: case for case in load_cases(GOLDEN) if "procedures" in case.facts}


@cache
def calls(case: str) -> list[dict[str, Any]]:
    return list(ASKED[case].recorded("procedures"))


def answers(case: str, procedure: str, **arguments: object) -> Iterator[tuple[Row, list[Row]]]:
    """Arguments and rows of each call that Apache Hudi answered."""
    for call in calls(case):
        given = call["args"]
        if call["procedure"] != procedure or "error" in call:
            continue
        if all(given.get(name) == value for name, value in arguments.items()):
            rows = [dict(zip(call["columns"], row, strict=True)) for row in call["rows"]]
            yield given, rows


def answer(case: str, procedure: str, **arguments: object) -> list[Row]:
    """Rows of the one call."""
    ((_, rows),) = answers(case, procedure, **arguments)
    return rows


def picked(rows: Iterable[Row], names: Sequence[str]) -> list[tuple[Any, ...]]:
    """Values of some columns, sorted."""
    return sorted((tuple(row[name] for name in names) for row in rows), key=repr)


def relative(path: str) -> str:
    return path.removeprefix("<table>").lstrip("/")
