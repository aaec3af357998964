"""What a comparison comes to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tests.golden.compare import Difference
from verification.histories.answers import Answer, Failure, difference
from verification.histories.comparison import Comparison
from verification.histories.deviations import explaining_rule
from verification.histories.queries import Query


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
    difference: Difference | None = None  # where both answered

    @property
    def is_open(self) -> bool:
        """Whether the newest release may say more."""
        return self.verdict in (Verdict.UNEXPLAINED, Verdict.HUDI_FAILS)

    def explains(self, filtered: Outcome) -> bool:
        """Whether the same query with a filter differs only in rows in which this one differs."""
        mine, its = self.difference, filtered.difference
        if self.verdict is not Verdict.DEVIATION or mine is None or its is None or its.columns:
            return False
        return not (its.missing - mine.missing) and not (its.extra - mine.extra)


# What Apache Hudi refuses for a reason; docs/supported.md promises to refuse it too.
_REFUSALS = (
    "Cleaner cleaned up the timestamp",
    "HoodieTimeTravelException",
    "meta fields are disabled",
    "has to be in the active timeline",
)


def judge(comparison: Comparison) -> Outcome:
    """Compare two answers, and look for a rule where they differ."""
    query, theirs, ours = comparison.query, comparison.reference, comparison.ours
    if isinstance(ours, Failure) and not ours.is_named:
        return Outcome(query, Verdict.UNEXPLAINED, "error", f"ours: {ours.error}: {ours.message}")
    if isinstance(theirs, Failure):
        if isinstance(ours, Failure):
            return Outcome(query, Verdict.BOTH_REFUSE, ours.error, theirs.error)
        if any(text in theirs.message for text in _REFUSALS):
            return Outcome(query, Verdict.UNEXPLAINED, "refusal", theirs.message)
        return Outcome(query, Verdict.HUDI_FAILS, theirs.error, theirs.message)
    if isinstance(ours, Answer):
        found = difference(theirs, ours, comparison.history.image_columns)
        if not found:
            return Outcome(query, Verdict.EQUAL)
        text = str(found)
    else:
        found = None
        text = f"ours refuses ({ours.error}: {ours.message}), Hudi has {len(theirs.rows)} rows"
    rule = explaining_rule(comparison)
    verdict = Verdict.DEVIATION if rule else Verdict.UNEXPLAINED
    return Outcome(query, verdict, rule, text, found)
