"""Compare random queries whose scans are narrowed with the same queries on copies of the rows.

python -m verification.random_plans --mode connect --seed 1 --count 2000

A query is made twice from the same seed: in a session that calls `hudi_pyspark.register`, over the
tables, and in one of Spark alone, over Parquet files with their rows. Both must give the same rows
or the same error; only an error of a value, in a row that another condition leaves out, may be
missing. ``--reference source`` reads the tables on both sides. ``--mode names`` is a
classic session that reads tables of its metastore by name; ``classic`` has views and paths.

``--tables ends`` takes the tables whose values are the ends of their types, and has more modes; see
`ends`. ``--tables names`` takes tables whose columns share names, and asks three sessions; see
`names.compare`. A plan that differs is printed with its seed: ``--seed SEED --count 1`` asks it
again.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException

import hudi_pyspark
from tests.conftest import GOLDEN, set_spark_environment
from verification.common.answers import (
    OF_A_VALUE,
    error_answer,
    print_differences,
    without_ansi,
)
from verification.common.archives import unpack
from verification.common.sessions import Sessions, read_as_written
from verification.random_plans.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

CASES = ("v9_mor_compaction_inline", "v9_mor_all_types", "v8_mor_keygen_complex_hive")
NAMES = ("orders", "types", "complex")
_TIME_TRAVEL = "UNSUPPORTED_FEATURE.TIME_TRAVEL"


class Side:
    """A session, and how it reads the tables."""

    def __init__(
        self,
        spark: SparkSession,
        tables: dict[str, Table],
        *,
        is_source: bool,
        is_by_name: bool = False,
    ) -> None:
        self.spark = spark
        self._tables = tables
        self._is_source = is_source
        self.is_by_name = is_by_name

    def load(self, name: str) -> DataFrame:
        """Read a table."""
        table = self._tables[name]
        if self.is_by_name:
            return self.spark.table(name)
        if self._is_source:
            return self.spark.read.format("hudi-py").load(table.path)
        return self.spark.read.parquet(table.copy)

    def make_views(self) -> None:
        """Make a view of each table, of one as a user of SQL does it; or an entry by its name."""
        for name, table in self._tables.items():
            if self.is_by_name:
                self.spark.sql(f"CREATE TABLE {name} USING hudi LOCATION '{table.path}'")
            elif self._is_source and name == "types":
                self.spark.sql(
                    f"CREATE OR REPLACE TEMPORARY VIEW {name} USING `hudi-py` "
                    f"OPTIONS (path '{table.path}')"
                )
            else:
                self.load(name).createOrReplaceTempView(name)

    def answer(self, seed: int) -> tuple[str, Any]:
        """Make a query, and return its text and its answer."""
        from verification.random_plans.dataframes import random_frame
        from verification.random_plans.sql import random_sql

        dice = random.Random(seed)
        text = ""
        try:
            if dice.random() < 0.5:
                text = random_sql(dice, self._tables)
                frame = self.spark.sql(text)
                if dice.random() < 0.2:
                    frame = frame.limit(1_000_000).where("1 = 1")  # more than any query has
            else:
                query = random_frame(self.spark, dice, self._tables, self.load)
                frame, text = query.frame, f"{query.table.name}: {' '.join(query.log)}"
            return text, _rows(frame, dice)
        except PySparkException as error:
            if error.getCondition() in (None, "RETRIES_EXCEEDED"):
                raise  # of the server, not of the query
            return text, error_answer(error)
        except UnicodeDecodeError as error:  # Spark casts any bytes to text
            return text, str(error)


def _spared(side: Side, seed: int, answer: Any) -> Any:
    """Return the answer without the error of a value, which Spark need not meet in a row."""
    if not isinstance(answer, str) or not answer.endswith(OF_A_VALUE):
        return answer
    with without_ansi(side.spark):
        return side.answer(seed)[1]


def _rows(frame: DataFrame, dice: random.Random) -> Any:
    way = dice.random()
    if way < 0.1:
        return frame.count()
    if way < 0.2:
        return frame.toArrow().num_rows
    rows = frame.collect()
    return frame.columns, sorted(repr(_plain(row)) for row in rows)


def _plain(value: Any) -> Any:
    """Return a value in which the last digits of sums do not matter."""
    if isinstance(value, float):
        return f"{value:.9g}"
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return sorted((repr(_plain(k)), repr(_plain(v))) for k, v in value.items())
    return value


def _tables(spark: SparkSession, folder: Path) -> dict[str, Table]:
    found = {}
    for name, case in zip(NAMES, CASES, strict=True):
        unpack(GOLDEN / case / "table.zip", folder)
        path, copy = str(folder / case), str(folder / f"{case}.parquet")
        frame = spark.read.format("hudi-py").load(path)
        frame.coalesce(1).write.parquet(copy)
        types = {each.name: each.dataType for each in frame.schema}
        found[name] = Table(name, path, copy, types, frame.collect())
    return found


def compare(narrowed: Side, plain: Side, seeds: range, log: Any = None) -> Iterator[dict[str, Any]]:
    """Ask both sides, and yield the queries that they answer differently."""
    narrowed.make_views()
    plain.make_views()
    different = errors = 0
    for seed in seeds:
        text, found = narrowed.answer(seed)
        _, wanted = plain.answer(seed)
        errors += isinstance(wanted, str)
        if narrowed.is_by_name and _TIME_TRAVEL in str(wanted):
            continue  # tables by name have it, copies have not
        if found != wanted and found != _spared(plain, seed, wanted):
            different += 1
            yield {"seed": seed, "query": text, "found": found, "wanted": wanted}
        if log and seed % 50 == 0:
            print(f"{seed}: {different} different, {errors} errors", file=log, flush=True)
    print("ERRORS", errors, flush=True)


def _compare_golden(
    chosen: argparse.Namespace, folder: Path, seeds: range, stack: ExitStack
) -> Iterator[dict[str, Any]]:
    """Yield the plans on golden tables that are answered differently."""
    sessions = Sessions(chosen.mode, folder, stack, port=chosen.port)
    one = sessions.new()
    other = sessions.new()
    read_as_written(other)
    tables = _tables(other, folder)
    is_by_name = chosen.mode == "names"
    hudi_pyspark.register(one, tables=True if is_by_name else None)
    narrowed = Side(one, tables, is_source=True, is_by_name=is_by_name)
    plain = Side(other, tables, is_source=chosen.reference == "source")
    return compare(narrowed, plain, seeds, sys.stderr)


def _compare_ends(
    mode: str, port: str, folder: Path, seeds: range, stack: ExitStack
) -> Iterator[dict[str, Any]]:
    """Yield the plans on the tables of ends that are answered differently."""
    from verification.random_plans import ends

    unpack(ends.ARCHIVE, folder)
    if mode in ("duckdb", "polars"):
        return ends.compare_engine(mode, folder, seeds)
    sessions = Sessions(mode, folder, stack, port=port)
    one = sessions.new()
    other = sessions.new()
    read_as_written(other)
    if mode == "filter":
        return ends.compare_filters(other, folder, seeds)
    if mode != "plain":
        hudi_pyspark.register(one)
    narrowed = ends.SparkSide(one, folder, is_copy=False)
    plain = ends.SparkSide(other, folder, is_copy=True)
    if mode == "plain":
        from hudi_pyspark.spark.datasource import HudiDataSource

        one.dataSource.register(HudiDataSource)
    return ends.compare_in_spark(narrowed, plain, seeds, sys.stderr)


def _compare_names(
    chosen: argparse.Namespace, folder: Path, seeds: range, stack: ExitStack
) -> bool:
    """Compare plans on the tables whose columns share names; return whether some differ."""
    from verification.random_plans.names.compare import SIDES, Referee, keep_checkpoints
    from verification.random_plans.names.plan import draw

    if chosen.mode == "connect":
        keep_checkpoints()
    sessions = Sessions(chosen.mode, folder, stack, port=chosen.port)
    made = {name: sessions.new() for name in SIDES}
    asked = [seed for seed in seeds if not chosen.feature or chosen.feature in draw(seed).features]
    outcome = Referee(made, folder).compare(asked, shrinks=chosen.shrinks)
    print(outcome.summary(), flush=True)
    return bool(outcome.different)


def main() -> None:
    """Run as described above; the exit code is 1 if an answer differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    modes = ["connect", "classic", "names", "plain", "filter", "duckdb", "polars"]
    parser.add_argument("--mode", choices=modes, default="connect")
    parser.add_argument("--tables", choices=["golden", "ends", "names"], default="golden")
    parser.add_argument("--reference", choices=["copy", "source"], default="copy")
    parser.add_argument("--port", default="", help="of a Connect server that runs already")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=2_000)
    parser.add_argument("--shrinks", type=int, default=10, help="plans of names that are shortened")
    parser.add_argument("--feature", default="", help="of names: ask only plans that have it")
    chosen = parser.parse_args()
    os.environ["TZ"] = "UTC"
    set_spark_environment()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        seeds = range(chosen.seed, chosen.seed + chosen.count)
        if chosen.tables == "names":
            sys.exit(_compare_names(chosen, folder, seeds, stack))
        if chosen.tables == "ends":
            found = _compare_ends(chosen.mode, chosen.port, folder, seeds, stack)
        else:
            found = _compare_golden(chosen, folder, seeds, stack)
        different = print_differences(found)
    print(f"ANSWERS {chosen.mode}: {len(seeds)} plans, {len(different)} different")
    sys.exit(bool(different))


if __name__ == "__main__":
    main()
