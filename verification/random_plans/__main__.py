"""Compare random queries over tables with the same queries over copies of their rows.

python -m verification.random_plans --mode connect --tables golden --seed 1 --count 2000

A plan is settings and a program of SQL or DataFrames, drawn from a seed. It is asked on several
sides, which must have the same rows or the same error: in ``connect`` and ``classic`` by a session
that called `hudi_pyspark.register`, by one that did and does not narrow scans, and by one of Spark
alone over Parquet files with Apache Hudi's rows. ``names`` is a classic session that reads the
tables of its catalog by name, ``plain`` one that never called `register`. ``filter`` gives
conditions to `HudiTable.scan`, ``duckdb`` and ``polars`` query lazy tables; see `engines`.

``--tables`` are a family of `tables`. A plan that differs is printed as a program with its seed,
without the parts that it differs without: ``--seed SEED --count 1`` asks it again.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from tests.conftest import set_spark_environment
from verification.common.runs import Run, parser_of, seeds_of
from verification.common.sessions import Sessions, read_as_written
from verification.random_plans.engines import ENGINES, compare_engine, compare_filters
from verification.random_plans.plan import draw
from verification.random_plans.referee import SIDES, Referee, keep_checkpoints, make_sides
from verification.random_plans.tables import FAMILIES, load


def _compare_plans(given: argparse.Namespace, folder: Path, stack: ExitStack) -> Run:
    """Compare plans in Spark."""
    if given.mode == "connect":
        keep_checkpoints()
    sessions = Sessions(given.mode, folder, stack, port=given.port)
    referee = Referee(make_sides(given.mode, load(given.tables), folder, sessions.new))
    referee.prepare()
    plan_of = partial(draw, family=given.tables)
    asked = [
        seed
        for seed in seeds_of(given)
        if not given.feature or given.feature in plan_of(seed).features
    ]
    referee.compare(asked, plan_of=plan_of, shrinks=given.shrinks)
    return referee.run


def _compare_conditions(given: argparse.Namespace, folder: Path, stack: ExitStack) -> Run:
    """Compare conditions in another engine."""
    load(given.tables).unpack(folder)
    if given.mode == "filter":
        spark = Sessions("classic", folder, stack).new()
        read_as_written(spark)
        outcomes = compare_filters(spark, given.tables, folder, seeds_of(given))
    else:
        outcomes = compare_engine(given.mode, given.tables, folder, seeds_of(given))
    run = Run()
    for outcome in outcomes:
        run.add(outcome)
    return run


def main() -> int:
    """Run as described above; the status is 1 if an answer differs."""
    parser = parser_of(__doc__, seed=1, count=2_000)
    parser.add_argument("--mode", choices=[*SIDES, *ENGINES], default="connect")
    parser.add_argument("--tables", choices=FAMILIES, default="golden")
    parser.add_argument("--port", default="", help="of a Connect server that runs already")
    parser.add_argument("--shrinks", type=int, default=10, help="plans that are made shorter")
    parser.add_argument("--feature", default="", help="ask only the plans that have it")
    given = parser.parse_args()
    os.environ["TZ"] = "UTC"
    set_spark_environment()
    compare = _compare_conditions if given.mode in ENGINES else _compare_plans
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        run = compare(given, folder, stack)
    return run.finish()


if __name__ == "__main__":
    sys.exit(main())
