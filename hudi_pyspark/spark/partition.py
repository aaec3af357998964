"""The partition that Spark sends to an executor, and its rows in Spark's schema."""

from __future__ import annotations

import logging
import os
import time
from typing import TYPE_CHECKING

from pyspark.sql.datasource import InputPartition

from hudi_pyspark.query.columns.schema_evolution import conform
from hudi_pyspark.query.task import read_task

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from hudi_pyspark.query.task import ReadTask
    from hudi_pyspark.storage import Storage


_log = logging.getLogger(__name__)
# Set where spark.sql.pyspark.worker.logging.enabled is true, from Spark 4.1 on.
_COLLECTS_LOGS = "PYSPARK_SPARK_SESSION_UUID"
_FIRST_BATCH = 256  # rows; few, for queries that stop after some rows


class HudiPartition(InputPartition):
    """A group of tasks: file slices, parts of them, or their changes."""

    def __init__(self, tasks: tuple[ReadTask, ...]) -> None:
        super().__init__(tasks)
        self.tasks = tasks


def read_partition(
    partition: InputPartition, storage: Storage, schema: pa.Schema, limit: int | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a partition, in exactly the given schema.

    Args:
        partition: one of the reader's own.
        storage: of the table.
        schema: columns that the tasks do not have are null.
        limit: rows after which reading stops; None for all.

    Raises:
        HudiError: a file is missing, corrupt or not supported.
    """
    # Spark turns an empty list of partitions into one partition that is None.
    if not isinstance(partition, HudiPartition):
        return
    begin, rows = time.perf_counter(), 0
    for batch in _batches(partition, storage, schema, limit):
        rows += batch.num_rows
        yield batch
    milliseconds = (time.perf_counter() - begin) * 1000
    _log.info("read %d rows of %d tasks in %.0f ms", rows, len(partition.tasks), milliseconds)


def let_spark_collect_logs() -> None:
    """Log all that this package reports, if Spark collects the logs of its Python workers."""
    if _COLLECTS_LOGS in os.environ:
        logging.getLogger("hudi_pyspark").setLevel(logging.DEBUG)


def _batches(
    partition: HudiPartition, storage: Storage, schema: pa.Schema, limit: int | None
) -> Iterator[pa.RecordBatch]:
    is_first = True
    left = limit
    for task in partition.tasks:
        if left is not None and left <= 0:
            return
        for whole in read_task(task, storage):
            table = whole.slice(0, left)
            # Spark accepts the first batch only if its schema is exactly the expected one.
            conformed = conform(table, schema, {}, source="the result")
            rows = conformed.replace_schema_metadata(None)
            if is_first and rows.num_rows:
                yield from rows.slice(0, _FIRST_BATCH).to_batches()
                rows, is_first = rows.slice(_FIRST_BATCH), False
            yield from rows.to_batches()
            if left is not None:
                left -= table.num_rows
                if left <= 0:
                    break
