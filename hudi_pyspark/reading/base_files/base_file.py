"""Base files of any format to Arrow tables, a bounded number of rows at a time.

Those of a metadata-only bootstrap have the table's meta columns, and a source its data columns.
"""

from __future__ import annotations

import posixpath
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_pyspark.errors import CorruptBaseFileError, MissingFileError
from hudi_pyspark.reading.base_files.hfile import read_hfile_file
from hudi_pyspark.reading.base_files.lance import read_lance_file
from hudi_pyspark.reading.base_files.orc import read_orc_file
from hudi_pyspark.reading.base_files.parquet import read_parquet_file
from hudi_pyspark.reading.base_files.row_groups import RowGroupFilter
from hudi_pyspark.table.base_file_format import PARQUET, check_readable
from hudi_pyspark.table.meta_columns import META_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from hudi_pyspark.storage import Storage

_READERS = {".orc": read_orc_file, ".hfile": read_hfile_file, ".lance": read_lance_file}
_EVERY_ROW_GROUP = RowGroupFilter()
_NO_COLUMNS = pa.schema([])


def read_base_file(
    storage: Storage,
    path: str,
    columns: Sequence[str],
    batch_rows: int,
    row_groups: RowGroupFilter = _EVERY_ROW_GROUP,
    *,
    fields: pa.Schema = _NO_COLUMNS,
    verify_checksums: bool = True,
) -> Iterator[pa.Table]:
    """Stream a base file, in its own types and order, at most ``batch_rows`` rows at a time.

    Columns that the file lacks are left out; without any, tables still have their number of rows.
    ``fields`` has columns with the nested fields that are wanted, if not all of them; only the
    wanted ``row_groups`` of a Parquet file are read.
    """
    check_readable(path)
    try:
        extension = posixpath.splitext(path)[1]
        if extension == PARQUET:
            yield from read_parquet_file(
                storage,
                path,
                columns,
                batch_rows,
                row_groups,
                fields=fields,
                verify_checksums=verify_checksums,
            )
        else:
            yield from _READERS[extension](storage, path, columns, batch_rows)
    except FileNotFoundError as error:
        raise MissingFileError.since_planning(storage.describe(path)) from error


def read_bootstrap_file(
    storage: Storage,
    path: str,
    source: str,
    columns: Sequence[str],
    batch_rows: int,
    *,
    verify_checksums: bool = True,
) -> Iterator[pa.Table]:
    """Stream a skeleton file together with its source file: meta, then data columns.

    Row i of the one belongs to row i of the other; CorruptBaseFileError where their numbers differ.
    """
    folder, name = posixpath.split(source)
    outside = storage.at(folder)
    meta = [column for column in columns if column in META_COLUMNS]
    # A source that was a Hudi table itself has meta columns too, which are not this table's.
    data = [column for column in columns if column not in META_COLUMNS]
    read = partial(read_base_file, batch_rows=batch_rows, verify_checksums=verify_checksums)
    difference = yield from _join_rows(
        read(storage, path, meta), _named(read(outside, name, data), outside.describe(name))
    )
    if difference:
        problem = f"expected as many rows as its bootstrap source {outside.describe(name)} has"
        raise CorruptBaseFileError(storage.describe(path), f"{problem}, found {difference}")


def _named(source: Iterator[pa.Table], path: str) -> Iterator[pa.Table]:
    try:
        yield from source
    except MissingFileError as error:
        raise MissingFileError.of_bootstrap(path) from error


def _join_rows(
    left: Iterator[pa.Table], right: Iterator[pa.Table]
) -> Generator[pa.Table, None, str]:
    """Join rows by their ordinal; return how many more one of the two streams has, or ""."""
    rows = 0
    left_rest, right_rest = _next_rows(left), _next_rows(right)
    while left_rest is not None and right_rest is not None:
        count = min(left_rest.num_rows, right_rest.num_rows)
        yield _join_columns(left_rest.slice(0, count), right_rest.slice(0, count))
        rows += count
        left_rest = _rest(left_rest, count) or _next_rows(left)
        right_rest = _rest(right_rest, count) or _next_rows(right)
    if left_rest is not None:
        return f"more than the source's {rows}"
    return f"{rows}, and more in the source" if right_rest is not None else ""


def _next_rows(tables: Iterator[pa.Table]) -> pa.Table | None:
    return next((table for table in tables if table.num_rows), None)


def _rest(table: pa.Table, count: int) -> pa.Table | None:
    """Return the rows after the first ones; None if there are no more."""
    # Arrow does not bound the length of a slice without columns by itself.
    return table.slice(count, table.num_rows - count) if table.num_rows > count else None


def _join_columns(left: pa.Table, right: pa.Table) -> pa.Table:
    if not right.num_columns:
        return left
    if not left.num_columns:
        return right
    return pa.Table.from_arrays(
        [*left.columns, *right.columns], schema=pa.schema([*left.schema, *right.schema])
    )
