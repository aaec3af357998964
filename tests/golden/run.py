"""Reads every query of some golden cases and compares it with Apache Hudi's answer."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hudi_pyspark import HudiError, HudiTable

from tests.golden.case import Case, Query
from tests.golden.compare import differences


@dataclass(frozen=True)
class Outcome:
    """How one query went."""

    query: Query
    problems: tuple[str, ...]  # () when it equals, or fails by name where Apache Hudi fails
    note: str = ""


def run_case(case: Case) -> Iterator[Outcome]:
    with tempfile.TemporaryDirectory() as folder:
        path = case.extract(Path(folder))
        for query in case.queries:
            if query.is_covered:
                yield run_query(query, path)


def run_query(query: Query, path: Path) -> Outcome:
    try:
        answer = HudiTable(str(path)).scan_with(query.options).to_arrow()
    except HudiError as error:
        if query.rows is None:
            return Outcome(query, (), f"refused as by Apache Hudi: {error}")
        return Outcome(query, (f"{type(error).__name__}: {error}",))
    except Exception as error:  # noqa: BLE001  (the report names it and goes on)
        return Outcome(query, (f"{type(error).__name__}: {error}",))
    if query.rows is None:
        return Outcome(query, (f"answered {answer.num_rows} rows; Apache Hudi: {query.error}",))
    found = differences(answer, query.expected_rows(), query.expected_schema())
    return Outcome(query, tuple(found))
