"""How many golden tables ship, by the rows of the table at the top of docs/supported.md."""

import json
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
FOREIGN = ("hudi_", "hudirs_", "trino_")
UPGRADED = "flink, then spark"


def shipped() -> Counter[tuple[str, str]]:
    """Return the number of golden cases by the first two cells of their row, and the table type.

    Tables of other projects' tests are one row, whatever their version.
    """
    counted: Counter[tuple[str, str]] = Counter()
    for path in sorted(TESTS.glob("golden*/*/case.json")):
        case = json.loads(path.read_text(encoding="utf-8"))
        counted[_row(case), case["table_type"]] += 1
    return counted


def _row(case: dict[str, str]) -> str:
    if case["name"].startswith(FOREIGN):
        return "other projects"
    version, release = case["table_version"], case["hudi_version"]
    writer = case.get("writer", "spark")
    return f"{version} {writer} {release}"
