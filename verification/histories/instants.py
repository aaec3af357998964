"""The instants of a table's active timeline, by the names of its files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_COMPLETED = re.compile(r"(\d+)(?:_(\d+))?\.(commit|deltacommit|replacecommit|clustering)")


@dataclass(frozen=True, slots=True, order=True)
class Instant:
    """A completed commit of any kind."""

    requested: str
    completion: str  # the requested time before table version 8, where file names have no other
    action: str


def completed_commits(table: Path) -> tuple[Instant, ...]:
    """Completed commits of the active timeline, in order; () where there is no table."""
    root = table / ".hoodie"
    # A downgraded table keeps the empty folder of its later version.
    folders = [folder for folder in (root, root / "timeline") if folder.is_dir()]
    names = [file.name for folder in folders for file in folder.iterdir()]
    found = map(_COMPLETED.fullmatch, names)
    return tuple(sorted(Instant(m[1], m[2] or m[1], m[3]) for m in found if m))


def partition_paths(table: Path) -> tuple[str, ...]:
    """Relative paths of the table's partitions, in order."""
    marks = table.rglob(".hoodie_partition_metadata*")
    folders = {mark.parent.relative_to(table).as_posix() for mark in marks}
    return tuple(sorted(f for f in folders if not f.startswith(".hoodie") and f != "."))
