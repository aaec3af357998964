"""The answers of the reader under test, filtered ones included."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
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
from verification.histories.answers import Answer, Failure, difference
from verification.histories.queries import METADATA, SKIPPING, Query, QueryKind
from verification.index_combinations.by_key import KEY, ROW, KeyedTable, left_out

FORMS_OF_OURS = 4  # per query; they need no JVM
_MOST_KEYS = 20  # that are asked for one by one; all are, in groups


def read_ours(path: Path, query: Query, table: HudiTable | None = None) -> Answer | Failure:
    """Ask a fresh table object, unless one is given."""
    found = _read(path, query, table)[0]
    return found if isinstance(found, Failure) else Answer.of(found)


@dataclass(frozen=True)
class Check:
    """A question that the reader under test answers alone, beside another answer of its own."""

    name: str  # of `CHECKS`
    query: Query
    problem: str  # how the answers differ; "" where they do not
    left_out: Counter[str] = field(default_factory=Counter)  # by the indexes


FILTERED = "filtered answers"
FORMS = "other forms"
FIRST_MERGED = "merged first"
BY_KEY = "by key"
ONE_TABLE = "answers of one table"
AFTER_COMMIT = "answers after a commit"
# What the checks ask, for people. Those of filters are told apart.
CHECKS = {
    FORMS: "counted, by column, limited, as aggregates",
    ONE_TABLE: "of one table object, or with kept merges, in random order",
    AFTER_COMMIT: "after each commit, with merges that earlier answers kept",
    BY_KEY: "snapshots, each row by its key in every way and with each index",
    FIRST_MERGED: "base files by DuckDB, with merge_first=True",
}


def checks_of(
    path: Path, query: Query, rows: pa.Table, filters: Sequence[Filter], random: Random
) -> Iterator[Check]:
    """Check an answer in every way.

    Args:
        path: of the table.
        query: whose answer it is.
        rows: the answer.
        filters: made of its values.
        random: chooses settings, keys and forms.
    """
    for chosen in filters:
        yield from filtered_answers(path, query, rows, chosen, random)
    if query.kind in (QueryKind.SNAPSHOT, QueryKind.AS_OF):
        yield Check(FIRST_MERGED, query, merged_first(path, query, rows))
    if query.kind is QueryKind.SNAPSHOT and DELETE_FIELD not in query.options:
        problems = list(rows_by_key(path, rows, random))
        yield Check(BY_KEY, query, "; ".join(problems))
    yield from other_forms(path, query, rows, random, FORMS_OF_OURS)


def answers_of_one_table(path: Path, queries: Sequence[Query], random: Random) -> Iterator[Check]:
    """Ask one table object all queries, twice and in random order, or a new one on kept merges.

    The answers must be those of fresh objects.
    """
    fresh = {str(query): read_ours(path, query) for query in queries}
    table = HudiTable(str(path))
    for query in random.sample([*queries, *queries], 2 * len(queries)):
        if random.random() < 0.5:
            asked, given = query, table
        else:
            asked, given = replace(query, own={**query.own, **kept_in(kept_folder(path))}), None
        expected, found = fresh[str(query)], read_ours(path, asked, given)
        yield Check(ONE_TABLE, query, _problem(expected, found, "with earlier queries"))


def _problem(expected: Answer | Failure, found: Answer | Failure, how: str) -> str:
    """Say how an answer, or a refusal, differs from the expected one; "" if it does not."""
    if isinstance(expected, Failure) or isinstance(found, Failure):
        texts = [a.error if isinstance(a, Failure) else "rows" for a in (expected, found)]
        return f"{texts[0]}, {how} {texts[1]}" * (texts[0] != texts[1])
    return str(difference(expected, found) or "")


def kept_folder(path: Path) -> Path:
    """Return the folder, beside a table, of the outcomes of its merges."""
    return path.with_name(f"{path.name}_kept")


def answer_after_commit(path: Path, number: int) -> Check:
    """Compare what a table answers after a commit, with merges of earlier answers and with none.

    Args:
        path: of the table.
        number: of the step; it chooses one column or all.
    """
    query = Query(QueryKind.SNAPSHOT, {}, own={"columns": KEY} if number % 2 else {})
    without = replace(query, own={**query.own, "merge_cache": "off"})
    kept = replace(query, own={**query.own, **kept_in(kept_folder(path))})
    problem = _problem(read_ours(path, without), read_ours(path, kept), "with kept merges")
    told = f"after step {number}: {problem}" if problem else ""
    return Check(AFTER_COMMIT, Query(QueryKind.SNAPSHOT, {}), told)


def merged_first(path: Path, query: Query, all_rows: pa.Table) -> str:
    """Let DuckDB read the base files of a snapshot itself, and compare with what ours reads.

    Args:
        path: of the table.
        query: a snapshot, or the table as it was.
        all_rows: the answer.

    Returns:
        How the rows differ; "" where they do not.
    """
    table = HudiTable(str(path))
    options = {**query.own, **query.options}  # of which the latter go before the former
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scan = table.scan(**options)
            names = [f.name for f in scan.schema if is_exact_type(f.type)]
            chosen = table.scan(**{**options, "columns": tuple(names)})
            database = chosen.to_duckdb("t", merge_first=True)
            found = database.sql("FROM t").to_arrow_table().cast(chosen.schema)
    except Exception as error:  # noqa: BLE001  (a finding)
        return f"merged first: {type(error).__name__}: {error}"
    expected = Answer.of(all_rows.select(names).cast(chosen.schema))
    problem = difference(expected, Answer.of(found))
    return f"merged first: {problem}" if problem else ""


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


def has_python_values(found: pa.Table) -> bool:
    """Return whether Python has all values: it has no timestamps after the year 9999."""
    try:
        found.to_pylist()
    except OverflowError:
        return False
    return True


def some_filters(found: pa.Table, query: Query, random: Random, most: int) -> list[Filter]:
    """Filters made of the values of an answer; none of changes, whose images are text."""
    if query.kind is QueryKind.CDC or not found.num_rows:
        return []
    filters = list(filters_of(found, per_column=2))
    return random.sample(filters, min(most, len(filters)))


def filtered_answers(
    path: Path,
    query: Query,
    all_rows: pa.Table,
    filter: Filter,  # noqa: A002
    random: Random,
) -> Iterator[Check]:
    """Apply a filter without the metadata table, with all its indexes and with some of them.

    A table without a metadata table is read once.
    """
    kept = [filter.holds(row) is True for row in all_rows.to_pylist()]
    expected = Answer.of(all_rows.filter(pa.array(kept, pa.bool_())))
    has_metadata = (path / ".hoodie" / "metadata").is_dir()
    for settings in _index_settings(random) if has_metadata else [{}]:
        asked = query.with_filter(filter.text).with_options(**settings)
        found, skipped = _read(path, asked)
        if isinstance(found, Failure):
            problem = f"refused with a filter only: {found.error}: {found.message}"
        else:
            problem = str(difference(expected, Answer.of(found)) or "")
        yield Check(FILTERED, asked, problem, skipped)


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
        yield Check(FORMS, asked, f"{question}: {'; '.join(problems)}" if problems else "")


def rows_by_key(path: Path, all_rows: pa.Table, random: Random) -> Iterator[str]:
    """Ask for the rows of a snapshot by their keys, in every way and with each index.

    Yields which keys lack a row, or have others.
    """
    if not set(ROW) <= set(all_rows.schema.names):
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table = KeyedTable(path, all_rows)
            if table.table.config.populate_meta_fields:
                yield from table.problems(random, most=_MOST_KEYS)
    except Exception as error:  # noqa: BLE001  (a finding)
        yield f"by key: {type(error).__name__}: {error}"


def _index_settings(random: Random) -> Iterator[dict[str, str]]:
    some = random.sample(list(Index), random.randint(1, len(Index) - 1))
    yield {METADATA: "false"}
    yield {METADATA: "true", SKIPPING: "true"}
    yield {METADATA: "true", SKIPPING: ",".join(index.value for index in some)}
