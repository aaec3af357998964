"""Asks every query of some golden cases in many forms, and compares with Apache Hudi's answer."""

from __future__ import annotations

import re
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from hudi_pyspark import HudiError, HudiTable
from hudi_pyspark.short_name import SHORT_NAME
from tests.golden.case import Case, Query, load_case
from tests.golden.compare import differences
from tests.golden.deviations import CertainAnswer, accepted_deviations, certain_answers
from tests.golden.questions import (
    RECORD_POSITIONS,
    Aggregates,
    Question,
    Whole,
    questions,
    random_options,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Outcome:
    """How one query went."""

    query: Query
    problems: tuple[str, ...]  # () when it is as it should be
    note: str = ""  # what "as it should be" means where it is not simply equal


def run_case(case: Case, options: Mapping[str, Any] = MappingProxyType({})) -> Iterator[Outcome]:
    """Run every query of a case, with some options more than its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = case.extract(Path(folder))
        for query in case.queries:
            if query.is_covered:
                yield run_query(case, query, path, options)


def run_query(case: Case, query: Query, path: Path, options: Mapping[str, Any]) -> Outcome:
    try:
        with warnings.catch_warnings():
            # A range whose files are gone is answered with a warning, like Apache Hudi's log line.
            warnings.filterwarnings("ignore", message="incremental query of", category=UserWarning)
            answer = answer_to(query, path, options)
    except HudiError as error:
        deviation = accepted_deviations().get(query.key)
        if deviation is not None and deviation.rows == type(error).__name__:
            return Outcome(query, (), f"{deviation.rule}: {deviation.reason}")
        if query.answer is None and query.key not in certain_answers():
            return Outcome(query, (), f"refused, as by Apache Hudi: {error}")
        return Outcome(query, (f"{type(error).__name__}: {error}",))
    except Exception as error:  # noqa: BLE001  (the report names it and goes on)
        return Outcome(query, (f"{type(error).__name__}: {error}",))
    return judge(case, query, answer)


def answer_to(query: Query, path: Path, options: Mapping[str, Any]) -> pa.Table:
    """Return what this project's reader answers to a query, with some options more than its own."""
    given: dict[str, Any] = {**query.options, **options}
    if query.columns is not None:
        given["columns"] = list(query.columns)
    return HudiTable(str(path)).scan(**given).to_arrow()


def judge(case: Case, query: Query, answer: pa.Table) -> Outcome:
    """Compare an answer with Apache Hudi's, or with what is certain where that fails."""
    if query.answer is None:
        return _judge_certain(case, query, answer)
    expected = query.expected_rows()
    schema = query.expected_schema()
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


@dataclass(frozen=True)
class Asked:
    """A form of a query with the options that it was asked with, and what is wrong with it."""

    query: Query
    question: Question | Aggregates
    options: Mapping[str, Any]
    problems: tuple[str, ...]

    def __str__(self) -> str:
        options = " ".join(f"{key}={value}" for key, value in self.options.items())
        return f"{self.query.name}: {self.question} {options}: {'; '.join(self.problems)}"


def ask_questions(
    case: Case, path: Path, seed: int, *, most: int = 0, spark: SparkSession | None = None
) -> Iterator[Asked]:
    """Ask the queries of a case in other forms, each with options that are drawn for it.

    Args:
        case: whose queries are asked.
        path: of its table.
        seed: the same one gives the same questions, whichever else are asked.
        most: questions per query, drawn at random; 0 for all.
        spark: asks Spark; None asks without it.
    """
    table = HudiTable(str(path))
    for query in case.queries:
        whole = whole_answer(case, query) if query.is_covered else None
        if whole is None:
            continue
        random = Random(f"{seed} {query.key}")
        is_complete = is_whole_row_known(query)
        found = questions(whole, random, is_complete=is_complete)
        for question in random.sample(found, min(most, len(found))) if most else found:
            options = {**random_options(random, path.with_name("kept")), **query.options}
            if not whole.has_unique_keys and RECORD_POSITIONS not in query.options:
                options.pop(RECORD_POSITIONS, None)
            problems = _ask(question, whole, options, spark or table, path)
            yield Asked(query, question, options, problems)


def _ask(
    question: Question | Aggregates,
    whole: Whole,
    options: Mapping[str, Any],
    reader: SparkSession | HudiTable,
    path: Path,
) -> tuple[str, ...]:
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="incremental query of", category=UserWarning)
            if isinstance(reader, HudiTable):
                answer: object = question.ask(reader, options)
            else:
                frame = reader.read.format(SHORT_NAME).options(**options).load(str(path))
                answer = question.ask_spark(frame)
    except Exception as error:  # noqa: BLE001  (the report names it and goes on)
        return (f"{type(error).__name__}: {error}",)
    return tuple(question.problems(answer, whole))


def whole_answer(case: Case, query: Query) -> Whole | None:
    """Return what is known to be the answer, without columns in which ours deviates.

    Returns:
        None where the rows are not known, or ours are other ones for a reason.
    """
    if query.answer is None:
        certain = certain_answers().get(query.key)
        if certain is None or not certain.query:
            return None
        rows, schema = _twin(case, certain)
        hidden = frozenset(name for name in rows.schema.names if name.startswith("_hoodie_"))
    else:
        deviation = accepted_deviations().get(query.key)
        if deviation is not None and deviation.rows:
            return None
        rows = query.expected_rows()
        schema = query.expected_schema()
        hidden = deviation.columns if deviation is not None else frozenset()
    names = [field["name"] for field in schema if field["name"] not in hidden]
    return Whole(rows.select(names), [f for f in schema if f["name"] in names])


def is_whole_row_known(query: Query) -> bool:
    """Whether Apache Hudi's values of every column are known, and ours do not deviate."""
    is_whole = query.answer is not None and query.columns is None
    return is_whole and query.key not in accepted_deviations()


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
    meta = frozenset(n for n in answer.schema.names if n.startswith("_hoodie_"))
    others = _without(answer, *_twin(case, certain), meta)
    return Outcome(query, tuple(differences(*others)), certain.reason)


def _twin(case: Case, certain: CertainAnswer) -> tuple[pa.Table, list[dict[str, Any]]]:
    twin_case = load_case(case.folder.with_name(certain.case))
    twin = next(q for q in twin_case.queries if q.name == certain.query)
    return twin.expected_rows(), twin.expected_schema()


def _without(
    answer: pa.Table, expected: pa.Table, schema: list[dict[str, Any]], columns: frozenset[str]
) -> tuple[pa.Table, pa.Table, list[dict[str, Any]]]:
    kept = [field for field in schema if field["name"] not in columns]
    names = [name for name in answer.schema.names if name not in columns]
    dropped = [name for name in expected.schema.names if name in columns]
    return answer.select(names), expected.drop_columns(dropped), kept
