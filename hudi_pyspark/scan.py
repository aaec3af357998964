"""A read that has been chosen: what it will touch, and its rows."""

from __future__ import annotations

import os
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_pyspark.errors import InvalidOptionError, UnsupportedQueryError
from hudi_pyspark.query.cdc import cdc_schema, check_changes, plan_changes
from hudi_pyspark.query.columns.schema_on_read import SchemaOnRead
from hudi_pyspark.query.explain import Explained, explain, metadata_gap
from hudi_pyspark.query.filter.predicate import conjunction, conjuncts
from hudi_pyspark.query.filter.sql_text import parse_filter
from hudi_pyspark.query.incremental import (
    CommitRange,
    last_commit,
    range_slices,
    resolve_range,
    whole_slices,
)
from hudi_pyspark.query.instants import local_now, resolve_as_of
from hudi_pyspark.query.options import QueryType, ReadOptions
from hudi_pyspark.query.packing import pack
from hudi_pyspark.query.parallel import read_side_by_side
from hudi_pyspark.query.plan import PlanContext, plan
from hudi_pyspark.query.projection import result_schema, scan_schema
from hudi_pyspark.short_name import SHORT_NAME
from hudi_pyspark.table.bootstrap import BootstrapSources, is_skeleton, load_bootstrap_sources
from hudi_pyspark.table.merge_mode import resolve_merge_rule
from hudi_pyspark.table.schema import column_defaults
from hudi_pyspark.table.schema_history import internal_schema_versions, latest_internal_schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd
    import polars as pl
    from duckdb import DuckDBPyConnection
    from pyspark.sql import DataFrame, SparkSession

    from hudi_pyspark.query.cdc import CdcTask
    from hudi_pyspark.query.filter.predicate import Predicate
    from hudi_pyspark.query.merge.custom_merger import PayloadMerger
    from hudi_pyspark.query.plan import ScanTask
    from hudi_pyspark.query.task import ReadTask
    from hudi_pyspark.storage import Storage
    from hudi_pyspark.table.file_group import FileSlice
    from hudi_pyspark.table.merge_mode import MergeRule
    from hudi_pyspark.table.view import TableView

_MOST_THREADS = 4


class Scan:
    """A read of a table as of one instant; files are listed when its tasks are first asked for.

    Build it with `HudiTable.scan`.
    """

    def __init__(
        self,
        view: TableView,
        options: ReadOptions,
        mergers: Mapping[str, PayloadMerger],
        *,
        limit: int | None = None,
        spark_options: Mapping[str, str] | None = None,
    ) -> None:
        if limit is not None and limit < 0:
            raise InvalidOptionError(f"limit is {limit}; give a number of rows from 0 on")
        self._limit = limit
        self._spark_options = spark_options
        self._view = view
        self._mergers = mergers
        self._options = options
        self._as_of = (
            resolve_as_of(options.as_of, view, local_now()) if options.as_of is not None else None
        )
        if options.incremental is not None and options.incremental.is_cdc:
            check_changes(view, options.incremental)
        self._range = (
            resolve_range(view, options.incremental)
            if options.incremental is not None and not options.incremental.is_cdc
            else None
        )
        self._table_schema = scan_schema(
            view, self._schema_instant(), values_from_path=options.partition_values_from_path
        )
        answer = self._answer_schema()
        self._result = result_schema(
            answer, options.columns, include_meta_columns=options.include_meta_columns
        )
        self._predicate = parse_filter(options.filter, answer) if options.filter else None

    @property
    def schema(self) -> pa.Schema:
        """Columns of the answer."""
        return self._result

    @property
    def storage(self) -> Storage:
        """Where the tasks read from; picklable."""
        return self._view.storage

    def where(self, predicate: Predicate) -> Scan:
        """The same scan of fewer rows: those for which the predicate is true, too.

        Args:
            predicate: of columns that the answer may have.
        """
        narrowed = copy(self)
        narrowed._predicate = conjunction((*conjuncts(self._predicate), predicate))  # noqa: SLF001
        narrowed._spark_options = None  # noqa: SLF001  (they do not tell of the predicate)
        return narrowed

    def plan(self, columns: Sequence[str] | None = None) -> list[ReadTask]:
        """What there is to read, one task per file slice.

        Args:
            columns: names of columns of the answer, to read only those.

        Raises:
            MissingFileError: a committed file is not on the storage.
            UnsupportedTableError: a slice that cannot be read correctly.
        """
        names = self._result.names if columns is None else columns
        if self._is_cdc:
            return [replace(task, predicate=self._predicate) for task in self._plan_changes()]
        commit_range, slices = self._chosen
        result = pa.schema([self._result.field(name) for name in names])
        until = self._until(commit_range)
        return list(self._plan_slices(slices, result, until, commit_range, self._predicate))

    def plan_groups(self, columns: Sequence[str] | None = None) -> list[tuple[ReadTask, ...]]:
        """The same in groups of about equal cost (option ``task_bytes``), for those who read them.

        Small slices share a group; a large base file without logs is read by several.
        """
        return pack(self.plan(columns), self._options.task_bytes)

    def plan_slices(self, slices: list[FileSlice]) -> list[ScanTask]:
        """What there is to read of slices that the caller chose, whichever the scan would choose.

        Args:
            slices: of the table, old ones too.
        """
        return self._plan_slices(slices, self._result, self._view.last_instant)

    def _plan_slices(
        self,
        slices: list[FileSlice],
        result: pa.Schema,
        until: str,
        commit_range: CommitRange | None = None,
        predicate: Predicate | None = None,
        *,
        from_files: bool = False,
    ) -> list[ScanTask]:
        return plan(
            self._with_bootstrap_sources(slices),
            self._context,
            result=result,
            until=until,
            commit_range=commit_range,
            predicate=predicate,
            whole_slices=self._whole_slices(slices, commit_range),
            from_files=from_files,
        )

    @cached_property
    def _context(self) -> PlanContext:
        return PlanContext(
            config=self._view.config,
            table_schema=self._table_schema,
            rule=self._rule,
            committed=self._view.committed,
            options=self._options,
            mergers=self._mergers,
            schema_on_read=self._schema_on_read,
        )

    def _whole_slices(
        self, slices: list[FileSlice], commit_range: CommitRange | None
    ) -> Mapping[tuple[str, str], FileSlice]:
        """The slices of which a range's log files may be only the top.

        Only tables from version 8 on have partial updates in their log files.
        """
        config = self._view.config
        if commit_range is None or not config.is_merge_on_read or config.layout == 1:
            return {}
        with_logs = [file_slice for file_slice in slices if file_slice.log_files]
        whole = whole_slices(self._view, commit_range, with_logs)
        return {(s.partition_path, s.file_id): s for s in whole}

    def _with_bootstrap_sources(self, slices: list[FileSlice]) -> list[FileSlice]:
        if not any(is_skeleton(s, self._view.config) for s in slices):
            return slices
        return self._bootstrap_sources.attach(slices)

    @cached_property
    def _bootstrap_sources(self) -> BootstrapSources:
        view = self._view
        return load_bootstrap_sources(view.storage, view.config, self._options.bootstrap_base_path)

    def _plan_changes(self) -> list[CdcTask]:
        incremental = self._options.incremental
        assert incremental is not None  # only such queries ask for changes
        return plan_changes(
            self._view,
            incremental,
            self._table_schema,
            lambda slices, until: self._plan_slices(
                slices, self._table_schema, until, from_files=True
            ),
        )

    @property
    def _is_cdc(self) -> bool:
        return self._options.incremental is not None and self._options.incremental.is_cdc

    def _answer_schema(self) -> pa.Schema:
        """All columns that the answer may have."""
        if self._options.incremental is None or not self._is_cdc:
            return self._table_schema
        return cdc_schema(self._table_schema, as_struct=self._options.incremental.cdc_as_struct)

    def to_batches(self, threads: int | None = None) -> pa.RecordBatchReader:
        """Stream the answer; rows come in no promised order, but changes commit by commit.

        Planning starts with the first batch, and reading stops wherever the reader is left.

        Args:
            threads: file slices that are read at a time, each of which takes memory; by default as
                many as there are processors, but four at most; one for changes, and where there is
                a limit.
        """
        return pa.RecordBatchReader.from_batches(self._result, self._batches(threads))

    def to_arrow_batch_reader(self) -> pa.RecordBatchReader:
        """`to_batches` by the name that it has in PyIceberg."""
        return self.to_batches()

    def to_arrow(self) -> pa.Table:
        """The whole answer in memory."""
        return pa.Table.from_batches(self._batches(), schema=self._result)

    def to_pandas(self, **options: object) -> pd.DataFrame:
        """The whole answer as a pandas DataFrame (extra ``pandas``).

        Args:
            options: of `pyarrow.Table.to_pandas`, e.g. ``types_mapper``.
        """
        return self.to_arrow().to_pandas(**options)

    def to_polars(self) -> pl.DataFrame:
        """The whole answer as a polars DataFrame (extra ``polars``)."""
        import polars  # noqa: PLC0415  (an optional extra, loaded when asked for)

        frame = polars.from_arrow(self.to_arrow())
        assert isinstance(frame, polars.DataFrame)  # a table never gives a Series
        return frame

    def to_duckdb(
        self, table_name: str, connection: DuckDBPyConnection | None = None
    ) -> DuckDBPyConnection:
        """Register the whole answer as a table of DuckDB (extra ``duckdb``).

        Args:
            table_name: of the table in DuckDB.
            connection: to register it with; by default a new one in memory.

        Returns:
            The connection.
        """
        import duckdb  # noqa: PLC0415  (an optional extra, loaded when asked for)

        chosen = duckdb.connect(":memory:") if connection is None else connection
        chosen.register(table_name, self.to_arrow())
        return chosen

    def to_spark(self, spark: SparkSession) -> DataFrame:
        """The same read as a DataFrame, which Spark distributes.

        Spark opens the table anew, so that commits since then are seen; ``as_of`` pins a state.
        Spark Connect must know the source already: `hudi_pyspark.register`.

        Raises:
            UnsupportedQueryError: the table was opened with a file system object, or the scan was
                narrowed by `where`.
        """
        if self._spark_options is None:
            raise UnsupportedQueryError(
                "Spark cannot be handed a file system object or a predicate of where(): open the "
                "table with storage_options, and give the filter as text"
            )
        frame = spark.read.format(SHORT_NAME).options(**self._spark_options).load()
        return frame if self._limit is None else frame.limit(self._limit)

    def explain(self) -> str:
        """What the scan will read, and why, as text; files are listed for it, none is opened."""
        groups = self.plan_groups()
        commit_range, slices = (None, []) if self._is_cdc else self._chosen
        view = self._view
        return explain(
            Explained(
                place=view.storage.describe(""),
                config=view.config,
                query_type=self._options.query_type.value,
                as_of=self._as_of or "",
                last_instant=view.last_instant,
                commit_range=commit_range,
                groups=groups,
                is_cdc=self._is_cdc,
                slices=slices,
                columns=self._result.names,
                rule=self._rule,
                by_column_id=self._schema_on_read is not None,
                skip_merge=self._options.skip_merge,
                predicate=self._predicate,
                metadata_gap="" if self._as_of or commit_range else metadata_gap(view, slices),
            )
        )

    def count(self) -> int:
        """Number of rows; decodes only the columns that merging needs."""
        rows = 0
        for table in self._tables(self.plan(columns=())):
            rows += table.num_rows
            if self._limit is not None and rows >= self._limit:
                return self._limit
        return rows

    def _batches(self, threads: int | None = None) -> Iterator[pa.RecordBatch]:
        """The rows up to the limit; nothing is read past it."""
        left = self._limit
        if left == 0:
            return
        for table in self._tables(self.plan(), threads):
            yield from table.select(self._result.names).slice(0, left).to_batches()
            if left is not None:
                left -= table.num_rows
                if left <= 0:
                    return

    def _tables(self, tasks: Sequence[ReadTask], threads: int | None = None) -> Iterator[pa.Table]:
        is_ordered = self._limit is not None or self._is_cdc  # changes come commit by commit
        usual = 1 if is_ordered else min(os.cpu_count() or 1, _MOST_THREADS)
        return read_side_by_side(tasks, self.storage, threads or usual)

    def __repr__(self) -> str:
        place = self._view.storage.describe("")
        when = f" as of {self._as_of}" if self._as_of else ""
        return f"Scan({self._options.query_type.value} of {place}{when})"

    def _schema_instant(self) -> str | None:
        """Instant whose schema the answer has; None for the latest."""
        if self._range is None or self._options.incremental is None:
            return self._as_of
        use_end = self._options.incremental.use_end_schema and self._range.commits
        return self._range.commits[-1] if use_end else None

    def _until(self, commit_range: CommitRange | None) -> str:
        """Newest instant whose log blocks count."""
        if commit_range is not None and commit_range.commits and not commit_range.full_scan:
            return last_commit(self._view, commit_range)
        return self._as_of if self._as_of is not None else self._view.last_instant

    @cached_property
    def _rule(self) -> MergeRule:
        """How records are merged; resolved once, since changes are planned slice by slice."""
        options = self._options
        return resolve_merge_rule(
            self._view.config,
            options.delete_field,
            options.delete_marker,
            column_defaults(self._view, self._schema_instant()),
        )

    @cached_property
    def _schema_on_read(self) -> SchemaOnRead | None:
        """Columns matched by id, on a table that was changed so, unless the caller says no."""
        target = latest_internal_schema(self._view, self._schema_instant())
        if target is None or self._options.schema_on_read is False:
            return None
        return SchemaOnRead(target, internal_schema_versions(self._view))

    @cached_property
    def _chosen(self) -> tuple[CommitRange | None, list[FileSlice]]:
        """The slices to read, and for an incremental query its commits."""
        if self._range is not None and self._options.incremental is not None:
            return range_slices(self._view, self._range, self._options.incremental)
        read_optimized = self._options.query_type is QueryType.READ_OPTIMIZED
        return None, self._view.file_slices(self._as_of, read_optimized=read_optimized)
