"""Queries that reach each operator of Spark which can take batches of columns, or their rows.

Each takes a frame with the columns of the golden table `v9_mor_all_types` and returns a frame.
`make matrix` runs them with every Spark that has columnar readers by default.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pandas as pd  # noqa: TC002  (PySpark reads the annotations of its functions)
from pyspark import StorageLevel
from pyspark.sql import functions as sf
from pyspark.sql.pandas import functions as pandas_functions

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa
    from pyspark.sql import DataFrame

NESTED = ("c_struct", "c_arr", "c_arr_s", "c_map", "c_arr_arr")
VALUES = ("c_dec", "c_bigdec", "c_ts", "c_date", "c_bin", "c_bool", "c_double", "c_str", "part")
COLUMNS = ("id", "c_int", "c_long", "c_float", "c_short", *VALUES, *NESTED, "c_map_s")


def text(column: Any) -> Any:
    """A plain UDF: Spark sends its values as Arrow since 4.2, and pickles them before."""
    return sf.udf(lambda value: f"<{value}>", "string")(column)


def pickled(column: Any) -> Any:
    """A UDF whose values are pickled."""
    return sf.udf(lambda value: f"({value})", "string", useArrow=False)(column)


def by_arrow(column: Any) -> Any:
    """A UDF whose values are sent as Arrow."""
    return sf.udf(lambda value: f"[{value}]", "string", useArrow=True)(column)


# Its stubs do not know functions of pandas' own types.
_pandas_udf: Any = pandas_functions.pandas_udf


def in_pandas(column: Any) -> Any:
    """A scalar pandas UDF."""

    def marked(series: pd.Series) -> pd.Series:
        return series.astype(str) + "_p"

    return _pandas_udf(marked, "string")(column)


def in_iterator(column: Any) -> Any:
    """A pandas UDF over an iterator of batches."""

    def marked(batches: Iterator[pd.Series]) -> Iterator[pd.Series]:
        for series in batches:
            yield series.astype(str) + "_i"

    return _pandas_udf(marked, "string")(column)


def grouped_sum(column: Any) -> Any:
    """A pandas UDF that aggregates."""

    def total(series: pd.Series) -> int:
        return int(series.sum())

    return _pandas_udf(total, "long")(column)


class Twice:
    """A table function with two rows for each."""

    def eval(self, part: str, number: int) -> Iterator[tuple[str, int | None]]:
        """Yield the rows of one."""
        yield part, number
        yield part, None


def table_function(frame: DataFrame) -> DataFrame:
    """Each row joined with those of a Python table function."""
    session = frame.sparkSession
    frame.createOrReplaceTempView("columnar_operators")
    twice: Any = sf.udtf(Twice, returnType="part string, number int")
    session.udtf.register("twice", twice)
    return session.sql(
        "SELECT t.id, f.* FROM columnar_operators t, LATERAL twice(t.part, t.c_int) f"
    )


def _same(batches: Iterator[Any]) -> Iterator[Any]:
    yield from batches


def _first_of_pandas(group: pd.DataFrame) -> pd.DataFrame:
    return group.sort_values("id").head(2)


def _all_of_arrow(group: pa.Table) -> pa.Table:
    return group


def _two_groups(left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
    return left.merge(right, on=["id", "part"])


def cached(level: StorageLevel) -> Callable[[DataFrame], DataFrame]:
    """The rows of a cache, which is filled from the columns."""

    def query(frame: DataFrame) -> DataFrame:
        kept = frame.select("id", "c_str", "c_dec", "c_struct", "c_arr").persist(level)
        kept.count()
        return kept

    return query


QUERIES: dict[str, Callable[[DataFrame], DataFrame]] = {
    "udf": lambda t: t.select("id", "c_str", text("c_str")),
    "udf beside all columns": lambda t: t.select("*", text("id")),
    "udf of values": lambda t: t.select("id", *(text(name) for name in VALUES)),
    "udf of nested values": lambda t: t.select("id", *(text(name) for name in NESTED)),
    "udf of an expression": lambda t: t.select("id", text(sf.concat("part", sf.lit("/")))),
    "udf of a null": lambda t: t.select("id", text(sf.lit(None).cast("string"))),
    "pickled udf": lambda t: t.select("id", pickled("c_str"), pickled("c_dec")),
    "arrow udf": lambda t: t.select("id", by_arrow("c_str"), by_arrow("c_ts")),
    "pandas udf": lambda t: t.select("id", "c_struct", in_pandas("part")),
    "pandas udf of an iterator": lambda t: t.select("id", in_iterator("part")),
    "grouped pandas udf": lambda t: t.groupBy("part").agg(grouped_sum("id")),
    "udfs of several kinds": lambda t: t.select(
        "id", text("part"), pickled("part"), by_arrow("part"), in_pandas("part")
    ),
    # The second evaluation takes what the first one gave, beside columns of the table.
    "udf of a udf": lambda t: t.select("id", "c_str", in_pandas("part").alias("first")).select(
        "*", text("first")
    ),
    "udf of a udf in a condition": lambda t: (
        t.select("id", in_pandas("part").alias("first"))
        .where(text("first") != "nothing")
        .select("*", in_pandas("first"), text("first"))
    ),
    "udf in a condition": lambda t: t.where(text("part") != "nothing").select("id", "c_str"),
    "udf as a group": lambda t: t.groupBy(text("part")).agg(sf.sum("id")),
    "udf and a limit": lambda t: t.orderBy("id").limit(7).select("id", text("c_str")),
    "udfs on both sides of a join": lambda t: t.select("id", text("part").alias("left")).join(
        t.select("id", text("c_str").alias("right")), "id"
    ),
    "join": lambda t: t.join(t.select("id", sf.col("c_dec").alias("other")), "id"),
    "table function": table_function,
    "mapInArrow": lambda t: t.select("id", "c_str").mapInArrow(_same, "id int, c_str string"),
    "mapInPandas": lambda t: t.select("id", "part").mapInPandas(_same, "id int, part string"),
    "applyInPandas": lambda t: (
        t.select("id", "part")
        .groupBy("part")
        .applyInPandas(_first_of_pandas, "id int, part string")
    ),
    "applyInArrow": lambda t: (
        t.select("id", "part").groupBy("part").applyInArrow(_all_of_arrow, "id int, part string")
    ),
    "cogroup": lambda t: (
        t.select("id", "part")
        .groupBy("part")
        .cogroup(t.select("id", "part").groupBy("part"))
        .applyInPandas(_two_groups, "id int, part string")
    ),
    "cache": cached(StorageLevel.MEMORY_ONLY),
    "cache on disk": cached(StorageLevel.DISK_ONLY),
    "union": lambda t: t.select("id", "c_str").union(t.select("id", "part")),
    "udf over a union": lambda t: (
        t.select("id", "c_str").union(t.select("id", "part")).select("id", text("c_str"))
    ),
    # Spark sorts the maps that it groups by, and loses which of their values are null: it reads
    # each value without asking. The values are Spark's affair; the groups have to be right.
    "groups of maps": lambda t: (
        t.groupBy("c_map", "c_map_s")
        .agg(sf.count("id").alias("rows"))
        .groupBy(sf.map_keys("c_map"), sf.map_keys("c_map_s"))
        .agg(sf.sum("rows"))
    ),
    "groups of arrays and structs": lambda t: t.groupBy(
        "c_struct", "c_arr", "c_arr_s", "c_arr_arr"
    ).agg(sf.count("id")),
    "distinct rows": lambda t: t.drop("c_map", "c_map_s").distinct(),
    "functions of nested values": lambda t: t.selectExpr(
        *("id", "sort_array(c_arr)", "array_max(c_arr)", "hash(c_arr_s, c_struct)"),
        *("map_values(c_map)", "map_keys(c_map_s)", "map_entries(c_map)", "c_map['b'] + 1"),
        *("c_arr_s.a", "c_struct.*", "flatten(c_arr_arr)", "explode_outer(c_arr) AS element"),
    ),
    "window": lambda t: t.selectExpr("id", "max(c_str) OVER (PARTITION BY part ORDER BY id) last"),
}

# Each may change which operator takes the batches, or how it does.
SETTINGS = {
    "one row for Python": {"spark.sql.execution.arrow.maxRecordsPerBatch": "1"},
    "no generated code": {"spark.sql.codegen.wholeStage": "false"},
    "no adaptive execution": {"spark.sql.adaptive.enabled": "false"},
    "large types": {"spark.sql.execution.arrow.useLargeVarTypes": "true"},
    "rows for UDFs": {"spark.sql.execution.arrow.pythonUDF.columnarInput.enabled": "false"},
}
SET_QUERIES = ("udf beside all columns", "udf of a udf in a condition", "udf of values", "cache")
