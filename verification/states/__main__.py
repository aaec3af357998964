"""Compare what random programs over a growing table read with the states that the pages promise.

python -m verification.states --mode classic --seed 1 --count 200

A program makes frames and views, and reads them before and after commits, after statements of every
kind, in new and cloned sessions, and after the table was deleted and created again. Each read must
give all rows of one state, the one that docs/migration.md names; Apache Hudi's answers say which
rows a state has. ``--views`` is the rule for views: ``newest`` at each action, or ``kept``; see
`program`.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

import hudi_pyspark
from tests.conftest import set_spark_environment
from verification.common.runs import Outcome, Run, parser_of, seeds_of
from verification.common.sessions import Sessions
from verification.common.shrinking import shortest
from verification.states.growth import CASES
from verification.states.program import KEPT, NEWEST, Program, draw
from verification.states.stage import ICEBERG, Stage

_TRIALS = 40
READS = "reads"  # a note of a run


@dataclass
class Referee:
    """Runs programs and compares the states of their reads."""

    make: Callable[[], SparkSession]  # makes a new registered session
    views: str  # the rule for views
    is_connect: bool  # whether the sessions are of Spark Connect
    merges: bool = False  # whether rows are merged into tables of Iceberg
    run: Run = field(default_factory=Run)

    def wrong_reads(self, program: Program) -> list[str]:
        """Run a program, and return the reads that gave another state than the wanted one."""
        with tempfile.TemporaryDirectory() as name:
            stage = Stage(program, self.make, Path(name))
            reads = [step for step in program.steps if step.wanted is not None]
            try:
                found = stage.run(program)
            except Exception as error:  # noqa: BLE001  (of a line that reads nothing)
                return [f"error: {type(error).__name__} {str(error)[:500]}"]
        self.run.notes[READS] += len(found)
        known: dict[str, int] = {}
        return [
            f"{step.line}: state {state}, not {step.promise}"
            for step, state in zip(reads, found, strict=True)
            if not step.is_kept(state, known)
        ]

    def compare(self, seeds: Iterable[int], *, shrinks: int = 10) -> None:
        """Run the programs of seeds; those whose reads are wrong are findings."""
        for seed in seeds:
            program = draw(seed, views=self.views, is_connect=self.is_connect, merges=self.merges)
            self.run.notes.update(program.features)
            wrong = self.wrong_reads(program)
            self.run.add(
                self._outcome(program, wrong, is_shortened=len(self.run.findings) < shrinks)
            )

    def _outcome(self, program: Program, wrong: list[str], *, is_shortened: bool) -> Outcome:
        if not wrong:
            return Outcome("programs", "the promised states")
        if is_shortened:
            likewise = partial(self._fails_likewise, wrong=wrong)
            program = shortest(program, Program.shorter, likewise, attempts=range(_TRIALS))
            wrong = self.wrong_reads(program)
        place = f"seed {program.seed} of {CASES[program.case]}"
        text = "\n".join(["", program.text, *(f"WRONG {each}" for each in wrong)])
        return Outcome("programs", "other states", place, text, is_finding=True)

    def _fails_likewise(self, program: Program, wrong: list[str]) -> bool:
        """Return whether a shorter program reads something wrong, or ends by an error, as well."""
        found = self.wrong_reads(program)
        is_broken = any("NameError" in each for each in found)  # a part was needed
        is_error = wrong[0].startswith("error")
        return bool(found) and not is_broken and found[0].startswith("error") == is_error


def iceberg_settings(jar: str, folder: Path) -> dict[str, str]:
    """Return the settings of a session with a catalog of Iceberg, whose tables know MERGE."""
    catalog = f"spark.sql.catalog.{ICEBERG}"
    return {
        "spark.jars": jar,
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        catalog: "org.apache.iceberg.spark.SparkCatalog",
        f"{catalog}.type": "hadoop",
        f"{catalog}.warehouse": str(folder / ICEBERG),
    }


def main() -> int:
    """Run as described above; the status is 1 if a read is wrong."""
    parser = parser_of(__doc__, seed=1, count=100)
    parser.add_argument("--mode", choices=["connect", "classic"], default="classic")
    parser.add_argument("--views", choices=[NEWEST, KEPT], help="the rule; by default that of docs")
    parser.add_argument("--port", default="", help="of a Connect server that runs already")
    parser.add_argument("--shrinks", type=int, default=10, help="programs that are made shorter")
    parser.add_argument(
        "--iceberg", default="", help="its runtime jar for this Spark: classic sessions also MERGE"
    )
    given = parser.parse_args()
    os.environ["TZ"] = "UTC"
    set_spark_environment()
    is_connect = given.mode == "connect"
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        more = iceberg_settings(given.iceberg, folder) if given.iceberg else None
        sessions = Sessions(given.mode, folder, stack, port=given.port, settings=more)

        def make() -> SparkSession:
            session = sessions.new()
            hudi_pyspark.register(session)
            return session

        views = given.views or (KEPT if is_connect else NEWEST)
        referee = Referee(make, views, is_connect, merges=bool(given.iceberg))
        referee.compare(seeds_of(given), shrinks=given.shrinks)
    return referee.run.finish()


if __name__ == "__main__":
    sys.exit(main())
