"""`HudiTable`: open a table, and read or inspect it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hudi_pyspark.cached_property import cached_property
from hudi_pyspark.custom_mergers import Mergers, registered_payloads
from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.extras import needs_extra
from hudi_pyspark.filter.requested_keys import has_record_key
from hudi_pyspark.metadata_table.table import MetadataTable
from hudi_pyspark.names_elsewhere import OF_TABLE, look_elsewhere
from hudi_pyspark.options.read_options import GivenOptions, ReadOptions, TableOptions
from hudi_pyspark.reading.merge.outcome import outcomes_of_table
from hudi_pyspark.scan import Scan, scan_table
from hudi_pyspark.storage import ArrowStorage, Storage, open_storage
from hudi_pyspark.storage.retries import retry_on_corruption
from hudi_pyspark.table.schema import resolve_schema
from hudi_pyspark.table.view import TableView, open_table

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow.compute as pc
    from duckdb import DuckDBPyConnection

    from hudi_pyspark.catalogs.entry_columns import EntryColumns
    from hudi_pyspark.doctor.finding import Findings
    from hudi_pyspark.frames.dataset import HudiDataset
    from hudi_pyspark.inspection import Inspection
    from hudi_pyspark.inspection.description import Description
    from hudi_pyspark.report.report import Report
    from hudi_pyspark.table.config import TableConfig


# Inspection modules are imported lazily: each process that Spark starts for planning loads this
# module.
class HudiTable:
    """An Apache Hudi table at a base path.

    Opening reads the table's properties and lists its timeline, but opens no data file. The object
    shows the table as it was then; `refresh` returns the table with later commits. Objects of one
    path share what they have merged, as long as one of them is in use.

    Example, which the examples of the methods continue:
        >>> import hudi_pyspark
        >>> hudi_pyspark.unpack_demo(".")
        >>> table = hudi_pyspark.HudiTable("orders")
        >>> table.scan(["id", "qty"], filter="region = 'emea'").count()
        15

    Args:
        path: base path, the folder that holds ``.hoodie``: a local path or a URI of any storage
            that pyarrow or fsspec knows (``s3://``, ``gs://``, ``abfs://``, ``webhdfs://`` …).
        storage_options: settings of that storage (keys, region, endpoint …) by the names of
            pyarrow, Hadoop (``fs.s3a.access.key``), PyIceberg (``s3.access-key-id``), delta-rs and
            polars (``aws_access_key_id``).
            Settings that are not among these options come from the environment, from variables such
            as ``HOODIE_ENV_fs_DOT_s3a_DOT_access_DOT_key``.
        filesystem: a file system of pyarrow or fsspec in which the path lies, instead of
            ``storage_options``.

    Raises:
        InvalidOptionError: the storage has no such setting.
        TableNotFoundError: there is no table at the path.
        UnsupportedTableError: the table's version or a property is not supported.
        CorruptTableError: the table's properties or its timeline cannot be read.
        StorageError: the storage failed, or refused the credentials.
    """

    def __init__(
        self,
        path: str | bytes | os.PathLike[str],
        *,
        storage_options: Mapping[str, str | bool | float] | None = None,
        filesystem: object = None,
    ) -> None:
        path = os.fsdecode(path)
        if filesystem is not None:
            if storage_options:
                raise InvalidOptionError("give storage_options or a filesystem, not both")
            self._open(path, ArrowStorage.on(filesystem, path), None)
            return
        storage = open_storage(path, storage_options)
        # The driver may have another working folder, to which a relative path would refer.
        place = path if "://" in path else storage.describe("")
        self._open(path, storage, TableOptions(place, storage=dict(storage_options or {})))

    def _open(self, path: str, storage: Storage, opened_by: TableOptions | None) -> None:
        self.path = path
        self._opened_by = opened_by  # options with which Spark opens the table; None if none do
        self._defaults: Mapping[str, object] = {}  # read options
        # Of the entry by which a catalog named the table, for SQL by name; None without a catalog.
        self._entry_columns: EntryColumns | None = None
        self._opened_in = storage
        self._outcomes = outcomes_of_table(storage.describe(""), storage.identity)
        self._view: TableView = open_table(storage)
        self.storage: Storage = self._view.storage
        """The storage of the table; picklable."""

    @classmethod
    def from_catalog(
        cls,
        name: str,
        catalog: Mapping[str, str],
        *,
        storage_options: Mapping[str, str | bool | float] | None = None,
    ) -> HudiTable:
        """Open a table by its name in a catalog.

        Example:
            ``HudiTable.from_catalog("sales.orders", {"type": "glue", "region": "eu-north-1"})``

        If the catalog vends credentials, they are used, unless the storage options name a
        ``credentials_provider``. A table that Apache Hudi registered as ``…_ro`` is read as
        ``read_optimized`` by default.

        Args:
            name: ``database.table`` (Hive Metastore, Glue) or ``catalog.schema.table`` (Unity
                Catalog, Polaris).
            catalog: the settings ``type`` (``hive``, ``glue``, ``unity`` or ``polaris``), ``uri``,
                ``token``, ``credential`` and ``region``. Settings that are missing come from the
                environment, from variables such as ``HOODIE_ENV_catalog_DOT_token``.
            storage_options: settings of the storage that the catalog does not vend.

        Raises:
            InvalidOptionError: a setting is missing or unknown, or the name has another number of
                parts.
            CatalogError: the catalog fails, or does not have the table.
            ImportError: the extra of the catalog is not installed.
            TableNotFoundError: there is no table at the path that the catalog names.
            HudiError: as from the constructor.
        """
        from hudi_pyspark.catalogs import find_in_catalog  # noqa: PLC0415  (few need it)

        catalog_table, storage = find_in_catalog(name, catalog, storage_options)
        table = cls.__new__(cls)
        location = catalog_table.location
        given = dict(storage_options or {})
        options = TableOptions(table=name, storage=given, catalog=dict(catalog))
        table._open(location, storage, options)  # noqa: SLF001  (its own)
        table._entry_columns = catalog_table.columns
        if catalog_table.is_read_optimized:
            table._defaults = {"query_type": "read_optimized"}  # noqa: SLF001
        return table

    @classmethod
    def _from_options(cls, options: Mapping[str, str]) -> HudiTable:
        """Open the table that options of Spark name, by its path or by its name in a catalog.

        Raises:
            InvalidOptionError: the options name a path and a table, or an option is invalid.
            CatalogError: the catalog failed, or does not have the table.
            TableNotFoundError: there is no table at the path.
            HudiError: as from the constructor and `from_catalog`.
        """
        parsed = TableOptions.parse(options)
        if not parsed.table:
            return cls(parsed.path, storage_options=parsed.storage)
        return cls.from_catalog(parsed.table, parsed.catalog, storage_options=parsed.storage)

    def is_current(self) -> bool:
        """List the timeline again, and decide whether it is still the same as in this object.

        Raises:
            MissingFileError: a writer archives or rolls back faster than files can be listed.
        """
        return self._view.is_current()

    def refresh(self) -> HudiTable:
        """Return the table as it is now: this object if nothing has changed, otherwise a new one.

        Example:
            >>> table = table.refresh()

        The new object knows what this one has merged, so its first query merges only log records
        that were written in between. A change of the table's properties alone goes unnoticed.

        Raises:
            HudiError: as from the constructor.
        """
        if self.is_current():
            return self
        table = type(self).__new__(type(self))
        table._open(self.path, self._opened_in, self._opened_by)  # noqa: SLF001  (its own)
        table._defaults = self._defaults  # noqa: SLF001  (its own)
        table._entry_columns = self._entry_columns
        table._outcomes = self._outcomes  # noqa: SLF001  (its own)
        return table

    @property
    def config(self) -> TableConfig:
        """The table's properties."""
        return self._view.config

    @cached_property
    def schema(self) -> pa.Schema:
        """The latest schema: meta columns, then the table's columns.

        Raises:
            UnsupportedTableError: the table has no schema yet, or a type that cannot be read.
            CorruptTableError: a commit, or its schema, cannot be decoded.
        """
        return retry_on_corruption(self.storage, partial(resolve_schema, self._view))

    @property
    def columns(self) -> list[str]:
        """The names of the columns of `schema`.

        Raises:
            HudiError: as `schema`.
        """
        return list(self.schema.names)

    @property
    def last_instant(self) -> str:
        """Requested time of the last completed commit; "" if there is none."""
        commits = self._view.history.commits
        return commits[-1].requested_time if commits else ""

    def scan(
        self,
        columns: Sequence[str] | None = None,
        *,
        filter: str | pc.Expression | Sequence[object] | None = None,  # noqa: A002  (the option)
        as_of: str | date | None = None,
        begin: str | date | None = None,
        end: str | date | None = None,
        query_type: str | None = None,
        limit: int | None = None,
        **options: object,
    ) -> Scan:
        """Choose what to read. Nothing is read yet.

        Example:
            >>> table.scan(["id", "qty"], filter="region = 'emea' AND qty > 80", limit=10).count()
            2
            >>> table.scan(begin="20261121062600879").count()  # rows that were written since
            7

        Args:
            columns: names of the columns to read, in this order and in any case; all by default.
            filter: rows to read, as in a WHERE clause, e.g. ``"city = 'sf' AND fare > 10"``; all by
                default. It may name columns that are not read. Columns are compared with literals
                (``= <=> != < <= > >=``, ``IN``, ``BETWEEN``, ``LIKE``, ``IS NULL``) by Spark's
                rules with ``spark.sql.ansi.enabled``, joined by ``AND``, ``OR`` and ``NOT``. Dates
                are ``'2024-01-31'``, times ``'2024-01-31 12:00:00+00:00'``, without the zone if
                the column has no zone. A filter may also be an expression of pyarrow, e.g.
                ``pc.field("fare") > 10``, or tuples as in pyarrow and delta-rs,
                ``[("city", "=", "sf")]``: both have pyarrow's meaning of nulls and NaN.
            as_of: instant of a time-travel query, inclusive: ``yyyyMMddHHmmssSSS``,
                ``yyyyMMddHHmmss``, ``yyyy-MM-dd HH:mm:ss[.SSS]`` or ``yyyy-MM-dd``; or a date or
                datetime, with a zone if the timeline is in UTC.
            begin: first instant of an incremental query, exclusive, in the forms of ``as_of``, or
                ``earliest``. The answer has the rows that were written after it, as they are at the
                end.
            end: last instant of an incremental query, inclusive; the latest by default. It needs
                ``begin``.
            query_type: ``snapshot`` (default), ``read_optimized`` or ``incremental`` (default
                with ``begin`` or ``end``).
            limit: maximum number of rows, whichever come first. Reading stops there.
            options: any other read option by its alias, e.g. ``batch_rows=10_000``.

        Raises:
            InvalidOptionError: an option or a column does not exist, the limit is not a number of
                rows, or the filter is not a condition or compares what cannot be compared.
            TimeTravelError: the state at ``as_of`` is not known.
            HudiError: as from `scan`.
        """
        text = filter if isinstance(filter, str) else None
        named = {"columns": columns, "filter": text, "as_of": as_of, "begin": begin, "end": end}
        arguments = {**named, "query_type": query_type}.items()
        options |= {name: value for name, value in arguments if value is not None}
        scan = self._scan_with(options, limit=limit)
        return scan if filter is text else scan.filter(filter)

    def dataset(self, columns: Sequence[str] | None = None, **options: Any) -> HudiDataset:  # noqa: ANN401  (of `scan`)
        """Return a dataset of pyarrow, from which engines read only what a query needs.

        Example:
            >>> table.dataset(["id", "qty"]).sort_by("id").head(1).to_pylist()
            [{'id': 'k0000', 'qty': 89}]

        Args:
            columns: names of the columns of the dataset; all by default.
            options: other options of `scan`, e.g. ``as_of``, ``begin`` or ``filter``.

        Raises:
            HudiError: as from `scan`.
        """
        return self.scan(columns, **options).to_dataset()

    def to_arrow(self) -> pa.Table:
        """Return the latest rows in memory; see `Scan.to_arrow`."""
        return self.scan().to_arrow()

    def to_pandas(self, **options: object) -> pd.DataFrame:
        """Return the latest rows as a pandas DataFrame; see `Scan.to_pandas`."""
        return self.scan().to_pandas(**options)

    def to_polars(self) -> pl.DataFrame:
        """Return the latest rows as a polars DataFrame; see `Scan.to_polars`."""
        return self.scan().to_polars()

    def to_duckdb(
        self,
        table_name: str,
        connection: DuckDBPyConnection | None = None,
        *,
        merge_first: bool = False,
    ) -> DuckDBPyConnection:
        """Register the latest rows as a view of DuckDB; see `Scan.to_duckdb`."""
        return self.scan().to_duckdb(table_name, connection, merge_first=merge_first)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Stream all rows to any library that reads Arrow streams."""
        return self.scan().__arrow_c_stream__(requested_schema)

    def lookup(
        self,
        keys: str | int | Iterable[str | int],
        columns: Sequence[str] | None = None,
        *,
        as_of: str | date | None = None,
        unique_keys: bool = False,
        trust_indexes: str | bool = False,
    ) -> pa.Table:
        """Return the rows with the given record keys, in any order.

        Statistics, Bloom filters and key ranges of the files decide what is read. The record index
        knows one place per key and may lack a key, so it decides only with ``unique_keys`` or
        ``trust_indexes``.

        Example:
            >>> table.lookup("k0035", ["id", "qty"]).to_pylist()
            [{'id': 'k0035', 'qty': 49}]

        Args:
            keys: one key or several, as in ``_hoodie_record_key``. If the table has a single key
                field, its value suffices.
            columns: names of the columns to read, in this order; all by default.
            as_of: instant, inclusive, in the forms of `scan`; the latest state by default.
            unique_keys: you promise that no two rows of the table have the same record key.
            trust_indexes: names of indexes, as text; you promise that they know all rows. With
                ``record`` the record index also decides about keys that it lacks.

        Raises:
            UnsupportedQueryError: the table's files do not contain record keys.
            InvalidOptionError: there is no key, a key is neither text nor a whole number, or a
                column or an index does not exist.
            TimeTravelError: the state at that instant is not known.
        """
        has_key = has_record_key(keys, self.config)
        scan = self.scan(columns, as_of=as_of, unique_keys=unique_keys, trust_indexes=trust_indexes)
        return scan._where(has_key).to_arrow()

    def history(self, key: str | int) -> pa.Table:
        """Return the history of a record, oldest first: one row per commit that changed it.

        Example:
            >>> table.history("k0008")["change"].to_pylist()
            ['insert', 'update', 'delete', 'insert']

        Each commit costs a `lookup` as of its instant, without the record index.

        Args:
            key: as in `lookup`.

        Returns:
            requested_time, completion_time and operation of the commit; change (``insert``,
            ``update`` or ``delete``; or ``present`` or ``absent``, the first state that can be read
            if older files are gone); changed_columns (of updates; empty if the commit wrote the
            same values); partition_path; before, after (JSON of the columns, without meta
            columns); problem (why an earlier state cannot be read, so that several commits may
            have made the change; null if all can).

        Raises:
            UnsupportedQueryError: the table's files do not contain record keys.
            SchemaEvolutionError: a column's old values do not fit its new type.
        """
        from hudi_pyspark.inspection.snapshot_diff import record_history  # noqa: PLC0415  (few need it)

        def record_at(instant: str | None) -> pa.Table:
            return self.lookup(key, as_of=instant)

        return retry_on_corruption(self.storage, partial(record_history, self._view, record_at))

    def changes(
        self,
        begin: str | date = "earliest",
        end: str | date | None = None,
        *,
        as_struct: bool = False,
        as_changelog: bool = False,
    ) -> Scan:
        """Choose the changes of a range of commits, with images of each row before and after.

        Example:
            >>> hudi_pyspark.HudiTable("orders_cdc").changes(as_changelog=True).count()
            25

        Args:
            begin: instant, exclusive, or ``earliest``; see ``inspect.commits()``.
            end: instant, inclusive; the latest by default.
            as_struct: whether images are structs instead of JSON text.
            as_changelog: whether each image is a row, with the table's columns, ``_change_type``,
                ``_commit_version`` and ``_commit_timestamp``.

        Raises:
            UnsupportedTableError: the table does not log changes (``hoodie.table.cdc.enabled``).
            IncrementalRangeError: the changes are no longer known.
        """
        images = "struct" if as_struct else "json"
        images = "changelog" if as_changelog else images
        return self.scan(begin=begin, end=end, cdc=True, cdc_format=images)

    def diff(self, earlier: str, later: str, *, columns: Sequence[str] | None = None) -> pa.Table:
        """Compare two snapshots by record key, and return the rows that differ.

        Example:
            >>> table.diff("20261121062605204", table.last_instant)["change"].to_pylist()
            ['update', 'update', 'update']

        Args:
            earlier: instant of the first snapshot, inclusive, in the forms of `scan`'s ``as_of``.
            later: instant of the second snapshot.
            columns: names of the columns to compare; all but the meta columns by default.

        Returns:
            change (``insert``, ``update`` or ``delete``); the columns that make up the key
            (partition path and record key); changed_columns; before; after (the row as a struct).
            A row that was rewritten with the same values is not a change.

        Raises:
            TimeTravelError: the state at one of the instants is not known.
            UnsupportedQueryError: the table has no record key by which rows are identified.
            SchemaEvolutionError: a column's old values do not fit its new type.
            InvalidOptionError: a column does not exist.
        """
        from hudi_pyspark.inspection.snapshot_diff import compared_columns, diff_snapshots  # noqa: PLC0415  (few need it)

        scans = [self.scan(as_of=earlier), self.scan(as_of=later)]
        fields = {field.name: field for s in reversed(scans) for field in s.schema}
        keys, compared = compared_columns(self.config, pa.schema(fields.values()), columns)
        selected = dict.fromkeys([*keys, *compared])
        before, after = (
            s.select([n for n in selected if s.schema.get_field_index(n) >= 0]).to_arrow()
            for s in scans
        )
        return diff_snapshots(before, after, keys, compared)

    def doctor(self, *, deep: bool = False) -> Findings:
        """Check the table: timeline, files, sizes, log files, metadata table.

        If the table is too damaged to be opened, run ``hudi-py doctor``.

        Example:
            >>> any(finding.severity.value == "problem" for finding in table.doctor())
            False

        Args:
            deep: whether to decode every record and every column.

        Returns:
            What the checks found, problems and good news alike: a tuple that prints one finding
            per line, and that notebooks show as a table.

        Raises:
            ImportError: the package is the zip for Spark, which lacks this tool.
        """
        with needs_extra():
            from hudi_pyspark.doctor.examination import examine  # noqa: PLC0415  (few need it)
            from hudi_pyspark.doctor.finding import Findings  # noqa: PLC0415  (few need it)

        return Findings(examine(self._view, deep=deep))

    def report(self) -> Report:
        """Report on the state of the table, as a page and as JSON (extra ``report``).

        Example:
            >>> table.report().save("orders.html").name
            'orders.html'

        Of data files it reads only the headers of some log files, and the footers of some base
        files whose statistics no index has. The page begins with what was not looked at.

        Raises:
            ImportError: the extra ``report`` is not installed.
        """
        with needs_extra():
            from hudi_pyspark.report.report import Report  # noqa: PLC0415  (few need it)

        return Report.of(self._view, self.scan, self.changes)

    @property
    def rows(self) -> Scan:
        """The scan of the newest rows without meta columns, as in ``table.rows.head()``."""
        return self.scan(include_meta_columns=False)

    @property
    def inspect(self) -> Inspection:
        """Tables about the table.

        Example:
            >>> table.inspect.commits().select(["requested_time", "operation"]).num_rows
            6
        """
        from hudi_pyspark.inspection import Inspection  # noqa: PLC0415  (few need it)

        return Inspection(self._view)

    def _scan_with(
        self,
        options: Mapping[str, object],
        mergers: Mergers | None = None,
        *,
        limit: int | None = None,
    ) -> Scan:
        """Choose what to read by read options, as Spark passes them.

        Options that are missing come from the environment, from variables such as
        ``HOODIE_ENV_hoodie_DOT_datasource_DOT_query_DOT_type``.

        Args:
            options: read options by Hudi's keys or aliases; values are text, or typed.
            mergers: merge functions of users by payload class; those of `register_payload` by
                default.
            limit: maximum number of rows.

        Raises:
            InvalidOptionError: an option or a column does not exist, or a value does not fit.
            TimeTravelError: the state at ``as_of`` is not known.
            UnsupportedQueryError: this release does not cover an option of Apache Hudi.
            IncrementalRangeError: commits of the range are gone, or have not completed yet.
            UnsupportedTableError: the table does not have what the query needs.
        """
        if self._defaults.keys().isdisjoint(GivenOptions.of(options).values):
            options = {**options, **self._defaults}  # an empty query type means the default
        parsed = ReadOptions.parse(options, os.environ)
        # Spark cannot be handed a file system object.
        opened_by = self._opened_by
        spark_options = None if opened_by is None else {**options, **opened_by.spark_options}
        return self._scan(parsed, mergers, limit=limit, spark_options=spark_options)

    def _scan(
        self,
        options: ReadOptions,
        mergers: Mergers | None = None,
        **others: Any,  # noqa: ANN401  (of `choose_scan`)
    ) -> Scan:
        """Choose what to read by parsed options; see `_scan_with`.

        Raises:
            HudiError: as from `_scan_with`.
        """
        mergers = registered_payloads() if mergers is None else mergers
        return scan_table(self._metadata, options, mergers, self._outcomes, **others)

    @cached_property
    def _metadata(self) -> MetadataTable:
        return MetadataTable(self._view)

    @cached_property
    def description(self) -> Description:
        """Name, type, version, keys, partitions and last commit, without reading a file."""
        from hudi_pyspark.inspection.description import describe  # noqa: PLC0415  (few need it)

        return describe(self._view)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            return look_elsewhere(self, name, OF_TABLE)

    def __dir__(self) -> list[str]:
        """Return the public names."""
        return sorted(name for name in super().__dir__() if not name.startswith("_"))

    def __repr__(self) -> str:
        return str(self.description)

    def _repr_html_(self) -> str:
        return self.description.to_html()


def scan_polars(
    path: str | os.PathLike[str] | HudiTable,
    columns: Sequence[str] | None = None,
    *,
    storage_options: Mapping[str, str | bool | float] | None = None,
    limit: int | None = None,
    merge_first: bool = False,
    **options: Any,  # noqa: ANN401  (of `HudiTable.scan`)
) -> pl.LazyFrame:
    """Return a LazyFrame of polars, which reads only what a query needs (extra ``polars``).

    Polars passes on columns, filters and row limits. The frame shows the table as it was opened.

    Example:
        >>> hudi_pyspark.scan_polars("orders").select("id", "qty").limit(3).collect().shape
        (3, 2)

    Args:
        path: base path of the table, or a table that is open.
        columns: names of the columns of the frame; all by default.
        storage_options: as for `HudiTable`.
        limit: maximum number of rows of the frame.
        merge_first: whether to merge all file slices now, and let polars read the base files
            itself; see `Scan.to_duckdb`.
        options: any other option of `HudiTable.scan`, e.g. ``as_of`` or ``begin``.

    Raises:
        HudiError: the table cannot be opened, or an option is invalid.
        ImportError: the extra ``polars`` is not installed.
    """
    if not isinstance(path, HudiTable):
        path = HudiTable(path, storage_options=storage_options)
    scan = path.scan(columns, **options)
    frame = scan._to_lazy(merge_first=merge_first)  # noqa: SLF001  (of this package)
    return frame if limit is None else frame.limit(limit)
