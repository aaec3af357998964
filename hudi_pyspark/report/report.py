"""`Report`: the state of a table as one value, and as a page."""

import json
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from html import escape
from pathlib import Path
from typing import Any, ClassVar

from hudi_pyspark import thresholds
from hudi_pyspark.doctor.examination import examine, unopened
from hudi_pyspark.doctor.finding import Finding, Severity, worst
from hudi_pyspark.errors import CorruptTableError, HudiError, InvalidOptionError, printable
from hudi_pyspark.options.instant_text import local_now
from hudi_pyspark.report import sections
from hudi_pyspark.report.advice import advise
from hudi_pyspark.report.facts import Facts
from hudi_pyspark.report.page import SUFFIXES, refuse_other_files, render
from hudi_pyspark.storage import Storage
from hudi_pyspark.table.view import TableView
from hudi_pyspark.wording import counted

_FRAME_HEIGHT = 900  # pixels, in notebooks
_COUNTED = (Severity.PROBLEM.value, Severity.WARNING.value, Severity.NOTE.value)
_MOST_ALIKE = 5  # findings of one check with the same advice
FORMAT = 1  # version of the content, as JSON


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """The state of a table, as a page (`to_html`) or as JSON (`to_json`).

    Notebooks show the page. Pages need the extra ``report``.
    """

    content: Mapping[str, Any]  # as JSON loads it
    default_file: ClassVar[str] = "report.html"

    @classmethod
    def of(
        cls, view: TableView, scan: Callable[..., object], changes: Callable[[], object]
    ) -> "Report":
        """Examine a table; see `HudiTable.report`.

        Args:
            view: of the table.
            scan: plans a query of the table; takes the arguments of `HudiTable.scan`.
            changes: plans a query of the table's changes.

        The report of a damaged table has what the checks found, and no other section.

        Raises:
            StorageError: the storage fails.
        """
        now = local_now()
        try:
            content = _content(Facts.of(view, now), scan, changes)
        except CorruptTableError as error:
            content = _of_damaged(view, error)
        return cls._made(now, content)

    @classmethod
    def of_unopened(cls, storage: Storage, error: HudiError) -> "Report":
        """Report on a table that cannot be opened: the one finding is why.

        Args:
            storage: of the table.
            error: the reason.
        """
        path = storage.describe("")
        table = {"name": path.rstrip("/").rpartition("/")[2], "path": path}
        content = {
            "unchecked": "Not looked at: timeline and files, since the table cannot be opened.",
            "table": {**table, "type": None, "version": None},
            "findings": _ordered([unopened(storage, error)]),
        }
        return cls._made(local_now(), content)

    @classmethod
    def _made(cls, now: datetime, content: Mapping[str, Any]) -> "Report":
        made_at = now.isoformat(timespec="seconds")
        # A report is equal to its loaded copy.
        return cls(json.loads(json.dumps({"format": FORMAT, "made_at": made_at, **content})))

    @property
    def severity(self) -> Severity:
        """The severity of the worst finding."""
        return worst(map(Severity, self.severities()))

    def severities(self) -> list[str]:
        """Return the severity of each finding, the worst first.

        Of findings that are alike the content has only some; all of them count here.
        """
        groups = {
            (finding["severity"], finding["check"], finding["advice"]): finding["alike"]
            for finding in self.content["findings"]
        }
        return [severity for (severity, *_), count in groups.items() for _ in range(count)]

    def to_html(self) -> str:
        """Return the page: one file, which loads no other.

        Raises:
            ImportError: the extra ``report`` is not installed.
        """
        template = "page.html.j2" if "statistics" in self.content else "damaged.html.j2"
        severities = self.severities()
        counts = ", ".join(counted(severities.count(kind), kind) for kind in _COUNTED)
        return render(template, {**self.content, "counts": counts})

    def to_json(self) -> str:
        """Return the content as JSON, for monitoring; control characters are escaped."""
        return printable(json.dumps(self.content, indent=1, ensure_ascii=False), keep_lines=True)

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the report to a local file, whose name ends in ``.html`` or ``.json``.

        Example:
            >>> table.report().save("orders.json").name
            'orders.json'

        Args:
            path: of the file. An earlier report there is replaced.
            force: whether to replace a file that is not a report.

        Returns:
            The path of the file.

        Raises:
            InvalidOptionError: the path ends differently, or is that of another file.
            OSError: the file cannot be written.
            ImportError: the extra ``report`` is not installed; ``.json`` does not need it.
        """
        target = Path(path)
        if target.suffix not in SUFFIXES:
            raise InvalidOptionError(
                f"{str(path)!r} is not a file name of a report: it must end in .html or .json"
            )
        if not force:
            refuse_other_files([target])
        text = self.to_html() if target.suffix == ".html" else self.to_json()
        target.write_text(text, encoding="utf-8")
        return target

    def __repr__(self) -> str:
        return f"Report({self.content['table']['name']!r}, made at {self.content['made_at']})"

    def _repr_html_(self) -> str:
        # A frame keeps the styles of page and notebook apart.
        return (
            f'<iframe srcdoc="{escape(self.to_html())}" sandbox="allow-scripts" width="100%" '
            f'height="{_FRAME_HEIGHT}" style="border:0" title="Report of a table"></iframe>'
        )


def _content(
    facts: Facts, scan: Callable[..., object], changes: Callable[[], object]
) -> dict[str, Any]:
    parts = {
        "timeline": sections.timeline_section(facts),
        "growth": sections.growth_section(facts),
        "storage": sections.storage_section(facts),
        "schema": sections.schema_section(facts),
        "reading": sections.reading_section(facts, scan, changes),
    }
    findings = list(_examine(facts.view, files=facts.is_listed))
    findings += advise(facts, parts["schema"]["columns"])
    logs = sum(kind != "base" for kind in facts.files["kind"].to_pylist())
    return {
        "unchecked": _unchecked(facts.view, is_listed=facts.is_listed, log_files=logs),
        "table": sections.head(facts),
        "statistics": facts.statistics,
        "findings": _ordered(findings),
        **parts,
    }


def _of_damaged(view: TableView, error: CorruptTableError) -> dict[str, Any]:
    """Return the content for a table that is too damaged for the other sections."""
    findings = list(_examine(view))
    if worst(f.severity for f in findings) is not Severity.PROBLEM:
        findings.append(Finding(Severity.PROBLEM, "report", "", error.reason()))
    config = view.config
    table = {"name": config.name, "path": view.storage.describe(""), "version": config.version}
    return {
        "unchecked": _unchecked(view),
        "table": {**table, "type": config.table_type.value},
        "findings": _ordered(findings),
    }


def _examine(view: TableView, *, files: bool = True) -> Iterator[Finding]:
    return examine(view, files=files, most_log_headers=thresholds.MOST_LOG_HEADERS)


def _ordered(findings: list[Finding]) -> list[dict[str, Any]]:
    """Return findings, the worst first; of those with the same check and advice, the first five."""
    alike: dict[tuple[str, ...], list[Finding]] = {}
    for severity in reversed(Severity):
        for finding in (f for f in findings if f.severity is severity):
            key = severity.value, finding.check, finding.advice
            alike.setdefault(key, []).append(finding)
    return [
        asdict(finding) | {"severity": severity, "alike": len(group)}
        for (severity, *_), group in alike.items()
        for finding in group[:_MOST_ALIKE]
    ]


def _unchecked(view: TableView, *, is_listed: bool = True, log_files: int | None = None) -> str:
    """Say what a report does not look at; no finding, since it holds for every table.

    Args:
        view: of the table.
        is_listed: whether the storage was listed, not the metadata table.
        log_files: how many there are; None if that is not known.
    """
    parts = ["base files", "the records in log files"]
    if not is_listed:
        parts = ["whether files are on the storage (the metadata table lists them)", "data files"]
    elif log_files is None:
        parts.append(f"any but the newest {thresholds.MOST_LOG_HEADERS} log files")
    elif log_files > thresholds.MOST_LOG_HEADERS:
        parts.append(
            f"the oldest {log_files - thresholds.MOST_LOG_HEADERS:,} of {log_files:,} log files"
        )
    path = shlex.quote(view.storage.describe(""))
    what = ", ".join(parts[:-1]) + f" and {parts[-1]}"
    return f"Not looked at: {what}. hudi-py doctor {path} --deep looks at them."
