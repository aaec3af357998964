"""Apache Hudi's table functions as functions that return DataFrames, in every kind of session."""

import os

from pyspark.sql import DataFrame, SparkSession

from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.spark.session import is_classic, load
from hudi_pyspark.spark.sql_options import function_options
from hudi_pyspark.spark.tables import has_function

Table = str | os.PathLike[str]


def hudi_query(spark: SparkSession, table: Table, query_type: str = "snapshot") -> DataFrame:
    """Return the rows of a table, as Apache Hudi's SQL function of this name does.

    Example:
        >>> hudi_pyspark.hudi_query(spark, "./orders", "read_optimized").count()
        50

    Args:
        spark: the session, also of Spark Connect.
        table: base path, with a slash; or the name of a table of the metastore, if the session is
            classic and `hudi_pyspark.register` was called with ``tables=True``.
        query_type: ``snapshot`` or ``read_optimized``.

    Raises:
        InvalidOptionError: there is no such query type, or this session knows no names of tables.
        AnalysisException: Spark's, with the text of an error of this package about the table.
    """
    return _frame(spark, "hudi_query", table, query_type)


def hudi_table_changes(
    spark: SparkSession, table: Table, changes: str, *, begin: str, end: str | None = None
) -> DataFrame:
    """Return what a range of commits changed, as Apache Hudi's SQL function of this name does.

    Example:
        >>> changes = {"changes": "latest_state", "begin": "20261121062600879"}
        >>> hudi_pyspark.hudi_table_changes(spark, "./orders", **changes).count()
        7

    Args:
        spark: the session, also of Spark Connect.
        table: base path or name, as for `hudi_query`.
        changes: ``latest_state`` for the newest row of each changed key, ``cdc`` for the rows
            before and after each change.
        begin: instant, exclusive; or ``earliest``.
        end: instant, inclusive; the last commit by default.

    Raises:
        InvalidOptionError: there is no such kind of changes, or this session knows no names of
            tables.
        AnalysisException: Spark's, with the text of an error of this package about the table or the
            range.
    """
    ends = () if end is None else (end,)
    return _frame(spark, "hudi_table_changes", table, changes, begin, *ends)


def hudi_query_timeline(spark: SparkSession, table: Table, *, archived: bool = False) -> DataFrame:
    """Return the instants of a table, as Apache Hudi's SQL function of this name does.

    Example:
        >>> hudi_pyspark.hudi_query_timeline(spark, "./orders").count()
        6

    Args:
        spark: the session, also of Spark Connect.
        table: base path or name, as for `hudi_query`.
        archived: include archived instants.

    Returns:
        The columns of `Inspection.hudi_query_timeline`.

    Raises:
        InvalidOptionError: this session knows no names of tables.
        AnalysisException: Spark's, with the text of an error of this package about the table.
    """
    return _frame(spark, "hudi_query_timeline", table, str(archived).lower())


def hudi_filesystem_view(spark: SparkSession, table: Table, folders: str = "") -> DataFrame:
    """Return the file slices of a table, as Apache Hudi's SQL function of this name does.

    Example:
        >>> hudi_pyspark.hudi_filesystem_view(spark, "./orders", "*").count()
        7

    Args:
        spark: the session, also of Spark Connect.
        table: base path or name, as for `hudi_query`.
        folders: a glob of partition paths, as in ``*`` or ``2026/*``; by default only the base path
            counts, in which an unpartitioned table has its files.

    Returns:
        The columns of `Inspection.hudi_filesystem_view`.

    Raises:
        InvalidOptionError: this session knows no names of tables.
        AnalysisException: Spark's, with the text of an error of this package about the table or the
            glob.
    """
    return _frame(spark, "hudi_filesystem_view", table, folders)


def _frame(spark: SparkSession, function: str, table: Table, *arguments: str) -> DataFrame:
    texts = [os.fsdecode(table), *arguments]
    options = function_options(function, texts)
    if "/" in texts[0]:
        return load(spark, texts[0], options)
    if not (is_classic(spark) and has_function(spark, function)):
        raise InvalidOptionError(
            f"{function}: {texts[0]!r} has no slash, so it is the name of a table, and this "
            "session knows none, or has a function of its own with this name",
            advice=(
                "Give a path, or call hudi_pyspark.register(spark, tables=True) in a classic "
                "session first"
            ),
        )
    markers = {f"argument{place}": text for place, text in enumerate(texts)}
    call = ", ".join(f":{marker}" for marker in markers)
    return spark.sql(f"SELECT * FROM {function}({call})", markers)
