"""Compare what random programs over a growing table read with the states that the pages promise.

python -m verification.states --mode classic --seed 1 --count 200

A program makes frames and views, and reads them before and after commits, after statements of every
kind, in new and cloned sessions, and after the table was deleted and created again. Each read must
give all rows of one state, the one that docs/migration.md names; Apache Hudi's answers say which
rows a state has. ``--views`` is the rule for views: ``newest`` at each action, or ``kept``; see
`program`.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

import hudi_pyspark
from tests.conftest import set_spark_environment
from verification.common.sessions import Sessions
from verification.common.shrinking import shortest
from verification.common.writing import write_rows
from verification.states.growth import CASES, COLUMNS, Growth
from verification.states.program import KEPT, NEWEST, Program, draw

_TRIALS = 40
ICEBERG = "iceberg"  # the catalog of tables into which rows are merged


class Stage:
    """What the lines of a program call."""

    def __init__(self, program: Program, make: Callable[[], SparkSession], folder: Path) -> None:
        self.growth = Growth(CASES[program.case], folder)
        self._make, self._folder, self._count = make, folder, 0
        self._streams: list[Any] = []
        self.read_states: list[int | str] = []
        self.names: dict[str, Any] = {
            "F": sf, "path": self.growth.path, "commit": self.growth.commit,
            "create_again": self.growth.create_again, "new_session": make, "clone": self._clone,
            "load": self._load, "sql": self._sql, "read": self._read, "written": self._written,
            "instants": self.growth.instants, "joined_stream": self._joined_stream, "spark": make(),
        }  # fmt: skip

    @property
    def _spark(self) -> SparkSession:
        spark: SparkSession = self.names["spark"]
        return spark

    def run(self, program: Program) -> list[int | str]:
        """Run a program; return the state of each of its reads, or what is wrong with it."""
        try:
            for step in program.steps:
                before = len(self.read_states)
                try:
                    exec(step.line, self.names)
                except Exception as error:  # it is what the read gives
                    text = f"{type(error).__name__} {str(error)[:300]}"
                    self.read_states[before:] = [text]
                    if step.wanted is None:
                        self.read_states[before:] = []
                        raise
        finally:
            for query in self._streams:
                query.stop()
        return self.read_states

    def _load(self, **options: str) -> DataFrame:
        return self._spark.read.format("hudi-py").options(**options).load(self.growth.path)

    def _sql(self, text: str, **frames: Any) -> DataFrame:
        return self._spark.sql(text.replace("{path}", self.growth.path), **frames)

    def _clone(self) -> SparkSession:
        clone = getattr(self._spark, "cloneSession", None)  # older clients make none
        made: SparkSession = clone() if clone else self._spark
        hudi_pyspark.register(made)
        return made

    def _read(self, frame: DataFrame) -> None:
        self.read_states.append(self.growth.state_of(frame.select(*COLUMNS).collect()))

    def _written(self, frame: DataFrame, way: str) -> DataFrame:
        """Write a frame, and return what is found where it was written."""
        self._count += 1
        place = str(self._folder / f"written{self._count}")
        table = f"t{self._count}_{abs(hash(place))}"
        rows = frame.select(*COLUMNS)
        if way != "merge":
            write_rows(self._spark, rows, way, place, table=table)
            return self._spark.read.parquet(place)
        # Half of the rows are there with another value; all columns have the same names.
        rows.createOrReplaceTempView("to_write")
        table = f"{ICEBERG}.db.{table}"
        values = ", ".join("-1 AS ts" if name == "ts" else name for name in COLUMNS)
        some = f"SELECT {values} FROM to_write WHERE hash(id) % 2 = 0"
        self._spark.sql(f"CREATE TABLE {table} USING iceberg AS {some}").collect()
        self._spark.sql(
            f"MERGE INTO {table} t USING to_write s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        ).collect()
        return self._spark.table(table)

    def _joined_stream(self, frame: DataFrame) -> Callable[..., Any]:
        """Start a stream of the keys of the table that is joined with a frame.

        Each call of what is returned brings one more file of the stream, and returns what the
        micro-batch wrote; a call with None ends the stream.
        """
        self._count += 1
        source, target = (self._folder / f"{n}{self._count}" for n in ("source", "target"))
        keys = [(f"{number:04}",) for number in range(2)]
        maker = self._spark.createDataFrame(keys, "word string").coalesce(1)
        source.mkdir()
        stream = self._spark.readStream.schema("word string").parquet(str(source))
        # All rows of the frame for one word of the stream.
        joined = stream.where("word = '0000'").join(frame, sf.expr("true")).select(*COLUMNS, "word")
        query = (
            joined.writeStream.format("parquet")
            .option("checkpointLocation", str(self._folder / f"checkpoint{self._count}"))
            .start(str(target))
        )
        self._streams.append(query)
        seen: list[str] = []

        def batch(*end: Any) -> DataFrame | None:
            if end:
                query.stop()
                return None
            maker.write.mode("append").parquet(str(source))
            query.processAllAvailable()
            new = sorted(str(p) for p in target.glob("*.parquet") if str(p) not in seen)
            seen.extend(new)
            return self._spark.read.parquet(*new)

        return batch


class Referee:
    """Runs programs and compares the states of their reads."""

    def __init__(
        self,
        make: Callable[[], SparkSession],
        *,
        views: str,
        is_connect: bool,
        merges: bool = False,
    ) -> None:
        """Prepare.

        Args:
            make: makes a new registered session.
            views: the rule for views.
            is_connect: whether the sessions are of Spark Connect.
            merges: whether rows are merged into tables of Iceberg.
        """
        self._make, self._views, self._is_connect = make, views, is_connect
        self._merges = merges
        self.reads, self.programs = 0, 0
        self.features: Counter[str] = Counter()
        self.different: list[int] = []

    def wrong_reads(self, program: Program) -> list[str]:
        """Run a program, and return the reads that gave another state than the wanted one."""
        with tempfile.TemporaryDirectory() as name:
            stage = Stage(program, self._make, Path(name))
            reads = [step for step in program.steps if step.wanted is not None]
            try:
                found = stage.run(program)
            except Exception as error:  # noqa: BLE001  (of a line that reads nothing)
                return [f"error: {type(error).__name__} {str(error)[:500]}"]
        self.reads += len(found)
        known: dict[str, int] = {}
        return [
            f"{step.line}: state {state}, not {step.promise}"
            for step, state in zip(reads, found, strict=True)
            if not step.is_kept(state, known)
        ]

    def compare(self, seeds: Iterable[int], *, shrinks: int = 10) -> None:
        """Run the programs of seeds, and print those whose reads are wrong."""
        for seed in seeds:
            program = draw(
                seed, views=self._views, is_connect=self._is_connect, merges=self._merges
            )
            self.programs += 1
            self.features.update(program.features)
            wrong = self.wrong_reads(program)
            if wrong:
                self.different.append(seed)
                if len(self.different) <= shrinks:
                    likewise = partial(self._fails_likewise, wrong=wrong)
                    program = shortest(program, Program.shorter, likewise, attempts=range(_TRIALS))
                    wrong = self.wrong_reads(program)
                print(f"--- seed {seed} of {CASES[program.case]}\n{program.text}")
                print("\n".join(f"WRONG {each}" for each in wrong), flush=True)
            if self.programs % 10 == 0:
                print(self.summary(), file=sys.stderr, flush=True)

    def _fails_likewise(self, program: Program, wrong: list[str]) -> bool:
        """Return whether a shorter program reads something wrong, or ends by an error, as well."""
        found = self.wrong_reads(program)
        is_broken = any("NameError" in each for each in found)  # a part was needed
        is_error = wrong[0].startswith("error")
        return bool(found) and not is_broken and found[0].startswith("error") == is_error

    def summary(self) -> str:
        """Return the counts as text."""
        return (
            f"ANSWERS {self.programs} programs, {self.reads} reads, "
            f"{len(self.different)} programs different"
        )


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


def main() -> None:
    """Run as described above; the exit code is 1 if a read is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mode", choices=["connect", "classic"], default="classic")
    parser.add_argument("--views", choices=[NEWEST, KEPT], help="the rule; by default that of docs")
    parser.add_argument("--port", default="", help="of a Connect server that runs already")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shrinks", type=int, default=10, help="programs that are made shorter")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument(
        "--iceberg", default="", help="its runtime jar for this Spark: classic sessions also MERGE"
    )
    chosen = parser.parse_args()
    os.environ["TZ"] = "UTC"
    set_spark_environment()
    views = chosen.views or {"classic": NEWEST, "connect": KEPT}[chosen.mode]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        more = iceberg_settings(chosen.iceberg, folder) if chosen.iceberg else None
        sessions = Sessions(chosen.mode, folder, stack, port=chosen.port, settings=more)

        def make() -> SparkSession:
            session = sessions.new()
            hudi_pyspark.register(session)
            return session

        referee = Referee(
            make, views=views, is_connect=chosen.mode == "connect", merges=bool(chosen.iceberg)
        )
        seeds = range(chosen.seed, chosen.seed + chosen.count)
        referee.compare(seeds, shrinks=chosen.shrinks)
    print("\n".join(f"{count:6} {name}" for name, count in sorted(referee.features.items())))
    print(referee.summary())
    sys.exit(bool(referee.different))


if __name__ == "__main__":
    main()
