"""A golden case on disk: the table, its queries, and Apache Hudi's answer to each.

A case of this project is three files: ``table.zip``, ``answers.zip`` and ``case.toml``. A case of a
collection, which scripts write beside Apache Hudi, has ``case.json`` and two files per answer:
`tests.golden.pack` makes the former of the latter.
"""

from __future__ import annotations

import json
import sys
import zipfile
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from tests.golden.archive import members, write_archive
from tests.golden.toml_text import toml_text

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # comes with pytest there

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# The release whose answer counts where several were recorded.
REFERENCE = "1.2.0"
# Cases and queries of features that are not covered yet.
UNCOVERED_CASES: tuple[str, ...] = ()
COVERED_QUERIES = ("snapshot", "read_optimized", "as_of", "default", "incr", "cdc")
# The key of a Parquet footer under which Spark keeps the schema of the rows.
SPARK_SCHEMA = b"org.apache.spark.sql.parquet.row.metadata"


class Answer(Protocol):
    """The rows that Apache Hudi answers."""

    def rows(self) -> pa.Table:
        """Return them, in any order."""

    def schema(self) -> dict[str, Any]:
        """Return their schema, as Spark writes it in JSON."""


@dataclass(frozen=True)
class PackedAnswer:
    """An answer in ``answers.zip``: a Parquet file, with Spark's schema in its footer."""

    archive: Path
    file: str

    def rows(self) -> pa.Table:
        return pq.read_table(self._source())

    def schema(self) -> dict[str, Any]:
        footer = pq.read_metadata(self._source()).metadata
        schema: dict[str, Any] = json.loads(footer[SPARK_SCHEMA])
        return schema

    def _source(self) -> pa.BufferReader:
        return pa.BufferReader(members(self.archive)[self.file])


@dataclass(frozen=True)
class CollectedAnswer:
    """An answer in a collection: a Parquet file, and Spark's schema beside it."""

    file: Path
    schema_file: Path

    def rows(self) -> pa.Table:
        return pq.read_table(self.file)

    def schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = json.loads(self.schema_file.read_text(encoding="utf-8"))
        return schema


@dataclass(frozen=True)
class Query:
    """One query and what Apache Hudi answers."""

    case: str
    name: str
    options: dict[str, Any]
    columns: tuple[str, ...] | None  # those that were asked for; None for all
    answer: Answer | None  # None where Apache Hudi fails
    error: str  # Apache Hudi's message; "" where it answers
    facts: Mapping[str, Any]  # what the description says of it

    @property
    def key(self) -> str:
        return f"{self.case}/{self.name}"

    @property
    def is_covered(self) -> bool:
        return self.name.startswith(COVERED_QUERIES)

    def expected_rows(self) -> pa.Table:
        assert self.answer is not None
        return self.answer.rows()

    def expected_schema(self) -> list[dict[str, Any]]:
        assert self.answer is not None
        fields: list[dict[str, Any]] = self.answer.schema()["fields"]
        return fields


@dataclass(frozen=True)
class Case:
    """One golden table."""

    name: str
    folder: Path
    queries: tuple[Query, ...]
    facts: Mapping[str, Any]  # the description: release, table version, timeline and others

    @property
    def is_covered(self) -> bool:
        return not any(word in self.name for word in UNCOVERED_CASES)

    def extract(self, to: Path) -> Path:
        """Unzip the table; returns its base path."""
        with zipfile.ZipFile(self.folder / "table.zip") as archive:
            archive.extractall(to)
        return to / self.name

    def query(self, name: str) -> Query:
        return next(query for query in self.queries if query.name == name)

    def recorded(self, kind: str) -> Any:
        """Return what was recorded besides rows; the description says in which file of the zip."""
        return json.loads(members(self.folder / "answers.zip")[self.facts[kind]])


def load_case(folder: Path) -> Case:
    """Load a case of this project, or of a collection."""
    facts = read_facts(folder)
    listed = facts.get("queries", []) + facts.get("queries_that_fail", [])
    queries = tuple(_query(folder, facts["name"], entry) for entry in listed)
    return Case(facts["name"], folder, queries, facts)


def load_cases(root: Path) -> list[Case]:
    """Load the cases whose folders are in a folder, by name."""
    return [load_case(folder) for folder in sorted(root.glob("*/")) if is_case(folder)]


def is_case(folder: Path) -> bool:
    return (folder / "case.toml").exists() or (folder / "case.json").exists()


def read_facts(folder: Path) -> dict[str, Any]:
    """Return the description of a case."""
    collected = folder / "case.json"
    if not collected.exists():
        return _parsed((folder / "case.toml").read_text(encoding="utf-8"))
    facts: dict[str, Any] = json.loads(collected.read_text(encoding="utf-8"))
    return facts


def write_case(folder: Path, facts: Mapping[str, Any], answers: Mapping[str, bytes]) -> None:
    """Write the description of a case, and its answers if it has some."""
    (folder / "case.toml").write_text(toml_text(facts), encoding="utf-8")
    if answers:
        write_archive(folder / "answers.zip", answers)


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML with the parser that this Python has."""
    return tomllib.loads(text)


@cache
def _parsed(text: str) -> dict[str, Any]:
    """Parse TOML once in a process: there are 300 cases, and many modules that load all."""
    return parse_toml(text)


def answer_of(folder: Path, entry: Mapping[str, Any]) -> Answer | None:
    """Return the answer that a part of a description names; None where it has an error."""
    if "answer" in entry:
        return PackedAnswer(folder / "answers.zip", entry["answer"])
    if "expected" in entry:
        return CollectedAnswer(folder / entry["expected"], folder / entry["schema"])
    return None


def _query(folder: Path, case: str, entry: dict[str, Any]) -> Query:
    counts = entry.get("also", {}).get(REFERENCE) or entry
    answer = answer_of(folder, counts)
    if answer is None and answer_of(folder, entry) is not None:
        answer = answer_of(folder, entry)  # the reference fails where the writer's release answers
    columns = entry.get("columns")
    return Query(
        case=case,
        name=entry["name"],
        options=entry["options"],
        columns=tuple(columns) if columns else None,
        answer=answer,
        error="" if answer is not None else counts["error"],
        facts=entry,
    )
