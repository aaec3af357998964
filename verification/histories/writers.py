"""The writers of histories: what is drawn for each, and the processes that write and read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from verification.histories.avro_generation import AVRO, AVRO_TYPES, JAVA, AvroMaker
from verification.histories.column_types import TYPES
from verification.histories.flink_generation import FLINK, FLINK_TYPES, FlinkMaker
from verification.histories.flink_writer import FlinkWorker
from verification.histories.generation import Maker, abilities_of
from verification.histories.history import History, Step
from verification.histories.rust_writer import RUST, SPARK_RELEASE, RustWorker
from verification.histories.spark_generation import SparkMaker
from verification.histories.worker import Worker

NEWEST = "1.2.0"  # whose answers are the measure


@dataclass
class RustMaker(Maker):
    """Makes a history that hudi-rs begins, and that it and Spark write in turns."""

    def history(self, name: str, hudi: str) -> History:
        """Make a history."""
        self.hudi, self.version = SPARK_RELEASE, self.random.choice([8, 9, 9])
        return super().history(name, hudi)

    def step(self) -> Step:
        """Make a further step, of Spark now and then."""
        step = super().step()
        is_spark = self.random.random() < 0.25
        return replace(step, hudi=SPARK_RELEASE) if is_spark else step


# What the name of a writer begins with: its maker, its abilities and its types.
_MAKERS: Mapping[str, tuple[type[Maker], str, Mapping[str, Any]]] = {
    AVRO: (AvroMaker, "avro", AVRO_TYPES),
    JAVA: (AvroMaker, "avro", AVRO_TYPES),
    FLINK: (FlinkMaker, "flink", FLINK_TYPES),
    RUST: (RustMaker, "hudi-rs", TYPES),
    "": (SparkMaker, "spark", TYPES),
}


def history_of(seed: int, number: int, hudi: str) -> History:
    """Draw one history that a writer can be asked to write."""
    prefix = next(prefix for prefix in _MAKERS if hudi.startswith(prefix))
    make, name, types = _MAKERS[prefix]
    random = Random(f"{seed} {number} {hudi}")
    maker = make(random, hudi.removeprefix(prefix), abilities_of(name), types)
    return maker.history(f"h{seed}_{number}", hudi)


def worker_of(hudi: str, folder: Path, *, reader: str = NEWEST) -> Worker:
    """Return what writes the tables of a writer, and reads them.

    Args:
        hudi: the name of the writer, as `make histories` takes it.
        folder: for files of the processes.
        reader: the release that reads, unless a single release writes.
    """
    if hudi == FLINK:
        return FlinkWorker(reader, folder)
    if hudi == RUST:
        return RustWorker(reader, folder)
    names_releases = "+" in hudi or hudi.startswith((AVRO, JAVA))
    release = reader if names_releases else hudi
    return Worker(release, folder, has_java_client=hudi.startswith(JAVA))
