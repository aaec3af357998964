"""The Spark data source: thin, without any knowledge of Hudi."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pyspark.sql.datasource import DataSource, DataSourceReader

from hudi_pyspark.errors import InvalidOptionError, UnsupportedQueryError
from hudi_pyspark.hudi_table import HudiTable
from hudi_pyspark.inspection import InspectionCall
from hudi_pyspark.read.options import INSPECT
from hudi_pyspark.read.stream import LAST_OFFSET, StreamOptions, schema_options
from hudi_pyspark.scan import SHORT_NAME
from hudi_pyspark.spark.inspection import InspectionReader
from hudi_pyspark.spark.partition import HudiPartition, read_partition
from hudi_pyspark.spark.pushdown import is_pushdown_on, to_predicate
from hudi_pyspark.spark.schema import (
    arrow_schema_of,
    requested_columns,
    spark_schema,
    unchanged_columns,
)
from hudi_pyspark.spark.stream import HudiStreamReader
from hudi_pyspark.storage_options import storage_options_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql.datasource import Filter, InputPartition
    from pyspark.sql.types import StructType

    from hudi_pyspark.read.custom_merger import PayloadMerger
    from hudi_pyspark.scan import Scan
    from hudi_pyspark.storage import Storage

_NO_CATALOG_TABLES = "Spark does not tell a Python data source the path of a catalog table"


class HudiDataSource(DataSource):
    """``spark.read.format("hudi-py").load(base_path)``."""

    # Users' mergers; see hudi_pyspark.spark.session.register.
    payload_mergers: ClassVar[Mapping[str, PayloadMerger]] = {}

    @classmethod
    def name(cls) -> str:
        return SHORT_NAME

    # Spark carries the source from the process that asked for its schema to the one that plans, so
    # that commits are read once for both. It looks whether the table has grown in between.
    _opened: HudiTable | None = None

    def schema(self) -> StructType:
        if self._inspects():
            return spark_schema(self._inspection().schema(self._table().view))
        # Spark asks batches and streams alike; a stream names no begin, which the columns do not
        # depend on.
        return spark_schema(self._table().scan_with(schema_options(self.options)).schema)

    def reader(self, schema: StructType) -> DataSourceReader:
        if self._inspects():
            return InspectionReader(
                self._path(),
                storage_options_of(self.options),
                self._inspection(),
                arrow_schema_of(schema),
            )
        scan = self._scan()
        reader = FilteringReader if is_pushdown_on() else HudiReader
        return reader(scan, requested_columns(schema, scan.schema), arrow_schema_of(schema))

    def streamReader(self, schema: StructType) -> HudiStreamReader:  # noqa: N802  (Spark's name)
        StreamOptions.parse(self.options)  # what a stream cannot have is refused by name
        # The scan of an empty batch: what no batch could have is refused before the first one.
        scan = self._table().scan_range(
            self.options, LAST_OFFSET, LAST_OFFSET, self.payload_mergers
        )
        source = scan.schema
        return HudiStreamReader(
            self._path(),
            self.options,
            mergers=self.payload_mergers,
            source=source,
            columns=requested_columns(schema, source),
            schema=arrow_schema_of(schema),
        )

    def _inspects(self) -> bool:
        return INSPECT in {key.lower() for key in self.options}

    def _inspection(self) -> InspectionCall:
        return InspectionCall.parse(self.options)

    def _scan(self) -> Scan:
        return self._table().scan_with(self.options, self.payload_mergers)

    def _table(self) -> HudiTable:
        """The table as it is now; unless it has grown, nothing is read again but its timeline."""
        if self._opened is None or not self._opened.is_current():
            settings = storage_options_of(self.options)
            self._opened = HudiTable(self._path(), storage_options=settings)
        return self._opened

    def _path(self) -> str:
        if {"provider", "location"} <= self.options.keys():  # only CREATE TABLE gives these
            raise UnsupportedQueryError(
                f"this would make a catalog table, and {_NO_CATALOG_TABLES}: use CREATE TEMPORARY "
                f"VIEW … USING `{SHORT_NAME}` OPTIONS (path '…')"
            )
        path = self.options.get("path")
        if not path:
            raise InvalidOptionError(
                "no path: give the table's base path to .load(...), or in SQL to the OPTIONS of a "
                f"temporary view; {_NO_CATALOG_TABLES}"
            )
        return path


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
            return [HudiPartition(tasks) for tasks in self._scan.plan_groups(self._columns)]
        except NotImplementedError as error:
            # Spark takes a NotImplementedError for "this reader has no partitions()" and goes on
            # with one None partition: what cannot be read would look like an empty table.
            raise RuntimeError(f"{type(error).__name__}: {error}") from error

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        yield from read_partition(partition, self._storage, self._schema)


class FilteringReader(HudiReader):
    """Takes filters from Spark; only for Sparks that have filter pushdown switched on."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802  (Spark's name)
        if self._scan is None:
            raise RuntimeError("filters are pushed on the driver only")
        columns = unchanged_columns(self._scan.schema, self._schema)
        for pushed in filters:
            predicate = to_predicate(pushed, columns)
            if predicate is None:
                yield pushed
            else:
                self._scan = self._scan.where(predicate)
