"""What a check has found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_T = TypeVar("_T")


class Severity(Enum):
    """How much a finding matters."""

    OK = "ok"  # looked at, and as it should be
    NOTE = "note"  # worth knowing; nothing is wrong
    WARNING = "warning"  # reads are right, but something is odd, or some queries will be refused
    PROBLEM = "problem"  # reads fail, or Apache Hudi's would give other rows


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a check has found."""

    severity: Severity
    check: str  # e.g. "files"; findings of one check stand together
    subject: str  # the file, instant, package or setting; "" for the table as a whole
    message: str  # what was found, with what was expected where it differs
    advice: str = ""  # what to do; "" where there is nothing to do


class Track(Protocol):
    """Passes items through and shows how far it has come."""

    def __call__(self, items: Sequence[_T], description: str) -> Iterable[_T]: ...


def silently(items: Sequence[_T], description: str) -> Iterable[_T]:  # noqa: ARG001
    """A Track that shows nothing."""
    return items


def counted(count: int, noun: str) -> str:
    """A number of things, e.g. ``1 file`` or ``2 files``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
