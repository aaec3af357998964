"""``python -m tests.golden show CASE [QUERY]``: what a case is, its queries, and their rows.

CASE is a folder, or the name of a case of this project. With QUERY the rows of that query alone are
printed.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hudi_pyspark.cli.printing import show as print_table
from tests.golden.case import Query, is_case, load_case

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tests.golden.case import Case

_TESTS = Path(__file__).resolve().parents[1]
_PLACES = ("golden*", "practice/*")  # folders of cases
_OF_QUERIES = ("queries", "queries_that_fail")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.golden show", description=__doc__)
    parser.add_argument("case")
    parser.add_argument("query", nargs="?")
    given = parser.parse_args(arguments)
    case = load_case(find_case(given.case))
    if given.query is None:
        _print_facts(case)
    for query in case.queries:
        if given.query in (None, query.name):
            _print_query(query)
    known = [query.name for query in case.queries]
    if given.query not in (None, *known):
        parser.error(f"{case.name} has no query {given.query}: it has {', '.join(known)}")
    return 0


def find_case(name: str) -> Path:
    """Return the folder of a case.

    Raises:
        SystemExit: there is no such case.
    """
    if is_case(Path(name)):
        return Path(name)
    found = [folder for place in _PLACES for folder in _TESTS.glob(f"{place}/{name}")]
    for folder in filter(is_case, found):
        return folder
    raise SystemExit(f"no case {name}: give a folder, or a name of tests/golden")


def _print_facts(case: Case) -> None:
    print(f"{case.name} ({case.folder})")
    for key, value in case.facts.items():
        if key != "name" and key not in _OF_QUERIES:
            print(f"{key}: {_fact_text(value)}")


def _fact_text(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return ", ".join(each["name"] for each in value)
    if isinstance(value, list):
        return "; ".join(map(str, value))
    if isinstance(value, dict):
        return " ".join(f"{key}={each}" for key, each in value.items())
    return str(value)


def _print_query(query: Query) -> None:
    print(f"\n{query.name}: {_fact_text(query.options) or 'no options'}")
    for note in _notes(query.facts):
        print(f"  {note}")
    if query.answer is None:
        print(f"  Apache Hudi fails: {query.error}", flush=True)
    else:
        rows = query.expected_rows()
        print(f"  {rows.num_rows} rows", flush=True)
        print_table(rows, "table", null="null")


def _notes(facts: Mapping[str, Any]) -> Iterable[str]:
    if "note" in facts:
        yield facts["note"]
    for release, entry in facts.get("also", {}).items():
        yield f"Apache Hudi {release}: {entry.get('note') or entry.get('error')}"
