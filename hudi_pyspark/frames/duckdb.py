"""A scan as a relation of DuckDB on base files (extra ``duckdb``)."""

from collections.abc import Sequence

import duckdb
import numpy as np
import pyarrow as pa

from hudi_pyspark.frames.merged_files import Snapshot, is_exact_type, merged_files
from hudi_pyspark.messages import logger

_FILE, _ROW = "file_index", "file_row_number"  # columns that DuckDB adds to those of the files
_log = logger(__name__)


def relation_of_files(
    scan: Snapshot, name: str, database: duckdb.DuckDBPyConnection
) -> duckdb.DuckDBPyRelation | None:
    """Merge a scan, and return a relation of its base files and log records.

    Args:
        scan: what to read.
        name: prefix for the names of two tables that this registers: log records and dropped rows.
        database: where the relation is used.

    Returns:
        None if DuckDB would read other values, may not read files, or is older than 1.3; see
        `merged_files`.

    Raises:
        HudiError: the table cannot be read.
    """
    try:
        return _relation_of_files(scan, name, database)
    except (duckdb.BinderException, duckdb.PermissionException) as error:
        _log.info("base files are read by hudi-py, since DuckDB cannot: %s", error)
        return None


def _relation_of_files(
    scan: Snapshot, name: str, database: duckdb.DuckDBPyConnection
) -> duckdb.DuckDBPyRelation | None:
    columns = ", ".join(map(_quoted, scan.schema.names))
    expected = database.from_arrow(scan.schema.empty_table()).types

    def reads_alike(path: str) -> bool:
        types = database.sql(f"SELECT {columns} FROM {_files([path])}").types
        return bool(types == expected)

    # DuckDB relies on the bounds in files, which ignore NaN: floating-point columns are not exact.
    merged = merged_files(scan, is_exact_type, reads_alike, reserved=(_FILE, _ROW))
    if merged is None:
        return None
    records, dropped = f"{name} records", f"{name} dropped rows"
    database.register(records, merged.records)
    parts = [f"SELECT {columns} FROM {_quoted(records)}"]
    if merged.whole:
        parts.append(f"SELECT {columns} FROM {_files(merged.whole)}")
    if merged.parts:
        numbers = [np.flatnonzero(mask) for mask in merged.parts.values()]
        files = np.repeat(np.arange(len(numbers)), [len(rows) for rows in numbers])
        rows = {_FILE: files.astype(np.uint64), _ROW: np.concatenate(numbers)}
        database.register(dropped, pa.table(rows))
        part = _files(list(merged.parts), f", {_ROW} = true")
        without = f"ANTI JOIN {_quoted(dropped)} USING ({_FILE}, {_ROW})"
        parts.append(f"SELECT {columns} FROM {part} {without}")
    return database.sql(" UNION ALL ".join(parts))


def _files(paths: Sequence[str], options: str = "") -> str:
    literals = ", ".join("'" + path.replace("'", "''") + "'" for path in paths)
    return f"read_parquet([{literals}], hive_partitioning = false{options})"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
