"""The partition that Spark sends to an executor, and its rows in Spark's schema."""

from __future__ import annotations

import io
import logging
import os
import pickle
import time
from dataclasses import dataclass, fields
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, get_args

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from hudi_pyspark.columns.schema_evolution import conform
from hudi_pyspark.filter.predicate import Predicate
from hudi_pyspark.planning.slice_tasks import ScanTask, SharedPlan
from hudi_pyspark.reading.read_task import read_task
from hudi_pyspark.table.file_group import BaseFile, FileSlice, LogFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from hudi_pyspark.reading.read_task import ReadTask
    from hudi_pyspark.storage import Storage


_log = logging.getLogger(__name__)
# Set where spark.sql.pyspark.worker.logging.enabled is true, from Spark 4.1 on.
_COLLECTS_LOGS = "PYSPARK_SPARK_SESSION_UUID"
_FIRST_BATCH = 256  # rows; few, for queries that stop after some rows


@dataclass(frozen=True, slots=True)
class PackedTasks:
    """Groups of tasks, pickled apart from the values that very many of them share."""

    groups: list[bytes]
    shared: Sequence[object]

    @classmethod
    def of(cls, groups: Iterable[Sequence[ReadTask]]) -> PackedTasks:
        """Pickle groups of tasks."""
        shared: dict[int, object] = {}
        packed = []
        for tasks in groups:
            buffer = io.BytesIO()
            _TaskPickler(buffer, shared).dump(tasks)
            packed.append(buffer.getvalue())
        return cls(packed, tuple(shared.values()))


def _call_of(
    values_of: Callable[[object], tuple[object, ...]], value: object
) -> tuple[type, tuple[object, ...]]:
    return type(value), values_of(value)


_SHARED = frozenset({SharedPlan, pa.Schema, *get_args(Predicate)})
# As calls of the class, which are smaller and faster than what dataclasses do.
_CALLS: Mapping[type, Callable[[Any], Any]] = {
    kind: partial(_call_of, attrgetter(*(field.name for field in fields(kind))))
    for kind in (ScanTask, FileSlice, BaseFile, LogFile)
}


class _TaskPickler(pickle.Pickler):
    """Pickles tasks; it numbers the shared values and keeps them."""

    def __init__(self, buffer: io.BytesIO, shared: dict[int, object]) -> None:
        super().__init__(buffer, pickle.HIGHEST_PROTOCOL)
        self.dispatch_table = _CALLS
        self._shared = shared
        self._numbers = {key: number for number, key in enumerate(shared)}

    def persistent_id(self, value: object) -> int | None:
        if type(value) not in _SHARED:
            return None
        if id(value) not in self._numbers:
            self._shared[id(value)] = value
            self._numbers[id(value)] = len(self._numbers)
        return self._numbers[id(value)]


class _TaskUnpickler(pickle.Unpickler):
    def __init__(self, tasks: bytes, shared: Sequence[object]) -> None:
        super().__init__(io.BytesIO(tasks))
        self._shared = shared

    def persistent_load(self, number: int) -> object:
        return self._shared[number]


class HudiPartition(InputPartition):
    """A group of tasks: file slices, parts of them, or their changes.

    Args:
        tasks: of `PackedTasks`.
        shared: of the same; empty where the reader, which executors get once, has these values.
    """

    def __init__(self, tasks: bytes, shared: Sequence[object] = ()) -> None:
        super().__init__(tasks)
        self.shared = shared


def read_partition(
    partition: InputPartition,
    storage: Storage,
    schema: pa.Schema,
    limit: int | None = None,
    *,
    shared: Sequence[object] = (),
    columns: Sequence[str] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a partition, in exactly the given schema.

    Args:
        partition: one of the reader's own.
        storage: of the table.
        schema: columns that the tasks do not have are null.
        limit: rows after which reading stops; None for all.
        shared: what the tasks share, if the partition lacks it.
        columns: to read only these of the columns that the tasks have; None for all.

    Raises:
        HudiError: a file is missing, corrupt or not supported.
    """
    # Spark turns an empty list of partitions into one partition that is None.
    if not isinstance(partition, HudiPartition):
        return
    begin, rows = time.perf_counter(), 0
    tasks = _TaskUnpickler(partition.value, partition.shared or shared).load()
    if columns is not None:
        wanted = pa.schema([schema.field(name) for name in columns])
        tasks = [t.narrowed(wanted) if isinstance(t, ScanTask) else t for t in tasks]
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
