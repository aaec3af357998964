"""Ask random plans in three sessions: with the narrowing of scans, without it, and over a copy.

Each plan must have one answer: the names and types of its columns with its rows, or an error of one
class. The copy is Parquet files with the rows that Apache Hudi read; its session has never called
`hudi_pyspark.register`.
"""

from __future__ import annotations

import logging
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyspark.sql.connect.plan import CachedRemoteRelation

import hudi_pyspark
from hudi_pyspark.spark.optimizer import ENABLED
from verification.common.archives import unpack
from verification.common.sessions import read_as_written
from verification.common.shrinking import shortest
from verification.random_plans.names import tables, variants
from verification.random_plans.names.plan import Plan, draw
from verification.random_plans.names.sides import Rows, Side

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from pyspark.sql import SparkSession

_TRIALS = 60  # of plans that may be shorter
SIDES = ("on", "off", "copy")
# Over Spark Connect, a frame of a checkpoint may belong to another session of the process, which
# does not know it: no answer of a plan.
_UNANSWERED = ("CONNECT_INVALID_PLAN.DATAFRAME_NOT_FOUND", "SESSION_NOT_SAME")


@dataclass
class Outcome:
    """What came of the plans of a run."""

    asked: int = 0
    with_rows: int = 0
    without_rows: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    features: Counter[str] = field(default_factory=Counter)
    different: list[int] = field(default_factory=list)
    seconds: float = 0.0

    def summary(self) -> str:
        """Return the counts as text, the features on lines of their own."""
        drawn = [f"{count:6} {name}" for name, count in sorted(self.features.items())]
        errors = ", ".join(f"{count} {name}" for name, count in self.errors.most_common(12))
        return "\n".join(
            [
                "FEATURES",
                *drawn,
                f"ERRORS {self.errors.total()}: {errors}",
                (
                    f"ANSWERS {self.asked} plans, {self.with_rows} with rows, "
                    f"{self.without_rows} without, {self.errors.total()} errors, "
                    f"{len(self.different)} different, {self.seconds:.0f} s"
                ),
            ]
        )


class Referee:
    """The three sessions, asked at the same time."""

    def __init__(self, sessions: dict[str, SparkSession], folder: Path) -> None:
        """Prepare the sessions.

        Args:
            sessions: by the names of `SIDES`; that of ``copy`` belongs to Spark alone.
            folder: for the tables, and for what plans write.
        """
        for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        unpack(tables.ARCHIVE, folder)
        variants.write(sessions["copy"], folder)
        sessions["off"].conf.set(ENABLED, "false")
        for name in ("on", "off"):
            hudi_pyspark.register(sessions[name])
        self._sides: list[Any] = [
            Side(sessions[name], folder, name, is_copy=name == "copy") for name in SIDES
        ]
        self._threads = _threads()
        for side, thread in zip(self._sides, self._threads, strict=True):
            side.reader = sessions["copy"]
            side.spark.conf.set("spark.sql.shuffle.partitions", "2")
            read_as_written(side.spark)
            side.spark.conf.set("spark.sql.legacy.createHiveTableByDefault", "false")
            thread.submit(side.prepare).result()

    @classmethod
    def of_sides(cls, sides: list[Any]) -> Referee:
        """Make a referee of other sides: anything with a method ``answer``."""
        referee = cls.__new__(cls)
        referee._sides, referee._threads = sides, _threads()
        return referee

    def answers(self, plan: Plan) -> list[Rows | str]:
        """Return the answers of the sides."""
        pairs = list(zip(self._sides, self._threads, strict=True))
        if plan.is_cached:
            return [thread.submit(side.answer, plan).result() for side, thread in pairs]
        asked = [thread.submit(side.answer, plan) for side, thread in pairs]
        return [each.result() for each in asked]

    def differs(self, plan: Plan) -> bool:
        """Return whether the sides have different answers."""
        answers = self.answers(plan)
        return _is_answered(answers) and any(other != answers[0] for other in answers[1:])

    def compare(
        self, seeds: Iterable[int], *, shrinks: int = 20, plan_of: Callable[[int], Plan] = draw
    ) -> Outcome:
        """Ask the plans of seeds, and print those with different answers.

        Args:
            seeds: of the plans.
            shrinks: how many of those that differ are made shorter.
            plan_of: draws the plan of a seed.
        """
        outcome, begin = Outcome(), time.monotonic()
        for seed in seeds:
            plan = plan_of(seed)
            answers = self.answers(plan)
            outcome.asked += 1
            outcome.features.update(plan.features)
            wanted = answers[-1]
            if not _is_answered(answers):
                outcome.errors["not answered"] += 1
                continue
            if isinstance(wanted, str):
                outcome.errors[wanted] += 1
            elif wanted.rows:
                outcome.with_rows += 1
            else:
                outcome.without_rows += 1
            if any(answer != wanted for answer in answers) and self.differs(plan):
                outcome.different.append(seed)
                if len(outcome.different) <= shrinks:
                    plan = shortest(plan, self.differs, trials=_TRIALS)
                    answers = self.answers(plan)
                _print(plan, answers)
            outcome.seconds = time.monotonic() - begin
            if outcome.asked % 20 == 0:
                print(_progress(outcome), file=sys.stderr, flush=True)
        return outcome


def _threads() -> list[ThreadPoolExecutor]:
    """Return a thread for each side, since Spark keeps the session of a thread."""
    return [ThreadPoolExecutor(1) for _ in SIDES]


def _is_answered(answers: list[Rows | str]) -> bool:
    return not any(isinstance(each, str) and each in _UNANSWERED for each in answers)


def keep_checkpoints() -> None:
    """Let clients of Connect forget no checkpoint.

    One that does tells the server, and may wait for the answer for ever.
    """
    CachedRemoteRelation.__del__ = lambda _: None  # type: ignore[method-assign]


def _progress(outcome: Outcome) -> str:
    return (
        f"{outcome.asked} plans: {outcome.with_rows} with rows, {outcome.errors.total()} errors, "
        f"{len(outcome.different)} different, {outcome.asked / outcome.seconds:.2f} a second"
    )


def _print(plan: Plan, answers: list[Any]) -> None:
    print(f"--- seed {plan.seed}\n{plan.text}")
    wanted = answers[-1]
    for name, answer in zip(SIDES, answers, strict=True):
        # The answers that are right have nothing of their own beside that of the copy, which is
        # shown beside the first that is wrong.
        other = wanted if answer != wanted else next((a for a in answers if a != wanted), wanted)
        shown = answer if isinstance(answer, str) else answer.beside(other)
        print(f"{name:5} {shown[:700]}")
    sys.stdout.flush()
