"""One history from end to end: written, read by both, and judged."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

from tests.golden.questions import RECORD_POSITIONS
from verification.histories.answers import Answer, Failure
from verification.histories.comparison import Comparison
from verification.histories.history import History
from verification.histories.instants import Instant, completed_commits
from verification.histories.ours import (
    Check,
    CheckKind,
    answer_after_commit,
    answers_of_one_table,
    checks_of,
    has_python_values,
    kept_folder,
    read_arrow,
    read_ours,
    some_filters,
)
from verification.histories.queries import (
    BEGIN,
    METADATA,
    SKIPPING,
    Query,
    QueryKind,
    every_query,
    random_queries,
)
from verification.histories.verdict import Outcome, Verdict, judge
from verification.histories.worker import CrashError, Worker

OWN_TABLE = "one table"  # detail of an answer that depends on earlier queries
OF_OURS_ALONE = ("own filter", "own form", OWN_TABLE)  # details of findings without Apache Hudi
_DETAILS = {
    CheckKind.FILTERED: "own filter",
    CheckKind.ONE_TABLE: OWN_TABLE,
    CheckKind.AFTER_COMMIT: OWN_TABLE,
}
QUERIES_PER_ATTEMPT = 12  # of shrinking, which has little time
_READ_SIDE = (METADATA, SKIPPING, RECORD_POSITIONS)  # options that do not change what is asked


@dataclass
class Examination:
    """What became of a history."""

    history: History
    path: Path
    steps: list[str] = field(default_factory=list)  # labels; with the reason where refused
    instants: tuple[Instant, ...] = ()
    outcomes: list[Outcome] = field(default_factory=list)
    checks: Counter[str] = field(default_factory=Counter)  # filtered answers, and what was left out
    seconds: float = 0.0

    @property
    def is_written(self) -> bool:
        return bool(self.instants) and bool(completed_commits(self.path))

    @property
    def unexplained(self) -> list[Outcome]:
        return [o for o in self.outcomes if o.verdict is Verdict.UNEXPLAINED]

    @property
    def asked_kinds(self) -> list[QueryKind]:
        """The kinds of queries that the table may answer."""
        return [k for k in QueryKind if k is not QueryKind.CDC or self.history.has_cdc]

    def note(self, check: Check) -> None:
        """Count a check, and keep its problem as an outcome."""
        self.checks[check.kind.name] += 1
        self.checks += check.left_out
        if check.problem:
            detail = _DETAILS.get(check.kind, "own form")
            outcome = Outcome(check.query, Verdict.UNEXPLAINED, detail, check.problem)
            self.outcomes.append(outcome)

    def record(self) -> dict[str, Any]:
        """A line of the results."""
        return {
            "hudi": self.history.hudi,
            "history": self.history.name,
            "table_version": self.history.table_version,
            "steps": self.steps,
            "seconds": round(self.seconds, 1),
            "checks": dict(self.checks),
            "outcomes": [
                {"query": str(o.query), "verdict": o.verdict.value, "detail": o.detail}
                | ({"text": o.text} if o.verdict is not Verdict.EQUAL else {})
                for o in self.outcomes
            ],
        }


def examine(history: History, worker: Worker, folder: Path, most: int = 20) -> Examination:
    """Write a table and ask some queries about it, `most` at most; each with a filter, too."""
    started = time.monotonic()
    found = write(history, worker, folder / history.name)
    if found.is_written:
        random = Random(history.name)
        queries = list(random_queries(history, found.instants, random))
        if len(queries) > most:  # the first is the snapshot, whose rows are asked for by key
            queries = [queries[0], *random.sample(queries[1:], most - 1)]
        ask(found, worker, queries, random)
        ask_one_table(found, random)
    found.seconds = time.monotonic() - started
    return found


def write(history: History, worker: Worker, path: Path) -> Examination:
    """Do the steps of a history; what Apache Hudi refuses is left out, what it began stays."""
    for folder in (path, source_folder(path), kept_folder(path)):
        shutil.rmtree(folder, ignore_errors=True)
    found = Examination(history, path)
    seen = set[Instant]()
    for number, step in enumerate(history.steps):
        try:
            refusal = worker.execute(history, number, path)
        except CrashError:
            found.steps.append(f"{step.label} CRASHED")
            break
        seen.update(completed_commits(path))
        reason = f" REFUSED {refusal.error}: {refusal.message[:150]}" if refusal else ""
        found.steps.append(step.label + reason)
        if not seen:  # a bootstrap may fail after its commit
            break
        found.note(answer_after_commit(path, number))
    # The completion time is in the name from version 8 on only: an upgrade renames.
    newest = {instant.requested: instant for instant in sorted(seen)}
    found.instants = tuple(newest[requested] for requested in sorted(newest))
    return found


def source_folder(path: Path) -> Path:
    """Return the folder of the files that a table bootstraps."""
    return path.with_name(path.name + "_source")


def ask(found: Examination, worker: Worker, queries: Iterable[Query], random: Random) -> None:
    """Ask each query of both readers, without and with filters, and keep the outcomes."""
    for query in queries:
        plain = compare(found, worker, query)
        found.outcomes.append(plain)
        rows = read_arrow(found.path, query)
        if not isinstance(rows, pa.Table) or not has_python_values(rows):
            continue
        filters = some_filters(rows, query, random)
        for check in checks_of(found.path, query, rows, filters, random):
            found.note(check)
        for chosen in filters[:1]:
            found.outcomes.append(compare(found, worker, query.with_filter(chosen.text), plain))


def ask_one_table(found: Examination, random: Random) -> None:
    """Ask one table object what was asked before, and every kind of query that was not."""
    asked = [outcome.query for outcome in found.outcomes if outcome.detail not in OF_OURS_ALONE]
    for kind in found.asked_kinds:
        asked += every_query(kind, found.instants, most=3)
    queries = list({str(query): query for query in asked}.values())
    for check in answers_of_one_table(found.path, queries, random):
        found.note(check)


def compare(
    found: Examination, worker: Worker, query: Query, plain: Outcome | None = None
) -> Outcome:
    """Ask one query of both readers.

    Args:
        found: the table.
        worker: Apache Hudi.
        query: what to ask.
        plain: the outcome of the same query without its filter. What explains that one explains
            this one too: the checks have shown that ours filters what it answers.
    """

    def ask_hudi(asked: Query) -> Answer | Failure:
        answer = worker.read(found.path, _as_release_says(found, asked, worker.hudi))
        return answer if isinstance(answer, Failure) else answer.answer()

    ours = read_ours(found.path, query)
    comparison = Comparison(
        found.history, found.path, found.instants, query, ask_hudi(query), ours, ask_hudi
    )
    outcome = judge(comparison)
    if outcome.verdict is Verdict.UNEXPLAINED and plain is not None and plain.explains(outcome):
        return Outcome(query, Verdict.DEVIATION, plain.detail, outcome.text)
    return outcome


def _as_release_says(found: Examination, query: Query, hudi: str) -> Query:
    """Begins are inclusive in 1.0 from table version 8 on (D12): ask for the next millisecond."""
    if query.kind is not QueryKind.INCREMENTAL or hudi[:4] != "1.0.":
        return query
    if found.history.table_version < 8 or query.begin == "000":
        return query
    return query.with_options(**{BEGIN: str(int(query.begin) + 1)})


def ask_again(found: Examination, newest: Worker) -> None:
    """Let the newest release answer what another one answered differently, or not at all."""
    for number, outcome in enumerate(found.outcomes):
        if not outcome.is_open or outcome.detail in OF_OURS_ALONE:
            continue
        plain = next(
            (o for o in found.outcomes[:number] if o.query == outcome.query.with_filter("")), None
        )
        again = compare(found, newest, outcome.query, plain)
        if again.verdict is Verdict.EQUAL:
            again = Outcome(outcome.query, Verdict.DEVIATION, f"as {newest.hudi}", outcome.text)
        found.outcomes[number] = again


def differs(history: History, worker: Worker, folder: Path, failed: Outcome) -> Outcome | None:
    """Whether a history still fails as it did: a query of the same kind, unexplained likewise."""
    found = write(history, worker, folder / history.name)
    if not found.is_written:
        return None
    if failed.detail == OWN_TABLE:
        ask_one_table(found, Random(0))
        return next(iter(found.unexplained), None)
    read_side = {k: v for k, v in failed.query.options.items() if k in _READ_SIDE}
    queries = list(every_query(failed.query.kind, found.instants))
    queries.sort(key=lambda query: bool(query.end) != bool(failed.query.end))
    for query in queries[:QUERIES_PER_ATTEMPT]:
        asked = replace(query.with_options(**read_side), own=failed.query.own)
        found.outcomes.clear()
        if failed.detail in OF_OURS_ALONE or failed.query.filter:
            ask(found, worker, [asked], Random(0))
        else:
            found.outcomes.append(compare(found, worker, asked))
        for outcome in found.unexplained:
            details = {outcome.detail, failed.detail}
            if len(details) == 1 or details.isdisjoint(OF_OURS_ALONE):
                return outcome
    return None
