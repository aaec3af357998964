"""The answers of the reader under test, and what it is asked alone.

`checks_of` compares an answer with others of the same reader: filtered, in other forms, by key, and
with base files that DuckDB reads. `answers_of_one_table` and `answer_after_commit` look for answers
that depend on earlier ones.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from random import Random

import pyarrow as pa

from hudi_pyspark import HudiError, HudiTable
from hudi_pyspark.frames.merged_files import is_exact_type
from hudi_pyspark.options.option import Index
from hudi_pyspark.table.merge_mode import DELETE_FIELD
from tests.golden.compare import arrow_type_name
from tests.golden.filters import Filter, filters_of
from tests.golden.questions import Whole, kept_in, problems_of, questions, random_options
from tests.process_state import drawn_state
from verification.common.by_key import KEY, ROW, KeyedTable, left_out
from verification.histories.answers import Answer, Failure, difference
from verification.histories.queries import METADATA, SKIPPING, Query, QueryKind

FORMS_OF_OURS = 4  # per query; they need no JVM
FILTERS_OF_OURS = 3  # likewise
_MOST_KEYS = 20  # that are asked for one by one; all are, in groups


class CheckKind(str, Enum):
    """What the reader under test is asked alone, in words for people."""

    FILTERED = "filtered"
    FORMS = "counted, by column, limited, as aggregates"
    ONE_TABLE = "of one table object, or with kept merges, in random order"
    AFTER_COMMIT = "after each commit, with merges that earlier answers kept"
    BY_KEY = "snapshots, each row by its key in every way and with each index"
    FIRST_MERGED = "base files by DuckDB, with merge_first=True"


@dataclass(frozen=True)
class Check:
    """A question that the reader under test answers alone, beside another answer of its own."""

    kind: CheckKind
    query: Query
    problem: str  # how the answers differ; "" where they do not
    left_out: Counter[str] = field(default_factory=Counter)  # by the indexes


def read_ours(path: Path, query: Query, table: HudiTable | None = None) -> Answer | Failure:
    """Ask a fresh table object, unless one is given."""
    found = _read(path, query, table)[0]
    return found if isinstance(found, Failure) else Answer.of(found)


def read_arrow(path: Path, query: Query) -> pa.Table | Failure:
    return _read(path, query)[0]


def _read(
    path: Path, query: Query, table: HudiTable | None = None
) -> tuple[pa.Table | Failure, Counter[str]]:
    """The answer, and what the indexes left out for it."""
    options = {**query.own, **query.options}
    if query.filter:
        options["filter"] = query.filter
    try:
        # The zone of a LOCAL timeline is not recorded, and may decide what an instant means.
        is_of_any_zone = query.kind in (QueryKind.SNAPSHOT, QueryKind.READ_OPTIMIZED)
        with drawn_state(Random(f"{path.name} {query}"), zones=is_of_any_zone):
            warnings.simplefilter("ignore")  # a range whose files are gone is answered with one
            scan = (table or HudiTable(str(path))).scan(**options)
            return scan.to_arrow(), left_out(scan)
    except HudiError as error:
        return Failure(type(error).__name__, str(error)), Counter()
    except Exception as error:  # noqa: BLE001  (a finding, too)
        return Failure(type(error).__name__, str(error)[:600], is_named=False), Counter()


def checks_of(
    path: Path, query: Query, rows: pa.Table, filters: Sequence[Filter], random: Random
) -> Iterator[Check]:
    """Check the answer to a query in every way, and with filters that are made of its values."""
    for chosen in filters:
        yield from _filtered_answers(path, query, rows, chosen, random)
    if query.kind in (QueryKind.SNAPSHOT, QueryKind.AS_OF):
        problem = _problem_or_error("merged first", lambda: _merged_first(path, query, rows))
        yield Check(CheckKind.FIRST_MERGED, query, problem)
    if query.kind is QueryKind.SNAPSHOT and DELETE_FIELD not in query.options:
        problem = _problem_or_error("by key", lambda: _rows_by_key(path, rows, random))
        yield Check(CheckKind.BY_KEY, query, problem)
    yield from other_forms(path, query, rows, random, FORMS_OF_OURS)


def has_python_values(found: pa.Table) -> bool:
    """Return whether Python has all values: it has no timestamps after the year 9999."""
    try:
        found.to_pylist()
    except OverflowError:
        return False
    return True


def some_filters(found: pa.Table, query: Query, random: Random) -> list[Filter]:
    """Filters made of the values of an answer; none of changes, whose images are text."""
    if query.kind is QueryKind.CDC or not found.num_rows:
        return []
    filters = list(filters_of(found, per_column=2))
    return random.sample(filters, min(FILTERS_OF_OURS, len(filters)))


def _filtered_answers(
    path: Path, query: Query, all_rows: pa.Table, chosen: Filter, random: Random
) -> Iterator[Check]:
    """Apply a filter without the metadata table, with all its indexes and with some of them.

    A table without a metadata table is read once.
    """
    kept = [chosen.holds(row) is True for row in all_rows.to_pylist()]
    expected = Answer.of(all_rows.filter(pa.array(kept, pa.bool_())))
    has_metadata = (path / ".hoodie" / "metadata").is_dir()
    for settings in _index_settings(random) if has_metadata else [{}]:
        asked = query.with_filter(chosen.text).with_options(**settings)
        found, skipped = _read(path, asked)
        if isinstance(found, Failure):
            problem = f"refused with a filter only: {found.error}: {found.message}"
        else:
            problem = str(difference(expected, Answer.of(found)) or "")
        yield Check(CheckKind.FILTERED, asked, problem, skipped)


def _index_settings(random: Random) -> Iterator[dict[str, str]]:
    some = random.sample(list(Index), random.randint(1, len(Index) - 1))
    yield {METADATA: "false"}
    yield {METADATA: "true", SKIPPING: "true"}
    yield {METADATA: "true", SKIPPING: ",".join(index.value for index in some)}


def _problem_or_error(name: str, ask: Callable[[], str]) -> str:
    """Ask without warnings; say how the answers differ, or with which error the question ends."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            problem = ask()
    except Exception as error:  # noqa: BLE001  (a finding)
        problem = f"{type(error).__name__}: {error}"
    return f"{name}: {problem}" if problem else ""


def _merged_first(path: Path, query: Query, all_rows: pa.Table) -> str:
    """Let DuckDB read the base files of a snapshot itself; say how its rows differ from ours."""
    table = HudiTable(str(path))
    options = {**query.own, **query.options}  # of which the latter go before the former
    names = [f.name for f in table.scan(**options).schema if is_exact_type(f.type)]
    chosen = table.scan(**{**options, "columns": tuple(names)})
    database = chosen.to_duckdb("t", merge_first=True)
    found = database.sql("FROM t").to_arrow_table().cast(chosen.schema)
    expected = all_rows.select(names).cast(chosen.schema)
    return str(difference(Answer.of(expected), Answer.of(found)) or "")


def _rows_by_key(path: Path, all_rows: pa.Table, random: Random) -> str:
    """Ask for the rows of a snapshot by their keys, in every way and with each index.

    Returns:
        Which keys lack a row, or have others.
    """
    if not set(ROW) <= set(all_rows.schema.names):
        return ""
    table = KeyedTable(path, all_rows)
    if not table.table.config.populate_meta_fields:
        return ""
    return "; ".join(table.problems(random, most=_MOST_KEYS))


def other_forms(
    path: Path, query: Query, all_rows: pa.Table, random: Random, most: int
) -> Iterator[Check]:
    """Ask a query in other forms, each with options of ours that are drawn for it.

    The answers must follow from the rows of the whole one.
    """
    schema = [{"name": f.name, "type": arrow_type_name(f.type)} for f in all_rows.schema]
    whole = Whole(all_rows, schema)
    found = questions(whole, random)
    for question in random.sample(found, min(most, len(found))):
        asked = replace(query, own=random_options(random, kept_folder(path)))
        options = {**asked.own, **asked.options}
        problems = problems_of(question, whole, HudiTable(str(path)), options)
        told = f"{question}: {'; '.join(problems)}" if problems else ""
        yield Check(CheckKind.FORMS, asked, told)


def answers_of_one_table(path: Path, queries: Sequence[Query], random: Random) -> Iterator[Check]:
    """Ask one table object all queries, twice and in random order, or a new one on kept merges.

    The answers must be those of fresh objects.
    """
    fresh = {str(query): read_ours(path, query) for query in queries}
    table = HudiTable(str(path))
    for query in random.sample([*queries, *queries], 2 * len(queries)):
        if random.random() < 0.5:
            found = read_ours(path, query, table)
        else:
            found = read_ours(path, _with_kept_merges(path, query))
        problem = _unlike(fresh[str(query)], found, "with earlier queries")
        yield Check(CheckKind.ONE_TABLE, query, problem)


def answer_after_commit(path: Path, number: int) -> Check:
    """Compare what a table answers after a commit, with merges of earlier answers and with none.

    The number of the step chooses one column or all.
    """
    query = Query(QueryKind.SNAPSHOT, {}, own={"columns": KEY} if number % 2 else {})
    without = replace(query, own={**query.own, "merge_cache": "off"})
    kept = _with_kept_merges(path, query)
    problem = _unlike(read_ours(path, without), read_ours(path, kept), "with kept merges")
    told = f"after step {number}: {problem}" if problem else ""
    return Check(CheckKind.AFTER_COMMIT, Query(QueryKind.SNAPSHOT, {}), told)


def kept_folder(path: Path) -> Path:
    """Return the folder, beside a table, of the outcomes of its merges."""
    return path.with_name(f"{path.name}_kept")


def _with_kept_merges(path: Path, query: Query) -> Query:
    return replace(query, own={**query.own, **kept_in(kept_folder(path))})


def _unlike(expected: Answer | Failure, found: Answer | Failure, how: str) -> str:
    """Say how an answer, or a refusal, differs from the expected one; "" if it does not."""
    if isinstance(expected, Failure) or isinstance(found, Failure):
        texts = [a.error if isinstance(a, Failure) else "rows" for a in (expected, found)]
        return f"{texts[0]}, {how} {texts[1]}" if texts[0] != texts[1] else ""
    return str(difference(expected, found) or "")
