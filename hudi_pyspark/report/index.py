"""`ReportIndex`: the reports of several tables, and a search for the tables below a folder."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from hudi_pyspark.doctor.finding import Severity, worst
from hudi_pyspark.errors import printable
from hudi_pyspark.report.page import refuse_other_files, render
from hudi_pyspark.table.config import METADATA_FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hudi_pyspark.report.report import Report
    from hudi_pyspark.storage import Storage

_INDEX = "index.html"
_DEEPEST = 4  # levels of folders between a warehouse and its tables


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """A table of an index: its report, or why the table cannot be read."""

    place: str  # path, or name in a catalog
    report: Report | None
    error: str = ""  # of a table without a report

    @property
    def severity(self) -> Severity:
        """The severity of the worst finding; a table that cannot be read is a problem."""
        return Severity.PROBLEM if self.report is None else self.report.severity


@dataclass(frozen=True, slots=True)
class ReportIndex:
    """The reports of several tables, as pages (`save`) or as JSON (`to_json`), the worst first."""

    title: str
    entries: tuple[IndexEntry, ...]
    default_file: ClassVar[str] = "report"  # a folder

    @property
    def severity(self) -> Severity:
        """The severity of the worst finding."""
        return worst(entry.severity for entry in self.entries)

    def severities(self) -> list[str]:
        """Return the severity of each finding of each table; a table without a report has one."""
        reports = [entry.report for entry in self.entries]
        unreadable = [Severity.PROBLEM.value] * reports.count(None)
        return [*unreadable, *(s for report in reports if report for s in report.severities())]

    def content(self) -> dict[str, Any]:
        """Return title and tables, one dict per table, for JSON and the page."""
        return {"title": self.title, "tables": [_row(page, entry) for page, entry in self._named()]}

    def to_json(self) -> str:
        """Return the content as JSON; control characters are escaped."""
        return printable(json.dumps(self.content(), indent=1, ensure_ascii=False), keep_lines=True)

    def save(self, folder: str | Path, *, force: bool = False) -> Path:
        """Write ``index.html`` and a page per table into a local folder, which is created.

        Args:
            folder: of the files. Earlier reports there are replaced.
            force: whether to replace files that are not reports.

        Returns:
            The path of ``index.html``.

        Raises:
            InvalidOptionError: a file of such a name is not a report.
            ImportError: the extra ``report`` is not installed.
            OSError: a file cannot be written.
        """
        page = render("index.html.j2", self.content())  # first: if it fails, there is no folder
        target = Path(folder)
        index = target / _INDEX
        reports = {
            target / name: entry.report for name, entry in self._named() if entry.report is not None
        }
        if not force:
            refuse_other_files([index, *reports])  # all of them before the first is written
        target.mkdir(parents=True, exist_ok=True)
        for file, report in reports.items():
            report.save(file, force=force)
        index.write_text(page, encoding="utf-8")
        return index

    def _named(self) -> list[tuple[str, IndexEntry]]:
        """Return entries with the file names of their pages, the worst entry first."""
        order = list(Severity)
        names = {_INDEX}
        entries = sorted(self.entries, key=lambda e: (-order.index(e.severity), e.place))
        return [(_file_name(entry.place, names), entry) for entry in entries]


def _file_name(place: str, taken: set[str]) -> str:
    """Return an unused file name for the page of a table, and add it to the taken names.

    It consists of letters, digits and ``_.-``.
    """
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
    if "statistics" not in content:  # a damaged table
        return {**row, "page": page, "error": content["findings"][0]["message"]}
    table = content["table"]
    statistics = content["statistics"]
    findings = content["findings"]
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
    """Find the tables below a folder.

    Args:
        storage: of the folder.
        folders: where the search begins, relative to the folder.

    Yields:
        Base paths relative to the folder, "" for the folder itself. Folders inside a table, and
        folders whose names begin with ``.`` or ``_``, are not searched.
    """
    for _ in range(_DEEPEST + 1):
        below = []
        for folder in folders:
            names = sorted(e.name for e in storage.list_directory(folder) if e.is_directory)
            if METADATA_FOLDER in names:
                yield folder
            else:
                below += [f"{folder}/{n}" if folder else n for n in names if n[0] not in "._"]
        folders = below
