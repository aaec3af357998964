"""A table in a few lines: its properties and its last commit, without reading any file."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from hudi_pyspark.errors import printable

if TYPE_CHECKING:
    from hudi_pyspark.table.view import TableView


@dataclass(frozen=True, slots=True)
class Description:
    """The main facts about a table; `str` returns them as text.

    It has no sizes, which need a listing: `Inspection.statistics` returns them.
    """

    name: str
    path: str
    table_type: str
    version: int
    record_key_fields: tuple[str, ...]  # () when keys live only in _hoodie_record_key
    ordering_fields: tuple[str, ...]
    partition_fields: tuple[str, ...]  # () for an unpartitioned table
    last_commit: str  # requested time; "" if there is none
    last_action: str  # "" if there is no commit
    commits: int  # completed, on the active timeline

    def rows(self) -> tuple[tuple[str, str], ...]:
        """Return labels and texts, in the order in which they are shown."""
        last_commit = "none"
        if self.last_commit:
            commits = counted(self.commits, "commit")
            last_commit = f"{self.last_commit} ({self.last_action}), of {commits}"
        return (
            ("path", self.path),
            ("type", f"{self.table_type}, table version {self.version}"),
            ("record key", ", ".join(self.record_key_fields) or "not named"),
            ("ordering", ", ".join(self.ordering_fields) or "none"),
            ("partitions", ", ".join(self.partition_fields) or "none"),
            ("last commit", last_commit),
        )

    def to_html(self) -> str:
        """Return the facts as an HTML table, for notebooks."""
        rows = "".join(
            f'<tr><th style="text-align:left">{escape(label)}</th>'
            f'<td style="text-align:left">{escape(printable(text))}</td></tr>'
            for label, text in self.rows()
        )
        name = escape(printable(self.name))
        return f"<table><caption><b>HudiTable {name}</b></caption>{rows}</table>"

    def __str__(self) -> str:
        lines = [f"  {label:<12}{text}" for label, text in self.rows()]
        return "\n".join(map(printable, [f"HudiTable {self.name}", *lines]))


def describe(view: TableView) -> Description:
    """Describe a table by its properties and timeline; reads no file and lists no folder."""
    config, commits = view.config, view.commits
    return Description(
        name=config.name,
        path=view.storage.describe(""),
        table_type=config.table_type.value,
        version=config.version,
        record_key_fields=config.record_key_fields,
        ordering_fields=config.ordering_fields,
        partition_fields=config.partition_fields,
        last_commit=commits[-1].requested_time if commits else "",
        last_action=str(commits[-1].action) if commits else "",
        commits=len(commits),
    )


def byte_text(count: float) -> str:
    """Format a number of bytes for people, e.g. ``12.3 MB``, by powers of 1000."""
    if count < 1000:
        return f"{count} B"
    for unit in ("kB", "MB", "GB", "TB"):
        count /= 1000
        if count < 999.95:
            return f"{count:.1f} {unit}"
    return f"{count / 1000:.1f} PB"


def counted(count: int, noun: str) -> str:
    """Format a number with its noun, e.g. ``1 file`` or ``1,200 files``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def duration_text(seconds: float) -> str:
    """Return a duration in its largest unit; ``in 2 days`` if it is negative."""
    if seconds < 0:  # the clock of the writer is ahead
        return f"in {duration_text(-seconds)}"
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            return counted(int(seconds / length), unit)
    return counted(int(seconds), "second")
