"""Data files: what their names say, and all that differs by their format except for the readers.

The instant in a log file's name is the base instant of the file slice up to table version 7, and
the requested time of the delta commit that wrote the file from version 8 on.

From table version 10 on, log files are native logs: files of the base file format, with similar
names. A native log's name has one number more than a base file's, so the two cannot be confused.

The readers of rows are in `reading.base_files`, those of schemas in `table.data_file_schema`: one
table each, by format.
"""

from __future__ import annotations

import enum
import importlib.util
import posixpath
import re
from dataclasses import dataclass

from hudi_pyspark.errors import UnsupportedTableError

PARTITION_MARKER = ".hoodie_partition_metadata"

_BASE = re.compile(r"([^._/][^_/]*)_([^_/]+)_([0-9]+)\.([^/]+)")
_EXTERNAL_SUFFIX = "_hudiext"
_EXTERNAL_PREFIX_MARK = "_fg%3D"
_EXTERNAL = re.compile(r"([^/]+)_([0-9]+)")
# A token is partition-stage-attempt of the task that wrote the file; very old tables have none.
_LOG = re.compile(
    r"\.([^._/]+)_([^./]*)\.(log|archive)\.([0-9]+)(?:_([0-9]+-[0-9]+-[0-9]+)(\.cdc)?)?"
)
_NATIVE_LOG = re.compile(
    r"([^._/]+)_([0-9]+-[0-9]+-[0-9]+)_([^_/]+)_([0-9]+)\.(log|deletes|cdc)\.([A-Za-z0-9]+)"
)
# Hudi escapes some characters of folder names, as Hive does.
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")


# Not frozen: large tables have millions of names, and frozen instances take three times as long to
# create. Treat them as immutable.
@dataclass(slots=True, unsafe_hash=True)
class BaseFileName:
    """``<file id>_<write token>_<instant>.<extension>``.

    Another system wrote an external file, and Hudi only registered it: the metadata names it
    ``<name>_<instant>[_fg%3D<folder>]_hudiext``. Its file id is its path in the partition.
    """

    file_id: str
    write_token: str | None  # None for an external file
    instant: str
    extension: str  # without the dot; "" for an external file without extension

    @classmethod
    def parse(cls, name: str) -> BaseFileName | None:
        """Parse a base file's name, without its folder; None for any other name.

        Source: Hudi's FSUtils, and ExternalFilePathUtil for external files.
        """
        if name.endswith(_EXTERNAL_SUFFIX):
            return cls._parse_external(name)
        match = _BASE.fullmatch(name)
        return cls(*match.groups()) if match else None

    @classmethod
    def _parse_external(cls, name: str) -> BaseFileName | None:
        stem = name[: -len(_EXTERNAL_SUFFIX)]
        own_name, mark, escaped_folder = stem.partition(_EXTERNAL_PREFIX_MARK)
        match = _EXTERNAL.fullmatch(own_name)
        if match is None or bool(mark) != bool(escaped_folder) or "/" in escaped_folder:
            return None
        original_name, instant = match.groups()
        folder = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), escaped_folder)
        folder = f"{folder}/" if mark else ""
        extension = original_name.rpartition(".")[2] if "." in original_name else ""
        return cls(folder + original_name, None, instant, extension)


class LogKind(enum.Enum):
    """The content of a log file; the value is part of the file's name."""

    LOG = "log"  # blocks of records and deletes; a native log has only records
    DELETES = "deletes"  # only native logs
    CDC = "cdc"  # change data, which a merge ignores
    ARCHIVE = "archive"  # a file of the archived timeline


_KINDS = {".cdc": LogKind.CDC, **{kind.value: kind for kind in LogKind}}


@dataclass(slots=True, unsafe_hash=True)
class LogFileName:
    """The name of a log file.

    Either ``.<file id>_<instant>.<log|archive>.<version>[_<write token>[.cdc]]`` or, for a native
    log, ``<file id>_<write token>_<instant>_<version>.<log|deletes|cdc>.<extension>``.
    """

    file_id: str
    instant: str  # "" for a file of the archived timeline
    version: int
    write_token: str | None = None  # None in very old tables
    kind: LogKind = LogKind.LOG
    native_extension: str = ""  # without the dot; "" for a file of log blocks

    @classmethod
    def parse(cls, name: str) -> LogFileName | None:
        """Parse a log file's name, without its folder; None for any other name.

        Source: Hudi's FSUtils and HoodieLogFile.
        """
        match = _LOG.fullmatch(name)
        if match is not None:
            file_id, instant, kind, version, write_token, suffix = match.groups()
            return cls(file_id, instant, int(version), write_token, _KINDS[suffix or kind])
        match = _NATIVE_LOG.fullmatch(name)
        if match is None:
            return None
        file_id, write_token, instant, version, kind, extension = match.groups()
        return cls(file_id, instant, int(version), write_token, _KINDS[kind], extension)


def parse_data_file_name(name: str) -> BaseFileName | LogFileName | None:
    """Parse the name of a base file or log file; None for markers and any other file."""
    if not name.startswith(".") and (base := BaseFileName.parse(name)):
        return base
    log = LogFileName.parse(name)
    return log if log and log.kind is not LogKind.ARCHIVE else None


def is_log_file_name(name: str) -> bool:
    """Return whether a file is a log file of a file group; change data counts."""
    match = _LOG.fullmatch(name)
    return match[3] == "log" if match else is_native_log_name(name)


def is_native_log_name(name: str) -> bool:
    """Return whether a file is a native log: a log file in the base file format."""
    return _NATIVE_LOG.fullmatch(name) is not None


def is_partition_marker(name: str) -> bool:
    """Return whether a file name, without its folder, is that of a partition's marker."""
    return name == PARTITION_MARKER or (
        name.startswith(f"{PARTITION_MARKER}.") and not name.endswith(".crc")
    )


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
        is_parquet = word == "PARQUET"
        self.suffix = f".{word.lower()}"
        """The end of the names of such files."""
        self.has_row_groups = is_parquet
        """Whether a file has row groups, which are read one by one.

        The footer has statistics of each row group. It may have a Bloom filter of the record keys.
        So a read leaves row groups out, several tasks divide a file, and the footer suffices for
        the column statistics that `Inspection` shows. Files of other formats are read whole."""
        self.allows_kept_merges = is_parquet
        """Whether outcomes of merges are kept, which name the rows of a base file by number."""
        self.is_read_by_engines = is_parquet
        """Whether engines such as DuckDB may read a file instead of this package."""
        self.counts_in_mixed_tables = word != "LANCE"
        """Whether a table of several formats may have such files, whichever its own format is."""

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
