"""Read Apache Hudi tables from PySpark, and without it, in pure Python."""

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

__all__ = [
    "HudiTable",
    "Scan",
    "__version__",
    "explain",
    "read",
    "register",
    "register_payload",
    "scan_polars",
    "storage_options_from_spark",
]
__all__ += [name for name, value in vars(_errors).items() if isinstance(value, type)]


# Spark starts Python processes again and again, and not all of them need these: each is loaded
# when it is first named.
_LOADED_WHEN_NAMED: Final = {
    "HudiTable": "hudi_pyspark.hudi_table",
    "Scan": "hudi_pyspark.scan",
    "register_payload": "hudi_pyspark.custom_mergers",
}


def __getattr__(name: str) -> object:
    module = _LOADED_WHEN_NAMED.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(module), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LOADED_WHEN_NAMED})


def explain(df: DataFrame) -> str:
    """Say what each scan of a DataFrame reads: columns, conditions and the limit, as text.

    Args:
        df: of a classic session, or of one of Spark Connect.
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
    """Read a table into a DataFrame, in a session that this call registers the source with.

    Args:
        spark: the session; the source is registered with it.
        path: base path of the table.
        columns: names of the columns to read, in this order; all by default.
        filter: rows to read, as in a WHERE clause; all by default.
        as_of: instant of a time-travel query, inclusive.
        query_type: ``snapshot``, ``read_optimized``, or ``incremental`` with the option ``begin``.
        options: any other read option by its alias.

    Raises:
        UnsupportedQueryError: a column's name has a comma in it, or this Spark cannot be given the
            registered payload mergers.
        AnalysisException: of Spark, with the text of any error of this package about the table or
            the options.
    """
    from hudi_pyspark.options.read_options import columns_text  # noqa: PLC0415  (as session)
    from hudi_pyspark.spark import session  # noqa: PLC0415  (imports pyspark)

    names = columns_text(columns) if columns is not None else None
    named = {"as_of": as_of, "columns": names, "filter": filter}
    given = {name: value for name, value in named.items() if value is not None}
    return session.read(spark, path, query_type=query_type, **given, **options)


def register(spark: SparkSession) -> None:
    """Make ``format("hudi-py")`` known to a session, and let its scans read what queries need.

    You need it with Spark Connect, and wherever Spark does not look for Python data sources itself;
    it does no harm elsewhere. Spark's optimizer, or the client of Spark Connect, then passes on
    columns, conditions and limits (``spark.hudi-py.optimizer.enabled``). Local workers of a classic
    session run this Python unless ``PYSPARK_PYTHON`` or ``spark.pyspark.python`` names another one.

    Raises:
        UnsupportedQueryError: this Spark cannot be given the registered payload mergers.
    """
    from hudi_pyspark.spark import session  # noqa: PLC0415  (imports pyspark)

    session.register(spark)


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

    Polars passes on columns, filters and row limits. The table stays as it was opened.

    Args:
        path: base path of the table, or a table that is open.
        columns: names of those that the frame has; all by default.
        storage_options: as for `HudiTable`.
        limit: most rows of the frame.
        merge_first: merge all file slices now, and let polars read the base files by itself; see
            `Scan.to_duckdb`.
        options: any other option of `HudiTable.scan`, e.g. ``as_of`` or ``begin``.

    Raises:
        HudiError: the table cannot be opened, or an option is invalid.
    """
    from hudi_pyspark.extras import needs_extra  # noqa: PLC0415  (loaded when it is needed)
    from hudi_pyspark.hudi_table import HudiTable  # noqa: PLC0415  (likewise)

    with needs_extra("polars"):
        from hudi_pyspark.frames.polars import (  # noqa: PLC0415  (imports polars)
            frame_of_files,
            lazy_frame,
        )

    if not isinstance(path, HudiTable):
        path = HudiTable(path, storage_options=storage_options)
    scan = path.scan(columns, **options)
    frame = frame_of_files(scan) if merge_first else None
    frame = lazy_frame(scan, str(scan)) if frame is None else frame
    return frame if limit is None else frame.limit(limit)


def storage_options_from_spark(spark: SparkSession, path: str) -> dict[str, str]:
    """Return the storage options that a classic session's Hadoop would use for a path.

    They have names of Hadoop and PyIceberg, so that both ``spark.read.options(**options)`` and
    ``HudiTable(path, storage_options=options)`` take them. Secrets are among them: as options they
    travel with the tasks. Settings of a single bucket or account go before general ones.

    Args:
        spark: a classic session.
        path: URI of the table.

    Raises:
        UnsupportedQueryError: the session is one of Spark Connect.
        InvalidOptionError: the path is one that only the JVM can reach.
    """
    from hudi_pyspark.spark import hadoop_settings  # noqa: PLC0415  (imports pyspark)

    return hadoop_settings.storage_options_from_spark(spark, path)
