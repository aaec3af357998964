"""All checks of a table, in the order in which they build on each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_pyspark.doctor.content import check_base_files, check_logs
from hudi_pyspark.doctor.files import FILES, check_files, check_sizes, stored_files
from hudi_pyspark.doctor.finding import Finding, Severity, Track, silently
from hudi_pyspark.doctor.metadata_table import check_metadata_table
from hudi_pyspark.doctor.properties import CHECK as PROPERTIES
from hudi_pyspark.doctor.properties import check_properties
from hudi_pyspark.doctor.timeline import check_timeline, files_of_timeline
from hudi_pyspark.errors import HudiError, TableNotFoundError
from hudi_pyspark.table.config import PROPERTIES_FILE
from hudi_pyspark.table.open import open_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hudi_pyspark.storage import Storage
    from hudi_pyspark.table.view import TableView


def examine_table(
    storage: Storage, *, deep: bool = False, track: Track = silently
) -> Iterator[Finding]:
    """Check a table, also one that is too damaged to be opened.

    Args:
        storage: of the table's base path.
        deep: also decode every record of every log file and read every column of every base file.
        track: shows how far long checks have come.

    Yields:
        Findings, check by check; a check that finds nothing wrong says so with an OK.

    Raises:
        TableNotFoundError: there is no table to check.
    """
    try:
        view = open_table(storage)
    except TableNotFoundError:
        raise
    except HudiError as error:
        yield Finding(Severity.PROBLEM, PROPERTIES, PROPERTIES_FILE, error.reason())
        return
    yield from examine(view, deep=deep, track=track)


def examine(view: TableView, *, deep: bool = False, track: Track = silently) -> Iterator[Finding]:
    """The same for a table that is open."""
    yield from check_properties(view.storage, view.config)
    told = files_of_timeline(view, track)
    yield from check_timeline(view, told)
    stored = stored_files(view, told)
    checks: tuple[tuple[str, Callable[[], Iterator[Finding]]], ...] = (
        (FILES, lambda: check_files(view, told, stored)),
        ("sizes", lambda: check_sizes(view, told, stored)),
        ("log files", lambda: check_logs(view, told, stored, track, deep=deep)),
        ("base files", lambda: check_base_files(view, told, stored, track, deep=deep)),
        ("metadata table", lambda: check_metadata_table(view, told, stored)),
    )
    for name, check in checks:
        yield from _finished(name, check())


def _finished(check: str, findings: Iterator[Finding]) -> Iterator[Finding]:
    """The findings of a check; one that cannot go on says why, and the next one has its turn."""
    try:
        yield from findings
    except HudiError as error:
        yield Finding(Severity.PROBLEM, check, "", f"the check broke off: {error.reason()}")
