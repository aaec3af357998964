"""The page over several tables, and the tables of a folder."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from hudi_pyspark.doctor.finding import Severity, worst
from hudi_pyspark.errors import printable
from hudi_pyspark.report.page import render
from hudi_pyspark.table.config import METADATA_FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hudi_pyspark.report.report import Report
    from hudi_pyspark.storage import Storage

_DEEPEST = 4  # folders between a warehouse and a table


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """A table of an index: its report, or why there is none."""

    place: str  # path, or name in a catalog
    report: Report | None
    error: str = ""

    @property
    def severity(self) -> Severity:
        """The severity of the worst finding; a table that cannot be read is a problem."""
        return Severity.PROBLEM if self.report is None else self.report.severity


@dataclass(frozen=True, slots=True)
class ReportIndex:
    """Several tables, the worst first."""

    title: str
    entries: tuple[IndexEntry, ...]
    default_file: ClassVar[str] = "report"  # a folder

    @property
    def severity(self) -> Severity:
        return worst(entry.severity for entry in self.entries)

    def content(self) -> dict[str, Any]:
        """Return one row per table, as JSON can have it."""
        return {"title": self.title, "tables": [_row(*named) for named in self._named()]}

    def to_json(self) -> str:
        return printable(json.dumps(self.content(), indent=1, ensure_ascii=False), keep_lines=True)

    def save(self, folder: str | Path) -> Path:
        """Write ``index.html`` and a page per table into a local folder; return the index.

        Raises:
            ImportError: the extra ``report`` is not installed.
        """
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        for name, entry in self._named():
            if entry.report is not None:
                entry.report.save(target / name)
        index = target / "index.html"
        index.write_text(render("index.html.j2", self.content()), encoding="utf-8")
        return index

    def _named(self) -> list[tuple[str, IndexEntry]]:
        """Return file names of pages and entries, the worst first."""
        order, names = list(Severity), {"index.html"}
        entries = sorted(self.entries, key=lambda e: (-order.index(e.severity), e.place))
        return [(_file_name(entry.place, names), entry) for entry in entries]


def _file_name(place: str, taken: set[str]) -> str:
    """Return a name of harmless letters for a page, which no other page has."""
    stem = re.sub(r"[^A-Za-z0-9_.-]+", "_", place.rstrip("/").rpartition("/")[2]).strip("._")[:80]
    numbered = (f"-{number}" if number > 1 else "" for number in range(1, len(taken) + 2))
    name = next(n for s in numbered if (n := f"{stem or 'table'}{s}.html").lower() not in taken)
    taken.add(name.lower())
    return name


def _row(page: str, entry: IndexEntry) -> dict[str, Any]:
    row = {"place": entry.place, "severity": entry.severity.value, "error": entry.error}
    if entry.report is None:
        return row
    content = entry.report.content
    table, statistics, findings = content["table"], content["statistics"], content["findings"]
    names = ("name", "type", "version", "rows", "last_commit", "last_commit_age")
    return {
        **row,
        "page": page,
        **{name: table[name] for name in names},
        "bytes": statistics["base_bytes"] + statistics["log_bytes"],
        **{n: statistics[n] for n in ("partitions", "file_groups", "log_to_base_ratio")},
        "findings": {s.value: sum(f["severity"] == s.value for f in findings) for s in Severity},
    }


def find_tables(storage: Storage, folders: Sequence[str] = ("",)) -> Iterator[str]:
    """Yield the base paths of the tables in a folder, relative to it."""
    for _ in range(_DEEPEST + 1):
        below = []
        for folder in folders:
            names = sorted(e.name for e in storage.list_directory(folder) if e.is_directory)
            if METADATA_FOLDER in names:
                yield folder
            else:
                below += [f"{folder}/{n}" if folder else n for n in names if n[0] not in "._"]
        folders = below
