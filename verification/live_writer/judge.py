"""Whether a read of the live table is right, by the journal of its writers.

Nothing in here asks the reader under test. The state of the table is a set of commits. A snapshot
is right if its rows are those of a set that existed at some instant after the read began and before
its state was fixed. Commits complete one after another, so a state has all the commits up to one of
them. A commit that was being rolled back at that moment may count or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import chain, combinations
from typing import Any

from tests.golden.compare import Difference, Row, compare_rows
from verification.common.runs import Outcome
from verification.live_writer.records import Kind, Read, Service, Write
from verification.live_writer.rows import COLUMNS, row_of

RIGHT, REFUSED, BARE, WRONG = VERDICTS = ("right", "refused by name", "a bare error", "wrong")
# The errors that say that a writer has overtaken a read, and what to do.
OVERTAKEN = ("MissingFileError", "TimeTravelError", "IncrementalRangeError")


@dataclass(frozen=True)
class Truth:
    """The commits of all writers in order of completion, and when some were taken away."""

    commits: tuple[Write, ...]
    rollbacks: Mapping[str, Service]  # requested time of the commit to its rollback

    @classmethod
    def of(cls, writes: Iterable[Write], services: Iterable[Service]) -> Truth:
        committed = sorted((w for w in writes if w.is_committed), key=lambda w: w.completion)
        return cls(tuple(committed), {s.rolled_back: s for s in services if s.rolled_back})

    def rows_now(self) -> set[Row]:
        """Return the rows of the table after everything that happened."""
        return rows_after(c for c in self.commits if c.requested not in self.rollbacks)

    def states(self, begun: float, opened: float) -> Iterator[tuple[Write, ...]]:
        """Yield the sets of commits that were the table at some instant of a period."""
        known = [c for c in self.commits if seconds_of(c.completion) <= opened]
        certain = max((n for n, c in enumerate(known, 1) if c.ended <= begun), default=0)
        for count in range(certain, len(known) + 1):
            yield from self._rolled_back(known[:count], begun, opened)

    def of_range(
        self, begin: str, end: str, begun: float, opened: float
    ) -> Iterator[tuple[Write, ...]]:
        """Yield the sets of commits with which a range, begin exclusive, is answered completely."""
        within = [c for c in self.commits if begin < c.completion <= end]
        yield from self._rolled_back(within, begun, opened)

    def _rolled_back(
        self, commits: Sequence[Write], begun: float, opened: float
    ) -> Iterator[tuple[Write, ...]]:
        gone, going = set(), []
        for commit in commits:
            rollback = self.rollbacks.get(commit.requested)
            if rollback is not None and rollback.ended < begun:
                gone.add(commit.requested)
            elif rollback is not None and rollback.begun <= opened:
                going.append(commit.requested)
        some = (combinations(going, count) for count in range(len(going) + 1))
        for absent in chain.from_iterable(some):
            yield tuple(c for c in commits if c.requested not in gone and c.requested not in absent)


def seconds_of(instant: str) -> float:
    """Return seconds since 1970 of an instant with milliseconds, which is UTC here."""
    whole = datetime.strptime(instant[:14], "%Y%m%d%H%M%S").replace(tzinfo=timezone.utc)
    return whole.timestamp() + int(instant[14:17] or 0) / 1000


def rows_after(commits: Iterable[Write]) -> set[Row]:
    """Return the rows that these commits leave; each key has one writer, whose batches ascend."""
    batch_of: dict[str, int] = {}
    for commit in sorted(commits, key=lambda c: c.number):
        batch_of.update(dict.fromkeys(commit.upserts, commit.number))
        for key in commit.deletes:
            batch_of.pop(key, None)
    return {row_of(key, batch) for key, batch in batch_of.items()}


def judge(reads: Sequence[Read], truth: Truth) -> Iterator[Outcome]:
    """Yield the verdict of each read of one reader, whose reads are in order."""
    position = ""
    for read in reads:
        verdict, reason = _judged(read, truth)
        is_link = read.kind in (Kind.STREAM, Kind.INCREMENTAL) and not read.is_repeated
        if is_link and not read.is_first and read.begin != position:
            verdict = WRONG
            reason = f"the range begins at {read.begin}, but the last one ended at {position}"
        if is_link and not read.error:
            position = read.end
        elif is_link and read.error == "IncrementalRangeError":
            position = ""
        is_finding = verdict in (BARE, WRONG)
        yield Outcome(read.kind.value, verdict, read.error, reason, is_finding=is_finding)


def _judged(read: Read, truth: Truth) -> tuple[str, str]:
    """Return the verdict of a read by itself, and the reason."""
    if read.error:
        return REFUSED if read.error in OVERTAKEN else BARE, read.message
    differences = (compare_rows((), answer, read.rows) for answer in _answers(read, truth))
    nearest = min(differences, key=_size)
    return (WRONG, str(nearest)) if nearest else (RIGHT, "")


def _size(difference: Difference) -> int:
    return difference.missing.total() + difference.extra.total()


def _answers(read: Read, truth: Truth) -> Iterator[set[Row]]:
    """Yield each answer that is right."""
    if read.kind in (Kind.STREAM, Kind.INCREMENTAL) or (read.begin and not read.is_warned):
        for commits in truth.of_range(read.begin, read.end, read.begun, read.opened):
            yield rows_after(commits)
        return
    for commits in truth.states(read.begun, read.opened):
        if read.begin:  # the latest rows, as far as the range wrote them
            marks = {
                (key, c.number)
                for c in commits
                if read.begin < c.completion <= read.end
                for key in c.upserts
            }
            yield {row for row in rows_after(commits) if row[:2] in marks}
        elif read.as_of:
            yield rows_after(c for c in commits if c.requested <= read.as_of)
        else:
            rows = filter(_condition(read.options.get("filter", "")), rows_after(commits))
            yield {row if read.kind is not Kind.PROJECTION else (row[1], row[0]) for row in rows}


def _condition(text: str) -> Any:
    """Return the test of a row that a filter of ours means."""
    if not text:
        return lambda _row: True
    name, operator, value = text.split(" ")
    place = COLUMNS.index(name)
    if operator == ">":
        return lambda row: row[place] > int(value)
    return lambda row: row[place] == value.strip("'")
