"""What changed between two states of a table: two instants, or an earlier report and this one."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.inspection.files import file_slices
from hudi_pyspark.inspection.statistics import slice_figures
from hudi_pyspark.options.instant_text import resolve_as_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from pathlib import Path

    import pyarrow as pa

    from hudi_pyspark.table.view import TableView

FORMAT = 1  # of the content, as JSON
_EMBEDDED = re.compile(r'<script type="application/json" id="content">(.*?)</script>', re.DOTALL)
_MOST_PARTITIONS = 20


def compare_instants(view: TableView, earlier: str, later: str, now: datetime) -> dict[str, Any]:
    """Compare two states of a table."""
    instants = [resolve_as_of(text, view, now) for text in (earlier, later)]
    states = [file_slices(view, instant) for instant in instants]
    names = [f"instant {instant}" for instant in instants]
    return _changes(names, [slice_figures(s) for s in states], [_sizes(s) for s in states])


def compare_contents(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> dict[str, Any]:
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


def load_content(path: Path) -> dict[str, Any]:
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
