"""What a table answers when Spark plans: schemas and readers."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from pyspark.sql.types import StructType

from hudi_pyspark.errors import InvalidOptionError, UnsupportedQueryError
from hudi_pyspark.hudi_table import HudiTable
from hudi_pyspark.query.filter.sql_text import parse_filter
from hudi_pyspark.query.options import INSPECT
from hudi_pyspark.query.stream import LAST_OFFSET, StreamOptions, schema_options
from hudi_pyspark.short_name import SHORT_NAME
from hudi_pyspark.spark.hints import read_hints
from hudi_pyspark.spark.pushdown import is_pushdown_on
from hudi_pyspark.spark.reader import FilteringReader, HudiReader
from hudi_pyspark.spark.schema import (
    arrow_schema_of,
    requested_columns,
    spark_schema,
    unchanged_columns,
)
from hudi_pyspark.spark.stream import HudiStreamReader
from hudi_pyspark.storage_options import storage_options_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql.datasource import DataSourceReader

    from hudi_pyspark.inspection import InspectionCall
    from hudi_pyspark.query.filter.predicate import Predicate
    from hudi_pyspark.query.merge.custom_merger import PayloadMerger

_NO_CATALOG_TABLES = "Spark does not tell a Python data source the path of a catalog table"


class Planner:
    """Reads of one table with some options.

    Spark carries it from the process that asked for the schema to the one that plans, so that
    commits are read once for both. It looks whether the table has grown in between.

    Args:
        options: as given to the source.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options
        self._opened: HudiTable | None = None

    def schema(self) -> StructType:
        if self._inspects():
            return spark_schema(self._inspection().schema(self._table().view))
        # Spark asks batches and streams alike; a stream names no begin, which the columns do not
        # depend on.
        return spark_schema(self._table().scan_with(schema_options(self._options)).schema)

    def reader(self, schema: StructType, mergers: Mapping[str, PayloadMerger]) -> DataSourceReader:
        if self._inspects():
            from hudi_pyspark.spark.inspection import InspectionReader  # noqa: PLC0415

            return InspectionReader(
                self._path(),
                storage_options_of(self._options),
                self._inspection(),
                arrow_schema_of(schema),
            )
        scan = self._table().scan_with(self._options, mergers)
        hints = read_hints(schema)
        requested = StructType([field for field in schema if field.name in hints.columns])
        columns = requested_columns(requested, scan.schema)
        for predicate in _predicates(hints.filters, scan.schema, arrow_schema_of(requested)):
            scan = scan.where(predicate)
        reader = FilteringReader if is_pushdown_on() else HudiReader
        return reader(scan, columns, arrow_schema_of(schema), hints.limit)

    def stream_reader(
        self, schema: StructType, mergers: Mapping[str, PayloadMerger]
    ) -> HudiStreamReader:
        StreamOptions.parse(self._options)  # what a stream cannot have is refused by name
        # The scan of an empty batch: what no batch could have is refused before the first one.
        scan = self._table().scan_range(self._options, LAST_OFFSET, LAST_OFFSET, mergers)
        source = scan.schema
        return HudiStreamReader(
            self._path(),
            self._options,
            mergers=mergers,
            source=source,
            columns=requested_columns(schema, source),
            schema=arrow_schema_of(schema),
        )

    def _inspects(self) -> bool:
        return INSPECT in {key.lower() for key in self._options}

    # Imported only for such a read, as every process that plans loads this module.
    def _inspection(self) -> InspectionCall:
        from hudi_pyspark.inspection import InspectionCall  # noqa: PLC0415

        return InspectionCall.parse(self._options)

    def _table(self) -> HudiTable:
        """The table as it is now; unless it has grown, nothing is read again but its timeline."""
        if self._opened is None or not self._opened.is_current():
            settings = storage_options_of(self._options)
            self._opened = HudiTable(self._path(), storage_options=settings)
        return self._opened

    def _path(self) -> str:
        if {"provider", "location"} <= self._options.keys():  # only CREATE TABLE gives these
            raise UnsupportedQueryError(
                f"this would make a catalog table, and {_NO_CATALOG_TABLES}: use CREATE TEMPORARY "
                f"VIEW … USING `{SHORT_NAME}` OPTIONS (path '…')"
            )
        path = self._options.get("path")
        if not path:
            raise InvalidOptionError(
                "no path: give the table's base path to .load(...), or in SQL to the OPTIONS of a "
                f"temporary view; {_NO_CATALOG_TABLES}"
            )
        return path


def _predicates(
    texts: Sequence[str], table: pa.Schema, requested: pa.Schema
) -> Iterator[Predicate]:
    """Yield the conditions that mean the same here; Spark applies all of them in any case."""
    columns = unchanged_columns(table, requested)
    for text in texts:
        with suppress(InvalidOptionError):
            yield parse_filter(text, columns)
