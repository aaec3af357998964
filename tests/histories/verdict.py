"""What a comparison comes to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from tests.histories.compare import CRASH, Answer, Failure, difference
from tests.histories.deviations import Comparison, explaining_rule

if TYPE_CHECKING:
    from tests.histories.queries import Query


class Verdict(str, Enum):
    """How the answers to a query relate, from good to bad."""

    EQUAL = "equal"
    BOTH_REFUSE = "refused by both"
    HUDI_FAILS = "ours answers where Hudi fails"
    DEVIATION = "deviating by rule"
    UNEXPLAINED = "unexplained"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A query and its verdict."""

    query: Query
    verdict: Verdict
    detail: str = ""  # Apache Hudi's error class, or the number of the rule
    text: str = ""  # how the answers differ

    def relabelled(self, detail: str) -> Outcome:
        return replace(self, detail=detail)


def judge(comparison: Comparison) -> Outcome:
    """Compare two answers, and look for a rule where they differ."""
    query, theirs, ours = comparison.query, comparison.reference, comparison.ours
    if isinstance(ours, Failure) and not ours.is_named:
        return Outcome(query, Verdict.UNEXPLAINED, "error", f"ours: {ours.error}: {ours.message}")
    if isinstance(theirs, Failure):
        if isinstance(ours, Failure):
            return Outcome(query, Verdict.BOTH_REFUSE, ours.error, theirs.error)
        return Outcome(query, Verdict.HUDI_FAILS, theirs.error, theirs.message)
    text = _text(theirs, ours, comparison.history.image_columns)
    if not text:
        return Outcome(query, Verdict.EQUAL)
    rule = explaining_rule(comparison)
    return Outcome(query, Verdict.DEVIATION if rule else Verdict.UNEXPLAINED, rule, text)


def _text(theirs: Answer, ours: Answer | Failure, image_columns: frozenset[str]) -> str:
    if isinstance(ours, Failure):
        return f"ours refuses ({ours.error}: {ours.message}), Hudi has {len(theirs.rows)} rows"
    found = difference(theirs, ours, image_columns)
    return str(found) if found else ""


def is_crash(outcome: Outcome) -> bool:
    return outcome.detail == CRASH
