"""The readers of batch queries; executors load only this module and its imports."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader

from hudi_pyspark.spark.partition import HudiPartition, let_spark_collect_logs, read_partition

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql.datasource import InputPartition

    from hudi_pyspark.scan import Scan
    from hudi_pyspark.storage import Storage


class HudiReader(DataSourceReader):
    """A reader that plans on the driver and reads on the executors.

    Spark pickles the reader for the executors before it asks for the partitions; the scan, which
    only the driver needs, is left out.
    """

    def __init__(
        self,
        scan: Scan,
        columns: Sequence[str],
        schema: pa.Schema,
        *,
        limit: int | None = None,
        without: Sequence[str] = (),
    ) -> None:
        self._scan: Scan | None = scan
        self._columns = columns
        self._schema = schema
        self._limit = limit
        self._without = without  # base files that Spark reads itself
        self._storage: Storage = scan.storage

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_scan": None, "_without": ()}

    def pruneColumns(self, required: object) -> None:  # noqa: N802  (Sail's name)
        """Read only some columns, in their order; Sail calls this, and no release of Spark does.

        Args:
            required: a schema of Arrow; nothing else has an effect.

        Raises:
            NotImplementedError: these columns cannot be read alone; Sail then reads all.
        """
        if not isinstance(required, pa.Schema):
            return
        names = required.names
        if not names or not set(names) <= set(self._columns):
            raise NotImplementedError(f"the source does not read {names} alone")
        self._columns = names
        self._schema = pa.schema([self._schema.field(name) for name in names])

    def partitions(self) -> list[InputPartition]:
        if self._scan is None:
            raise RuntimeError("partitions are planned on the driver only")
        let_spark_collect_logs()
        try:
            groups = self._scan.plan_groups(self._columns, without=self._without)
            return [HudiPartition(tasks) for tasks in groups]
        except NotImplementedError as error:
            # Spark would take a NotImplementedError as "this reader has no partitions()" and go on
            # with one partition that is None: an unsupported table would look empty.
            raise RuntimeError(f"{type(error).__name__}: {error}") from error

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        let_spark_collect_logs()
        yield from read_partition(partition, self._storage, self._schema, self._limit)
