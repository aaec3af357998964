"""`Report`: the state of a table as one value, its page, and what changed between two states."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from html import escape
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from hudi_pyspark.doctor.examination import examine
from hudi_pyspark.doctor.finding import Finding, Severity, worst
from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.inspection.files import file_slices
from hudi_pyspark.inspection.statistics import slice_figures
from hudi_pyspark.options.instant_text import local_now, parse_instant, resolve_as_of
from hudi_pyspark.report import sections
from hudi_pyspark.report.advice import advise
from hudi_pyspark.report.facts import Facts
from hudi_pyspark.report.page import render
from hudi_pyspark.table.view import TableView

_FRAME_HEIGHT = 900  # pixels, in notebooks
_SUFFIXES = (".html", ".json")
_MOST_ALIKE = 5
FORMAT = 1  # of the content, as JSON
_EMBEDDED = re.compile(r'<script type="application/json" id="content">(.*?)</script>', re.DOTALL)
_MOST_PARTITIONS = 20


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """How a table is doing: one value, which a page shows and `to_json` returns as text.

    Notebooks show the page. Pages need the extra ``report``.
    """

    content: Mapping[str, Any]
    default_file: ClassVar[str] = "report.html"

    @classmethod
    def of(
        cls,
        view: TableView,
        scan: Callable[..., object],
        changes: Callable[[], object],
        *,
        compare: str | None = None,
        now: datetime | None = None,
    ) -> Report:
        """Collect what is known of a table; see `HudiTable.report`.

        Args:
            view: the table.
            scan: plans a query of it, by the arguments of `HudiTable.scan`.
            changes: plans a query of its changes.
            compare: an instant, two as ``EARLIER..LATER``, or the file of an earlier report.
            now: the present time, with its zone; by default that of this machine.
        """
        earlier, later, content_before = compare or "", "", None
        if compare is not None and Path(compare).suffix in _SUFFIXES:
            content_before = _load_content(Path(compare))
        elif compare is not None:
            earlier, _, later = compare.partition("..")
            parse_instant(earlier)
        now = now or local_now()
        facts = Facts.of(view, now)
        content = _content(facts, sections.reading_section(facts, scan, changes), now)
        if content_before is not None:
            content["comparison"] = _compare_contents(content_before, content)
        elif compare is not None:
            newest = view.commits[-1].requested_time if view.commits else ""
            content["comparison"] = _compare_instants(view, earlier, later or newest, now)
        return cls(content)

    @property
    def severity(self) -> Severity:
        """The severity of the worst finding."""
        return worst(Severity(finding["severity"]) for finding in self.content["findings"])

    def to_html(self) -> str:
        """Return the page: one file that loads nothing from elsewhere.

        Raises:
            ImportError: the extra ``report`` is not installed.
        """
        return render("page.html.j2", self.content)

    def to_json(self) -> str:
        """Return the content as JSON, for monitoring and for later comparisons."""
        return json.dumps(self.content, indent=1, ensure_ascii=False)

    def save(self, path: str | Path) -> Path:
        """Write the report to a local file that ends in ``.html`` or ``.json``, and return it.

        Raises:
            InvalidOptionError: the path has another ending.
            ImportError: the extra ``report`` is not installed; ``.json`` does not need it.
        """
        target = Path(path)
        if target.suffix not in _SUFFIXES:
            raise InvalidOptionError(
                f"{str(path)!r} is not a file name of a report: it must end in .html or .json"
            )
        text = self.to_html() if target.suffix == ".html" else self.to_json()
        target.write_text(text, encoding="utf-8")
        return target

    def __repr__(self) -> str:
        return f"Report({self.content['table']['name']!r}, made at {self.content['made_at']})"

    def _repr_html_(self) -> str:
        # A frame, so that neither the styles of the page nor those of the notebook mix.
        return (
            f'<iframe srcdoc="{escape(self.to_html())}" sandbox="allow-scripts" width="100%" '
            f'height="{_FRAME_HEIGHT}" style="border:0" title="Report of a table"></iframe>'
        )


def _content(facts: Facts, reading: dict[str, Any], now: datetime) -> dict[str, Any]:
    parts = {
        "timeline": sections.timeline_section(facts),
        "growth": sections.growth_section(facts),
        "storage": sections.storage_section(facts),
        "schema": sections.schema_section(facts),
        "reading": reading,
    }
    found = list(examine(facts.view, files=facts.is_listed, contents=False))
    found += [*advise(facts, parts), _unchecked(facts)]
    content = {
        "format": FORMAT,
        "made_at": now.isoformat(timespec="seconds"),
        "table": sections.head(facts),
        "statistics": facts.statistics,
        "figures": slice_figures(facts.slices),
        "findings": _ordered(found),
        **parts,
    }
    plain: dict[str, Any] = json.loads(json.dumps(content))  # as it is when loaded
    return plain


def _ordered(found: list[Finding]) -> list[dict[str, Any]]:
    """Return findings, the worst first, but only some of many that are alike."""
    alike: dict[tuple[str, ...], list[Finding]] = {}
    for severity in reversed(Severity):
        for finding in (f for f in found if f.severity is severity):
            key = severity.value, finding.check, finding.advice
            alike.setdefault(key, []).append(finding)
    return [
        asdict(finding) | {"severity": severity, "alike": len(findings)}
        for (severity, *_), findings in alike.items()
        for finding in findings[:_MOST_ALIKE]
    ]


def _unchecked(facts: Facts) -> Finding:
    what = "the contents of data files were not checked"
    if not facts.is_listed:
        what += ", nor whether they are on the storage: the metadata table lists them"
    path = facts.view.storage.describe("")
    return Finding(
        Severity.NOTE, "doctor", "", what, f"hudi-py doctor {shlex.quote(path)} checks them"
    )


def _compare_instants(view: TableView, earlier: str, later: str, now: datetime) -> dict[str, Any]:
    """Compare two states of a table."""
    instants = [resolve_as_of(text, view, now) for text in (earlier, later)]
    states = [file_slices(view, instant) for instant in instants]
    names = [f"instant {instant}" for instant in instants]
    return _changes(names, [slice_figures(s) for s in states], [_sizes(s) for s in states])


def _compare_contents(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> dict[str, Any]:
    """Compare the contents of two reports of a table."""
    both = (earlier, later)
    names = [f"report of {content['made_at']}" for content in both]
    sizes = [
        {row["partition_path"]: row["bytes"] for row in content["storage"]["partitions"]}
        for content in both
    ]
    return {
        **_changes(names, [content["figures"] for content in both], sizes),
        "new_findings": _missing_from(earlier, later["findings"]),
        "solved_findings": _missing_from(later, earlier["findings"]),
    }


def _missing_from(content: Mapping[str, Any], found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    known = {(f["check"], f["subject"]) for f in content["findings"] if f["severity"] != "ok"}
    return [f for f in found if f["severity"] != "ok" and (f["check"], f["subject"]) not in known]


def _sizes(slices: pa.Table) -> dict[str, int]:
    sums = [("base_bytes", "sum"), ("log_bytes", "sum")]
    grouped = slices.group_by("partition_path").aggregate(sums).to_pylist()
    return {r["partition_path"]: (r["base_bytes_sum"] or 0) + r["log_bytes_sum"] for r in grouped}


def _changes(
    names: list[str], numbers: list[dict[str, int]], sizes: list[dict[str, int]]
) -> dict[str, Any]:
    """Compare the figures of two states, and the bytes of their partitions."""
    (then, now), (then_sizes, now_sizes) = numbers, sizes
    paths = {*then_sizes, *now_sizes}
    changes = {path: now_sizes.get(path, 0) - then_sizes.get(path, 0) for path in paths}
    moved = sorted((p for p in paths if changes[p]), key=lambda p: (-abs(changes[p]), p))
    return {
        "earlier": names[0],
        "later": names[1],
        "figures": [
            {"figure": name, "then": then[name], "now": now[name], "change": now[name] - then[name]}
            for name in then
        ],
        "partitions": [
            {
                "partition_path": path,
                "then": then_sizes.get(path),
                "now": now_sizes.get(path),
                "change": changes[path],
            }
            for path in moved[:_MOST_PARTITIONS]
        ],
        "changed_partitions": len(moved),
    }


def _load_content(path: Path) -> dict[str, Any]:
    """Return the content of a report that was saved as JSON or as a page."""
    try:
        text = path.read_text(encoding="utf-8")
        embedded = _EMBEDDED.search(text)
        content: dict[str, Any] = json.loads(embedded[1] if embedded else text)
        if content["format"] == FORMAT:
            return content
        found = f"its format is {content['format']}, not {FORMAT}"
    except (OSError, ValueError, LookupError, TypeError) as error:
        found = f"{type(error).__name__}: {error}"
    raise InvalidOptionError(f"{str(path)!r} is not a report of hudi-py ({found})")
