"""What a table says of itself: its properties, partitions and the instants of its timeline."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_COMPLETED = re.compile(r"(\d+)(?:_(\d+))?\.(?!inflight)([a-z]+)")
_COMMITS = ("commit", "deltacommit", "replacecommit", "clustering")


@dataclass(frozen=True, slots=True, order=True)
class Instant:
    """A completed commit of any kind, or another action."""

    requested: str
    completion: str  # the requested time before table version 8, where file names have no other
    action: str

    @property
    def file_name(self) -> str:
        times = dict.fromkeys((self.requested, self.completion))
        return f"{'_'.join(times)}.{self.action}"


def timeline_files(table: Path) -> Iterator[Path]:
    """Yield the files of the active timeline, and what else its folder has."""
    root = table / ".hoodie"
    # A downgraded table keeps the empty folder of its later version.
    for folder in (root, root / "timeline"):
        if folder.is_dir():
            yield from (file for file in folder.iterdir() if file.is_file())


def completed_instants(table: Path) -> tuple[Instant, ...]:
    """Completed instants of the active timeline, in order; () where there is no table."""
    found = (_COMPLETED.fullmatch(file.name) for file in timeline_files(table))
    return tuple(sorted(Instant(m[1], m[2] or m[1], m[3]) for m in found if m))


def completed_commits(table: Path) -> tuple[Instant, ...]:
    """Completed commits of the active timeline, in order; () where there is no table."""
    return tuple(i for i in completed_instants(table) if i.action in _COMMITS)


def table_properties(table: Path) -> dict[str, str]:
    """The properties of a table as they are now."""
    lines = (table / ".hoodie" / "hoodie.properties").read_text().splitlines()
    pairs = (line.partition("=") for line in lines if not line.startswith("#"))
    return {key: value for key, _, value in pairs}


def partition_paths(table: Path) -> tuple[str, ...]:
    """Relative paths of the table's partitions, in order."""
    marks = table.rglob(".hoodie_partition_metadata*")
    folders = {mark.parent.relative_to(table).as_posix() for mark in marks}
    return tuple(sorted(f for f in folders if not f.startswith(".hoodie") and f != "."))


def data_logs(table: Path) -> Iterator[str]:
    """Yield the relative paths of the log files of a table's data."""
    for file in table.rglob(".*.log.*"):
        if ".hoodie" not in file.parts and not file.name.endswith((".crc", ".cdc")):
            yield file.relative_to(table).as_posix()
