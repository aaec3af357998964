"""Read Apache Hudi tables from PySpark, and without it, in pure Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hudi_pyspark.errors import (
    CorruptAvroError,
    CorruptBaseFileError,
    CorruptLogBlockError,
    CorruptTableError,
    CorruptTimelineError,
    FutureInstantError,
    HudiError,
    InvalidInstantError,
    InvalidOptionError,
    MissingFileError,
    PathInsideTableError,
    PathNotFoundError,
    SchemaEvolutionError,
    TableNotFoundError,
    TimeTravelError,
    UnknownQueryTypeError,
    UnsupportedMergeError,
    UnsupportedQueryError,
    UnsupportedTableError,
    UnsupportedTypeError,
    UnsupportedVersionError,
)
from hudi_pyspark.hudi_table import HudiTable, Scan

if TYPE_CHECKING:
    from hudi_pyspark.spark.session import read, register

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
    "InvalidInstantError",
    "InvalidOptionError",
    "MissingFileError",
    "PathInsideTableError",
    "PathNotFoundError",
    "Scan",
    "SchemaEvolutionError",
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
]


def __getattr__(name: str) -> Any:
    # read and register need pyspark, which executors and Spark-free users may not want to load.
    if name in ("read", "register"):
        from hudi_pyspark.spark import session  # noqa: PLC0415

        return getattr(session, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
