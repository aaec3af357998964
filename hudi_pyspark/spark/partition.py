"""What Spark sends to an executor, and its rows as Spark wants them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import InputPartition

from hudi_pyspark.read.schema_evolution import conform
from hudi_pyspark.read.task import read_task

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from hudi_pyspark.read.task import ReadTask
    from hudi_pyspark.storage import Storage


class HudiPartition(InputPartition):
    """Some file slices, parts of them, or changes of commits to them."""

    def __init__(self, tasks: tuple[ReadTask, ...]) -> None:
        super().__init__(tasks)
        self.tasks = tasks


def read_partition(
    partition: InputPartition, storage: Storage, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Batches of exactly the schema that Spark expects."""
    # Spark makes one None partition of an empty list of partitions.
    if not isinstance(partition, HudiPartition):
        return
    for task in partition.tasks:
        for table in read_task(task, storage):
            # Spark compares the first batch's schema with its own to the letter.
            conformed = conform(table, schema, {}, source="the result")
            yield from conformed.replace_schema_metadata(None).to_batches()
