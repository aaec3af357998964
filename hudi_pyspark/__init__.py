"""Read Apache Hudi tables in pure Python, from PySpark or without it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from hudi_pyspark import errors as _errors
from hudi_pyspark.errors import *  # noqa: F403  (all of its classes)
from hudi_pyspark.version import __version__

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from datetime import date

    from polars import LazyFrame
    from pyspark.sql import DataFrame, SparkSession

    from hudi_pyspark.custom_mergers import register_payload
    from hudi_pyspark.hudi_table import HudiTable
    from hudi_pyspark.scan import Scan
    from hudi_pyspark.spark.table_functions import (
        hudi_filesystem_view,
        hudi_query,
        hudi_query_timeline,
        hudi_table_changes,
    )

__all__ = [
    "HudiTable",
    "Scan",
    "__version__",
    "explain",
    "hudi_filesystem_view",
    "hudi_query",
    "hudi_query_timeline",
    "hudi_table_changes",
    "read",
    "register",
    "register_payload",
    "scan_polars",
    "storage_options_from_spark",
]
__all__ += [name for name, value in vars(_errors).items() if isinstance(value, type)]


# Loaded when they are first named: Spark starts many Python processes, and not all of them need
# these names.
_LOADED_WHEN_NAMED: Final = {
    "HudiTable": "hudi_pyspark.hudi_table",
    "Scan": "hudi_pyspark.scan",
    "hudi_filesystem_view": "hudi_pyspark.spark.table_functions",
    "hudi_query": "hudi_pyspark.spark.table_functions",
    "hudi_query_timeline": "hudi_pyspark.spark.table_functions",
    "hudi_table_changes": "hudi_pyspark.spark.table_functions",
    "register_payload": "hudi_pyspark.custom_mergers",
}


def __getattr__(name: str) -> object:
    module = _LOADED_WHEN_NAMED.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(module), name)


def __dir__() -> list[str]:
    return sorted(__all__)


def explain(df: DataFrame) -> str:
    """Explain what each scan of a DataFrame reads: columns, conditions and limit.

    Args:
        df: of a classic session or of Spark Connect.
    """
    from hudi_pyspark.spark import session  # noqa: PLC0415  (imports pyspark)

    return session.explain(df)


def read(
    spark: SparkSession,
    path: str | os.PathLike[str],
    columns: Sequence[str] | None = None,
    *,
    filter: str | None = None,  # noqa: A002  (the option's name)
    as_of: str | date | None = None,
    query_type: str = "snapshot",
    **options: str | bool | float,
) -> DataFrame:
    """Read a table as a DataFrame, and register the data source with the session.

    Args:
        spark: the session.
        path: base path of the table.
        columns: names of the columns to read, in this order; all by default.
        filter: rows to read, as in a WHERE clause; all by default.
        as_of: instant of a time-travel query, inclusive; the latest state by default.
        query_type: ``snapshot``, ``read_optimized``, or ``incremental`` with the option ``begin``.
        options: any other read option by its alias.

    Raises:
        UnsupportedQueryError: a column's name contains a comma, or this Spark cannot be given the
            registered payload mergers.
        AnalysisException: Spark's, with the text of an error of this package about the table or the
            options.
    """
    from hudi_pyspark.options.read_options import columns_text  # noqa: PLC0415  (as session)
    from hudi_pyspark.spark import session  # noqa: PLC0415  (imports pyspark)

    names = columns_text(columns) if columns is not None else None
    named = {"as_of": as_of, "columns": names, "filter": filter}
    arguments = {name: value for name, value in named.items() if value is not None}
    return session.read(spark, path, query_type=query_type, **arguments, **options)


def register(
    spark: SparkSession,
    *,
    tables: bool | None = None,
    catalogs: Mapping[str, Mapping[str, str]] | None = None,
) -> None:
    """Register ``format("hudi-py")`` with a session, so its scans read only what queries need.

    Spark Connect needs it, and so does every Spark that does not look for Python data sources
    itself. It does no harm elsewhere. Spark's optimizer, or the client of Spark Connect, then
    passes on columns, conditions and limits (``spark.hudi-py.optimizer.enabled``). Local workers of
    a classic session run this Python unless ``PYSPARK_PYTHON`` or ``spark.pyspark.python`` names
    another one.

    Args:
        spark: the session.
        tables: True lets the SQL of a classic session read tables of its metastore by name, and
            every table by its path: ``SELECT … FROM hudi.`/path` ``. False ends this. The default
            leaves it as it is.
        catalogs: settings of further catalogs by the name that each has in SQL, as in
            ``{"lake": {"type": "glue"}}``; only for a classic session. The settings are those of
            `HudiTable.from_catalog`.

    SQL only reads these tables: no statement of such a session deletes a file of a table.

    Raises:
        UnsupportedQueryError: this Spark cannot be given the registered payload mergers, or
            ``tables`` or ``catalogs`` is given for a session of Spark Connect.
        InvalidOptionError: a setting of a catalog is invalid.
    """
    from hudi_pyspark.spark import session  # noqa: PLC0415  (imports pyspark)

    session.register(spark, tables=tables, catalogs=catalogs)


def scan_polars(
    path: str | os.PathLike[str] | HudiTable,
    columns: Sequence[str] | None = None,
    *,
    storage_options: Mapping[str, str | bool | float] | None = None,
    limit: int | None = None,
    merge_first: bool = False,
    **options: Any,  # noqa: ANN401  (of `HudiTable.scan`)
) -> LazyFrame:
    """Return a LazyFrame of polars, which reads only what a query needs (extra ``polars``).

    Polars passes on columns, filters and row limits. The frame shows the table as it was opened.

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
    """
    from hudi_pyspark.extras import needs_extra  # noqa: PLC0415  (few need it)
    from hudi_pyspark.hudi_table import HudiTable  # noqa: PLC0415  (likewise)

    with needs_extra("polars"):
        from hudi_pyspark.frames.polars import lazy_frame  # noqa: PLC0415  (imports polars)

    if not isinstance(path, HudiTable):
        path = HudiTable(path, storage_options=storage_options)
    frame = lazy_frame(path.scan(columns, **options), merge_first=merge_first)
    return frame if limit is None else frame.limit(limit)


def storage_options_from_spark(spark: SparkSession, path: str) -> dict[str, str]:
    """Return the storage options that the Hadoop of a classic session would use for a path.

    Their names are those of Hadoop and PyIceberg, so ``spark.read.options(**options)`` and
    ``HudiTable(path, storage_options=options)`` both take them. They contain secrets, which travel
    with the tasks. Settings of one bucket or account take precedence over general settings.

    Args:
        spark: a classic session.
        path: URI of the table.

    Raises:
        UnsupportedQueryError: the session is one of Spark Connect.
        InvalidOptionError: only the JVM can reach the path.
    """
    from hudi_pyspark.spark import hadoop_settings  # noqa: PLC0415  (imports pyspark)

    return hadoop_settings.storage_options_from_spark(spark, path)
