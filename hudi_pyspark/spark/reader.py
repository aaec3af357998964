"""The reader of batch queries, and the partitions that Spark sends to executors.

Executors load only this module and its imports.
"""

from __future__ import annotations

import logging
import os
import pickle
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from hudi_pyspark.columns.arrays import first_rows
from hudi_pyspark.columns.schema_evolution import conform
from hudi_pyspark.errors import HudiError
from hudi_pyspark.messages import logger
from hudi_pyspark.reading.read_task import read_task
from hudi_pyspark.spark.hints import EXPLAINED
from hudi_pyspark.spark.worker_errors import only_message
from hudi_pyspark.tasks import CdcTask, ReadTask, ScanTask, SharedPlan

if TYPE_CHECKING:
    from hudi_pyspark.scan import Scan
    from hudi_pyspark.storage import Storage

_log = logger(__name__)
# Set where spark.sql.pyspark.worker.logging.enabled is true, from Spark 4.1 on.
_COLLECTS_LOGS = "PYSPARK_SPARK_SESSION_UUID"
_ALL_COLUMNS = (
    "hudi-py: this scan reads all columns and files, whatever the query needs. Call "
    "hudi_pyspark.register(spark) once in each session; where Spark's optimizer is out of reach "
    "(Spark Connect, shared clusters), name the columns: option 'columns' or .schema(...), and "
    "option 'filter'. Later scans do not repeat this warning"
)


# All but the plan that many tasks share.
_FIELDS_OF_A_TASK = [field.name for field in fields(ScanTask) if field.name != "shared"]


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
    return number, *(getattr(task, name) for name in _FIELDS_OF_A_TASK)


def unpacked(tasks: bytes, shared: Sequence[SharedPlan]) -> tuple[ReadTask, ...]:
    """Return a group of `PackedTasks`."""
    return tuple(_unpacked(task, shared) for task in pickle.loads(tasks))


def _unpacked(task: CdcTask | tuple[Any, ...], shared: Sequence[SharedPlan]) -> ReadTask:
    if isinstance(task, CdcTask):
        return task
    number, *values = task
    return ScanTask(shared=shared[number], **dict(zip(_FIELDS_OF_A_TASK, values, strict=True)))


class HudiPartition(InputPartition):
    """A group of tasks: file slices, parts of them, or their changes."""

    def __init__(
        self, tasks: bytes, shared: Sequence[SharedPlan] = (), explained: str | None = None
    ) -> None:
        # First in the pickle: no text of a table comes before it.
        self.explained = "" if explained is None else f"{EXPLAINED}{explained}\0"
        super().__init__(tasks)
        self.shared = shared


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
    with only_message():
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
    tables = (table for task in tasks for table in read_task(task, storage))
    # Spark accepts the first batch only if its schema is exactly the expected one. Only then rows
    # are cut off: Arrow does not bound a slice without columns by itself.
    conformed = (conform(table, schema, {}, source="the result") for table in tables)
    for rows in first_rows(conformed, limit):
        yield from rows.replace_schema_metadata(None).to_batches()


@cache
def warn_of_all_columns() -> None:
    """Warn that nothing narrows the scans of this Spark application, the first time."""
    # Spark plans in several processes, which have this folder in common while it runs.
    folder = os.environ.get("SPARK_LOCAL_DIRS", "").partition(",")[0]
    try:
        if folder:
            Path(folder, "hudi-py-warned").touch(exist_ok=False)
    except FileExistsError:
        return
    except OSError:
        pass  # then each process warns
    _log.warning(_ALL_COLUMNS)


@dataclass(eq=False, repr=False)
class HudiReader(DataSourceReader):
    """A reader that plans on the driver and reads on the executors.

    Spark pickles the reader for the executors before it asks for the partitions. So it plans then,
    and what the tasks share goes along, once. The scan, which only the driver needs, does not.
    """

    scan: Scan | None  # None on executors
    storage: Storage
    columns: Sequence[str]
    schema: pa.Schema
    limit: int | None = None
    is_narrowed: bool = False
    # By the keys of a join: the partitions carry what their tasks share, since the readers of the
    # scan without these keys read them.
    is_filtered_by_keys: bool = False
    cores: int = 0  # as in `Hints`

    def __post_init__(self) -> None:
        self._planned: PackedTasks | None = None
        self._shared: Sequence[SharedPlan] = ()
        self._explained: str | None = None  # also if nothing can show it

    def __getstate__(self) -> dict[str, object]:
        if self.scan is not None:
            # partitions() raises it again: an error in here would look like one of pickling.
            with suppress(HudiError, OSError):
                self._plan(self.scan)
        return {**self.__dict__, "scan": None, "_planned": None}

    def pruneColumns(self, required: object) -> None:  # noqa: N802  (Sail's name)
        """Read only some columns, in their order; Sail calls this, and no release of Spark does."""
        if not isinstance(required, pa.Schema):
            return
        names = required.names
        if not names or not set(names) <= set(self.columns):
            raise NotImplementedError(f"the source does not read {names} alone")
        self.columns, self.is_narrowed = names, True
        self.schema = pa.schema([self.schema.field(name) for name in names])
        self._planned = None

    @only_message()
    def partitions(self) -> list[InputPartition]:
        if self.scan is None:
            raise RuntimeError("partitions are planned on the driver only")
        try:
            # Of no groups Spark would make one partition, too: without an explanation.
            planned = self._plan(self.scan)
            first, *others = planned.groups or [PackedTasks.of([()]).groups[0]]
            shared = planned.shared if self.is_filtered_by_keys else ()
            explained = HudiPartition(first, shared, self._explained)
            return [explained, *(HudiPartition(tasks, shared) for tasks in others)]
        except NotImplementedError as error:
            # Spark would take a NotImplementedError as "this reader has no partitions()" and go on
            # with one partition that is None: an unsupported table would look empty.
            raise RuntimeError(f"{type(error).__name__}: {error}") from error

    def _plan(self, scan: Scan) -> PackedTasks:
        if self._planned is None:
            let_spark_collect_logs()
            planned = scan.planned(self.columns, fields=self.schema, cores=self.cores)
            self._planned = PackedTasks.of(planned.groups)
            if self.is_narrowed:
                # Another plan may be better once fewer slices await their merge.
                awaiting = planned.merged.count(False)
                self._explained = f"{planned.row_bytes}\0{planned.explain()}\0{awaiting}"
            else:
                warn_of_all_columns()
            self._shared = self._planned.shared
        return self._planned

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        let_spark_collect_logs()
        yield from read_partition(
            partition, self.storage, self.schema, self.limit, shared=self._shared
        )
