"""Make the schemas and readers of one table for Spark."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from hudi_pyspark.columns.arrays import rename_columns
from hudi_pyspark.columns.schema_evolution import conform
from hudi_pyspark.errors import InvalidOptionError, PathNotFoundError, UnsupportedQueryError
from hudi_pyspark.filter.sql_text import parse_filter
from hudi_pyspark.format.timeline.instant import LAST_OFFSET
from hudi_pyspark.hudi_table import HudiTable
from hudi_pyspark.messages import logger
from hudi_pyspark.options.read_options import INSPECT, GivenOptions, StreamOptions, opens_table
from hudi_pyspark.planning.stream_offsets import batch_options, schema_options
from hudi_pyspark.short_name import SHORT_NAME
from hudi_pyspark.spark.hints import (
    OPTION,
    REQUEST,
    Answer,
    ClientHints,
    read_hints,
    written_answer,
)
from hudi_pyspark.spark.reader import HudiPartition, HudiReader
from hudi_pyspark.spark.schema import (
    arrow_schema_of,
    check_names,
    comparable,
    requested_columns,
    spark_schema,
    spelled_as,
    unchanged_columns,
    with_comments,
)
from hudi_pyspark.spark.sql_options import (
    check_declared,
    entry_columns,
    is_by_name,
    options_of_users,
    plain_options,
    stream_options,
)
from hudi_pyspark.spark.stream import HudiStreamReader
from hudi_pyspark.spark.worker_process import only_message
from hudi_pyspark.table.merge_mode import MergeCache
from hudi_pyspark.table.meta_columns import META_COLUMNS, OPERATION_COLUMN

if TYPE_CHECKING:
    from hudi_pyspark.custom_mergers import Mergers
    from hudi_pyspark.inspection import InspectionCall
    from hudi_pyspark.spark.hints import GivenHints, Hints

_log = logger(__name__)
_PICKLER: Any = CloudPickleSerializer()  # type: ignore[no-untyped-call]  # the one Spark uses
_META_COLUMNS = (*META_COLUMNS, OPERATION_COLUMN)
_NO_CATALOG_TABLES = "Spark does not pass the path of a catalog table to a Python data source"


@dataclass(repr=False)  # the options may contain secrets
class _InspectionReader(DataSourceReader):
    """Reads an inspection table on an executor, since files may be too large for the driver."""

    options: Mapping[str, str]
    call: InspectionCall
    schema: StructType  # of the batches

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(self.call.name)]

    def read(self, _partition: InputPartition) -> Iterator[pa.RecordBatch]:
        with only_message():
            table = self.call.run(HudiTable._from_options(self.options).inspect)
            schema = arrow_schema_of(spelled_as(table.schema, self.schema))
            check_names(schema.names, table.schema.names, self.call.name)
            conformed = conform(table, schema, {}, source=f"inspect.{self.call.name}")
        answer = rename_columns(conformed, self.schema.names).replace_schema_metadata(None)
        yield from answer.to_batches(max_chunksize=10_000)


@dataclass
class _StateReader(DataSourceReader):
    """Reads no rows: its partition brings the newest state of a table to the optimizer's rule."""

    state: str | None  # the pickled source with the opened table; None if it has not changed

    def partitions(self) -> list[InputPartition]:
        return [HudiPartition(b"", answer=written_answer({Answer.NEWEST: self.state}))]

    def read(self, _partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return iter(())


class Planner:
    """Makes the schemas and readers of one table with one set of options.

    Spark sends the planner from the process that needs the schema to the process that plans, so the
    two read the commits only once. If the table has grown in the meantime, it is opened again.

    Args:
        options: of the read.
        client_secret: with which a client signs its hints; "" if the session has no such client.
        takes_sql: whether a catalog gave the options. Otherwise those of SQL are ignored.
    """

    def __init__(
        self, options: Mapping[str, str], client_secret: str = "", *, takes_sql: bool = False
    ) -> None:
        self._given = dict(options) if takes_sql else options_of_users(options)
        self._options = plain_options(
            {key: value for key, value in self._given.items() if key not in (OPTION, REQUEST)}
        )
        self._client = ClientHints.of_read(options, client_secret)
        self.opened: HudiTable | None = None

    def schema(self) -> StructType:
        """Return the columns that Spark may request.

        Raises:
            PathNotFoundError: there is nothing at the path of the table.
            InvalidOptionError: an option is invalid, or no path is given.
        """
        if self._inspects():
            return spark_schema(self._inspection().schema(self._table().inspect))
        # Spark calls this for batches and streams. A stream has no option begin, but the columns do
        # not depend on begin.
        table = self._table()
        schema = table._scan_with(schema_options(self._options)).schema
        columns = spark_schema(self._client.narrow(schema))
        check_declared(self._given, columns)
        return self._as_entry_has(columns, table)

    def _as_entry_has(self, columns: StructType, table: HudiTable) -> StructType:
        """Return columns with the comments of the table's entry, in the order of a read by name.

        Columns that are not the table's own, such as ``_change_type``, stay in their places.
        """
        given = {**self._given, **self._options}
        entry = entry_columns(given, table._entry_columns)
        own = [n for n in columns.names if n in table.schema.names and n not in _META_COLUMNS]
        commented = with_comments(columns, entry.comments_of(own))
        if not is_by_name(given):
            return commented
        ordered = iter(entry.order(own, table.config.partition_fields))
        return StructType([commented[next(ordered) if n in own else n] for n in columns.names])

    def hints(self, given: GivenHints, schema: StructType | pa.Schema) -> Hints:
        """Return the rule's hints about a query.

        Args:
            given: as the source has them.
            schema: the requested columns. Sail passes an Arrow schema.
        """
        return read_hints(given, spark_schema(schema) if isinstance(schema, pa.Schema) else schema)

    def state_reader(self, source: DataSource, hints: Hints) -> DataSourceReader | None:
        """Return the reader of the table's newest state; None if the rule requests rows.

        Args:
            source: the data source that has this planner; the state is sent as part of it.
            hints: the rule's.
        """
        if hints.state is None:
            return None
        old_table = self.opened
        # The pickle of another source of the query, which came in the pickle of this source.
        sharing: Planner | None = _PICKLER.loads(hints.state).planner() if hints.state else None
        if sharing is None or sharing.opened is None or sharing.settings() != self.settings():
            self._table()
        elif old_table is None or old_table._view.timeline != sharing.opened._view.timeline:
            self.opened = sharing.opened
        if self.opened is old_table:
            return _StateReader(None)
        return _StateReader(b64encode(_PICKLER.dumps(source)).decode())

    def settings(self) -> dict[str, str]:
        """Return the options that decide how the table is opened, by name in lower case."""
        return {name.lower(): v for name, v in self._options.items() if opens_table(name)}

    def reader(
        self, schema: StructType | pa.Schema, mergers: Mergers, hints: Hints
    ) -> DataSourceReader:
        """Return the reader of a batch query.

        Args:
            schema: the requested columns. Sail passes an Arrow schema.
            mergers: the user's mergers by payload class.
            hints: the rule's.
        """
        prunes_columns = isinstance(schema, pa.Schema)  # the engine does, see pruneColumns
        if isinstance(schema, pa.Schema):
            schema = spark_schema(schema)
        if self._inspects():
            return _InspectionReader(self._options, self._inspection(), schema)
        options = self._options
        if hints.keeps_merges and not GivenOptions.of(options).has("merge_cache"):
            options = {**options, "merge_cache": MergeCache.DISK.value}
        scan = self._table(is_pinned=hints.is_pinned)._scan_with(options, mergers)
        requested = self._client.without_placeholder(spelled_as(scan.schema, hints.columns))
        columns = requested_columns(requested, scan.schema)
        plain_columns = unchanged_columns(scan.schema, requested)
        conditions = [(text, plain_columns) for text in (*hints.filters, *hints.keys)]
        conditions += [(text, comparable(plain_columns)) for text in self._client.filters]
        for text, compared_columns in conditions:
            # Spark applies every condition itself, so an unsupported one is skipped, not an error.
            try:
                scan = scan._where(parse_filter(text, compared_columns, is_exact=True))
            except Exception as error:  # noqa: BLE001, PERF203
                _log.info("a condition does not reach the scan: %.300s", error)
        limits = [limit for limit in (hints.limit, self._client.limit) if limit is not None]
        # The rule, a client, the option columns or .schema(...) may narrow a scan.
        is_narrowed = prunes_columns or hints.is_pinned or len(columns) < len(scan.schema)
        is_narrowed |= self._client.is_given or GivenOptions.of(self._options).has("columns")
        return HudiReader(
            scan,
            scan.storage,
            columns,
            arrow_schema_of(spelled_as(scan.schema, schema)),
            schema.names,
            min(limits, default=None),
            is_narrowed=is_narrowed,
            is_filtered_by_keys=bool(hints.keys),
            cores=hints.cores,
        )

    def stream_reader(self, schema: StructType, mergers: Mergers, hints: Hints) -> HudiStreamReader:
        """Return the reader of a stream; the arguments are those of `reader`."""
        table = self._table()
        options = stream_options(self._given, self._options, table._view.history.completion_time)
        StreamOptions.parse(options)  # refuses options that streams do not have
        # The scan of an empty batch, so that invalid options raise before the first batch.
        scan = table._scan(batch_options(options, LAST_OFFSET, LAST_OFFSET), mergers)
        # The rule has narrowed the schema if this reads a micro-batch.
        requested = self._client.without_placeholder(spelled_as(scan.schema, hints.columns))
        return HudiStreamReader(
            options,
            partial(HudiTable._from_options, options),
            mergers,
            scan.schema,
            requested_columns(requested, scan.schema),
            arrow_schema_of(spelled_as(scan.schema, schema)),
            schema.names,
        )

    def _inspects(self) -> bool:
        return INSPECT in {key.lower() for key in self._options}

    def _inspection(self) -> InspectionCall:
        # Every planning process imports this module, and few inspect a table.
        from hudi_pyspark.inspection import InspectionCall  # noqa: PLC0415  (see above)

        return InspectionCall.parse(self._options)

    def _table(self, *, is_pinned: bool = False) -> HudiTable:
        """Return the table, opened again if it has grown; ``is_pinned`` keeps the opened one."""
        if self.opened is None or not (is_pinned or self.opened.is_current()):
            path = "" if GivenOptions.of(self._options).has("table") else self._path()
            try:
                self.opened = HudiTable._from_options(self._options)
            except PathNotFoundError as error:
                if not path or "://" in path or path.startswith(("/", "file:/")):
                    raise
                raise PathNotFoundError(
                    error.found,
                    error.place,
                    f"{error.advice}. {path!r} is a relative path, and the process that plans the "
                    "query looks for it in its own folder: with Spark Connect a temporary one on "
                    "the server. Give an absolute path or a URI",
                ) from None
        return self.opened

    def _path(self) -> str:
        if {"provider", "location"} <= self._options.keys():  # only CREATE TABLE sets these
            raise UnsupportedQueryError(
                f"this would make a catalog table, and {_NO_CATALOG_TABLES}: call "
                "hudi_pyspark.register(spark, tables=True) in this classic session first, or use "
                f"CREATE TEMPORARY VIEW … USING `{SHORT_NAME}` OPTIONS (path '…')"
            )
        path = self._options.get("path")
        if not path and "paths" in self._options:
            raise InvalidOptionError(
                f"several paths are given, {self._options['paths']}, but one read has one table",
                advice=(
                    "Give .load(...) its base path. Combine tables with union(), and choose "
                    "partitions with a filter"
                ),
            )
        if not path:
            raise InvalidOptionError(
                "no path: give the table's base path to .load(...), or in SQL to the OPTIONS of a "
                f"temporary view; {_NO_CATALOG_TABLES}, unless "
                "hudi_pyspark.register(spark, tables=True) was called in this session"
            )
        return path
