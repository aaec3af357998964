"""Base files of any format to Arrow tables, a bounded number of rows at a time."""

from __future__ import annotations

import importlib.util
import posixpath
from typing import TYPE_CHECKING

from hudi_pyspark.errors import MissingFileError, UnsupportedTableError
from hudi_pyspark.query.base_files.hfile import read_hfile_file
from hudi_pyspark.query.base_files.lance import LANCE_MISSING, read_lance_file
from hudi_pyspark.query.base_files.orc import read_orc_file
from hudi_pyspark.query.base_files.parquet import read_parquet_file
from hudi_pyspark.query.base_files.row_groups import RowGroupFilter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from hudi_pyspark.storage import Storage

PARQUET = ".parquet"
_READERS = {
    ".orc": read_orc_file,
    ".hfile": read_hfile_file,
    ".lance": read_lance_file,
}
_READABLE = (PARQUET, *_READERS)
_EVERY_ROW_GROUP = RowGroupFilter()


def read_base_file(
    storage: Storage,
    path: str,
    columns: Sequence[str],
    batch_rows: int,
    row_groups: RowGroupFilter = _EVERY_ROW_GROUP,
) -> Iterator[pa.Table]:
    """Stream a base file in file order.

    Args:
        storage: of the table.
        path: relative to the base path; its extension names the format.
        columns: names of top-level columns; those that the file lacks are left out.
        batch_rows: most rows per table.
        row_groups: which part of a Parquet file is wanted; the other formats are read whole.

    Yields:
        Tables in the file's own types; without any column they still have their number of rows.

    Raises:
        MissingFileError: the file is gone.
        CorruptBaseFileError: it cannot be read as the format of its extension.
        UnsupportedTableError: its format, or something in it, is not covered.
        UnsupportedTypeError: it has timestamps that cannot be read from ORC files.
    """
    check_readable(path)
    try:
        extension = _extension(path)
        if extension == PARQUET:
            yield from read_parquet_file(storage, path, columns, batch_rows, row_groups)
        else:
            yield from _READERS[extension](storage, path, columns, batch_rows)
    except FileNotFoundError as error:
        raise MissingFileError.since_planning(storage.describe(path)) from error


def check_readable(path: str) -> None:
    """Refuse, at plan time, a base file whose format cannot be read.

    Raises:
        UnsupportedTableError: another extension, or one whose library is not installed.
    """
    extension = _extension(path)
    if extension not in _READABLE:
        raise UnsupportedTableError(
            f"base file {path} has the extension {extension!r}; supported: {', '.join(_READABLE)}"
        )
    if extension == ".lance" and importlib.util.find_spec("lance") is None:
        raise UnsupportedTableError(f"base file {path}: {LANCE_MISSING}")


def _extension(path: str) -> str:
    return posixpath.splitext(path)[1]
