"""What Spark sends to an executor, and its rows as Spark wants them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import InputPartition

from hudi_pyspark.query.columns.schema_evolution import conform
from hudi_pyspark.query.task import read_task

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from hudi_pyspark.query.task import ReadTask
    from hudi_pyspark.storage import Storage


_FIRST_BATCH = 256  # rows: few, for a query that stops after some


class HudiPartition(InputPartition):
    """Some file slices, parts of them, or changes of commits to them."""

    def __init__(self, tasks: tuple[ReadTask, ...]) -> None:
        super().__init__(tasks)
        self.tasks = tasks


def read_partition(
    partition: InputPartition, storage: Storage, schema: pa.Schema, limit: int | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield batches of exactly the schema that Spark expects.

    Args:
        partition: of the reader's own.
        storage: of the table.
        schema: columns that the tasks do not have are null.
        limit: rows after which reading stops; None for all.
    """
    # Spark makes one None partition of an empty list of partitions.
    if not isinstance(partition, HudiPartition):
        return
    is_first = True
    left = limit
    for task in partition.tasks:
        if left is not None and left <= 0:
            return
        for whole in read_task(task, storage):
            table = whole.slice(0, left)
            # Spark compares the first batch's schema with its own to the letter.
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
