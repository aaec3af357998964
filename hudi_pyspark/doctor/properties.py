"""Checks of hoodie.properties: readable, supported, and with the right checksum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_pyspark.doctor.finding import Finding, Severity
from hudi_pyspark.format.properties import parse_properties, table_checksum
from hudi_pyspark.table.config import PROPERTIES_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hudi_pyspark.storage import Storage
    from hudi_pyspark.table.config import TableConfig

CHECK = "properties"
_CHECKSUM = "hoodie.table.checksum"
RESTORE = (
    "Unless a writer of Apache Hudi set this, the file was edited or is damaged: compare it with "
    f"{PROPERTIES_FILE}.backup or a copy of the table, and restore it"
)


def check_properties(storage: Storage, config: TableConfig) -> Iterator[Finding]:
    """Check the properties of a table that could be opened."""
    if not _is_readable(storage):
        yield Finding(
            Severity.PROBLEM,
            CHECK,
            PROPERTIES_FILE,
            f"missing or unreadable; {PROPERTIES_FILE}.backup was read instead",
            "An update of the properties was interrupted. Let a writer of Apache Hudi recover "
            "them, or copy the backup over the file",
        )
    yield Finding(
        Severity.OK,
        CHECK,
        "hoodie.table.version",
        f"table version {config.version}, {config.table_type.value}: supported",
    )
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
        return Finding(Severity.NOTE, CHECK, _CHECKSUM, "none is recorded, as in old tables")
    if recorded.strip() == str(expected):
        return Finding(Severity.OK, CHECK, _CHECKSUM, f"{recorded} fits the table's name")
    return Finding(
        Severity.PROBLEM,
        CHECK,
        _CHECKSUM,
        f"found {recorded}, but database {config.database!r} and table {config.name!r} give "
        f"{expected}: the name was edited, or the file is damaged",
        "Restore the name that the table had, or set the checksum to the number above; Apache "
        "Hudi may refuse the table until then",
    )
