"""Maintenance is due above the thresholds that docs/looking-inside.md lists, and not below."""

import re
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from hudi_pyspark.doctor.finding import Severity
from hudi_pyspark.report.advice import DUE, advise
from tests.conftest import PROJECT

PAGE = (PROJECT / "docs" / "looking-inside.md").read_text(encoding="utf-8")
MIB = 1 << 20
# Of a table that needs nothing.
ROW = {
    "partitions": 4,
    "base_files": 40,
    "base_bytes": 40 * 110 * MIB,
    "log_files": 4,
    "log_bytes": 40 * MIB,
    "log_to_base_ratio": 0.01,
    "slices_with_logs": 4,
    "small_files": 2,
    "older_bytes": 0,
    "commits": 11,
    "changed_records": 100,
    "written_records": 200,
    "write_amplification": 2.0,
}


@dataclass
class Facts:
    """What `advise` asks for."""

    statistics: dict[str, Any]
    pending: list[Any] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def view(self) -> Any:
        config = SimpleNamespace(name="trips", record_key_fields=(), partition_fields=())
        timeline = SimpleNamespace(pending=self.pending, instants=())
        return SimpleNamespace(config=config, timeline=timeline)

    @property
    def partitions(self) -> Any:
        return {"bytes": SimpleNamespace(to_pylist=list)}

    def age(self, _instant: str) -> float:
        return self.seconds


def found(facts: Facts) -> dict[str, Severity]:
    return {f.subject: f.severity for f in advise(facts, [])}  # type: ignore[arg-type]


def of(**statistics: Any) -> dict[str, Severity]:
    return found(Facts(ROW | statistics))


def test_table_that_needs_nothing_has_no_finding():
    assert of() == {}


@pytest.mark.parametrize(
    ("subject", "below", "above", "severity"),
    [
        ("compaction", {"log_to_base_ratio": 0.5}, {"log_to_base_ratio": 0.51}, Severity.NOTE),
        ("compaction", {"log_to_base_ratio": 0.5}, {"log_to_base_ratio": 1.0}, Severity.WARNING),
        ("small files", {"small_files": 20}, {"small_files": 21}, Severity.NOTE),
        ("small files", {"small_files": 20}, {"small_files": 40}, Severity.WARNING),
        ("small files", {"base_files": 4, "small_files": 4}, {"small_files": 30}, Severity.NOTE),
        (
            "cleaning",
            {"older_bytes": ROW["base_bytes"]},
            {"older_bytes": ROW["base_bytes"] + 1},
            Severity.NOTE,
        ),
        (
            "cleaning",
            {"older_bytes": 2 * ROW["base_bytes"], "commits": 10},
            {"older_bytes": 2 * ROW["base_bytes"], "commits": 11},
            Severity.NOTE,
        ),
        (
            "write amplification",
            {"write_amplification": 10.0},
            {"write_amplification": 10.1},
            Severity.NOTE,
        ),
    ],
)
def test_finding_begins_above_its_threshold(subject, below, above, severity):
    assert of(**below) == {}
    assert of(**above) == {subject: severity}


@pytest.mark.parametrize(("seconds", "is_due"), [(2 * 3600 - 1, False), (2 * 3600, True)])
def test_pending_compaction_is_due_after_two_hours(seconds, is_due):
    state = SimpleNamespace(name="REQUESTED")
    instant = SimpleNamespace(requested_time="20260101", action="compaction", state=state)
    facts = Facts(ROW, [instant], seconds)
    assert found(facts) == ({"20260101": Severity.WARNING} if is_due else {})


def test_page_lists_the_thresholds_of_the_findings():
    table = PAGE.partition("## What to compact, cluster, clean")[2].partition("\n## ")[0]
    rows = [line.split(" | ")[0] for line in table.splitlines() if line.startswith("| ")][1:]
    listed: dict[str, float] = {}
    for row in rows:
        for name, limit in re.findall(r"`(\w+)` above ([\d.]+)", row):
            listed[name] = float(limit)
        for name, limit in re.findall(r"more `(\w+)` than ([\d.]+) of `base_files`", row):
            listed[name] = float(limit)
        for name in re.findall(r"more `(\w+)` than `base_bytes`", row):
            listed[name] = 1
        for limit, name in re.findall(r"more than ([\d.]+) `(\w+)`", row):
            listed[name] = float(limit)
    assert listed == DUE
    assert any("`pending_compactions` for more than 2 hours" in row for row in rows)
