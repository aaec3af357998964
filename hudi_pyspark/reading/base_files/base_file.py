"""Base files of any format to Arrow tables, a bounded number of rows at a time.

Those of a metadata-only bootstrap have the table's meta columns, and a source its data columns.
"""

import posixpath
import tempfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pyarrow as pa

from hudi_pyspark.columns.column_names import match_columns, rename_columns
from hudi_pyspark.errors import (
    CorruptAvroError,
    CorruptBaseFileError,
    MissingFileError,
    UnsupportedTableError,
)
from hudi_pyspark.format.avro.schema import parse_schema
from hudi_pyspark.format.hfile import HFileError
from hudi_pyspark.format.hfile.reader import SCHEMA_INFO, read_hfile
from hudi_pyspark.format.log.data_block import decode_hfile_records
from hudi_pyspark.reading.base_files.orc import read_orc_file
from hudi_pyspark.reading.base_files.parquet import read_parquet_file
from hudi_pyspark.reading.base_files.row_groups import RowGroupFilter
from hudi_pyspark.storage.protocol import Storage
from hudi_pyspark.table.file_group import LANCE_MISSING, PARQUET, check_readable
from hudi_pyspark.table.meta_columns import META_COLUMNS

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

    Raises:
        MissingFileError: the file is gone.
        CorruptBaseFileError: it cannot be decoded.
        UnsupportedTableError: its format, or a type in it, is not covered.
        SchemaEvolutionError: it has a wanted column under several names.
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

    Row i of the one belongs to row i of the other.

    Raises:
        CorruptBaseFileError: the two have different numbers of rows; else as `read_base_file`.
        MissingFileError: one of the files is gone.
    """
    folder, name = posixpath.split(source)
    outside = storage.at(folder, is_given=True)  # by the plan, which decides where it may lie
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
    schema = pa.schema([*left.schema, *right.schema])
    return pa.Table.from_arrays([*left.columns, *right.columns], schema=schema)


def read_hfile_file(
    storage: Storage, path: str, columns: Sequence[str], batch_rows: int
) -> Iterator[pa.Table]:
    """Read a whole HFile and decode some columns; see `read_base_file`.

    The blocks of an HFile are compressed rows, so it cannot be read in part.
    """
    place = storage.describe(path)
    try:
        hfile = read_hfile(storage.read_bytes(path), path=path)
        schema_text = hfile.file_info.get(SCHEMA_INFO)
        if schema_text is None:
            raise CorruptBaseFileError(place, "expected an Avro schema in its file info")
        schema = parse_schema(str(schema_text, "utf-8"))
        stored = match_columns(columns, [field.name for field in schema.fields], source=place)
        table = decode_hfile_records(hfile, schema, [*stored.values()])
        table = rename_columns(table.select([*stored.values()]), stored) if stored else table
    except (HFileError, CorruptAvroError, UnicodeDecodeError) as error:
        reason = error.reason() if isinstance(error, CorruptAvroError) else error
        raise CorruptBaseFileError(place, f"not readable as HFile: {reason}") from error
    for start in range(0, table.num_rows, batch_rows):
        # Arrow does not bound the length of a slice without columns by itself.
        yield table.slice(start, min(batch_rows, table.num_rows - start))


def read_lance_file(
    storage: Storage, path: str, columns: Sequence[str], batch_rows: int
) -> Iterator[pa.Table]:
    """Stream a Lance file; see `read_base_file`."""
    try:
        from lance.file import LanceFileReader  # noqa: PLC0415  (an optional extra)
    except ImportError as error:
        raise UnsupportedTableError(f"base file {path}: {LANCE_MISSING}") from error
    with _local_file(storage, path) as local:
        try:
            names = LanceFileReader(str(local)).metadata().schema.names
            stored = match_columns(columns, names, source=storage.describe(path))
            wanted = list(stored.values())
            # The library refuses an empty list.
            reader = LanceFileReader(str(local), columns=wanted or names[:1])
            for batch in reader.read_all(batch_size=batch_rows).to_batches():
                yield rename_columns(pa.Table.from_batches([batch]).select(wanted), stored)
        except (pa.ArrowInvalid, OSError, RuntimeError, ValueError) as error:
            problem = f"not readable as Lance: {error}"
            raise CorruptBaseFileError(storage.describe(path), problem) from error


@contextmanager
def _local_file(storage: Storage, path: str) -> Iterator[Path]:
    """Yield the file on this machine, copied here if need be: the library opens only paths."""
    with storage.open_input(path) as file:  # raises if the path is missing, or outside of the table
        local = Path(storage.describe(path))
        if storage.is_local and local.is_file():
            yield local
            return
        content = file.read()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "base.lance"
        copy.write_bytes(content)
        yield copy


_READERS = {".orc": read_orc_file, ".hfile": read_hfile_file, ".lance": read_lance_file}
