"""`Scan`: one read of a table, its plan and its rows."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hudi_pyspark.engine_stream import engine_stream
from hudi_pyspark.errors import InvalidOptionError, UnsupportedQueryError
from hudi_pyspark.extras import needs_extra
from hudi_pyspark.filter.predicate import Predicate, conjunction, conjuncts
from hudi_pyspark.filter.sql_text import parse_filter
from hudi_pyspark.messages import logger
from hudi_pyspark.metadata_table.listing import MetadataListing
from hudi_pyspark.names_elsewhere import OF_SCAN, look_elsewhere
from hudi_pyspark.options.read_options import ReadOptions, spark_texts
from hudi_pyspark.planning.needed_columns import result_schema
from hudi_pyspark.planning.plan import Plan, Query, summary, threads_for
from hudi_pyspark.planning.query import resolve_query
from hudi_pyspark.reading.kept_merges import count_merged, merged_on_disk
from hudi_pyspark.reading.read_task import read_tasks
from hudi_pyspark.short_name import SHORT_NAME
from hudi_pyspark.storage.retries import retry_on_corruption

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from duckdb import DuckDBPyConnection
    from pyspark.sql import DataFrame, SparkSession

    from hudi_pyspark.custom_mergers import Mergers
    from hudi_pyspark.frames.dataset import HudiDataset
    from hudi_pyspark.metadata_table.table import MetadataTable
    from hudi_pyspark.reading.merge.outcome import OutcomesInMemory, OutcomeStore
    from hudi_pyspark.storage import Storage
    from hudi_pyspark.table.view import TableView
    from hudi_pyspark.tasks import ReadTask

_log = logger(__name__)


@dataclass(frozen=True, eq=False, repr=False)
class Scan:
    """A read of a table as of one instant. Files are listed when its tasks are first needed.

    Build it with `HudiTable.scan`. Each method that plans or reads raises a HudiError if the table
    cannot be read. The examples continue that of `HudiTable`.
    """

    _query: Query
    _result: pa.Schema
    _predicate: Predicate | None = None
    _limit: int | None = None  # maximum number of rows
    _spark_options: Mapping[str, object] | None = None  # None if Spark cannot do the same read
    _store: OutcomeStore | None = None  # of merges; None to merge each time

    @property
    def schema(self) -> pa.Schema:
        """The columns of the answer."""
        return self._result

    @property
    def columns(self) -> list[str]:
        """The names of the columns of the answer."""
        return list(self._result.names)

    @property
    def end(self) -> str:
        """The instant where this read ends, and where an incremental query continues as ``begin``.

        A query that begins there misses no commit, whatever has completed in the meantime. It
        repeats no commit either, except, before table version 8, commits after a pending one. The
        end of a CDC query is the begin of a CDC query, which compares requested times on every
        table version. The ends of all other scans are for incremental queries and streams. A range
        without commits ends at its begin.

        Raises:
            UnsupportedQueryError: a read-optimized query has no end, since it lacks the records of
                log files.
        """
        return retry_on_corruption(self.storage, lambda: self._query.end)

    @property
    def storage(self) -> Storage:
        """The storage from which tasks read; picklable."""
        return self._query.view.storage

    def filter(self, condition: object) -> Scan:
        """Return the scan of the rows for which a condition is also true.

        Example:
            >>> table.scan().filter("region = 'emea'").filter("qty > 80").count()
            2

        Args:
            condition: text, an expression of pyarrow, or tuples; see `HudiTable.scan`.

        Raises:
            InvalidOptionError: the condition is something else, compares what cannot be compared,
                or has no exact counterpart.
            ImportError: the package is the zip for Spark, which takes text alone.
        """
        answer = self._query.schema
        if isinstance(condition, str):
            narrowed = self._where(parse_filter(condition, answer))
            before = (self._spark_options or {}).get("filter")
            both = f"({before}) AND ({condition})" if before else condition
            return replace(
                narrowed, _spark_options=_with_option(self._spark_options, "filter", both)
            )
        with needs_extra():
            from hudi_pyspark.frames.expression import predicate_of  # noqa: PLC0415  (few need it)

        return self._where(predicate_of(condition, answer))

    def select(self, *columns: str | Sequence[str]) -> Scan:
        """Return the scan of some of its columns, in this order.

        Example:
            >>> table.scan().select("id", "qty").columns
            ['id', 'qty']

        Args:
            columns: names in any case, one by one or in a list.

        Raises:
            InvalidOptionError: the scan has no such column, a column is named twice, or something
                is not a name.
        """
        names: list[str] = []
        for each in columns:
            several = [each] if isinstance(each, str) or not isinstance(each, Iterable) else each
            names += several
        for name in names:
            if not isinstance(name, str):
                raise InvalidOptionError(f"select takes names of columns, not {name!r}")
        schema = result_schema(self._result, names, include_meta_columns=True, owner="scan")
        options = _with_option(self._spark_options, "columns", schema.names)
        return replace(self, _result=schema, _spark_options=options)

    def plan(self) -> list[ReadTask]:
        """Return the tasks of the read: one per file slice, or per commit and changed file group.

        Example:
            >>> len(table.scan(filter="region = 'emea'").plan())
            2

        Raises:
            MissingFileError: a committed file is not on the storage.
            IncrementalRangeError: files of a range are gone.
            UnsupportedTableError: a slice cannot be read correctly.
        """
        return list(self._plan().tasks)

    def _where(self, predicate: Predicate) -> Scan:
        """Return the scan of the rows for which a predicate on the table's columns is also true."""
        both = conjunction((*conjuncts(self._predicate), predicate))
        query = self._query.of_filter(both)
        # Options of Spark cannot express the predicate.
        return replace(self, _query=query, _predicate=both, _spark_options=None)

    def _plan_groups(self, columns: Sequence[str] | None = None) -> list[tuple[ReadTask, ...]]:
        """Return the tasks of `plan` in groups of about equal cost (option ``task_bytes``).

        Small slices share a group; a large base file without logs is divided. Log files cost
        nothing if ``merge_cache=disk`` has the outcome of their merge on this machine, even if
        later log files of the slice are to be merged.
        """
        return list(self._grouped_plan(columns).groups)

    def _grouped_plan(
        self,
        columns: Sequence[str] | None = None,
        *,
        fields: pa.Schema | None = None,
        cores: int = 0,
    ) -> Plan:
        """Return the plan with the groups of `_plan_groups`, and with what explains it.

        Args:
            columns: names of the columns to read; all of the answer by default.
            fields: some of these columns, with the nested fields that are needed. Tasks may leave
                out other nested fields.
            cores: the number of groups that are read at the same time. There are at least as many
                groups if each then has 4 MiB. A base file without a merge counts by the share of
                its columns. 0 if the number is unknown: whole files count, and ``task_bytes``
                alone decides.
        """
        begin = time.perf_counter()
        plan = self._plan(columns, fields)
        planned = plan.grouped(merged_on_disk(plan.tasks, self.storage), cores)
        if _log.isEnabledFor(logging.INFO):
            milliseconds = (time.perf_counter() - begin) * 1000
            _log.info("planned in %.0f ms: %s", milliseconds, summary(planned))
        return planned

    def to_batches(self, threads: int | None = None) -> pa.RecordBatchReader:
        """Stream the answer, rows in any order, changes commit by commit.

        Planning starts with the first batch. Reading stops when the reader is closed.

        Example:
            >>> sum(batch.num_rows for batch in table.scan(["id"]).to_batches())
            47

        Args:
            threads: the number of file slices to read at a time; each takes memory. By default one
                per processor, four at most, and up to twelve more for small slices on another
                machine. Changes, scans with a limit, and local slices of up to 64 KiB use one.
        """
        return pa.RecordBatchReader.from_batches(self._result, self._batches(threads))

    def to_arrow(self) -> pa.Table:
        """Return the whole answer in memory.

        Example:
            >>> table.scan(["id"]).to_arrow().num_rows
            47
        """
        return pa.Table.from_batches(self._batches(), schema=self._result)

    def head(self, rows: int = 5) -> pa.Table:
        """Return the first rows that are read, in any order; reading stops with them.

        Example:
            >>> table.rows.head(3).num_rows
            3

        Raises:
            InvalidOptionError: `rows` is not a number from 0 on.
        """
        _check_limit(rows)
        limit = rows if self._limit is None else min(rows, self._limit)
        return replace(self, _limit=limit).to_arrow()

    def to_dataset(self) -> HudiDataset:
        """Return a dataset of pyarrow, from which engines read only what a query needs.

        Example:
            >>> table.scan(["id"]).to_dataset().count_rows()
            47

        DuckDB finds it by the name of its variable; `polars.scan_pyarrow_dataset` and DataFusion's
        `register_dataset` take it. The dataset shows the table as it was opened.

        Raises:
            UnsupportedQueryError: the scan has a limit.
        """
        with needs_extra():
            from hudi_pyspark.frames.dataset import HudiDataset  # noqa: PLC0415  (few need it)

        if self._limit is not None:
            raise UnsupportedQueryError(
                f"the scan has a limit of {self._limit} rows, but an engine filters rows before "
                "it counts them",
                advice="Leave out the limit here, and give it to the engine",
            )
        return HudiDataset(self)

    def to_pandas(self, **options: object) -> pd.DataFrame:
        """Return the whole answer as a pandas DataFrame (extra ``pandas``).

        Example:
            >>> table.scan(["id", "qty"]).to_pandas().shape
            (47, 2)

        Args:
            options: of `pyarrow.Table.to_pandas`, e.g. ``types_mapper``.

        Raises:
            UnsupportedQueryError: there is a date beyond the years 1 to 9999 of Python's dates.
        """
        with needs_extra("pandas"):
            import pandas  # noqa: F401, PLC0415  (pyarrow takes it if it is installed)

        rows = self.to_arrow()
        try:
            return rows.to_pandas(**options)
        except pa.ArrowException:
            raise
        except (OverflowError, ValueError) as error:
            raise UnsupportedQueryError(
                f"pandas cannot have a value of the answer: {error}",
                advice=(
                    "Call to_pandas(date_as_object=False), which needs no Python dates, or "
                    "to_arrow(), or leave out the column"
                ),
            ) from error

    def to_polars(self) -> pl.DataFrame:
        """Return the whole answer as a polars DataFrame (extra ``polars``).

        Example:
            >>> table.scan(["region", "qty"]).to_polars().shape
            (47, 2)

        `hudi_pyspark.scan_polars` returns a LazyFrame.
        """
        with needs_extra("polars"):
            import polars  # noqa: PLC0415  (an optional extra, loaded when asked for)

        return polars.DataFrame(self.to_arrow())

    def _to_lazy(self, *, merge_first: bool) -> pl.LazyFrame:
        """Return a LazyFrame of polars; see `hudi_pyspark.scan_polars`."""
        with needs_extra("polars"):
            from hudi_pyspark.frames.polars import lazy_frame  # noqa: PLC0415  (imports polars)

        return lazy_frame(self, merge_first=merge_first)

    def to_duckdb(
        self,
        table_name: str,
        connection: DuckDBPyConnection | None = None,
        *,
        merge_first: bool = False,
    ) -> DuckDBPyConnection:
        """Register the scan as a view of DuckDB, which reads what a query needs (extra ``duckdb``).

        Example:
            >>> database = table.scan().to_duckdb("orders")
            >>> database.sql("SELECT count(*) FROM orders WHERE qty > 80").fetchall()
            [(5,)]

        Args:
            table_name: name of the view, which lasts as long as the connection.
            connection: where to register the view; by default a new database in memory.
            merge_first: whether to merge all file slices now, and let DuckDB read the base files
                itself. This call waits for the merge, and queries cost about what Parquet files
                cost. They fail once a cleaner has removed a file. If DuckDB would read other values
                (see the page "Without Spark"), the view is the same as without ``merge_first``.

        Returns:
            The connection.

        Raises:
            UnsupportedQueryError: the scan has a limit.
        """
        with needs_extra("duckdb"):
            import duckdb  # noqa: PLC0415  (an optional extra, loaded when asked for)

            from hudi_pyspark.frames.duckdb import relation_of_files  # noqa: PLC0415  (few need it)

        database = duckdb.connect(":memory:") if connection is None else connection
        dataset = self.to_dataset()
        relation = relation_of_files(self, table_name, database) if merge_first else None
        database.register(table_name, dataset if relation is None else relation)
        return database

    def to_spark(self, spark: SparkSession) -> DataFrame:
        """Return the same read as a DataFrame, which Spark distributes.

        Example:
            ``table.scan(["id", "qty"], filter="qty > 80").to_spark(spark).show()``

        Spark opens the table again, and so sees later commits; ``as_of`` pins a state. A session of
        Spark Connect must know the source already: see `hudi_pyspark.register`.

        Raises:
            UnsupportedQueryError: the table was opened with a file system object, a filter is not
                text, or a column's name contains a comma.
        """
        if self._spark_options is None:
            raise UnsupportedQueryError(
                "Spark cannot be handed a file system object or a filter that is not text: open "
                "the table with storage_options, and write the filter as in a WHERE clause"
            )
        options = spark_texts(self._spark_options)
        frame = spark.read.format(SHORT_NAME).options(**options).load()
        return frame if self._limit is None else frame.limit(self._limit)

    def explain(self) -> str:
        """Explain what the scan will read, and why, one fact per line. Files are not opened.

        Example:
            >>> table.scan(filter="region = 'emea'").explain().splitlines()[3]
            'files      2 file slices in 1 partition: 2 base files, 6 log files in 2 slices'
        """
        return "\n".join(f"{label:<10} {fact}" for label, fact in self._facts().items())

    def _facts(self) -> dict[str, str]:
        """Return the facts of `explain` by label."""
        planned = self._grouped_plan()
        merged, merges = count_merged(planned.tasks, self.storage, self._store)
        kept = {"kept": f"{merged} of {merges} slices merged before"} if merges else {}
        return {**planned.facts(), **kept}

    def count(self) -> int:
        """Count the rows. Only the columns that merging needs are decoded.

        Example:
            >>> table.scan(filter="region = 'emea'").count()
            15
        """
        rows = 0
        for table in self._tables(self._plan(()).tasks):
            rows += table.num_rows
            if self._limit is not None and rows >= self._limit:
                return self._limit
        return rows

    def _plan(self, columns: Sequence[str] | None = None, fields: pa.Schema | None = None) -> Plan:
        result = result_schema(
            self._result, columns, include_meta_columns=True, owner="scan", fields=fields
        )
        return self._query.checked_plan(result, self._predicate)

    def _batches(self, threads: int | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows up to the limit, where reading stops."""
        tasks = [] if self._limit == 0 else self.plan()
        for rows in self._tables(tasks, threads, limit=self._limit):
            yield from rows.select(self._result.names).to_batches()

    def _tables(
        self, tasks: Sequence[ReadTask], threads: int | None = None, limit: int | None = None
    ) -> Iterator[pa.Table]:
        more = 0
        if threads is None and self._limit is None and not self._query.is_ordered:
            task_bytes = self._query.planner.options.task_bytes
            threads, more = threads_for(tasks, task_bytes, is_local=self.storage.is_local)
        at_once = threads or 1
        return read_tasks(tasks, self.storage, self._store, threads=at_once, more=more, limit=limit)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Stream the answer to any library that reads Arrow streams."""
        return engine_stream(self._result, self._batches()).__arrow_c_stream__(requested_schema)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            return look_elsewhere(self, name, OF_SCAN)

    def __str__(self) -> str:
        """Return the query in a few words, e.g. ``snapshot of /table``."""
        return self._query.title

    def __repr__(self) -> str:
        return f"Scan({self})"

    def _repr_html_(self) -> str:
        """Show the columns and, if planning needs no request, the plan."""
        from hudi_pyspark.html_table import html_table  # noqa: PLC0415  (only notebooks need it)

        columns = ", ".join(f"{field.name} {field.type}" for field in self._result)
        facts = {**self._facts(), "columns": columns} if self.storage.is_local else {}
        return html_table(f"Scan of {self}", [*({"columns": columns} | facts).items()])


def scan_table(
    metadata: MetadataTable,
    options: ReadOptions,
    mergers: Mergers,
    outcomes: OutcomesInMemory,
    **others: Any,  # noqa: ANN401  (of `choose_scan`)
) -> Scan:
    """Choose what to read of a table, and where its files are found.

    Args:
        metadata: the metadata table of the table; there may be none.
        options: of the read.
        mergers: merge functions of users, by payload class.
        outcomes: of earlier merges of the table.
        others: as for `choose_scan`.

    Raises:
        HudiError: as `choose_scan`.
    """
    view = metadata.table
    indexes = None
    if options.use_metadata_table and metadata.lists_files:
        listing = MetadataListing(view, metadata)
        view = view.with_listing(listing)
        indexes = listing.indexed_by
    choose = partial(choose_scan, view, options, mergers, metadata=indexes, **others)
    outcomes.bound(options.merge_cache_bytes)
    return replace(retry_on_corruption(view.storage, choose), _store=outcomes)


def choose_scan(
    view: TableView,
    options: ReadOptions,
    mergers: Mergers,
    *,
    limit: int | None = None,
    spark_options: Mapping[str, object] | None = None,
    metadata: Callable[[], MetadataTable] | None = None,
) -> Scan:
    """Choose what to read of a table. Files are listed when the scan's tasks are first needed.

    Args:
        view: the table, with the listing that finds its files.
        options: of the read.
        mergers: merge functions of users, by payload class.
        limit: maximum number of rows; None for all.
        spark_options: options with which Spark does the same read; None if it cannot.
        metadata: returns the metadata table if the view's files come from it; None to ask no index.

    Raises:
        InvalidOptionError: the limit is not a number of rows, or an option contradicts the table.
        HudiError: as from `HudiTable.scan`.
    """
    if limit is not None:
        _check_limit(limit)
    query = resolve_query(view, options, mergers, metadata)
    answer = query.schema
    result = result_schema(
        answer, options.columns, include_meta_columns=options.include_meta_columns
    )
    predicate = parse_filter(options.filter, answer) if options.filter else None
    query = query.of_filter(predicate)
    if options.filter:  # under one name, to which `Scan.filter` adds
        spark_options = _with_option(spark_options, "filter", options.filter)
    return Scan(query, result, predicate, limit, spark_options)


def _with_option(
    options: Mapping[str, object] | None, name: str, value: object
) -> Mapping[str, object] | None:
    """Return the options of a read in Spark with another value of one, in any case."""
    if options is None:
        return None
    others = {given: v for given, v in options.items() if given.lower() != name}
    return {**others, name: value}


def _check_limit(limit: int) -> None:
    if not (hasattr(limit, "__index__") and limit >= 0):
        raise InvalidOptionError(f"limit is {limit!r}; give a number of rows from 0 on")
