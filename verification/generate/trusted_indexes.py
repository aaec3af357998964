"""Let Apache Hudi write tables whose indexes a caller may trust, and read them without any index.

    python -m verification.generate.trusted_indexes [CASE ...]

It runs beside PySpark 3.5, as `verification.generate.golden` does. It writes
tests/practice/trusted_indexes/CASE: the table, and in answers.zip the rows that Apache Hudi reads
without data skipping and without the metadata table, and the keys that it loses with its defaults,
by condition.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.golden.case import REFERENCE, write_case
from verification.common.archives import pack
from verification.generate.cases import TableCase, Target, columns_of, load_cases
from verification.generate.golden import write_table
from verification.histories.answers import Failure
from verification.histories.queries import METADATA, SKIPPING, Query, QueryKind
from verification.histories.session import COMPILED
from verification.histories.worker import Worker
from verification.random_plans.conditions import literal

FOLDER = Path(__file__).parents[2] / "tests/practice/trusted_indexes"
WITHOUT_INDEXES = {SKIPPING: "false", METADATA: "false"}
BY_VALUE = ("city", "n")  # columns with an index, each of whose values is a condition


def main(names: list[str]) -> None:
    """Write the cases with these names, or all."""
    with tempfile.TemporaryDirectory() as scratch:
        cases = [c for c in load_cases("trusted_indexes") if not names or c.name in names]
        target = Target(REFERENCE, 9)
        worker = Worker(REFERENCE, Path(scratch), settings=COMPILED)
        for case in cases:
            _write(worker, case, target)
        worker.stop()


def _write(worker: Worker, case: TableCase, target: Target) -> None:
    path, _, refused = write_table(worker, case, target)
    expected = _rows(worker, path, case, "true", WITHOUT_INDEXES)
    lost = {}
    for condition in (*case.conditions, *equalities(expected)):
        every = {row["id"] for row in _rows(worker, path, case, condition, WITHOUT_INDEXES)}
        found = {row["id"] for row in _rows(worker, path, case, condition, {})}
        lost[condition] = sorted(every - found)
    facts = {
        "name": case.name,
        "description": case.description,
        "reference": f"The rows are those of Apache Hudi {REFERENCE} without data skipping.",
        "table_version": target.version,
        "table_type": case.type,
        "rows": "rows.json",
        "lost": "lost.json",
    }
    answers = {"rows.json": expected, "lost.json": lost}
    folder = FOLDER / case.name
    folder.mkdir(parents=True, exist_ok=True)
    pack(path.parent, folder / "table.zip", (path.name,))
    write_case(folder, facts, {k: json.dumps(v, indent=1).encode() for k, v in answers.items()})
    print(case.name, len(expected), "rows; lost:", lost, *refused, sep="\n  ", flush=True)


def _rows(
    worker: Worker, path: Path, case: TableCase, condition: str, options: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return the rows for which a condition holds, by key, as JSON has them without nulls."""
    found = worker.read(path, Query(QueryKind.SNAPSHOT, options, condition))
    if isinstance(found, Failure):
        raise SystemExit(f"{case.name} where {condition}: {found.error}: {found.message}")
    names = [column.name for column in columns_of(case.columns)] + ["_hoodie_file_name"]
    return [
        {name: _plain(row[name]) for name in names if row[name] is not None}
        for row in sorted(found.table.to_pylist(), key=lambda row: (row["id"], row["region"]))
    ]


def _plain(value: Any) -> Any:
    return value if isinstance(value, (str, int)) else str(value)


def equalities(rows: list[dict[str, Any]]) -> list[str]:
    """Return a condition for each value of the columns that have an index of their values."""
    conditions = {
        f"{name} = {literal(row[name])}" for row in rows for name in BY_VALUE if name in row
    }
    return sorted(conditions)


if __name__ == "__main__":
    main(sys.argv[1:])
