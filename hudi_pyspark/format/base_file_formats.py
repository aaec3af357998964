"""The formats of base files, and all that differs by format except for the readers.

The readers of rows are in `reading.base_files.base_file`, those of schemas in
`table.data_file_schema`: one table each, by format.
"""

from __future__ import annotations

import enum
import importlib.util
import posixpath

from hudi_pyspark.errors import UnsupportedTableError

LANCE_MISSING = (
    "Lance base files are read with the library pylance, which is not installed; install it with "
    "pip install pylance (extra 'lance'), on every Spark executor too"
)


class BaseFileFormat(enum.Enum):
    """A format of base files; the value is its word in ``hoodie.table.base.file.format``."""

    PARQUET = "PARQUET"
    ORC = "ORC"
    HFILE = "HFILE"
    LANCE = "LANCE"

    def __init__(self, word: str) -> None:
        self.suffix = f".{word.lower()}"  # the end of the names of such files

    @classmethod
    def of(cls, path: str) -> BaseFileFormat:
        """Return the format of a base file by the end of its name.

        Raises:
            UnsupportedTableError: the extension is not that of a known format.
        """
        _, dot, extension = path.rpartition(".")
        base_format = _BY_SUFFIX.get(dot + extension)
        if base_format is None:
            raise UnsupportedTableError(
                f"base file {path} has the extension {posixpath.splitext(path)[1]!r}; supported: "
                f"{', '.join(_BY_SUFFIX)}"
            )
        return base_format

    @property
    def has_row_groups(self) -> bool:
        """Whether a file has row groups, which are read one by one.

        The footer has statistics of each row group. It may have a Bloom filter of the record keys.
        So a read leaves row groups out, several tasks divide a file, and the footer suffices for
        the column statistics that `Inspection` shows. Files of other formats are read whole.
        """
        return self is BaseFileFormat.PARQUET

    @property
    def allows_kept_merges(self) -> bool:
        """Whether outcomes of merges are kept, which name the rows of a base file by number."""
        return self is BaseFileFormat.PARQUET

    @property
    def is_read_by_engines(self) -> bool:
        """Whether engines such as DuckDB may read a file instead of this package."""
        return self is BaseFileFormat.PARQUET

    @property
    def counts_in_mixed_tables(self) -> bool:
        """Whether a table of several formats may have such files, whichever its own format is."""
        return self is not BaseFileFormat.LANCE

    @property
    def missing_library(self) -> str:
        """What to install before such files can be read; "" if nothing is missing."""
        is_missing = self is BaseFileFormat.LANCE and importlib.util.find_spec("lance") is None
        return LANCE_MISSING if is_missing else ""


_BY_SUFFIX = {base_format.suffix: base_format for base_format in BaseFileFormat}


def check_readable(path: str) -> BaseFileFormat:
    """Return the format of a base file; refuse, at plan time, a format that cannot be read.

    Raises:
        UnsupportedTableError: the extension is not that of a known format, or needs the extra
            ``lance``, which is not installed.
    """
    base_format = BaseFileFormat.of(path)
    if base_format.missing_library:
        raise UnsupportedTableError(f"base file {path}: {base_format.missing_library}")
    return base_format
