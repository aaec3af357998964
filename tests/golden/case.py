"""A golden case on disk: the table, its queries, and Apache Hudi's answer to each."""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pathlib import Path

# The release whose answer counts where several were recorded.
REFERENCE = "1.2.0"
# Cases and queries of features that are not covered yet.
UNCOVERED_CASES: tuple[str, ...] = ()
COVERED_QUERIES = ("snapshot", "read_optimized", "as_of", "default", "incr", "cdc")


@dataclass(frozen=True)
class Query:
    """One query and what Apache Hudi answers."""

    case: str
    name: str
    options: dict[str, str]
    rows: Path | None  # Parquet; None where Apache Hudi fails
    schema: Path | None  # Spark's schema as JSON
    error: str  # Apache Hudi's message; "" where it answers

    @property
    def key(self) -> str:
        return f"{self.case}/{self.name}"

    @property
    def is_covered(self) -> bool:
        return self.name.startswith(COVERED_QUERIES)

    def expected_rows(self) -> pa.Table:
        assert self.rows is not None
        return pq.read_table(self.rows)

    def expected_schema(self) -> list[dict[str, Any]]:
        assert self.schema is not None
        fields: list[dict[str, Any]] = json.loads(self.schema.read_text())["fields"]
        return fields


@dataclass(frozen=True)
class Case:
    """One golden table."""

    name: str
    folder: Path
    queries: tuple[Query, ...]

    @property
    def is_covered(self) -> bool:
        return not any(word in self.name for word in UNCOVERED_CASES)

    def extract(self, to: Path) -> Path:
        """Unzip the table; returns its base path."""
        with zipfile.ZipFile(self.folder / "table.zip") as archive:
            archive.extractall(to)
        return to / self.name


def load_case(folder: Path) -> Case:
    description = json.loads((folder / "case.json").read_text())
    listed = description["queries"] + description.get("queries_that_fail", [])
    queries = tuple(_query(folder, description["name"], entry) for entry in listed)
    return Case(description["name"], folder, queries)


def load_cases(root: Path) -> list[Case]:
    return [load_case(path.parent) for path in sorted(root.glob("*/case.json"))]


def _query(folder: Path, case: str, entry: dict[str, Any]) -> Query:
    answer = entry.get("also", {}).get(REFERENCE) or entry
    if "expected" not in answer and "expected" in entry:
        answer = entry  # the reference fails where the writer's own release answers
    known = "expected" in answer
    return Query(
        case=case,
        name=entry["name"],
        options=entry["options"],
        rows=folder / answer["expected"] if known else None,
        schema=folder / answer["schema"] if known else None,
        error="" if known else answer["error"],
    )
