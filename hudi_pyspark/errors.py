"""Errors that this package raises on purpose.

Spark relays only the text of an error that is raised in a Python worker, so every message begins
with a code in brackets, e.g. ``[HUDI_TABLE_NOT_FOUND]``. Unpickling replays the positional
arguments, which are ``args``, and restores all attributes. `docs/errors.md` draws the tree.

No error here is an error of Python as well, such as a `NotImplementedError` or an `OSError`. Spark,
and libraries that call this package, take these for something that is normal, and go on.
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
    """Base of all errors of this package. The message has these values, if they are known.

    Args:
        found: what is wrong.
        place: the file, and where in it.
        advice: what to do about it.
    """

    code: ClassVar[str] = "HUDI_ERROR"
    """Names the class in logs and messages."""
    _after_place: ClassVar[str] = ": "
    _after_table: ClassVar[str] = ", "

    def __init__(self, found: str = "", place: str = "", advice: str = "") -> None:
        self.found = found
        self.place = place
        self.advice = advice

    def __init_subclass__(cls, *, code: str = "") -> None:
        super().__init_subclass__()
        name = cls.__name__.removesuffix("Error")
        words = "".join(f"_{letter}" if letter.isupper() else letter for letter in name)
        cls.code = code or f"HUDI{words.upper()}"

    def __str__(self) -> str:
        return f"[{self.code}] {printable(self.reason())}"

    def name_table(self, base_path: str) -> None:
        """Make the table part of the place, unless the message has its path already."""
        if base_path not in self.reason():
            base = base_path.rstrip("/")
            self.place = f"{base}{self._after_table}{self.place}" if self.place else base

    def reason(self) -> str:
        """Return the message without its code, and without escaping the table's names."""
        place = f"{self.place}{self._after_place}" if self.place else ""
        advice = f". {self.advice}" if self.advice else ""
        return f"{place}{self.found}{advice}"


class TableNotFoundError(HudiError):
    """The path exists but has no ``.hoodie/hoodie.properties``."""


class PathNotFoundError(TableNotFoundError):
    """There is nothing at the path."""


class PathInsideTableError(TableNotFoundError):
    """The path is a folder inside a table; the message names the table's base path."""


class InvalidOptionError(HudiError):
    """An option is unknown, has a value that it cannot have, or contradicts another."""


class UnknownQueryTypeError(InvalidOptionError):
    """``hoodie.datasource.query.type`` is not one of Hudi's query types."""


class InvalidInstantError(InvalidOptionError):
    """A text is not an instant."""


class FutureInstantError(InvalidInstantError):
    """The instant is after the last instant of the timeline and after the present time."""


class UnsupportedTableError(HudiError):
    """The table uses something that this release cannot read correctly."""


class UnsupportedVersionError(UnsupportedTableError):
    """``hoodie.table.version`` (or the timeline layout) is unknown to this release."""


class UnsupportedMergeError(UnsupportedTableError):
    """This release does not cover the merge mode, payload class or merge strategy."""


class UnsupportedQueryError(HudiError):
    """This release does not cover a query type or read option of Apache Hudi."""


class UnsupportedTypeError(UnsupportedTableError):
    """A column type has no counterpart in Arrow or Spark, or this pyarrow does not know it."""


class MissingModuleError(HudiError):
    """The Python of Spark's workers lacks a module that this package needs."""


_WITHOUT_BASE_FILE = (
    "Restore the file from a copy, or read the table as of an instant before the file was written "
    "(as.of.instant)"
)
_WITHOUT_LOG_FILES = (
    "Restore the file from a copy, or read the base files alone, without the changes in log files "
    "(query_type=read_optimized)"
)


class CorruptTableError(HudiError):
    """The table's files contradict the format or each other."""

    is_skippable = False
    """Whether option ``on_damage`` decides about the damage; to read on may fail all the same."""

    def __str__(self) -> str:
        return f"{super().__str__()}. Run hudi-py doctor on the table: it says what to restore"


class CorruptTimelineError(CorruptTableError):
    """A timeline or archive file cannot be decoded, or has the content of another file."""

    _after_table = "/"  # the place is a path

    def __init__(self, path: str, found: str) -> None:
        super().__init__(found, path, "Restore the file from a copy")


class CorruptBaseFileError(CorruptTableError):
    """A base file cannot be read, or is not the file that was committed."""

    def __init__(self, path: str, found: str, advice: str = _WITHOUT_BASE_FILE) -> None:
        super().__init__(found, path, advice)


class CorruptLogBlockError(CorruptTableError):
    """A log block cannot be framed or decoded.

    Args:
        found: what was expected and what was found.
        path: the log file, relative to the base path.
        offset: bytes from the start of the log file to where the problem lies.
        advice: what to do about it.
    """

    _after_table = "/"  # the place begins with a path

    def __init__(
        self, found: str, path: str, offset: int, advice: str = _WITHOUT_LOG_FILES
    ) -> None:
        super().__init__(found, f"{path} at byte {offset}", advice)
        self.path = path
        self.offset = offset


class CorruptAvroError(CorruptTableError):
    """Avro bytes do not fit their schema.

    Args:
        found: what was expected and what was found.
        record: number of the record in its block, from 0.
        field: dotted name of the field being decoded; "" if no field is.
    """

    def __init__(self, found: str, record: int, field: str) -> None:
        super().__init__(found, f"record {record}" + (f", field {field!r}" if field else ""))
        self.record = record
        self.field = field


class MissingFileError(CorruptTableError):
    """A file that the timeline names is not on the storage."""

    _after_place = " "  # what is found is a sentence about the file

    @classmethod
    def since_planning(cls, path: str) -> MissingFileError:
        """Return the error for a file, by its full path, that was there during planning."""
        return cls(
            "is not on the storage any more",
            path,
            "Load the table again. If this happens often, make the cleaner keep files longer "
            "(hoodie.cleaner.commits.retained)",
        )

    @classmethod
    def since_commit(cls, path: str, instant_time: str) -> MissingFileError:
        """Return the error for a file that a completed commit wrote."""
        return cls(
            f"was committed ({instant_time}) but is not on the storage",
            path,
            "Restore it from a copy. If the cleaner has just removed it, load the table again",
        )

    @classmethod
    def since_log_file(cls, path: str, instant_time: str) -> MissingFileError:
        """Return the error for the base file that a log file, by its full path, was written on."""
        return cls(
            f"was written on top of the base file of {instant_time}, which is not on the storage",
            path,
            "Restore that file from a copy",
        )

    @classmethod
    def of_bootstrap(cls, path: str) -> MissingFileError:
        """Return the error for a source file of a bootstrapped table, or for their folder."""
        return cls(
            "has data columns of the table's bootstrap (hoodie.bootstrap.base.path), but does not "
            "exist",
            path,
            "Restore it, or give the option bootstrap_base_path, the folder where the source files "
            "are now",
        )


class PathOutsideTableError(CorruptTableError):
    """The table's metadata names a path outside of the table, or sources in another store."""


class TimeTravelError(HudiError):
    """The state at that instant is no longer known, or not yet."""


class IncrementalRangeError(HudiError, code="HUDI_INCREMENTAL_RANGE_GONE"):
    """Commits of the range are archived, cleaned away, or still being written."""


class StreamSchemaChangedError(HudiError):
    """The table's columns changed while a stream was reading them."""


class SchemaEvolutionError(HudiError):
    """A column of a file cannot be resolved to the table's type."""


class StorageError(HudiError):
    """The storage failed (throttling, reset, timeout), even after retries.

    Args:
        path: the file or folder.
        found: in the words of the storage, without secrets.
        attempts: number of requests that failed.
    """

    def __init__(self, path: str, found: str, attempts: int) -> None:
        super().__init__(found, path)
        self.attempts = attempts

    def reason(self) -> str:
        return super().reason() + (f" ({self.attempts} attempts)" if self.attempts > 1 else "")


class StorageAccessError(StorageError):
    """The storage refused the credentials, or there are none."""

    def __init__(self, path: str, found: str) -> None:
        super().__init__(path, found, 1)
        self.advice = (
            "Check the storage options, the credentials_provider or the environment, and what they "
            "permit"
        )


class CatalogError(HudiError):
    """The catalog failed, does not have the table, or has no path or another format for it."""


class SpillError(HudiError):
    """Log records do not fit into memory, and cannot be written to the local disk either."""
