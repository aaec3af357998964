"""The exit codes, and the code of each error."""

from __future__ import annotations

from enum import IntEnum

from hudi_pyspark.errors import (
    CatalogError,
    CorruptTableError,
    HudiError,
    InvalidOptionError,
    StorageError,
    TableNotFoundError,
)


class ExitCode(IntEnum):
    """The exit codes of `hudi-py`, which `docs/looking-inside.md` lists."""

    OK = 0
    PROBLEM = 1  # the doctor found a problem, or the table's files are damaged
    USAGE = 2  # unknown command, option, column or instant
    NO_TABLE = 3  # no table at the path
    REFUSED = 4  # the table or the query is not supported, or its result is no longer known
    SYSTEM = 5  # storage, permissions, or a package that is not installed
    INTERRUPTED = 130  # Ctrl-C


_CODES: tuple[tuple[type[HudiError], ExitCode], ...] = (
    (TableNotFoundError, ExitCode.NO_TABLE),
    (InvalidOptionError, ExitCode.USAGE),
    (CorruptTableError, ExitCode.PROBLEM),
    (StorageError, ExitCode.SYSTEM),
    (CatalogError, ExitCode.SYSTEM),
    (HudiError, ExitCode.REFUSED),
)


def exit_code_of(error: Exception) -> ExitCode:
    """Return the exit code of an error that ends a command."""
    codes = (code for kind, code in _CODES if isinstance(error, kind))
    return next(codes, ExitCode.SYSTEM)
