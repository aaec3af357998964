"""Reads every query of some golden cases and compares it with Apache Hudi's answer."""

from __future__ import annotations

import re
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from hudi_pyspark import HudiError, HudiTable
from tests.golden.case import Case, Query, load_case
from tests.golden.compare import differences
from tests.golden.deviations import accepted_deviations, certain_answers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa


@dataclass(frozen=True)
class Outcome:
    """How one query went."""

    query: Query
    problems: tuple[str, ...]  # () when it is as it should be
    note: str = ""  # what "as it should be" means where it is not simply equal


def run_case(case: Case, options: Mapping[str, str] = MappingProxyType({})) -> Iterator[Outcome]:
    """Run every query of a case, with some options more than its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = case.extract(Path(folder))
        for query in case.queries:
            if query.is_covered:
                yield run_query(case, query, path, options)


def run_query(case: Case, query: Query, path: Path, options: Mapping[str, str]) -> Outcome:
    try:
        with warnings.catch_warnings():
            # A range whose files are gone is answered with a warning, like Apache Hudi's log line.
            warnings.filterwarnings("ignore", message="incremental query of", category=UserWarning)
            answer = HudiTable(str(path)).scan_with({**query.options, **options}).to_arrow()
    except HudiError as error:
        deviation = accepted_deviations().get(query.key)
        if deviation is not None and deviation.rows == type(error).__name__:
            return Outcome(query, (), f"{deviation.rule}: {deviation.reason}")
        if query.rows is None and query.key not in certain_answers():
            return Outcome(query, (), f"refused, as by Apache Hudi: {error}")
        return Outcome(query, (f"{type(error).__name__}: {error}",))
    except Exception as error:  # noqa: BLE001  (the report names it and goes on)
        return Outcome(query, (f"{type(error).__name__}: {error}",))
    return judge(case, query, answer)


def judge(case: Case, query: Query, answer: pa.Table) -> Outcome:
    """Compare an answer with Apache Hudi's, or with what is certain where that fails."""
    if query.rows is None:
        return _judge_certain(case, query, answer)
    expected, schema = query.expected_rows(), query.expected_schema()
    found = tuple(differences(answer, expected, schema))
    deviation = accepted_deviations().get(query.key)
    if deviation is None:
        return Outcome(query, found)
    if not found:
        return Outcome(query, ("equal, but listed in deviations.toml: remove it there",))
    note = f"{deviation.rule}: {deviation.reason}"
    others = _without(answer, expected, schema, deviation.columns)
    left = differences(*others)
    return Outcome(query, () if _is_allowed(deviation.rows, left) else tuple(left), note)


def _is_allowed(rows: str, problems: list[str]) -> bool:
    """Whether rows differ only in the accepted direction."""
    patterns = {
        "more": r"[1-9]\d* rows too many, 0 missing",
        "fewer": r"0 rows too many, [1-9]\d* missing",
        "other": r"\d+ rows too many, \d+ missing",
    }
    return bool(problems and rows in patterns and re.match(patterns[rows], problems[0]))


def _judge_certain(case: Case, query: Query, answer: pa.Table) -> Outcome:
    certain = certain_answers().get(query.key)
    if certain is None:
        return Outcome(query, (f"answered {answer.num_rows} rows; Apache Hudi: {query.error}",))
    if not certain.query:
        return Outcome(query, (), certain.reason)
    twin_case = load_case(case.folder.with_name(certain.case))
    twin = next(q for q in twin_case.queries if q.name == certain.query)
    meta = frozenset(n for n in answer.schema.names if n.startswith("_hoodie_"))
    others = _without(answer, twin.expected_rows(), twin.expected_schema(), meta)
    return Outcome(query, tuple(differences(*others)), certain.reason)


def _without(
    answer: pa.Table, expected: pa.Table, schema: list[dict[str, Any]], columns: frozenset[str]
) -> tuple[pa.Table, pa.Table, list[dict[str, Any]]]:
    kept = [field for field in schema if field["name"] not in columns]
    names = [name for name in answer.schema.names if name not in columns]
    dropped = [name for name in expected.schema.names if name in columns]
    return answer.select(names), expected.drop_columns(dropped), kept
