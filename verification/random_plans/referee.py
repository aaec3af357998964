"""Ask random plans on several sides, and compare the answers.

Each plan must have one answer: the names and types of its columns with its rows, or an error of one
class. The last side is a session of Spark alone over copies of the rows, and is right.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.connect.plan import CachedRemoteRelation

import hudi_pyspark
from hudi_pyspark.spark.datasource import HudiDataSource
from hudi_pyspark.spark.optimizer import ENABLED
from verification.common.runs import Outcome, Run
from verification.common.sessions import read_as_written
from verification.common.shrinking import shortest
from verification.random_plans import variants
from verification.random_plans.plan import Plan, draw
from verification.random_plans.sides import BY_NAME, COPY, SOURCE, Rows, Side
from verification.random_plans.tables import Tables

# The line and the columns of the table of a run.
KIND, WITH_ROWS, _WITHOUT_ROWS = "plans", "with rows", "without rows"
_TRIALS = 60  # of plans that may be shorter
# The sides of each mode: registered, registered but without the narrowing of scans, with the tables
# in the catalog, with the data source alone, and of Spark alone.
SIDES = {
    "connect": ("on", "off", "copy"),
    "classic": ("on", "off", "copy"),
    "names": ("named", "copy"),
    "plain": ("plain", "copy"),
}
# Over Spark Connect, a frame of a checkpoint may belong to another session of the process, which
# does not know it: no answer of a plan.
_UNANSWERED = ("CONNECT_INVALID_PLAN.DATAFRAME_NOT_FOUND", "SESSION_NOT_SAME")
# Tables by name have it, copies have not.
_TIME_TRAVEL = "UNSUPPORTED_FEATURE.TIME_TRAVEL"
# Errors of a value in a row that another condition leaves out: Spark need not meet it.
_OF_A_VALUE = (
    "CAST_INVALID_INPUT", "CAST_OVERFLOW", "DIVIDE_BY_ZERO", "INVALID_ARRAY_INDEX",
    "NUMERIC_VALUE_OUT_OF_RANGE", "ARITHMETIC_OVERFLOW", "UnicodeDecodeError", "PYTHON_EXCEPTION",
)  # fmt: skip
# With these, a value that does not fit is null, and no join ends early since a side is empty.
_CALM = {"spark.sql.ansi.enabled": "false", "spark.sql.adaptive.enabled": "false"}


def make_sides(
    mode: str, tables: Tables, folder: Path, new_session: Callable[[], SparkSession]
) -> list[Side]:
    """Make the sides of a mode, and unpack the tables into a folder, where plans write as well.

    Sessions are new ones of Spark alone.
    """
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    tables.unpack(folder)
    names = SIDES[mode]
    sessions = {name: new_session() for name in names}
    reader = sessions["copy"]
    if tables.name == "names":
        variants.write(reader, folder)
    ways = {"named": BY_NAME, "copy": COPY}
    sides = []
    for name, session in sessions.items():
        session.conf.set("spark.sql.shuffle.partitions", "2")
        session.conf.set("spark.sql.legacy.createHiveTableByDefault", "false")
        read_as_written(session)
        if name == "off":
            session.conf.set(ENABLED, "false")
        if name == "plain":
            session.dataSource.register(HudiDataSource)
        elif name != "copy":
            hudi_pyspark.register(session, tables=True if name == "named" else None)
        way = ways.get(name, SOURCE)
        sides.append(Side(name, session, tables, folder, way=way, reader=reader))
    return sides


class Referee:
    """Asks sides at the same time; of those, anything with a name and a method ``answer``.

    Attributes:
        run: the outcomes of the plans that were compared.
    """

    def __init__(self, sides: list[Any]) -> None:
        self.run = Run((WITH_ROWS, _WITHOUT_ROWS))
        self._sides = sides
        # A thread for each side, since Spark keeps the session of a thread.
        self._threads = [ThreadPoolExecutor(1) for _ in sides]

    def prepare(self) -> None:
        """Let the sides make their views and functions, one after the other."""
        for side, thread in zip(self._sides, self._threads, strict=True):
            thread.submit(side.prepare).result()

    def answers(self, plan: Plan) -> list[Rows | str]:
        """Return the answers of the sides."""
        answers = self._asked(plan)
        if _may_miss_a_value(answers) and len(set(map(str, answers))) > 1:
            return self._asked(replace(plan, settings={**plan.settings, **_CALM}))
        return answers

    def _asked(self, plan: Plan) -> list[Rows | str]:
        pairs = list(zip(self._sides, self._threads, strict=True))
        if plan.is_cached:
            return [thread.submit(side.answer, plan).result() for side, thread in pairs]
        asked = [thread.submit(side.answer, plan) for side, thread in pairs]
        return [each.result() for each in asked]

    def differs(self, plan: Plan) -> bool:
        """Return whether the sides have different answers."""
        return _differ(self.answers(plan))

    def compare(
        self, seeds: Iterable[int], *, plan_of: Callable[[int], Plan] = draw, shrinks: int = 20
    ) -> None:
        """Ask the plans of seeds; those with different answers are findings.

        As many of them as `shrinks` says are made shorter.
        """
        for seed in seeds:
            plan = plan_of(seed)
            answers = self.answers(plan)
            self.run.notes.update(plan.features)
            outcome = Outcome(KIND, *_verdict(answers))
            if _differ(answers) and self.differs(plan):
                if len(self.run.findings) < shrinks:
                    plan = shortest(plan, Plan.shorter, self.differs, attempts=range(_TRIALS))
                    answers = self.answers(plan)
                text = self._text(plan, answers)
                outcome = Outcome(KIND, "different", f"seed {seed}", text, is_finding=True)
            self.run.add(outcome)

    def _text(self, plan: Plan, answers: list[Any]) -> str:
        """Return a plan, and what the answers have that others have not."""
        lines = [f"\n{plan.text}"]
        wanted = answers[-1]
        for side, answer in zip(self._sides, answers, strict=True):
            # The answers that are right have nothing of their own beside that of the copy, which is
            # shown beside the first that is wrong.
            other = wanted
            if answer == wanted:
                other = next((a for a in answers if a != wanted), wanted)
            shown = answer if isinstance(answer, str) else answer.beside(other)
            lines.append(f"{side.name:5} {shown[:700]}")
        return "\n".join(lines)


def _verdict(answers: list[Rows | str]) -> tuple[str, str]:
    """Return what the answers come to if they are equal: with rows, without, or an error."""
    wanted = answers[-1]
    if not _is_answered(answers):
        return "error", "not answered"
    if isinstance(wanted, str):
        return "error", wanted
    return (WITH_ROWS if wanted.rows else _WITHOUT_ROWS), ""


def _is_answered(answers: list[Rows | str]) -> bool:
    """Return whether each side has an answer that says something of the plan."""
    return not any(isinstance(each, str) and each in _UNANSWERED for each in answers)


def _may_miss_a_value(answers: list[Rows | str]) -> bool:
    return any(isinstance(each, str) and each.endswith(_OF_A_VALUE) for each in answers)


def _differ(answers: list[Rows | str]) -> bool:
    wanted = answers[-1]
    if not _is_answered(answers) or wanted == _TIME_TRAVEL:
        return False
    return any(other != wanted for other in answers)


def keep_checkpoints() -> None:
    """Let clients of Connect forget no checkpoint.

    One that does tells the server, and may wait for the answer for ever.
    """
    CachedRemoteRelation.__del__ = lambda _: None  # type: ignore[method-assign]
