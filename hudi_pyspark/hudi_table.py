"""A table and its scans: what a caller holds, with or without Spark."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_pyspark.read.custom_merger import registered_payloads
from hudi_pyspark.read.options import QueryType, ReadOptions, local_now, resolve_as_of
from hudi_pyspark.read.plan import plan
from hudi_pyspark.read.projection import result_schema, scan_schema
from hudi_pyspark.read.scan import read
from hudi_pyspark.read.schema_on_read import SchemaOnRead
from hudi_pyspark.storage import ArrowStorage
from hudi_pyspark.table.merge_mode import resolve_merge_rule
from hudi_pyspark.table.schema import column_defaults, resolve_schema
from hudi_pyspark.table.schema_history import internal_schema_versions, latest_internal_schema
from hudi_pyspark.table.view import open_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd
    import polars as pl

    from hudi_pyspark.read.custom_merger import PayloadMerger
    from hudi_pyspark.read.plan import ScanTask
    from hudi_pyspark.storage import Storage
    from hudi_pyspark.table.config import TableConfig
    from hudi_pyspark.table.file_group import FileSlice
    from hudi_pyspark.table.view import TableView


class HudiTable:
    """An Apache Hudi table at a base path.

    Opening reads the table's properties and one listing of its timeline; no data file is touched.
    The table stays as it was then: open it again to see later commits.

    Args:
        path: base path, the folder that holds ``.hoodie``: a local path or a URI of any storage
            that pyarrow knows (``s3://``, ``gs://``, ``hdfs://``, ``abfs://``, ``file://``).

    Raises:
        TableNotFoundError: there is no table at the path.
        UnsupportedTableError: the table's version is unknown.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._storage: Storage = ArrowStorage.parse(path)
        self._view: TableView = open_table(self._storage)

    @property
    def config(self) -> TableConfig:
        """The table's properties."""
        return self._view.config

    @property
    def schema(self) -> pa.Schema:
        """The latest schema: meta columns, then the table's columns."""
        return self._latest_schema

    @property
    def last_instant(self) -> str:
        """Requested time of the last completed commit; "" if there is none."""
        commits = self._view.commits
        return commits[-1].requested_time if commits else ""

    def scan(
        self,
        columns: Sequence[str] | None = None,
        *,
        as_of: str | None = None,
        query_type: str = "snapshot",
        **options: object,
    ) -> Scan:
        """Choose what to read; nothing is read yet.

        Args:
            columns: names of the columns to read, in this order; all by default.
            as_of: instant of a time-travel query, inclusive: ``yyyyMMddHHmmssSSS``,
                ``yyyyMMddHHmmss``, ``yyyy-MM-dd HH:mm:ss[.SSS]`` or ``yyyy-MM-dd``.
            query_type: ``snapshot`` or ``read_optimized``.
            options: any other read option by its alias, e.g. ``batch_rows=10_000``.

        Raises:
            InvalidOptionError: an option or a column that does not exist.
            TimeTravelError: the state at that instant cannot be answered.
        """
        given = {name: _option_text(value) for name, value in options.items()}
        given["query_type"] = query_type
        if as_of is not None:
            given["as_of"] = as_of
        if columns is not None:
            given["columns"] = ",".join(columns)
        return self.scan_with(given)

    def scan_with(
        self, options: Mapping[str, str], mergers: Mapping[str, PayloadMerger] | None = None
    ) -> Scan:
        """The same with read options as Spark hands them over: text, by Hudi's keys or aliases.

        Args:
            options: read options.
            mergers: users' mergers by payload class; by default those of `register_payload`.
        """
        known = registered_payloads() if mergers is None else mergers
        return Scan(self._view, ReadOptions.parse(options), known)

    def __repr__(self) -> str:
        config = self.config
        return (
            f"HudiTable({config.name!r} at {self.path!r}: {config.table_type.value}, "
            f"table version {config.version}, last instant {self.last_instant or 'none'})"
        )

    @cached_property
    def _latest_schema(self) -> pa.Schema:
        return resolve_schema(self._view)


class Scan:
    """A read of a table as of one instant; files are listed when its tasks are first asked for.

    Build it with `HudiTable.scan`.
    """

    def __init__(
        self, view: TableView, options: ReadOptions, mergers: Mapping[str, PayloadMerger]
    ) -> None:
        self._view = view
        self._mergers = mergers
        self._options = options
        self._as_of = (
            resolve_as_of(options.as_of, view, local_now()) if options.as_of is not None else None
        )
        self._table_schema = scan_schema(
            view, self._as_of, values_from_path=options.partition_values_from_path
        )
        self._result = result_schema(
            self._table_schema,
            options.columns,
            include_meta_columns=options.include_meta_columns,
        )

    @property
    def schema(self) -> pa.Schema:
        """Columns of the answer."""
        return self._result

    @property
    def storage(self) -> Storage:
        """Where the tasks read from; picklable."""
        return self._view.storage

    def plan(self, columns: Sequence[str] | None = None) -> list[ScanTask]:
        """What there is to read, one task per file slice.

        Args:
            columns: names of columns of the answer, to read only those.

        Raises:
            MissingFileError: a committed file is not on the storage.
            UnsupportedTableError: a slice that cannot be read correctly.
        """
        view, options = self._view, self._options
        names = self._result.names if columns is None else columns
        return plan(
            self._file_slices,
            config=view.config,
            table_schema=self._table_schema,
            result=pa.schema([self._result.field(name) for name in names]),
            rule=resolve_merge_rule(
                view.config,
                options.delete_field,
                options.delete_marker,
                column_defaults(view, self._as_of),
            ),
            committed=view.committed,
            until=self._as_of if self._as_of is not None else view.last_instant,
            options=options,
            mergers=self._mergers,
            schema_on_read=self._schema_on_read,
        )

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """Stream the answer; rows come in no promised order."""
        for task in self.plan():
            for table in read(task, self.storage):
                yield from table.to_batches()

    def to_arrow(self) -> pa.Table:
        """The whole answer in memory."""
        return pa.Table.from_batches(self.to_batches(), schema=self._result)

    def to_pandas(self) -> pd.DataFrame:
        """The whole answer as a pandas DataFrame (extra ``pandas``)."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """The whole answer as a polars DataFrame (extra ``polars``)."""
        import polars  # noqa: PLC0415  (an optional extra, loaded when asked for)

        frame = polars.from_arrow(self.to_arrow())
        assert isinstance(frame, polars.DataFrame)  # a table never gives a Series
        return frame

    def count(self) -> int:
        """Number of rows; decodes only the columns that merging needs."""
        tasks = self.plan(columns=())
        return sum(table.num_rows for task in tasks for table in read(task, self.storage))

    def __repr__(self) -> str:
        place = self._view.storage.describe("")
        when = f" as of {self._as_of}" if self._as_of else ""
        return f"Scan({self._options.query_type.value} of {place}{when})"

    @cached_property
    def _schema_on_read(self) -> SchemaOnRead | None:
        """Columns matched by id, on a table that was changed so, unless the caller says no."""
        target = latest_internal_schema(self._view, self._as_of)
        if target is None or self._options.schema_on_read is False:
            return None
        return SchemaOnRead(target, internal_schema_versions(self._view))

    @cached_property
    def _file_slices(self) -> list[FileSlice]:
        read_optimized = self._options.query_type is QueryType.READ_OPTIMIZED
        return self._view.file_slices(self._as_of, read_optimized=read_optimized)


def _option_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
