"""The frame of a harness: its options, its child processes, and the outcomes of its questions.

A harness asks questions and adds an `Outcome` of each to a `Run`. The run prints the first findings
of each kind when they come up, and how far it is; at its end it prints a table in Markdown.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from multiprocessing import get_context
from typing import TypeVar

import pyarrow as pa

Question = TypeVar("Question")
Answer = TypeVar("Answer")

_PRINTED = 3  # findings with the same kind, verdict and detail
_LONGEST = 8_000  # characters of a finding
_AT_ONCE = 4_000  # questions that a child process is asked
_PAUSE = 30  # seconds between two lines that say how far a run is
_HELP = {
    "seed": "of the first question",
    "count": "how many are asked",
    "seconds": "how long it runs",
    "step": "bytes from one damage to the next",
}


def parser_of(document: str | None, **defaults: int) -> argparse.ArgumentParser:
    """Return a parser of the options of a harness; several harnesses have those with defaults."""
    spec = sys.modules["__main__"].__spec__
    program = f"python -m {spec.name.removesuffix('.__main__')}" if spec else None
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(program, description=document, formatter_class=form)
    for name, default in defaults.items():
        help_text = f"{_HELP[name]}; {default} by default"
        parser.add_argument(f"--{name}", type=int, default=default, help=help_text)
    return parser


def seeds_of(given: argparse.Namespace) -> range:
    """Return the seeds of ``--seed`` and ``--count``."""
    return range(given.seed, given.seed + given.count)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one question, or of several with the same outcome."""

    kind: str  # of the question: a line of the table
    verdict: str  # a column of the table
    detail: str = ""  # of the verdict, such as the class of an error
    text: str = ""  # of a finding: the question, and what is wrong with the answer
    is_finding: bool = False
    count: int = 1


@dataclass
class Run:
    """The outcomes so far."""

    verdicts: Sequence[str] = ()  # the first columns of the table
    # Of questions, by kind and verdict.
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)  # whatever else is counted
    findings: list[Outcome] = field(default_factory=list)
    _alike: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    _told: float = field(default_factory=time.monotonic)

    def add(self, outcome: Outcome) -> None:
        """Count an outcome, and print it if it is one of the first findings of its kind."""
        self.counts[outcome.kind, outcome.verdict] += outcome.count
        if outcome.detail:
            self.notes[f"{outcome.verdict}: {outcome.detail}"] += outcome.count
        if outcome.is_finding:
            self._add_finding(outcome)
        if time.monotonic() > self._told + _PAUSE:
            self._told = time.monotonic()
            text = f"{self.asked:,} so far, {len(self.findings):,} findings"
            print(time.strftime("%X"), text, file=sys.stderr, flush=True)

    def _add_finding(self, outcome: Outcome) -> None:
        self.findings.append(outcome)
        alike = outcome.kind, outcome.verdict, outcome.detail
        self._alike[alike] += 1
        if self._alike[alike] <= _PRINTED:
            words = filter(None, (*alike, outcome.text))
            print(f"FINDING {': '.join(words)[:_LONGEST]}", flush=True)

    @property
    def asked(self) -> int:
        """How many questions were asked."""
        return self.counts.total()

    def lines(self) -> Iterator[str]:
        """Yield the table and the notes."""
        verdicts = list(dict.fromkeys((*self.verdicts, *(verdict for _, verdict in self.counts))))
        yield f"| | {' | '.join(verdicts)} |"
        yield "|---" * (len(verdicts) + 1) + "|"
        for kind in dict.fromkeys(kind for kind, _ in self.counts):
            cells = (f"{self.counts[kind, verdict]:,}" for verdict in verdicts)
            yield f"| {kind} | {' | '.join(cells)} |"
        yield ""
        for note, count in self.notes.most_common():
            yield f"{count:12,} {note}"
        yield f"{self.asked:12,} in all, {len(self.findings):,} findings"

    def finish(self) -> int:
        """Print everything, and return the exit status: 1 for findings, or if nothing was asked."""
        print("\n".join(self.lines()), flush=True)
        return int(bool(self.findings) or not self.asked)


def ask_in_children(
    ask: Callable[[Question], Answer],
    questions: Iterable[Question],
    ended: Callable[[Question], Answer],
) -> Iterator[Answer]:
    """Ask in child processes, one for each processor, and yield the answers in order.

    Args:
        ask: a function that can be pickled.
        questions: can be pickled.
        ended: returns the answer to a question with which the process ends.
    """
    listed = list(questions)
    batches = (listed[begin : begin + _AT_ONCE] for begin in range(0, len(listed), _AT_ONCE))
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        found = threads.map(partial(_in_child, ask, ended), batches)
        yield from chain.from_iterable(found)


def _in_child(
    ask: Callable[[Question], Answer],
    ended: Callable[[Question], Answer],
    questions: Sequence[Question],
) -> list[Answer]:
    with ProcessPoolExecutor(1, get_context("spawn"), pa.set_cpu_count, (1,)) as child:
        try:
            return child.submit(_ask_all, ask, questions).result()
        except BrokenProcessPool:
            if len(questions) == 1:
                return [ended(questions[0])]
    middle = len(questions) // 2
    parts = questions[:middle], questions[middle:]
    return [answer for part in parts for answer in _in_child(ask, ended, part)]


def _ask_all(ask: Callable[[Question], Answer], questions: Sequence[Question]) -> list[Answer]:
    return [ask(question) for question in questions]
