"""Accepted differences from Apache Hudi's answers, read from deviations.toml."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # comes with pytest there

_FILE = Path(__file__).with_name("deviations.toml")


@dataclass(frozen=True)
class Deviation:
    """Why some queries answer differently, and in what."""

    rule: str  # number of the rule in docs/differences.md
    reason: str
    columns: frozenset[str]  # all others must be equal
    # Rows may differ too: "more" or "fewer" than Apache Hudi's, "other" ones, or the named error.
    rows: str


@dataclass(frozen=True)
class CertainAnswer:
    """Why the rows are certain although Apache Hudi fails."""

    reason: str
    case: str  # has the same data
    query: str  # of that case; "" where only the reason speaks for the rows


@cache
def accepted_deviations() -> dict[str, Deviation]:
    """``case/query`` to its deviation."""
    found = {}
    for entry in tomllib.loads(_FILE.read_text())["deviation"]:
        columns = frozenset(entry.get("columns", ()))
        deviation = Deviation(entry["rule"], entry["reason"], columns, entry.get("rows", ""))
        found.update(dict.fromkeys(entry["queries"], deviation))
    return found


@cache
def certain_answers() -> dict[str, CertainAnswer]:
    """``case/query`` to the answer that must be given although Apache Hudi fails."""
    found = {}
    for entry in tomllib.loads(_FILE.read_text())["certain"]:
        case, _, name = entry.get("same_data_as", "").partition("/")
        for query in entry["queries"]:
            # A star is the name of the query itself.
            twin = name.replace("*", query.partition("/")[2])
            found[query] = CertainAnswer(entry["reason"], case, twin)
    return found
