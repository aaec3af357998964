"""Read batch queries: the reader, and the partitions that Spark sends to executors.

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

from hudi_pyspark.columns.arrays import first_rows, rename_columns
from hudi_pyspark.columns.schema_evolution import conform
from hudi_pyspark.errors import HudiError, SchemaEvolutionError
from hudi_pyspark.messages import logger
from hudi_pyspark.reading.read_task import read_tasks
from hudi_pyspark.spark.hints import Answer, written_answer
from hudi_pyspark.spark.worker_process import only_message
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
LOAD_AGAIN = (
    "Correct .schema(...) or the columns of the view. If you gave none, the table has changed "
    "since the DataFrame or the view was made: make it again"
)
"""Advice if Spark requests a column that the table has no longer, or has with another type."""
_OWN_FIELDS = [field.name for field in fields(ScanTask) if field.name != "shared"]


def pack(groups: Iterable[Sequence[ReadTask]]) -> tuple[list[bytes], list[SharedPlan]]:
    """Pickle groups of tasks, apart from the plans that many tasks share.

    Returns:
        The pickled groups, and the plans; tasks refer to a plan by its position.
    """
    shared: list[SharedPlan] = []
    packed = [[_packed(task, shared) for task in tasks] for tasks in groups]
    return [pickle.dumps(tasks, pickle.HIGHEST_PROTOCOL) for tasks in packed], shared


def _packed(task: ReadTask, shared: list[SharedPlan]) -> object:
    """Return a task's own fields behind the number of its plan; append a new plan to ``shared``."""
    if isinstance(task, CdcTask):
        return task  # CDC tasks do not share their plans
    number = next((n for n, plan in enumerate(shared) if plan is task.shared), len(shared))
    if number == len(shared):
        shared.append(task.shared)
    return number, *(getattr(task, name) for name in _OWN_FIELDS)


def unpacked(tasks: bytes, shared: Sequence[SharedPlan]) -> tuple[ReadTask, ...]:
    """Return the tasks of one group.

    Args:
        tasks: one of the groups from `pack`.
        shared: the plans from `pack`.
    """
    return tuple(_unpacked(task, shared) for task in pickle.loads(tasks))


def _unpacked(task: CdcTask | tuple[Any, ...], shared: Sequence[SharedPlan]) -> ReadTask:
    if isinstance(task, CdcTask):
        return task
    number, *values = task
    return ScanTask(shared=shared[number], **dict(zip(_OWN_FIELDS, values, strict=True)))


class HudiPartition(InputPartition):
    """A partition of Spark's: a group of tasks.

    Args:
        tasks: one of the groups from `pack`.
        shared: the plans of the tasks, unless the reader has them.
        answer: what the optimizer's rule reads from the partition; see `written_answer`.
    """

    def __init__(self, tasks: bytes, shared: Sequence[SharedPlan] = (), answer: str = "") -> None:
        # The first attribute in the pickle, so that no text of a table precedes it.
        self.answer = answer
        super().__init__(tasks)
        self.shared = shared


def read_partition(
    partition: InputPartition,
    storage: Storage,
    schema: pa.Schema,
    limit: int | None = None,
    *,
    names: Sequence[str] | None = None,
    shared: Sequence[SharedPlan] = (),
    columns: Sequence[str] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a partition.

    Args:
        partition: a `HudiPartition`, or the None that Spark makes of an empty list of partitions.
        storage: of the table.
        schema: the schema of every batch, exactly but for the names of its columns.
        limit: the number of rows after which reading stops; None reads all rows.
        names: of the columns of the batches; None for those of the schema.
        shared: the plans of the tasks, if the partition does not carry them.
        columns: the columns that tasks read; None reads those for which they were planned.
    """
    if not isinstance(partition, HudiPartition):
        return
    begin = time.perf_counter()
    rows = 0
    plans = partition.shared or shared
    if columns is not None:
        narrow = pa.schema([schema.field(name) for name in columns])
        plans = [plan.narrowed(narrow) for plan in plans]
    tasks = unpacked(partition.value, plans)
    with only_message():
        for batch in _batches(tasks, storage, schema, names or schema.names, limit):
            rows += batch.num_rows
            yield batch
    milliseconds = (time.perf_counter() - begin) * 1000
    _log.info("read %d rows of %d tasks in %.0f ms", rows, len(tasks), milliseconds)


def let_spark_collect_logs() -> None:
    """Log at DEBUG if Spark collects the logs of its Python workers."""
    if _COLLECTS_LOGS in os.environ:
        logging.getLogger("hudi_pyspark").setLevel(logging.DEBUG)


def _batches(
    tasks: Sequence[ReadTask],
    storage: Storage,
    schema: pa.Schema,
    names: Sequence[str],
    limit: int | None,
) -> Iterator[pa.RecordBatch]:
    tables = read_tasks(tasks, storage)
    # Spark accepts the first batch only if its schema is exactly the expected one. Rows are cut off
    # afterwards, since Arrow does not bound a slice of a table without columns.
    conformed = (_conformed(table, schema) for table in tables)
    for rows in first_rows(conformed, limit):
        yield from rename_columns(rows, names).replace_schema_metadata(None).to_batches()


def _conformed(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    try:
        return conform(rows, schema, {}, source="the answer")
    except SchemaEvolutionError as error:
        raise SchemaEvolutionError(error.found, advice=LOAD_AGAIN) from error


@cache
def warn_of_all_columns() -> None:
    """Warn once per Spark application that nothing narrows its scans."""
    # Spark plans in several processes, which share this folder as long as the application runs.
    folder = os.environ.get("SPARK_LOCAL_DIRS", "").partition(",")[0]
    try:
        if folder:
            Path(folder, "hudi-py-warned").touch(exist_ok=False)
    except FileExistsError:
        return
    except OSError:
        pass  # each process warns
    _log.warning(_ALL_COLUMNS)


@dataclass(eq=False, repr=False)
class HudiReader(DataSourceReader):
    """A reader that plans on the driver and reads on the executors.

    Spark pickles the reader for the executors before it asks for the partitions. So pickling plans
    the scan, and the plans that tasks share are pickled once, with the reader. The scan itself is
    left out, since only the driver needs it.
    """

    scan: Scan | None  # None on executors
    storage: Storage
    columns: Sequence[str]  # that the scan reads
    schema: pa.Schema  # of the batches, with the names of the table
    names: Sequence[str]  # of the columns of the batches, as the query spells them
    limit: int | None = None  # the number of rows after which Spark stops
    is_narrowed: bool = False  # whether the columns are known to be those that the query needs
    # If the keys of a join filter the scan, readers made before the keys were known read its
    # partitions. So the partitions carry the plans that their tasks share.
    is_filtered_by_keys: bool = False
    cores: int = 0  # as in `Hints`

    def __post_init__(self) -> None:
        self._planned: list[bytes] | None = None  # pickled groups of tasks
        self._shared: Sequence[SharedPlan] = ()
        self._answer = ""  # "" if nothing asks for it

    def __getstate__(self) -> dict[str, object]:
        if self.scan is not None:
            # partitions() raises the error again; here it would look like an error of pickling.
            with suppress(HudiError, OSError):
                self._plan(self.scan)
        return {**self.__dict__, "scan": None, "_planned": None}

    def pruneColumns(self, required: object) -> None:  # noqa: N802  (Sail's name)
        """Read only some columns, in this order. Sail calls this method; no release of Spark does.

        Raises:
            NotImplementedError: the source cannot read these columns alone.
        """
        if not isinstance(required, pa.Schema):
            return
        fields = dict(zip(self.names, self.schema, strict=True))
        names = required.names
        if not names or not set(names) <= fields.keys():
            raise NotImplementedError(f"the source does not read {names} alone")
        self.schema = pa.schema([fields[name] for name in names])
        self.columns = self.schema.names
        self.names = names
        self.is_narrowed = True
        self._planned = None

    @only_message()
    def partitions(self) -> list[InputPartition]:
        if self.scan is None:
            raise RuntimeError("partitions are planned on the driver only")
        try:
            # Without groups, Spark would make a partition of its own, which has no explanation.
            first, *later_groups = self._plan(self.scan) or pack([()])[0]
            shared = self._shared if self.is_filtered_by_keys else ()
            leading = HudiPartition(first, shared, self._answer)
            return [leading, *(HudiPartition(tasks, shared) for tasks in later_groups)]
        except NotImplementedError as error:
            # pyarrow raises it. To Spark it says that the reader has no partitions(): Spark would
            # go on with one partition that is None, and a table that cannot be read look empty.
            raise RuntimeError(f"{type(error).__name__}: {error}") from error

    def _plan(self, scan: Scan) -> list[bytes]:
        if self._planned is None:
            let_spark_collect_logs()
            plan = scan._grouped_plan(self.columns, fields=self.schema, cores=self.cores)
            self._planned, self._shared = pack(plan.groups)
            if self.is_narrowed:
                # A new plan may be better once fewer slices await their merge.
                answer = {
                    Answer.ROW_BYTES: plan.row_bytes,
                    Answer.FACTS: plan.facts(),
                    Answer.AWAITING: plan.merged.count(0),
                }
                self._answer = written_answer(answer)
            else:
                warn_of_all_columns()
        return self._planned

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        let_spark_collect_logs()
        yield from read_partition(
            partition,
            self.storage,
            self.schema,
            self.limit,
            names=self.names,
            shared=self._shared,
        )
