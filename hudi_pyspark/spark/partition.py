"""The partition that Spark sends to an executor, and its rows in Spark's schema."""

from __future__ import annotations

import logging
import os
import pickle
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from hudi_pyspark.columns.schema_evolution import conform
from hudi_pyspark.reading.read_task import read_task
from hudi_pyspark.tasks import CdcTask, ScanTask

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hudi_pyspark.storage import Storage
    from hudi_pyspark.tasks import ReadTask, SharedPlan


_log = logging.getLogger(__name__)
# Set where spark.sql.pyspark.worker.logging.enabled is true, from Spark 4.1 on.
_COLLECTS_LOGS = "PYSPARK_SPARK_SESSION_UUID"
_EXPLAINED = "\0hudi-py\0"  # before an explanation, which ends with \0; as in NarrowScans.java
_FIRST_BATCH = 256  # rows; few, for queries that stop after some rows


@dataclass(frozen=True, slots=True)
class PackedTasks:
    """Groups of tasks, pickled apart from the plans that very many of them share."""

    groups: list[bytes]
    shared: Sequence[SharedPlan]

    @classmethod
    def of(cls, groups: Iterable[Sequence[ReadTask]]) -> PackedTasks:
        """Pickle groups of tasks."""
        shared: list[SharedPlan] = []
        packed = [[_packed(task, shared) for task in tasks] for tasks in groups]
        return cls([pickle.dumps(tasks, pickle.HIGHEST_PROTOCOL) for tasks in packed], shared)


def _packed(task: ReadTask, shared: list[SharedPlan]) -> object:
    """Return a task with the number of its plan; a plan that is not numbered yet is appended."""
    if isinstance(task, CdcTask):
        return task  # each has its own plans
    number = next((n for n, plan in enumerate(shared) if plan is task.shared), len(shared))
    if number == len(shared):
        shared.append(task.shared)
    return number, task.file_slice, task.partition, task.byte_range, task.merged_slice


def unpacked(tasks: bytes, shared: Sequence[SharedPlan]) -> tuple[ReadTask, ...]:
    """Return a group of `PackedTasks`."""
    return tuple(
        task
        if isinstance(task, CdcTask)
        else ScanTask(
            shared=shared[task[0]],
            file_slice=task[1],
            partition=task[2],
            byte_range=task[3],
            merged_slice=task[4],
        )
        for task in pickle.loads(tasks)
    )


class HudiPartition(InputPartition):
    """A group of tasks: file slices, parts of them, or their changes."""

    def __init__(
        self, tasks: bytes, shared: Sequence[SharedPlan] = (), explained: str = ""
    ) -> None:
        super().__init__(tasks)
        self.shared = shared
        self.explained = f"{_EXPLAINED}{explained}\0" if explained else ""


def read_partition(
    partition: InputPartition,
    storage: Storage,
    schema: pa.Schema,
    limit: int | None = None,
    *,
    shared: Sequence[SharedPlan] = (),
    columns: Sequence[str] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a partition, in exactly the given schema."""
    # Spark turns an empty list of partitions into one partition that is None.
    if not isinstance(partition, HudiPartition):
        return
    begin, rows = time.perf_counter(), 0
    tasks = unpacked(partition.value, partition.shared or shared)
    if columns is not None:
        wanted = pa.schema([schema.field(name) for name in columns])
        tasks = tuple(t.narrowed(wanted) if isinstance(t, ScanTask) else t for t in tasks)
    for batch in _batches(tasks, storage, schema, limit):
        rows += batch.num_rows
        yield batch
    milliseconds = (time.perf_counter() - begin) * 1000
    _log.info("read %d rows of %d tasks in %.0f ms", rows, len(tasks), milliseconds)


def let_spark_collect_logs() -> None:
    """Log all that this package reports, if Spark collects the logs of its Python workers."""
    if _COLLECTS_LOGS in os.environ:
        logging.getLogger("hudi_pyspark").setLevel(logging.DEBUG)


def _batches(
    tasks: Sequence[ReadTask], storage: Storage, schema: pa.Schema, limit: int | None
) -> Iterator[pa.RecordBatch]:
    is_first = True
    left = limit
    for task in tasks:
        if left is not None and left <= 0:
            return
        for table in read_task(task, storage):
            # Spark accepts the first batch only if its schema is exactly the expected one. Only
            # then rows are cut off: Arrow does not bound a slice without columns by itself.
            conformed = conform(table, schema, {}, source="the result")
            rows = conformed.replace_schema_metadata(None).slice(0, left)
            if is_first and rows.num_rows:
                yield from rows.slice(0, _FIRST_BATCH).to_batches()
                rows, is_first = rows.slice(_FIRST_BATCH), False
            yield from rows.to_batches()
            if left is not None:
                left -= table.num_rows
                if left <= 0:
                    break
