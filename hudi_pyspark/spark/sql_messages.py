"""What the catalogs in `jvm/` say about statements that they refuse: texts with ``%s``."""

from hudi_pyspark.errors import InvalidOptionError, PathNotFoundError, UnsupportedQueryError
from hudi_pyspark.short_name import SHORT_NAME

_UNSUPPORTED = f"[{UnsupportedQueryError.code}]"
_INVALID = f"[{InvalidOptionError.code}]"
SQL_MESSAGES = {
    "READ_ONLY": f"{_UNSUPPORTED} %s is not supported for %s: hudi-pyspark only reads tables of "
    "Apache Hudi. Use Apache Hudi, format('hudi'), in a session with its "
    "bundle",
    "NO_PATH": f"{_INVALID} CREATE TABLE %s has no path: hudi-pyspark makes entries of tables that "
    "exist. Give LOCATION, or OPTIONS (path '...')",
    "NO_FOLDER": f"[{PathNotFoundError.code}] CREATE TABLE %s LOCATION '%s': Spark puts a relative "
    "location below the folder of the database, and %s does not exist: give the whole path",
    "NO_TABLE": f"{_INVALID} %s: %s is neither a path, which has a slash, nor the name of a table "
    "of Apache Hudi in the metastore: %s",
    "NO_TEXT": f"{_INVALID} %s is refused: %s. Give each argument as a constant, in its place: a "
    "text, a whole number, a boolean, a day or a time",
    "NO_FILES": f"{_INVALID} %s: spark.sql.runSQLOnFiles is false, so SQL does not read the path "
    "%s. Give the name of a table",
    "NO_SOURCE": f"{_UNSUPPORTED} %s: the session has another source with the name {SHORT_NAME} "
    "than hudi_pyspark.register gave it. Call hudi_pyspark.register(spark) once more",
    "NO_OPTION": f"{_INVALID} unknown option '%s': names that begin like this are not for users",
    "LIKE_OTHER": f"{_INVALID} CREATE TABLE %s LIKE %s would make a table without files: "
    "hudi-pyspark makes entries of tables that exist. Use CREATE TABLE … USING hudi LOCATION '…'",
    "LIKE_ENTRY": f"{_UNSUPPORTED} CREATE TABLE %s LIKE %s is refused, since the metastore may "
    "have other columns than a table of Apache Hudi. Use CREATE TABLE … USING parquet AS SELECT * "
    "FROM … LIMIT 0, or CREATE TABLE … USING hudi LOCATION '…' for another entry of the same table",
    "OVERWRITES": f"{_UNSUPPORTED} INSERT OVERWRITE DIRECTORY %s is refused, since Spark deletes "
    "what is there, and this is a table of Apache Hudi: %s. Give another folder, or delete the "
    "table yourself",
    "OTHER_COLUMNS": f"{_INVALID} the options of a query of %s change its columns, which SQL does "
    "not allow: %s would become %s. Use VERSION AS OF for an instant, hudi_table_changes for a "
    "range, or a view with these options",
    "DROPS_ENTRY": f"{_UNSUPPORTED} DROP DATABASE %s is refused, since it has %s, the entry of a "
    "table of Apache Hudi. Use DROP TABLE first, which leaves the files alone",
    "DROPS_FOLDER": f"{_UNSUPPORTED} DROP DATABASE %s is refused, since Spark deletes its folder, "
    "which holds a table of Apache Hudi: %s. Move the table, or delete it yourself",
    "DROPS_FILES": f"{_UNSUPPORTED} DROP TABLE %s is refused, since the metastore would delete the "
    "files of a table of Apache Hudi: %s. Drop the entry with the tools of the metastore, without "
    "its data",
}
"""The messages, by the names of their constants in Java."""
