"""Read Apache Hudi tables from PySpark, and without it, in pure Python."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from hudi_pyspark.errors import (
    CorruptAvroError,
    CorruptBaseFileError,
    CorruptLogBlockError,
    CorruptTableError,
    CorruptTimelineError,
    FutureInstantError,
    HudiError,
    IncrementalRangeError,
    InvalidInstantError,
    InvalidOptionError,
    MissingFileError,
    PathInsideTableError,
    PathNotFoundError,
    SchemaEvolutionError,
    SpillError,
    StreamSchemaChangedError,
    TableNotFoundError,
    TimeTravelError,
    UnknownQueryTypeError,
    UnsupportedMergeError,
    UnsupportedQueryError,
    UnsupportedTableError,
    UnsupportedTypeError,
    UnsupportedVersionError,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from hudi_pyspark.hudi_table import HudiTable
    from hudi_pyspark.query.merge.custom_merger import register_payload
    from hudi_pyspark.scan import Scan

__version__ = "0.1.0.dev0"
__all__ = [
    "CorruptAvroError",
    "CorruptBaseFileError",
    "CorruptLogBlockError",
    "CorruptTableError",
    "CorruptTimelineError",
    "FutureInstantError",
    "HudiError",
    "HudiTable",
    "IncrementalRangeError",
    "InvalidInstantError",
    "InvalidOptionError",
    "MissingFileError",
    "PathInsideTableError",
    "PathNotFoundError",
    "Scan",
    "SchemaEvolutionError",
    "SpillError",
    "StreamSchemaChangedError",
    "TableNotFoundError",
    "TimeTravelError",
    "UnknownQueryTypeError",
    "UnsupportedMergeError",
    "UnsupportedQueryError",
    "UnsupportedTableError",
    "UnsupportedTypeError",
    "UnsupportedVersionError",
    "__version__",
    "read",
    "register",
    "register_payload",
]


# Spark starts Python processes again and again: what only some of them need is loaded when it is
# first named.
_LOADED_WHEN_NAMED: Final = {
    "HudiTable": "hudi_pyspark.hudi_table",
    "Scan": "hudi_pyspark.scan",
    "register_payload": "hudi_pyspark.query.merge.custom_merger",
}


def __getattr__(name: str) -> object:
    module = _LOADED_WHEN_NAMED.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(module), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_LOADED_WHEN_NAMED})


# pyspark is imported when one of these is called: executors and Spark-free users need not load it.
def read(
    spark: SparkSession,
    path: str,
    columns: Sequence[str] | None = None,
    *,
    filter: str | None = None,  # noqa: A002  (the option's name)
    as_of: str | None = None,
    query_type: str = "snapshot",
    **options: str | bool | float,
) -> DataFrame:
    """Read a table into a DataFrame with only the columns that are needed.

    Spark asks a Python data source for every column of its schema, so naming them here is what
    keeps the others from being read and decoded.

    Args:
        spark: the session; the source is registered with it.
        path: base path of the table.
        columns: names of the columns to read, in this order; all by default.
        filter: rows to read, as in a WHERE clause; all by default.
        as_of: instant of a time-travel query, inclusive.
        query_type: ``snapshot``, ``read_optimized``, or ``incremental`` with the option ``begin``.
        options: any other read option by its alias.
    """
    from hudi_pyspark.spark import session  # noqa: PLC0415

    listed = ",".join(columns) if columns is not None else None
    given = {"as_of": as_of, "columns": listed, "filter": filter}
    chosen = {name: value for name, value in given.items() if value is not None}
    return session.read(spark, path, query_type=query_type, **chosen, **options)


def register(spark: SparkSession) -> None:
    """Make ``format("hudi-py")`` known to a session, and let it give filters to Python sources.

    Needed with Spark Connect, and wherever Spark does not look for Python data sources itself; it
    does no harm elsewhere. Filters are pushed down from Spark 4.1 on
    (``spark.sql.python.filterPushdown.enabled``).
    """
    from hudi_pyspark.spark import session  # noqa: PLC0415

    session.register(spark)
