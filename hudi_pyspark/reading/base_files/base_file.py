"""Stream base files of any format as Arrow tables.

`read_base_rows` gives rows the columns and types that a task works with. `read_base_file` has no
task: rows, names and types are those of the file.

A base file of a metadata-only bootstrap has the table's meta columns, and its source file has the
data columns.

A base file that differs from the file that its commit wrote is refused (`SizeCheckedStorage`).
"""

import os
import posixpath
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark import errors
from hudi_pyspark.columns.arrays import Mask
from hudi_pyspark.columns.schema_evolution import conform, repair_timestamps, stored_columns
from hudi_pyspark.format.data_files import BaseFileFormat, check_readable
from hudi_pyspark.format.parquet.checked_file import has_only_value, open_parquet
from hudi_pyspark.reading.base_files.key_texts import shows_texts
from hudi_pyspark.reading.base_files.other_formats import READERS
from hudi_pyspark.reading.base_files.page_reads import PagedFile
from hudi_pyspark.reading.base_files.parquet import (
    RowGroupFilter,
    named_errors,
    open_parquet_file,
    read_parquet_rows,
)
from hudi_pyspark.reading.log_records.record_keys import with_record_key
from hudi_pyspark.storage.protocol import Storage
from hudi_pyspark.table.confined_storage import ConfinedStorage
from hudi_pyspark.table.file_group import BaseFile
from hudi_pyspark.table.meta_columns import FILE_NAME_COLUMN, META_COLUMNS, RECORD_KEY_COLUMN
from hudi_pyspark.table.on_damage import OnDamage
from hudi_pyspark.tasks import ScanTask

_LEAST_SIZE = 12  # bytes of a Parquet file: writers that do not know a size record 0, -1 or 1
_NAMES = pa.field(FILE_NAME_COLUMN, pa.string())
_EVERY_ROW_GROUP = RowGroupFilter()
_NO_COLUMNS = pa.schema([])


def read_base_rows(
    task: ScanTask,
    storage: Storage,
    *,
    file: PagedFile | None = None,
    dropped: Mask | None = None,
) -> Iterator[pa.Table]:
    """Read a task's base rows in file order, with its working columns.

    Unless they are merged, row groups and pages without a row that passes the task's filter may be
    left out.

    Args:
        task: what to read. Rows with other record keys than the task's are left out.
        storage: of the table.
        file: the base file, from `open_base_file`; None to open it here.
        dropped: rows to leave out, by row number: as many as the file has. None to read all rows.

    Raises:
        MissingFileError: the base file is gone.
        CorruptBaseFileError: it cannot be decoded, or another file has taken its place.
        CorruptTableError: a partition column has no value.
        SchemaEvolutionError: a column has a type that cannot be converted.
    """
    base = task.file_slice.base_file
    if base is None:
        return
    shared = task.shared
    by_id = shared.schema_on_read
    stored = stored_columns(by_id, task.stored_columns, base.instant_time)
    byte_range = task.byte_range
    if byte_range is not None and byte_range[1] >= base.size:
        # The last part goes on to the end of the file: if files come from the metadata table, their
        # size is what the writer recorded.
        byte_range = (byte_range[0], sys.maxsize)
    replaced = {*task.partition.from_path, *task.partition.in_shared_folder}
    row_groups = RowGroupFilter(
        None if task.is_merged else shared.predicate,
        task.working,
        {name: stored[name] for name in stored if name not in replaced},
        shared.record_keys,
        shared.key_texts,
        byte_range,
        dropped,
    )
    for stored_table in _stored_rows(task, storage, list(stored.values()), row_groups, file):
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


@contextmanager
def shown_keys(task: ScanTask, storage: Storage) -> Iterator[tuple[ScanTask, PagedFile | None]]:
    """Yield the task for any record key if a base file below log files contradicts its keys.

    Base rows and log records are left out by the same keys, or not at all. See `key_texts`; a base
    file without log files is asked when it is read. Without a base file, log blocks are asked.

    Yields:
        The task, and its base file if that was opened, for the length of the ``with`` block.

    Raises:
        MissingFileError, CorruptBaseFileError: as `read_base_rows`.
        UnsupportedTypeError: the file has types that this pyarrow does not know.
        UnsupportedTableError: the base file has an unknown format.
    """
    shared = task.shared
    base = task.file_slice.base_file
    is_by_texts = shared.record_keys is not None and bool(shared.key_texts)
    if not is_by_texts or base is None or not task.file_slice.log_files:
        yield task, None
        return
    any_key = task.with_plan(record_keys=None)
    if base.bootstrap_source or not BaseFileFormat.of(base.path).has_row_groups:
        yield any_key, None
        return
    with open_base_file(task, storage) as file:
        assert file is not None  # there is a base file
        with named_errors(file.place):
            is_shown = shows_texts(file.parquet, shared.key_texts)
        yield task if is_shown else any_key, file


def _stored_rows(
    task: ScanTask,
    storage: Storage,
    columns: Sequence[str],
    row_groups: RowGroupFilter,
    file: PagedFile | None,
) -> Iterator[pa.Table]:
    """Read base rows as the file has them; other arguments are as for `read_base_rows`."""
    base = task.file_slice.base_file
    assert base is not None  # a slice without a base file has no rows here
    # With schema on read the file may have other names for the nested fields.
    fields = task.working if task.shared.schema_on_read is None else _NO_COLUMNS
    rows = task.settings.batch_rows
    if file is not None:
        return read_parquet_rows(file, columns, rows, row_groups, fields=fields)
    committed = SizeCheckedStorage(storage, base, task.settings.on_damage)
    verifies = task.settings.verify_checksums
    if base.bootstrap_source:
        source = base.bootstrap_source
        return read_bootstrap_file(
            committed, base.path, source, columns, rows, verify_checksums=verifies
        )
    return read_base_file(
        committed, base.path, columns, rows, row_groups, fields=fields, verify_checksums=verifies
    )


def open_base_file(task: ScanTask, storage: Storage) -> AbstractContextManager[PagedFile | None]:
    """Open the Parquet base file of a task for a ``with`` block; None if the slice has none.

    Raises:
        MissingFileError, CorruptBaseFileError: as `read_base_rows`.
    """
    base = task.file_slice.base_file
    settings = task.settings
    if base is None:
        return nullcontext()
    committed = SizeCheckedStorage(storage, base, settings.on_damage)
    return open_parquet_file(committed, base.path, verify_checksums=settings.verify_checksums)


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
    if base_format.has_row_groups:
        with open_parquet_file(storage, path, verify_checksums=verify_checksums) as file:
            yield from read_parquet_rows(file, columns, batch_rows, row_groups, fields=fields)
        return
    try:
        yield from READERS[base_format](storage, path, columns, batch_rows)
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


@dataclass(frozen=True, slots=True)
class SizeCheckedStorage(ConfinedStorage):
    """A storage that refuses a base file if its commit recorded another size.

    Another file under the same name, for example an older version, would be read as if it were the
    right one. Its size tells, and an open file knows its size. A tool that rewrites a file in
    place, with another codec or other types, keeps its rows, which name their file
    (``_hoodie_file_name``): such a file is read.
    """

    base: BaseFile
    on_damage: OnDamage

    def read_bytes(self, path: str) -> bytes:
        content = self.inner.read_bytes(path)
        self._check(path, pa.BufferReader(content))
        return content

    def open_input(self, path: str) -> pa.NativeFile | IO[bytes]:
        """Open a file.

        Raises:
            CorruptBaseFileError: it is the base file and has another size, unless ``on_damage``
                says otherwise.
        """
        file = self.inner.open_input(path)
        self._check(path, file)
        file.seek(0)
        return file

    def _check(self, path: str, file: pa.NativeFile | IO[bytes]) -> None:
        size = file.seek(0, os.SEEK_END)
        committed = self.base.committed_size
        is_of_size = committed < _LEAST_SIZE or committed == size
        if path == self.base.path and not is_of_size and not _is_named_by_rows(file, path):
            problem = (
                f"the file has {size} bytes, but its commit says {committed}: it is cut, or "
                "another file has taken its place"
            )
            self.on_damage.handle(errors.CorruptBaseFileError(self.describe(path), problem))


def _is_named_by_rows(file: pa.NativeFile | IO[bytes], path: str) -> bool:
    """Decide by the footer of a Parquet file whether its rows name this path as their file."""
    with suppress(pa.ArrowException, OSError, UnicodeDecodeError):
        parquet = open_parquet(file)
        name = pa.scalar(path.rpartition("/")[2])
        return parquet.num_row_groups > 0 and has_only_value(parquet, _NAMES, name)
    return False
