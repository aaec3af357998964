"""Rows that Spark writes in several ways."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession


def write_rows(
    spark: SparkSession, frame: DataFrame, way: str, place: str, *, table: str, columns: str = ""
) -> None:
    """Write the rows of a frame to Parquet files; a table that all sessions see is dropped again.

    Args:
        spark: the session of the frame.
        frame: has the rows.
        way: ``save`` or ``overwrite`` files, ``ctas``, or ``insert`` into a table.
        place: folder of the files.
        table: name of a new table for ``ctas`` and ``insert``.
        columns: of the table of ``insert``; by default those of the frame.
    """
    if way in ("save", "overwrite"):
        frame.write.mode("append" if way == "save" else "overwrite").parquet(place)
        return
    frame.createOrReplaceTempView("to_write")
    stored = f"USING parquet LOCATION '{place}'"
    query = "SELECT * FROM to_write"
    empty = "" if columns else f" AS {query} WHERE false"
    try:
        if way == "ctas":
            spark.sql(f"CREATE TABLE {table} {stored} AS {query}").collect()
        else:
            spark.sql(f"CREATE TABLE {table} {columns} {stored}{empty}").collect()
            spark.sql(f"INSERT INTO {table} {query}").collect()
    finally:
        # By the session that inserts: it remembers the columns of a table that another one drops.
        spark.sql(f"DROP TABLE IF EXISTS {table}").collect()
