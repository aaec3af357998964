"""Schemas and readers of one table, for Spark's planning."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from hudi_pyspark.columns.schema_evolution import conform
from hudi_pyspark.errors import InvalidOptionError, PathNotFoundError, UnsupportedQueryError
from hudi_pyspark.filter.sql_text import parse_filter
from hudi_pyspark.hudi_table import HudiTable
from hudi_pyspark.options.read_options import INSPECT, GivenOptions, StreamOptions
from hudi_pyspark.planning.stream_offsets import LAST_OFFSET, schema_options
from hudi_pyspark.short_name import SHORT_NAME
from hudi_pyspark.spark.hints import OPTION, ClientHints, read_hints
from hudi_pyspark.spark.reader import HudiReader
from hudi_pyspark.spark.schema import (
    arrow_schema_of,
    comparable,
    requested_columns,
    spark_schema,
    unchanged_columns,
)
from hudi_pyspark.spark.stream import HudiStreamReader

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql.types import StructType

    from hudi_pyspark.custom_mergers import PayloadMerger
    from hudi_pyspark.inspection import InspectionCall

_log = logging.getLogger(__name__)
_NO_CATALOG_TABLES = "Spark does not pass the path of a catalog table to a Python data source"


@dataclass(repr=False)  # the options may contain secrets
class _InspectionReader(DataSourceReader):
    """A reader of one inspection table, on an executor: files may be too large for the driver."""

    options: Mapping[str, str]
    call: InspectionCall
    schema: pa.Schema

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(self.call.name)]

    def read(self, _partition: InputPartition) -> Iterator[pa.RecordBatch]:
        table = self.call.run(HudiTable.from_options(self.options).inspect)
        unknown = [name for name in self.schema.names if name not in table.schema.names]
        if unknown:
            raise InvalidOptionError(
                f".schema(...) names {', '.join(map(repr, unknown))}, which {self.call.name} does "
                f"not have; it has {', '.join(table.schema.names)}"
            )
        conformed = conform(table, self.schema, {}, source=f"inspect.{self.call.name}")
        yield from conformed.replace_schema_metadata(None).to_batches(max_chunksize=10_000)


class Planner:
    """The reads of one table with given options.

    Spark moves the planner from the process that asks for the schema to the one that plans, so that
    commits are read once for both. The table is opened again if it has grown in between.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = {key: value for key, value in options.items() if key != OPTION}
        self._client = ClientHints.from_option(options.get(OPTION, ""))
        self._opened: HudiTable | None = None

    def schema(self) -> StructType:
        """Return the columns of the result."""
        if self._inspects():
            return spark_schema(self._inspection().schema(self._table().inspect))
        # Spark calls this for batches and streams. A stream has no begin, but the columns do not
        # depend on it.
        schema = self._table().scan_with(schema_options(self._options)).schema
        return spark_schema(self._client.narrow(schema))

    def reader(
        self, schema: StructType | pa.Schema, mergers: Mapping[str, PayloadMerger]
    ) -> DataSourceReader:
        """Return the reader of a batch query."""
        if isinstance(schema, pa.Schema):  # Sail's
            schema = spark_schema(schema)
        if self._inspects():
            return _InspectionReader(self._options, self._inspection(), arrow_schema_of(schema))
        hints = read_hints(schema)
        scan = self._table(is_pinned=hints.is_pinned).scan_with(self._options, mergers)
        wanted = self._client.without_placeholder(hints.columns)
        columns = requested_columns(wanted, scan.schema)
        asked = unchanged_columns(scan.schema, wanted)
        for texts, schema_of_texts in (
            (hints.filters, asked),
            (self._client.filters, comparable(asked)),
        ):
            for text in texts:
                # Spark applies all of them: one may be left out, and none fails a query.
                try:
                    scan = scan.where(parse_filter(text, schema_of_texts, is_exact=True))
                except Exception as error:  # noqa: BLE001, PERF203
                    _log.info("a condition does not reach the scan: %.300s", error)
        limits = [limit for limit in (hints.limit, self._client.limit) if limit is not None]
        # By the optimizer's rule, by a client, by the option columns or by .schema(...).
        is_narrowed = hints.is_pinned or len(columns) < len(scan.schema)
        is_narrowed |= self._client.is_given or GivenOptions.of(self._options).has("columns")
        limit = min(limits, default=None)
        return HudiReader(scan, columns, arrow_schema_of(schema), limit, is_narrowed=is_narrowed)

    def stream_reader(
        self, schema: StructType, mergers: Mapping[str, PayloadMerger]
    ) -> HudiStreamReader:
        """Return the reader of a stream."""
        StreamOptions.parse(self._options)  # refuses options that streams do not have
        # The scan of an empty batch, so that invalid options raise before the first batch.
        scan = self._table().scan_range(self._options, LAST_OFFSET, LAST_OFFSET, mergers)
        source = scan.schema
        return HudiStreamReader(
            self._options,
            partial(HudiTable.from_options, self._options),
            mergers=mergers,
            source=source,
            # The optimizer narrows the schema of the reader of a batch.
            columns=requested_columns(
                self._client.without_placeholder(read_hints(schema).columns), source
            ),
            schema=arrow_schema_of(schema),
        )

    def _inspects(self) -> bool:
        return INSPECT in {key.lower() for key in self._options}

    # Imported only here, since every planning process imports this module.
    def _inspection(self) -> InspectionCall:
        from hudi_pyspark.inspection import InspectionCall  # noqa: PLC0415  (rarely needed)

        return InspectionCall.parse(self._options)

    def _table(self, *, is_pinned: bool = False) -> HudiTable:
        """Return the current table; unless it has grown, only its timeline is listed again."""
        if self._opened is None or not (is_pinned or self._opened.is_current()):
            path = "" if GivenOptions.of(self._options).has("table") else self._path()
            try:
                self._opened = HudiTable.from_options(self._options)
            except PathNotFoundError as error:
                if not path or "://" in path or path.startswith(("/", "file:/")):
                    raise
                raise PathNotFoundError(
                    f"{error.args[0]}. {path!r} is a relative path, and the process that plans the "
                    "query looks for it in its own folder: with Spark Connect a temporary one on "
                    "the server. Give an absolute path or a URI"
                ) from None
        return self._opened

    def _path(self) -> str:
        if {"provider", "location"} <= self._options.keys():  # only CREATE TABLE sets these
            raise UnsupportedQueryError(
                f"this would make a catalog table, and {_NO_CATALOG_TABLES}: use CREATE TEMPORARY "
                f"VIEW … USING `{SHORT_NAME}` OPTIONS (path '…')"
            )
        path = self._options.get("path")
        if not path and "paths" in self._options:
            raise InvalidOptionError(
                f"several paths are given, {self._options['paths']}, but one read has one table. "
                "Give .load(...) its base path. Combine tables with union(), and choose partitions "
                "with a filter"
            )
        if not path:
            raise InvalidOptionError(
                "no path: give the table's base path to .load(...), or in SQL to the OPTIONS of a "
                f"temporary view; {_NO_CATALOG_TABLES}"
            )
        return path
