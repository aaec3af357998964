"""How many golden tables ship, by the rows of the table of versions in docs/supported.md."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.golden.case import load_cases

TESTS = Path(__file__).resolve().parents[1]
FOREIGN = ("hudi_", "hudirs_", "trino_")
UPGRADED = "flink, then spark"


def shipped() -> Counter[tuple[str, str]]:
    """Return the number of golden cases by the first two cells of their row, and the table type.

    Tables of other projects' tests are one row, whatever their version.
    """
    counted: Counter[tuple[str, str]] = Counter()
    for folder in ("golden", "golden_extra"):
        for case in load_cases(TESTS / folder):
            counted[_row(case.facts), case.facts["table_type"]] += 1
    return counted


def _row(case: Mapping[str, Any]) -> str:
    if case["name"].startswith(FOREIGN):
        return "other projects"
    version = case["table_version"]
    release = case["hudi_version"]
    writer = case.get("writer", "spark")
    return f"{version} {writer} {release}"
