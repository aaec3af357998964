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
    """Why some queries answer differently, and in which columns."""

    rule: str  # number of the rule in docs/differences.md
    reason: str
    columns: frozenset[str]  # all others must be equal


@dataclass(frozen=True)
class CertainAnswer:
    """Why the rows are certain although Apache Hudi fails: another case has the same data."""

    reason: str
    case: str
    query: str


@cache
def accepted_deviations() -> dict[str, Deviation]:
    """``case/query`` to its deviation."""
    return {
        query: Deviation(entry["rule"], entry["reason"], frozenset(entry["columns"]))
        for entry in tomllib.loads(_FILE.read_text())["deviation"]
        for query in entry["queries"]
    }


@cache
def certain_answers() -> dict[str, CertainAnswer]:
    """``case/query`` to the answer that must be given although Apache Hudi fails."""
    return {
        query: CertainAnswer(entry["reason"], *entry["same_data_as"].split("/"))
        for entry in tomllib.loads(_FILE.read_text())["certain"]
        for query in entry["queries"]
    }
