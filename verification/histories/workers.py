"""The processes of each writer."""

from __future__ import annotations

from pathlib import Path

from verification.histories.avro_generation import AVRO, JAVA
from verification.histories.flink_generation import FLINK
from verification.histories.flink_writer import FlinkWorker
from verification.histories.rust_writer import RUST, RustWorker
from verification.histories.worker import SuccessiveWorker, Worker

NEWEST = "1.2.0"  # whose answers are the measure


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
    if hudi.startswith(JAVA):
        return SuccessiveWorker(reader, folder, has_java_client=True)
    names_releases = "+" in hudi or hudi.startswith(AVRO)
    return SuccessiveWorker(reader, folder) if names_releases else Worker(hudi, folder)
