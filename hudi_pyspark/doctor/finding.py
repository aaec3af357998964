"""The result of a check."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeAlias

from hudi_pyspark.errors import HudiError, printable
from hudi_pyspark.html_table import html_table
from hudi_pyspark.table.config import BACKUP_FILE, PROPERTIES_FILE
from hudi_pyspark.wording import counted

if TYPE_CHECKING:
    from hudi_pyspark.storage import Storage

SIGN_WIDTH = 8  # of the severity at the beginning of a line
RESTORE = "Restore the file from a copy of the table"


class Severity(Enum):
    """How much a finding matters."""

    OK = "ok"  # checked, and as it should be
    NOTE = "note"  # worth knowing; nothing is wrong
    WARNING = "warning"  # reads are right, but something is odd, or some queries raise errors
    PROBLEM = "problem"  # reads fail, or Apache Hudi would return other rows


def worst(severities: Iterable[Severity]) -> Severity:
    """Return the severity that matters most; `OK` if there is none."""
    return max(severities, key=list(Severity).index, default=Severity.OK)


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of a check."""

    severity: Severity
    check: str  # e.g. "files"; findings of one check are next to each other
    subject: str  # the file, instant, package or setting; "" for the table as a whole
    message: str  # the actual state, and the expected one if it differs
    advice: str = ""  # what to do; "" for nothing

    @property
    def headline(self) -> str:
        """What was found, and where: ``check: subject: message``."""
        return ": ".join(filter(None, (self.check, self.subject, self.message)))


class Findings(tuple[Finding, ...]):
    """What the checks of a table found, in their order; it is shown as ``hudi-py doctor`` does."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(line for finding in self for line in _lines(finding))

    def _repr_html_(self) -> str:
        colours = {"ok": "green", "note": "inherit", "warning": "darkorange", "problem": "red"}
        by_row = [colours[finding.severity.value] for finding in self]
        return html_table(counted(len(self), "finding"), self._rows(), by_row)

    def _rows(self) -> list[tuple[str, ...]]:
        return [(f.severity.value, f"{f.check}:", f.subject, f.message, f.advice) for f in self]


def _lines(finding: Finding) -> Iterator[str]:
    yield f"{finding.severity.value:{SIGN_WIDTH}} {printable(finding.headline)}"
    if finding.advice:
        yield f"{'':{SIGN_WIDTH}} → {printable(finding.advice)}"


# A function that yields items and, with a description, shows the progress.
Track: TypeAlias = "Callable[[Sequence[Any], str], Iterable[Any]]"


def silently(items: Sequence[Any], _description: str) -> Iterable[Any]:
    """Return the items unchanged: the `Track` that shows no progress."""
    return items


def restore_properties(storage: Storage) -> str:
    """Return the advice about properties that look damaged; it names the backup if there is one."""
    advice = (
        f"Unless a writer of Apache Hudi set this, {PROPERTIES_FILE} was edited or is damaged: "
        "restore it from a copy of the table"
    )
    try:
        storage.open_input(BACKUP_FILE).close()
    except (HudiError, OSError):
        return advice
    return f"{advice}, or from {BACKUP_FILE}"


def reason_of(error: Exception, subject: str) -> str:
    """Return what an error found, and where in the file that is the subject of the finding."""
    if not isinstance(error, HudiError):
        return str(error)
    _, named, within = error.place.rpartition(subject)
    if not named:
        return error.reason()
    return f"{within.strip()}: {error.found}" if within else error.found
