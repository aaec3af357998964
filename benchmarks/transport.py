"""Full scans with settings of the way from Python to Spark, in processor time of both sides.

    python -m benchmarks.transport TABLE [--rounds 3]

Processor time hardly depends on other load. Spark's conversion of Arrow batches to rows is the
JVM's share; reading, merging and sending them is Python's.
"""

from __future__ import annotations

import argparse
import statistics
from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING

import psutil

from benchmarks.spark_session import HUDI_PY, plain_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOCKET = "spark.python.unix.domain.socket.enabled"
CODEC = "spark.sql.execution.arrow.compression.codec"
# Settings of the session and options of the read.
VARIANTS: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "defaults": ({}, {}),
    "batch_rows=4096": ({}, {"batch_rows": "4096"}),
    "batch_rows=65536": ({}, {"batch_rows": "65536"}),
    "batch_rows=131072": ({}, {"batch_rows": "131072"}),
    f"{CODEC}=lz4": ({CODEC: "lz4"}, {}),
    "spark.sql.codegen.wholeStage=false": ({"spark.sql.codegen.wholeStage": "false"}, {}),
}


def processor_seconds() -> tuple[float, float]:
    """Return the time that the JVM and the Python processes below this one have used."""
    used: dict[bool, float] = {True: 0.0, False: 0.0}
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            seconds = times.user + times.system + times.children_user + times.children_system
            used[process.name() == "java"] += seconds
    return used[True], used[False]


def scan(session: SparkSession, path: str, variant: str) -> tuple[float, float]:
    """Read all rows and discard them."""
    settings, options = VARIANTS[variant]
    for key, value in settings.items():
        session.conf.set(key, value)
    before = processor_seconds()
    frame = session.read.format("hudi-py").options(**options).load(path)
    frame.write.format("noop").mode("overwrite").save()
    after = processor_seconds()
    for key in settings:
        session.conf.unset(key)
    return after[0] - before[0], after[1] - before[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    for socket in ("false", "true"):
        session = plain_session({**HUDI_PY, SOCKET: socket})
        found = defaultdict(list)
        for number in range(given.rounds + 1):
            for variant in VARIANTS:
                seconds = scan(session, given.table, variant)
                if number:  # the first round is a warm-up
                    found[variant].append(seconds)
        print(f"{SOCKET}={socket}: seconds of the JVM, of Python")
        for variant, measured in found.items():
            java, python = (statistics.median(side) for side in zip(*measured, strict=True))
            print(f"  {variant:<50} {java:5.2f} {python:5.2f}", flush=True)
        session.stop()


if __name__ == "__main__":
    main()
