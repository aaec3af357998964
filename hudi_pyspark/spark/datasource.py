"""The Spark data source: thin, without any knowledge of Hudi."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.hudi_table import HudiTable, Scan
from hudi_pyspark.read.schema_evolution import conform
from hudi_pyspark.read.task import read_task
from hudi_pyspark.spark.schema import arrow_schema_of, requested_columns, spark_schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql.types import StructType

    from hudi_pyspark.read.custom_merger import PayloadMerger
    from hudi_pyspark.read.task import ReadTask
    from hudi_pyspark.storage import Storage

SHORT_NAME = "hudi-py"


class HudiDataSource(DataSource):
    """``spark.read.format("hudi-py").load(base_path)``."""

    # Users' mergers; see hudi_pyspark.spark.session.register.
    payload_mergers: ClassVar[Mapping[str, PayloadMerger]] = {}

    @classmethod
    def name(cls) -> str:
        return SHORT_NAME

    def schema(self) -> StructType:
        return spark_schema(self._scan().schema)

    def reader(self, schema: StructType) -> HudiReader:
        scan = self._scan()
        return HudiReader(scan, requested_columns(schema, scan.schema), arrow_schema_of(schema))

    def _scan(self) -> Scan:
        options = dict(self.options)
        path = options.get("path")
        if not path:
            raise InvalidOptionError("no path: give the table's base path to .load(...)")
        return HudiTable(path).scan_with(options, self.payload_mergers)


class HudiPartition(InputPartition):
    """One file slice."""

    def __init__(self, task: ReadTask) -> None:
        super().__init__(task)
        self.task = task


class HudiReader(DataSourceReader):
    """Plans on the driver, reads on the executors.

    Spark sends the instance to every executor, before it asks for the partitions: what only the
    driver needs stays there.
    """

    def __init__(self, scan: Scan, columns: Sequence[str], schema: pa.Schema) -> None:
        self._scan: Scan | None = scan
        self._columns = columns
        self._schema = schema
        self._storage: Storage = scan.storage

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_scan": None}

    def partitions(self) -> list[InputPartition]:
        if self._scan is None:
            raise RuntimeError("partitions are planned on the driver only")
        try:
            return [HudiPartition(task) for task in self._scan.plan(self._columns)]
        except NotImplementedError as error:
            # Spark takes a NotImplementedError for "this reader has no partitions()" and goes on
            # with one None partition: what cannot be read would look like an empty table.
            raise RuntimeError(f"{type(error).__name__}: {error}") from error

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # Spark makes one None partition of an empty list of partitions.
        if not isinstance(partition, HudiPartition):
            return
        for table in read_task(partition.task, self._storage):
            # Spark compares the first batch's schema with its own to the letter.
            conformed = conform(table, self._schema, {}, source="the result")
            yield from conformed.replace_schema_metadata(None).to_batches()
