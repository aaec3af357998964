"""Stream base files of any format as Arrow tables.

`read_base_rows` gives rows the columns and types that a task works with. `read_base_file` has no
task: rows, names and types are those of the file.

A base file of a metadata-only bootstrap has the table's meta columns, and its source file has the
data columns.
"""

import posixpath
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark import errors
from hudi_pyspark.columns.arrays import Mask
from hudi_pyspark.columns.schema_evolution import conform, stored_columns
from hudi_pyspark.columns.timestamp_repair import repair_timestamps
from hudi_pyspark.filter.predicate import Predicate
from hudi_pyspark.format.avro.schema import parse_schema
from hudi_pyspark.format.base_file_formats import LANCE_MISSING, BaseFileFormat, check_readable
from hudi_pyspark.format.column_names import match_columns, rename_columns
from hudi_pyspark.format.hfile import HFileError
from hudi_pyspark.format.hfile.reader import SCHEMA_INFO, read_hfile
from hudi_pyspark.format.log.data_block import decode_hfile_records
from hudi_pyspark.reading.base_files.committed_file import CommittedFile
from hudi_pyspark.reading.base_files.orc import read_orc_file
from hudi_pyspark.reading.base_files.page_reads import PagedFile
from hudi_pyspark.reading.base_files.parquet import (
    RowGroupFilter,
    open_parquet_file,
    read_parquet_rows,
)
from hudi_pyspark.reading.log_records.record_keys import with_record_key
from hudi_pyspark.storage.protocol import Storage
from hudi_pyspark.table.file_group import BaseFile
from hudi_pyspark.table.meta_columns import META_COLUMNS, RECORD_KEY_COLUMN
from hudi_pyspark.tasks import ScanTask

_EVERY_ROW_GROUP = RowGroupFilter()
_NO_COLUMNS = pa.schema([])


def read_base_rows(
    task: ScanTask,
    storage: Storage,
    predicate: Predicate | None = None,
    *,
    file: PagedFile | None = None,
    dropped: Mask | None = None,
) -> Iterator[pa.Table]:
    """Read a task's base rows in file order, with its working columns.

    Args:
        task: what to read. Rows with other record keys than the task's are left out.
        storage: of the table.
        predicate: row groups and pages without a row for which it is true may be left out.
        file: the base file, from `open_base_file`; None to open it here.
        dropped: rows to leave out, by row number: as many as the file has. None to read all rows.

    Raises:
        MissingFileError: the base file is gone.
        CorruptBaseFileError: it cannot be decoded, or another file has taken its place.
        CorruptTableError: a partition column has no value.
        SchemaEvolutionError: a column has a type that cannot be converted.
    """
    base = task.file_slice.base_file
    shared = task.shared
    settings = task.settings
    if base is None:
        return
    stored = stored_columns(shared.schema_on_read, task.stored_columns, base.instant_time)
    columns = list(stored.values())
    by_id = shared.schema_on_read
    replaced = {*task.partition.from_path, *task.partition.in_shared_folder}
    row_groups = RowGroupFilter(
        predicate,
        task.working,
        {name: stored[name] for name in stored if name not in replaced},
        shared.record_keys,
        _part_to_read(task, base),
        dropped,
    )
    # With schema on read the file may have other names for the nested fields.
    fields = task.working if by_id is None else pa.schema([])
    if file is not None:
        tables = read_parquet_rows(file, columns, settings.batch_rows, row_groups, fields=fields)
    else:
        read = partial(read_base_file, row_groups=row_groups, fields=fields)
        if base.bootstrap_source:
            read = partial(read_bootstrap_file, source=base.bootstrap_source)
        tables = read(
            CommittedFile(storage, base, settings.on_damage),
            base.path,
            columns=columns,
            batch_rows=settings.batch_rows,
            verify_checksums=settings.verify_checksums,
        )
    for stored_table in tables:
        table = by_id.rename(stored_table, stored, base.instant_time) if by_id else stored_table
        _check_partition_columns(task, table, base.path)
        table = repair_timestamps(table, task.working)
        rows = conform(table, task.working, task.partition.constants, source=base.path, casts=True)
        if task.file_slice.log_files:
            rows = with_record_key(rows, shared.key_fields)
            if shared.wanted_keys is not None:
                is_wanted = pc.is_in(rows.column(RECORD_KEY_COLUMN), value_set=shared.wanted_keys)
                rows = rows.filter(is_wanted)
        yield rows


def open_base_file(task: ScanTask, storage: Storage) -> AbstractContextManager[PagedFile | None]:
    """Open the Parquet base file of a task for a ``with`` block; None if the slice has none.

    Errors may come from within the ``with`` block.

    Raises:
        MissingFileError, CorruptBaseFileError: as `read_base_rows`.
    """
    base = task.file_slice.base_file
    settings = task.settings
    if base is None:
        return nullcontext()
    committed = CommittedFile(storage, base, settings.on_damage)
    return open_parquet_file(committed, base.path, verify_checksums=settings.verify_checksums)


def _part_to_read(task: ScanTask, base: BaseFile) -> tuple[int, int] | None:
    """Return the bytes that a task reads; None for all.

    The last part of a file goes on to its end: if files come from the metadata table, their size is
    what the writer recorded.
    """
    if task.byte_range is None or task.byte_range[1] < base.size:
        return task.byte_range
    return task.byte_range[0], sys.maxsize


def _check_partition_columns(task: ScanTask, table: pa.Table, path: str) -> None:
    required = task.stored_columns
    available = {*table.schema.names, *task.partition.constants}
    missing = [n for n in task.partition.names if n in required and n not in available]
    if missing:
        raise errors.CorruptTableError(
            f"{path}: partition column {', '.join(missing)} is not in the file, and cannot be "
            f"taken from the partition path {task.file_slice.partition_path!r}"
        )


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
    """Stream a base file as tables with its own types, in its own order.

    Tables without columns still have their number of rows.

    Args:
        storage: of the table.
        path: of the file, relative to the base path.
        columns: names of the columns to read. Names match in any case; the tables have these names,
            without the columns that the file lacks.
        batch_rows: maximum rows per table.
        row_groups: chooses row groups of a Parquet file; other formats are read whole.
        fields: columns with the nested fields to read; columns that it lacks are read whole.
        verify_checksums: whether the checksums of Parquet pages are compared.

    Raises:
        MissingFileError: the file is gone.
        CorruptBaseFileError: it cannot be decoded.
        UnsupportedTableError: its format, or a type in it, is not covered.
        SchemaEvolutionError: it has a requested column under several names.
    """
    base_format = check_readable(path)
    read = _READERS[base_format]
    if base_format.has_row_groups:
        read = partial(
            read, row_groups=row_groups, fields=fields, verify_checksums=verify_checksums
        )
    try:
        yield from read(storage, path, columns, batch_rows)
    except FileNotFoundError as error:
        raise errors.MissingFileError.since_planning(storage.describe(path)) from error


def read_bootstrap_file(
    storage: Storage,
    path: str,
    source: str,
    columns: Sequence[str],
    batch_rows: int,
    *,
    verify_checksums: bool = True,
) -> Iterator[pa.Table]:
    """Stream a skeleton file together with its source file: meta columns, then data columns.

    Row i of the skeleton belongs to row i of the source file, whose location is ``source``. Other
    arguments are as for `read_base_file`.

    Raises:
        CorruptBaseFileError: the two files have different numbers of rows.
        MissingFileError, UnsupportedTableError, SchemaEvolutionError: as `read_base_file`.
    """
    folder, name = posixpath.split(source)
    outside = storage.at(folder, is_given=True)  # by the plan, which decides where it may lie
    meta = [column for column in columns if column in META_COLUMNS]
    # The source may be from another Hudi table: then its meta columns are not this table's.
    data = [column for column in columns if column not in META_COLUMNS]
    read = partial(read_base_file, batch_rows=batch_rows, verify_checksums=verify_checksums)
    difference = yield from _join_rows(
        read(storage, path, meta), _named(read(outside, name, data), outside.describe(name))
    )
    if difference:
        problem = f"expected as many rows as its bootstrap source {outside.describe(name)} has"
        raise errors.CorruptBaseFileError(storage.describe(path), f"{problem}, found {difference}")


def _named(source: Iterator[pa.Table], path: str) -> Iterator[pa.Table]:
    try:
        yield from source
    except errors.MissingFileError as error:
        raise errors.MissingFileError.of_bootstrap(path) from error


def _join_rows(
    left: Iterator[pa.Table], right: Iterator[pa.Table]
) -> Generator[pa.Table, None, str]:
    """Join rows by their ordinal; return which of the two streams has more rows, or ""."""
    rows = 0
    remaining_left, remaining_right = _next_rows(left), _next_rows(right)
    while remaining_left is not None and remaining_right is not None:
        count = min(remaining_left.num_rows, remaining_right.num_rows)
        yield _join_columns(remaining_left.slice(0, count), remaining_right.slice(0, count))
        rows += count
        remaining_left = _remaining_rows(remaining_left, count) or _next_rows(left)
        remaining_right = _remaining_rows(remaining_right, count) or _next_rows(right)
    if remaining_left is not None:
        return f"more than the source's {rows}"
    return f"{rows}, and more in the source" if remaining_right is not None else ""


def _next_rows(tables: Iterator[pa.Table]) -> pa.Table | None:
    return next((table for table in tables if table.num_rows), None)


def _remaining_rows(table: pa.Table, count: int) -> pa.Table | None:
    """Return the rows after the first ``count`` rows; None if there are no more."""
    # Arrow does not bound the length of a slice without columns by itself.
    return table.slice(count, table.num_rows - count) if table.num_rows > count else None


def _join_columns(left: pa.Table, right: pa.Table) -> pa.Table:
    if not right.num_columns:
        return left
    schema = pa.schema([*left.schema, *right.schema])
    return pa.Table.from_arrays([*left.columns, *right.columns], schema=schema)


def _read_parquet_file(
    storage: Storage,
    path: str,
    columns: Sequence[str],
    batch_rows: int,
    *,
    row_groups: RowGroupFilter,
    fields: pa.Schema,
    verify_checksums: bool,
) -> Iterator[pa.Table]:
    """Stream a Parquet file; see `read_base_file`.

    Raises:
        MissingFileError, CorruptBaseFileError, UnsupportedTableError, SchemaEvolutionError: as
            `read_base_file`.
    """
    with open_parquet_file(storage, path, verify_checksums=verify_checksums) as file:
        yield from read_parquet_rows(file, columns, batch_rows, row_groups, fields=fields)


def _read_hfile_file(
    storage: Storage, path: str, columns: Sequence[str], batch_rows: int
) -> Iterator[pa.Table]:
    """Read a whole HFile and decode some columns; see `read_base_file`.

    The blocks of an HFile are compressed rows, so they cannot be read by column.

    Raises:
        CorruptBaseFileError: the file cannot be decoded.
        SchemaEvolutionError: it has a requested column under several names.
    """
    place = storage.describe(path)
    try:
        hfile = read_hfile(storage.read_bytes(path), path=path)
        schema_text = hfile.file_info.get(SCHEMA_INFO)
        if schema_text is None:
            raise errors.CorruptBaseFileError(place, "expected an Avro schema in its file info")
        schema = parse_schema(str(schema_text, "utf-8"))
        stored = match_columns(columns, [field.name for field in schema.fields], source=place)
        table = decode_hfile_records(hfile, schema, [*stored.values()])
        table = rename_columns(table.select([*stored.values()]), stored) if stored else table
    except (HFileError, errors.CorruptAvroError, UnicodeDecodeError) as error:
        reason = error.reason() if isinstance(error, errors.CorruptAvroError) else error
        raise errors.CorruptBaseFileError(place, f"not readable as HFile: {reason}") from error
    for start in range(0, table.num_rows, batch_rows):
        # Arrow does not bound the length of a slice without columns by itself.
        yield table.slice(start, min(batch_rows, table.num_rows - start))


def _read_lance_file(
    storage: Storage, path: str, columns: Sequence[str], batch_rows: int
) -> Iterator[pa.Table]:
    """Stream a Lance file; see `read_base_file`.

    Raises:
        UnsupportedTableError: the optional library is not installed.
        CorruptBaseFileError: the file cannot be decoded.
        SchemaEvolutionError: it has a requested column under several names.
    """
    try:
        from lance.file import LanceFileReader  # noqa: PLC0415  (an optional extra)
    except ImportError as error:
        raise errors.UnsupportedTableError(f"base file {path}: {LANCE_MISSING}") from error
    with _local_file(storage, path) as local:
        try:
            names = LanceFileReader(str(local)).metadata().schema.names
            stored = match_columns(columns, names, source=storage.describe(path))
            stored_names = list(stored.values())
            # The library refuses an empty list.
            reader = LanceFileReader(str(local), columns=stored_names or names[:1])
            for batch in reader.read_all(batch_size=batch_rows).to_batches():
                yield rename_columns(pa.Table.from_batches([batch]).select(stored_names), stored)
        except (pa.ArrowInvalid, OSError, RuntimeError, ValueError) as error:
            problem = f"not readable as Lance: {error}"
            raise errors.CorruptBaseFileError(storage.describe(path), problem) from error


@contextmanager
def _local_file(storage: Storage, path: str) -> Iterator[Path]:
    """Yield the path of the file on this machine, of a copy if need be: the library needs one.

    Raises:
        StorageError: the copy cannot be written.
    """
    with storage.open_input(path) as file:  # raises if the path is missing, or outside of the table
        local = Path(storage.describe(path))
        if storage.is_local and local.is_file():
            yield local
            return
        content = file.read()
    with ExitStack() as stack:
        try:
            copy = Path(stack.enter_context(tempfile.TemporaryDirectory()), "base.lance")
            copy.write_bytes(content)
        except OSError as error:  # a full disk, or a machine without a folder for temporary files
            problem = f"a copy in the folder for temporary files cannot be written: {error}"
            raise errors.StorageError(storage.describe(path), problem, 1) from error
        yield copy


# Each takes the storage, the path, the columns and the rows per table; that of a format with row
# groups also takes the other arguments of `read_base_file`.
_READERS: Mapping[BaseFileFormat, Callable[..., Iterator[pa.Table]]] = {
    BaseFileFormat.PARQUET: _read_parquet_file,
    BaseFileFormat.ORC: read_orc_file,
    BaseFileFormat.HFILE: _read_hfile_file,
    BaseFileFormat.LANCE: _read_lance_file,
}
