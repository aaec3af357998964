"""Errors that this package raises on purpose.

Spark relays only the text of an error that is raised in a Python worker, so every message begins
with a code in brackets, e.g. ``[HUDI_TABLE_NOT_FOUND]``. All arguments are positional and end up
in ``args``: unpickling replays exactly these. `docs/errors.md` draws the tree.
"""

from __future__ import annotations

import json
import re
from typing import ClassVar

# Characters that a terminal obeys, that forge lines, that turn text around or that are invisible;
# and halves of characters, which cannot be written.
_CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def printable(text: str, *, keep_lines: bool = False) -> str:
    """Escape the control characters of a text as JSON does.

    All names of a table pass through here on their way to people. An escaped text stays unchanged.

    Args:
        text: to show to people.
        keep_lines: whether line breaks stay; only for line breaks that the caller has written.
    """
    if keep_lines:
        return "\n".join(map(printable, text.split("\n")))
    return _CONTROL.sub(lambda match: json.dumps(match[0])[1:-1], text)


class HudiError(Exception):
    """Base of all errors of this package; ``code`` names the class in logs and messages."""

    code: ClassVar[str] = "HUDI_ERROR"

    def __init_subclass__(cls, *, code: str = "") -> None:
        super().__init_subclass__()
        name = cls.__name__.removesuffix("Error")
        words = "".join(f"_{letter}" if letter.isupper() else letter for letter in name)
        cls.code = code or f"HUDI{words.upper()}"

    def __str__(self) -> str:
        return f"[{self.code}] {printable(self.reason())}"

    def reason(self) -> str:
        """Return the message without its code, and without escaping the table's names."""
        return str(self.args[0]) if self.args else ""


class TableNotFoundError(HudiError, FileNotFoundError):
    """The path exists but has no ``.hoodie/hoodie.properties``."""


class PathNotFoundError(TableNotFoundError):
    """There is nothing at the path."""


class PathInsideTableError(TableNotFoundError):
    """The path is a folder inside a table; the message names the table's base path."""


class InvalidOptionError(HudiError, ValueError):
    """An option is unknown, has a value that it cannot have, or contradicts another."""


class UnknownQueryTypeError(InvalidOptionError):
    """``hoodie.datasource.query.type`` is not one of Hudi's query types."""


class InvalidInstantError(InvalidOptionError):
    """A text is not an instant."""


class FutureInstantError(InvalidInstantError):
    """The instant is after the last instant of the timeline and after the present time."""


class UnsupportedTableError(HudiError, NotImplementedError):
    """The table uses something that this release cannot read correctly."""


class UnsupportedVersionError(UnsupportedTableError):
    """``hoodie.table.version`` (or the timeline layout) is unknown to this release."""


class UnsupportedMergeError(UnsupportedTableError):
    """This release does not cover the merge mode, payload class or merge strategy."""


class UnsupportedQueryError(UnsupportedTableError):
    """This release does not cover a query type or read option of Apache Hudi."""


class UnsupportedTypeError(UnsupportedTableError, TypeError):
    """A column type has no counterpart in Arrow or Spark, or this pyarrow does not know it."""


class MissingModuleError(HudiError, ImportError):
    """The Python of Spark's workers lacks a module that this package needs."""


class CorruptTableError(HudiError, RuntimeError):
    """The table's files contradict the format or each other."""

    def __str__(self) -> str:
        return f"{super().__str__()}. Run hudi-py doctor on the table: it says what to restore"


class CorruptTimelineError(CorruptTableError):
    """A timeline or archive file cannot be decoded."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path = path
        self.problem = problem

    def reason(self) -> str:
        return f"{self.path}: {self.problem}. Restore the file from a copy"


class CorruptBaseFileError(CorruptTableError):
    """A base file cannot be read, or is not the file that was committed."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path = path
        self.problem = problem

    def reason(self) -> str:
        return (
            f"{self.path}: {self.problem}. Restore the file from a copy, or read the table as of "
            "an instant before the file was written (as.of.instant)"
        )


_WITHOUT_LOG_FILES = (
    "Restore the file from a copy, or read the base files alone, without the changes in log files "
    "(query_type=read_optimized)"
)


class CorruptLogBlockError(CorruptTableError):
    """A log block cannot be framed or decoded.

    Args:
        problem: what was expected and what was found.
        path: the log file, relative to the base path.
        offset: bytes from the start of the log file to where the problem lies.
        advice: what to do. By default that of damage with which Apache Hudi fails as well, whatever
            ``on_damage`` says.
    """

    def __init__(
        self, problem: str, path: str, offset: int, advice: str = _WITHOUT_LOG_FILES
    ) -> None:
        super().__init__(problem, path, offset, advice)
        self.problem = problem
        self.path = path
        self.offset = offset
        self.advice = advice

    def reason(self) -> str:
        return f"{self.path} at byte {self.offset}: {self.problem}. {self.advice}"


class CorruptAvroError(CorruptTableError):
    """Avro bytes do not fit their schema.

    Args:
        problem: what was expected and what was found.
        record: number of the record in its block, from 0.
        field: dotted name of the field being decoded; "" if no field is.
    """

    def __init__(self, problem: str, record: int, field: str) -> None:
        super().__init__(problem, record, field)
        self.problem = problem
        self.record = record
        self.field = field

    def reason(self) -> str:
        place = f"record {self.record}" + (f", field {self.field!r}" if self.field else "")
        return f"{place}: {self.problem}"


class MissingFileError(CorruptTableError, FileNotFoundError):
    """A file that the timeline names is not on the storage."""

    @classmethod
    def since_planning(cls, path: str) -> MissingFileError:
        """Return the error for a file, by its full path, that was there during planning."""
        return cls(
            f"{path} is not on the storage any more. Load the table again. If this "
            "happens often, make the cleaner keep files longer (hoodie.cleaner.commits.retained)"
        )

    @classmethod
    def since_commit(cls, path: str, instant_time: str) -> MissingFileError:
        """Return the error for a file that a completed commit wrote."""
        return cls(
            f"{path} was committed ({instant_time}) but is not on the storage. Restore it from a "
            "copy. If the cleaner has just removed it, load the table again"
        )

    @classmethod
    def since_log_file(cls, path: str, instant_time: str) -> MissingFileError:
        """Return the error for the base file that a log file, by its full path, was written on."""
        return cls(
            f"{path} was written on top of the base file of {instant_time}, which is not on the "
            "storage. Restore that file from a copy"
        )

    @classmethod
    def of_bootstrap(cls, path: str) -> MissingFileError:
        """Return the error for a source file of a bootstrapped table, or for their folder."""
        return cls(
            f"{path} has data columns of the table's bootstrap (hoodie.bootstrap.base.path), but "
            "does not exist. Restore it, or give the option bootstrap_base_path, the folder where "
            "the source files are now"
        )


class PathOutsideTableError(CorruptTableError):
    """The table's metadata names a path outside of the table, or sources in another store."""


class TimeTravelError(HudiError, ValueError):
    """The state at that instant is no longer known, or not yet."""


class IncrementalRangeError(HudiError, ValueError, code="HUDI_INCREMENTAL_RANGE_GONE"):
    """Commits of the range are archived, cleaned away, or still being written."""


class StreamSchemaChangedError(HudiError, RuntimeError):
    """The table's columns changed while a stream was reading them."""


class SchemaEvolutionError(HudiError, TypeError):
    """A column of a file cannot be resolved to the table's type."""


class StorageError(HudiError):
    """The storage failed (throttling, reset, timeout), even after retries.

    Not an `OSError`, which readers report as a damaged file.

    Args:
        path: the file or folder.
        problem: in the words of the storage, without secrets.
        attempts: number of requests that failed.
    """

    def __init__(self, path: str, problem: str, attempts: int) -> None:
        super().__init__(path, problem, attempts)
        self.path = path
        self.problem = problem
        self.attempts = attempts

    def reason(self) -> str:
        times = f" ({self.attempts} attempts)" if self.attempts > 1 else ""
        return f"{self.path}: {self.problem}{times}"


class StorageAccessError(StorageError):
    """The storage refused the credentials, or there are none."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem, 1)
        self.args = (path, problem)

    def reason(self) -> str:
        return (
            f"{self.path}: {self.problem}. Check the storage options, the credentials_provider or "
            "the environment, and what they permit"
        )


class CatalogError(HudiError):
    """The catalog failed, does not have the table, or has no path or another format for it."""


class SpillError(HudiError, OSError):
    """Log records do not fit into memory, and cannot be written to the local disk either."""
