"""Refuse base files that differ from the file that their commit wrote.

Another file under the same name, for example an older version, would be read as if it were the
right one. Its size tells, and an open file knows its size. A tool that rewrites a file in place,
with another codec or other types, keeps its rows, which name their file (``_hoodie_file_name``):
such a file is read.
"""

import os
from contextlib import suppress
from dataclasses import dataclass
from typing import IO

import pyarrow as pa

from hudi_pyspark.errors import CorruptBaseFileError
from hudi_pyspark.format.parquet.checked_file import has_only_value, open_parquet
from hudi_pyspark.table.confined_storage import ConfinedStorage
from hudi_pyspark.table.file_group import BaseFile
from hudi_pyspark.table.meta_columns import FILE_NAME_COLUMN
from hudi_pyspark.table.on_damage import OnDamage

_LEAST_SIZE = 12  # bytes of a Parquet file: writers that do not know a size record 0, -1 or 1
_NAMES = pa.field(FILE_NAME_COLUMN, pa.string())


@dataclass(frozen=True, slots=True)
class CommittedFile(ConfinedStorage):
    """A storage that refuses a base file if its commit recorded another size."""

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
            self.on_damage.handle(CorruptBaseFileError(self.describe(path), problem))


def _is_named_by_rows(file: pa.NativeFile | IO[bytes], path: str) -> bool:
    """Decide by the footer of a Parquet file whether its rows name this path as their file."""
    with suppress(pa.ArrowException, OSError, UnicodeDecodeError):
        parquet = open_parquet(file)
        name = pa.scalar(path.rpartition("/")[2])
        return parquet.num_row_groups > 0 and has_only_value(parquet, _NAMES, name)
    return False
