"""The writers of histories: what is drawn for each, and the processes that write and read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

from verification.histories.avro import AVRO, AVRO_TYPES, JAVA, AvroMaker
from verification.histories.column_types import TYPES, ColumnType
from verification.histories.flink import FLINK, FLINK_TYPES, FlinkMaker, FlinkWorker
from verification.histories.generation import Maker, abilities_of
from verification.histories.history import History
from verification.histories.rust import RUST, RustMaker, RustWorker
from verification.histories.session import JAVA_CLIENT
from verification.histories.spark_generation import SparkMaker
from verification.histories.worker import Worker

NEWEST = "1.2.0"  # whose answers are the measure


@dataclass(frozen=True)
class Writer:
    """What differs by writer."""

    prefix: str  # of its name; a release of Apache Hudi may follow
    maker: type[Maker]
    abilities: str  # in `abilities.json`
    types: Mapping[str, ColumnType]
    worker: type[Worker] = Worker
    libraries: str = ""  # of the worker
    reads: bool = False  # the release that writes reads as well, if it is a single one


WRITERS = (
    Writer(AVRO, AvroMaker, "avro", AVRO_TYPES),
    Writer(JAVA, AvroMaker, "avro", AVRO_TYPES, libraries=JAVA_CLIENT),
    Writer(FLINK, FlinkMaker, "flink", FLINK_TYPES, FlinkWorker),
    Writer(RUST, RustMaker, "hudi-rs", TYPES, RustWorker),
    Writer("", SparkMaker, "spark", TYPES, reads=True),
)


def _writer(hudi: str) -> Writer:
    return next(writer for writer in WRITERS if hudi.startswith(writer.prefix))


def history_of(seed: int, number: int, hudi: str) -> History:
    """Draw one history that a writer can be asked to write."""
    writer = _writer(hudi)
    random = Random(f"{seed} {number} {hudi}")
    release = hudi.removeprefix(writer.prefix)
    maker = writer.maker(random, release, abilities_of(writer.abilities), writer.types)
    return maker.history(f"h{seed}_{number}", hudi)


def worker_of(hudi: str, folder: Path, *, reader: str = NEWEST) -> Worker:
    """Return what writes the tables of a writer, which has the name that `make histories` takes.

    The `reader` reads them, unless a single release writes: then it reads as well.
    """
    writer = _writer(hudi)
    release = hudi if writer.reads and "+" not in hudi else reader
    return writer.worker(release, folder, writer.libraries)
