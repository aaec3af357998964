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
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from tests.conftest import set_spark_environment
from verification.common.sessions import Sessions, read_as_written
from verification.random_plans.engines import ENGINES, compare_engine, compare_filters
from verification.random_plans.plan import draw
from verification.random_plans.referee import SIDES, Referee, keep_checkpoints, make_sides
from verification.random_plans.tables import FAMILIES, load


def _compare_plans(chosen: argparse.Namespace, folder: Path, stack: ExitStack) -> bool:
    """Compare plans in Spark; return whether some differ."""
    if chosen.mode == "connect":
        keep_checkpoints()
    sessions = Sessions(chosen.mode, folder, stack, port=chosen.port)
    referee = Referee(make_sides(chosen.mode, load(chosen.tables), folder, sessions.new))
    referee.prepare()
    plan_of = partial(draw, family=chosen.tables)
    asked = [
        seed
        for seed in range(chosen.seed, chosen.seed + chosen.count)
        if not chosen.feature or chosen.feature in plan_of(seed).features
    ]
    outcome = referee.compare(asked, plan_of=plan_of, shrinks=chosen.shrinks)
    print(outcome.summary(), flush=True)
    return bool(outcome.different)


def _compare_conditions(chosen: argparse.Namespace, folder: Path, stack: ExitStack) -> bool:
    """Compare conditions in another engine; return whether some differ."""
    load(chosen.tables).unpack(folder)
    seeds = range(chosen.seed, chosen.seed + chosen.count)
    if chosen.mode == "filter":
        spark = Sessions("classic", folder, stack).new()
        read_as_written(spark)
        found = compare_filters(spark, chosen.tables, folder, seeds)
    else:
        found = compare_engine(chosen.mode, chosen.tables, folder, seeds)
    different = 0
    for difference in found:
        different += 1
        print(json.dumps(difference, default=str, ensure_ascii=False)[:3_000], flush=True)
    print(f"ANSWERS {chosen.mode}: {len(seeds)} conditions, {different} different")
    return bool(different)


def main(arguments: Sequence[str]) -> int:
    """Run as described above; the status is 1 if an answer differs."""
    parser = argparse.ArgumentParser(
        prog="python -m verification.random_plans", description=__doc__
    )
    parser.add_argument("--mode", choices=[*SIDES, *ENGINES], default="connect")
    parser.add_argument("--tables", choices=FAMILIES, default="golden")
    parser.add_argument("--port", default="", help="of a Connect server that runs already")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=2_000)
    parser.add_argument("--shrinks", type=int, default=10, help="plans that are made shorter")
    parser.add_argument("--feature", default="", help="ask only the plans that have it")
    chosen = parser.parse_args(arguments)
    os.environ["TZ"] = "UTC"
    set_spark_environment()
    compare = _compare_conditions if chosen.mode in ENGINES else _compare_plans
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        return int(compare(chosen, folder, stack))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
