"""All checks of a table, each after those that it builds on; that of hoodie.properties is first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_pyspark.doctor.content import BASES, LOGS, check_base_files, check_logs
from hudi_pyspark.doctor.files import FILES, SIZES, check_files, check_sizes, collect_stored_files
from hudi_pyspark.doctor.finding import RESTORE_PROPERTIES, Finding, Severity, Track, silently
from hudi_pyspark.doctor.metadata_table import CHECK as METADATA_TABLE
from hudi_pyspark.doctor.metadata_table import check_metadata_table
from hudi_pyspark.doctor.timeline import check_timeline, collect_timeline_files
from hudi_pyspark.errors import HudiError, TableNotFoundError
from hudi_pyspark.format.properties import parse_properties, table_checksum
from hudi_pyspark.table.config import PROPERTIES_FILE
from hudi_pyspark.table.view import open_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hudi_pyspark.storage import Storage
    from hudi_pyspark.table.config import TableConfig
    from hudi_pyspark.table.view import TableView

PROPERTIES = "properties"
_CHECKSUM = "hoodie.table.checksum"


def examine_table(
    storage: Storage, *, deep: bool = False, track: Track = silently
) -> Iterator[Finding]:
    """Check a table, even one that is too damaged to be opened."""
    try:
        view = open_table(storage)
    except TableNotFoundError:
        raise
    except HudiError as error:
        yield Finding(
            Severity.PROBLEM, PROPERTIES, PROPERTIES_FILE, error.reason(), RESTORE_PROPERTIES
        )
        return
    yield from examine(view, deep=deep, track=track)


def examine(
    view: TableView,
    *,
    deep: bool = False,
    files: bool = True,
    contents: bool = True,
    track: Track = silently,
) -> Iterator[Finding]:
    """Check an open table.

    Args:
        view: the table.
        deep: as of `examine_table`.
        files: compare the files on the storage with commits and with the metadata table.
        contents: open data files and split log files into blocks.
        track: shows the progress of long checks.
    """
    yield from check_properties(view.storage, view.config)
    committed = collect_timeline_files(view, track)
    yield from check_timeline(view, committed)
    if not files:
        return
    stored = collect_stored_files(view, committed)
    yield from _guarded(FILES, check_files(view, committed, stored))
    yield from _guarded(SIZES, check_sizes(view, committed, stored))
    if contents:
        yield from _guarded(LOGS, check_logs(view, committed, stored, track, deep=deep))
        yield from _guarded(BASES, check_base_files(view, committed, stored, track, deep=deep))
    yield from _guarded(METADATA_TABLE, check_metadata_table(view, committed, stored))


def _guarded(check: str, findings: Iterator[Finding]) -> Iterator[Finding]:
    """Yield the findings of a check; an error becomes a finding, and the next check still runs."""
    try:
        yield from findings
    except HudiError as error:
        yield Finding(Severity.PROBLEM, check, "", f"the check failed: {error.reason()}")


def check_properties(storage: Storage, config: TableConfig) -> Iterator[Finding]:
    """Check the properties of a table that could be opened."""
    if not _is_readable(storage):
        yield Finding(
            Severity.PROBLEM,
            PROPERTIES,
            PROPERTIES_FILE,
            f"missing or unreadable; {PROPERTIES_FILE}.backup was read instead",
            "An update of the properties was interrupted. Let a writer of Apache Hudi recover "
            "them, or copy the backup over the file",
        )
    message = f"table version {config.version}, {config.table_type.value}: supported"
    yield Finding(Severity.OK, PROPERTIES, "hoodie.table.version", message)
    yield _checksum(config)


def _is_readable(storage: Storage) -> bool:
    try:
        properties = parse_properties(storage.read_bytes(PROPERTIES_FILE))
    except (FileNotFoundError, ValueError):
        return False
    return "hoodie.table.name" in properties or "hoodie.table.version" in properties


def _checksum(config: TableConfig) -> Finding:
    expected = table_checksum(config.database, config.name)
    recorded = config.properties.get(_CHECKSUM)
    if recorded is None:
        return Finding(Severity.NOTE, PROPERTIES, _CHECKSUM, "none is recorded, as in old tables")
    if recorded.strip() == str(expected):
        return Finding(Severity.OK, PROPERTIES, _CHECKSUM, f"{recorded} fits the table's name")
    return Finding(
        Severity.PROBLEM,
        PROPERTIES,
        _CHECKSUM,
        f"found {recorded}, but database {config.database!r} and table {config.name!r} give "
        f"{expected}: the name was edited, or the file is damaged",
        "Restore the name that the table had, or set the checksum to the number above; Apache "
        "Hudi may refuse the table until then",
    )
