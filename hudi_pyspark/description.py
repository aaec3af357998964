"""A table in a few lines: its properties and last commits, without any listing."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from hudi_pyspark.errors import HudiError

if TYPE_CHECKING:
    from hudi_pyspark.table.view import TableView

# Each costs one small file. Hudi keeps at least twenty commits on the active timeline.
_DESCRIBED_COMMITS = 10


@dataclass(frozen=True, slots=True)
class Description:
    """The main facts about a table; `str` returns them as text.

    The size of the whole table would need a listing (`HudiTable.inspect`), so that the size of the
    last commits is given instead.
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
    sized_commits: int  # number of last commits that the two fields below count
    written_files: int
    written_bytes: int

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
            ("size", self._size()),
        )

    def to_html(self) -> str:
        """Return the facts as an HTML table, for notebooks."""
        rows = "".join(
            f'<tr><th style="text-align:left">{escape(label)}</th>'
            f'<td style="text-align:left">{escape(text)}</td></tr>'
            for label, text in self.rows()
        )
        return f"<table><caption><b>HudiTable {escape(self.name)}</b></caption>{rows}</table>"

    def __str__(self) -> str:
        lines = [f"  {label:<12}{text}" for label, text in self.rows()]
        return "\n".join([f"HudiTable {self.name}", *lines])

    def _size(self) -> str:
        if not self.commits:
            return "nothing written yet"
        if not self.sized_commits:
            return "unknown: the last commits cannot be read"
        written = f"{byte_text(self.written_bytes)} in {counted(self.written_files, 'file')}"
        if self.sized_commits == 1:
            return f"{written}, written by the last commit"
        return f"{written}, written by the last {self.sized_commits} commits"


def describe(view: TableView) -> Description:
    """Describe a table; reads the metadata of its last commits and lists nothing.

    If a commit cannot be read, only the size is missing, so that a damaged table can be described.
    """
    config, commits = view.config, view.commits
    last = commits[-_DESCRIBED_COMMITS:]
    metadata = []
    with suppress(HudiError, OSError):
        metadata = list(view.commit_metadata.of([c.requested_time for c in last]).values())
    stats = [stat for commit in metadata for _, stat in commit.all_stats()]
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
        sized_commits=len(metadata),
        # Before version 8 commits append to log files of others.
        written_files=len({stat.path for stat in stats}),
        written_bytes=sum(stat.total_write_bytes for stat in stats),
    )


def byte_text(count: int) -> str:
    """Format a number of bytes for people, e.g. ``12.3 MB``, by powers of 1000."""
    if count < 1000:
        return f"{count} B"
    size = float(count)
    for unit in ("kB", "MB", "GB", "TB"):
        size /= 1000
        if size < 999.95:
            return f"{size:.1f} {unit}"
    return f"{size / 1000:.1f} PB"


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
