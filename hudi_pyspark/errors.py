"""Every error that this package raises on purpose.

Spark relays only the text of an error that is raised in a Python worker, so every message begins
with a code in brackets, e.g. ``[HUDI_TABLE_NOT_FOUND]``. All arguments are positional and end up
in ``args``: unpickling replays exactly these. `docs/errors.md` draws the tree.
"""

from __future__ import annotations

import json
import re
from typing import ClassVar

# A terminal obeys some of these. Others forge lines, turn text around, or are not seen, and halves
# of characters are not written at all.
_CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def printable(text: str, *, keep_lines: bool = False) -> str:
    """Return a text with its control characters escaped as JSON does it.

    All names of a table pass here on their way to people. A text that has passed stays as it is.
    With ``keep_lines``, so do line breaks, which must be of the caller's own making.
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
        """Return the message without its code, with names as the table has them."""
        return str(self.args[0]) if self.args else ""


class TableNotFoundError(HudiError, FileNotFoundError):
    """The path exists but holds no ``.hoodie/hoodie.properties``."""


class PathNotFoundError(TableNotFoundError):
    """There is nothing at the path."""


class PathInsideTableError(TableNotFoundError):
    """The path is a folder inside a table; the message names the table's base path."""


class InvalidOptionError(HudiError, ValueError):
    """An option is unknown, has a value that it cannot have, or contradicts another."""


class UnknownQueryTypeError(InvalidOptionError):
    """``hoodie.datasource.query.type`` is not one of Hudi's query types."""


class InvalidInstantError(InvalidOptionError):
    """Text that cannot be read as an instant."""


class FutureInstantError(InvalidInstantError):
    """An instant after both the last instant of the timeline and the present time."""


class UnsupportedTableError(HudiError, NotImplementedError):
    """The table uses something that this release cannot read correctly."""


class UnsupportedVersionError(UnsupportedTableError):
    """``hoodie.table.version`` (or the timeline layout) is unknown to this release."""


class UnsupportedMergeError(UnsupportedTableError):
    """A merge mode, payload class or merge strategy that is not covered."""


class UnsupportedQueryError(UnsupportedTableError):
    """A query type or read option of Apache Hudi that is not covered."""


class UnsupportedTypeError(UnsupportedTableError, TypeError):
    """A column type that has no Arrow or Spark counterpart, or that this pyarrow does not know."""


class MissingModuleError(HudiError, ImportError):
    """The Python of Spark's workers lacks a module that this package needs."""


class CorruptTableError(HudiError, RuntimeError):
    """The table's files contradict the format or each other."""


class CorruptTimelineError(CorruptTableError):
    """A timeline or archive file that cannot be decoded."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path, self.problem = path, problem

    def reason(self) -> str:
        return f"{self.path}: {self.problem}. Restore the file from a copy"


class CorruptBaseFileError(CorruptTableError):
    """A base file that cannot be read, or is not the one that was committed."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path, self.problem = path, problem

    def reason(self) -> str:
        return (
            f"{self.path}: {self.problem}. Restore the file from a copy, or read the table as of "
            "an instant before the file was written (as.of.instant)"
        )


class CorruptLogBlockError(CorruptTableError):
    """A log block that cannot be framed or decoded.

    Args:
        problem: what was expected and what was found.
        path: the log file, relative to the base path.
        offset: bytes from the start of the log file to where the problem lies.
    """

    def __init__(self, problem: str, path: str, offset: int) -> None:
        super().__init__(problem, path, offset)
        self.problem, self.path, self.offset = problem, path, offset

    def reason(self) -> str:
        # Apache Hudi fails, too, where `on_damage` does not help.
        advice = "" if "on_damage" in self.problem else f". {_WITHOUT_LOG_FILES}"
        return f"{self.path} at byte {self.offset}: {self.problem}{advice}"


_WITHOUT_LOG_FILES = (
    "Restore the file from a copy: no option reads on, but query_type=read_optimized, without any "
    "log file and what they changed"
)


class CorruptAvroError(CorruptTableError):
    """Avro bytes that do not fit their schema.

    Args:
        problem: what was expected and what was found.
        record: ordinal of the record within its block, from 0.
        field: dotted name of the field being decoded, or "".
    """

    def __init__(self, problem: str, record: int, field: str) -> None:
        super().__init__(problem, record, field)
        self.problem, self.record, self.field = problem, record, field

    def reason(self) -> str:
        place = f"record {self.record}" + (f", field {self.field!r}" if self.field else "")
        return f"{place}: {self.problem}"


class MissingFileError(CorruptTableError, FileNotFoundError):
    """A file that the timeline names is not on the storage."""

    @classmethod
    def since_planning(cls, path: str) -> MissingFileError:
        """Return the error for a file that was there when the query was planned."""
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
    def of_bootstrap(cls, path: str) -> MissingFileError:
        """Return the error for a source file of a bootstrapped table, or the folder of all."""
        return cls(
            f"{path} has data columns of the table's bootstrap (hoodie.bootstrap.base.path), but "
            "does not exist. Restore it, or give the option bootstrap_base_path, the folder where "
            "the source files are now"
        )


class PathOutsideTableError(CorruptTableError):
    """The table's metadata names a path outside of the table, or a bootstrap's in another store."""


class TimeTravelError(HudiError, ValueError):
    """The state at that instant can no longer (or not yet) be answered."""


class IncrementalRangeError(HudiError, ValueError, code="HUDI_INCREMENTAL_RANGE_GONE"):
    """Commits of the range are archived, cleaned away, or still being written."""


class StreamSchemaChangedError(HudiError, RuntimeError):
    """The table's columns changed while a stream was reading them."""


class SchemaEvolutionError(HudiError, TypeError):
    """A column of a file cannot be resolved to the table's type."""


class StorageError(HudiError):
    """The storage fails: throttling, a reset or a time-out, also when asked again.

    Not an `OSError`: readers report those as damaged files.

    Args:
        path: the file or folder.
        problem: in the words of the storage, without secrets.
        attempts: how often it was asked.
    """

    def __init__(self, path: str, problem: str, attempts: int) -> None:
        super().__init__(path, problem, attempts)
        self.path, self.problem, self.attempts = path, problem, attempts

    def reason(self) -> str:
        times = f" ({self.attempts} attempts)" if self.attempts > 1 else ""
        return f"{self.path}: {self.problem}{times}"


class StorageAccessError(StorageError):
    """The storage refuses the credentials, or there are none."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem, 1)
        self.args = (path, problem)

    def reason(self) -> str:
        return (
            f"{self.path}: {self.problem}. Check the storage options, the credentials_provider or "
            "the environment, and what they permit"
        )


class CatalogError(HudiError):
    """The catalog fails, does not have the table, or has no path for it."""


class SpillError(HudiError, OSError):
    """Log records that do not fit into memory cannot be kept on the local disk either."""
