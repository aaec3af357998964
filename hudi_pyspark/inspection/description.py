"""Describe a table in a few lines: its properties and its last commit."""

from dataclasses import dataclass

from hudi_pyspark.errors import printable
from hudi_pyspark.html_table import html_table
from hudi_pyspark.table.view import TableView
from hudi_pyspark.wording import counted


@dataclass(frozen=True, slots=True)
class Description:
    """The main facts about a table; `str` formats them for people.

    Sizes need a listing of the files: see `Inspection.statistics`.
    """

    name: str
    path: str
    table_type: str
    version: int
    record_key_fields: tuple[str, ...]  # () if no property names them
    ordering_fields: tuple[str, ...]
    partition_fields: tuple[str, ...]  # () for an unpartitioned table
    last_commit: str  # requested time; "" if there is none
    last_action: str  # "" if there is no commit
    commits: int  # completed, on the active timeline

    def rows(self) -> tuple[tuple[str, str], ...]:
        """Return the facts as pairs of label and text, in the order in which they are shown."""
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
        """Format the facts as an HTML table, for notebooks."""
        return html_table(f"HudiTable {self.name}", self.rows())

    def __str__(self) -> str:
        lines = [f"  {label:<12}{text}" for label, text in self.rows()]
        return "\n".join(map(printable, [f"HudiTable {self.name}", *lines]))


def describe(view: TableView) -> Description:
    """Return the main facts about a table, from its properties and timeline alone."""
    config = view.config
    commits = view.history.commits
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
