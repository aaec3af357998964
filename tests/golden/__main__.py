"""``python -m tests.golden FOLDER [OPTION=VALUE …]``: every case of a folder, equal or not.

``show CASE [QUERY]`` prints a case, and ``pack FOLDER`` makes one of a case of a collection.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from tests.golden import pack, show
from tests.golden.case import load_cases
from tests.golden.deviations import accepted_deviations
from tests.golden.run import ask_questions, run_case

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import SparkSession

    from tests.golden.case import Case


_COMMANDS = {"pack": pack.main, "show": show.main}


def main(arguments: Sequence[str]) -> int:
    command = _COMMANDS.get(arguments[0]) if arguments else None
    return compare(arguments) if command is None else command(arguments[1:])


def compare(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("options", nargs="*", help="of every query, besides its own")
    parser.add_argument("--seed", type=int, default=1, help="of the other forms of each query")
    parser.add_argument("--spark", type=int, default=0, help="questions per query through Spark")
    given = parser.parse_args(arguments)
    spark = _session() if given.spark else None
    found: Counter[str] = Counter()
    for case in load_cases(Path(given.folder)):
        if case.is_covered:
            found += _compare(case, dict(option.split("=", 1) for option in given.options))
            found += _ask(case, given.seed)
            found += _ask(case, given.seed, most=given.spark, spark=spark) if spark else Counter()
    print(f"{found['deviating']} of them by an accepted deviation (tests/golden/deviations.toml)")
    print(f"{found['equal']} of {found['queries']} golden queries equal")
    print(f"{found['wrong']} of {found['asked']} other forms of them have another answer")
    return (
        0 if found["queries"] and found["equal"] == found["queries"] and not found["wrong"] else 1
    )


def _compare(case: Case, options: Mapping[str, str]) -> Counter[str]:
    """Compare the whole answers; returns how many queries, and how many of them are equal."""
    outcomes = list(run_case(case, options))
    good = sum(not o.problems for o in outcomes)
    verdict = "equal    " if good == len(outcomes) else "NOT EQUAL"
    print(f"{verdict} {case.name}: {good} of {len(outcomes)}", flush=True)
    for outcome in outcomes:
        if outcome.note and not outcome.problems:
            print(f"    {outcome.query.name}: {outcome.note}")
        for problem in outcome.problems:
            print(f"    {outcome.query.name}: {problem[:1500]}")
    deviating = sum(o.query.key in accepted_deviations() for o in outcomes)
    return Counter(queries=len(outcomes), equal=good, deviating=deviating)


def _ask(
    case: Case, seed: int, *, most: int = 0, spark: SparkSession | None = None
) -> Counter[str]:
    """Ask the other forms of the queries; returns how many, and how many are wrong."""
    with tempfile.TemporaryDirectory() as folder:
        found = list(ask_questions(case, case.extract(Path(folder)), seed, most=most, spark=spark))
    wrong = [asked for asked in found if asked.problems]
    for asked in wrong:
        print(f"    {'through Spark, ' if spark else ''}{asked}"[:1500])
    return Counter(asked=len(found), wrong=len(wrong))


def _session() -> SparkSession:
    """A session with the optimizer's rule."""
    from pyspark.sql import SparkSession

    import hudi_pyspark
    from tests.conftest import set_spark_environment

    set_spark_environment()
    builder = SparkSession.builder.master("local[2]").config("spark.log.level", "ERROR")
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.codegen.wholeStage": "false",  # small queries: compiling takes longer
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    hudi_pyspark.register(spark)
    return spark


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
