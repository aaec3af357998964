"""Checks of the metadata table: complete, up to date, and with the files on the storage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_pyspark.doctor.finding import RESTORE, Finding, Severity
from hudi_pyspark.errors import HudiError, MissingFileError
from hudi_pyspark.inspection.metadata import RECORD_SAMPLE, differences
from hudi_pyspark.planning.metadata_table.table import MetadataTable
from hudi_pyspark.table.config import METADATA_FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hudi_pyspark.doctor.files import StoredFiles
    from hudi_pyspark.doctor.timeline import TimelineFiles
    from hudi_pyspark.inspection.metadata import Difference
    from hudi_pyspark.table.view import TableView

CHECK = "metadata table"
FOLDER = f"{METADATA_FOLDER}/metadata"
_PARTITIONS = "hoodie.table.metadata.partitions"
_INFLIGHT = "hoodie.table.metadata.partitions.inflight"
_REBUILD = (
    "Until it is rebuilt, read with use_metadata_table=false (Apache Hudi: "
    "hoodie.metadata.enable=false). To rebuild it, delete the metadata table (hudi-cli: metadata "
    "delete): the next write builds it again"
)
_NEXT_WRITE = "Nothing needs to be done: the next write of Apache Hudi builds it again"


def check_metadata_table(
    view: TableView, committed: TimelineFiles, stored: StoredFiles
) -> Iterator[Finding]:
    """Compare the metadata table, if there is one, with the timeline and the storage."""
    names = view.config.metadata_partitions
    building = view.config.properties.get(_INFLIGHT, "")
    if building:
        message = f"partitions {building} are being built, or building them was interrupted"
        yield Finding(Severity.WARNING, CHECK, _INFLIGHT, message)
    if not names:
        message = "the table has none, so reads list folders"
        yield Finding(Severity.NOTE, CHECK, "", message)
        return
    try:
        metadata = MetadataTable.open(view)
    except MissingFileError as error:
        message = f"{error.reason()}; reads list folders"
        yield Finding(Severity.WARNING, CHECK, FOLDER, message, _NEXT_WRITE)
        return
    except HudiError as error:
        yield Finding(Severity.PROBLEM, CHECK, FOLDER, error.reason(), _REBUILD)
        return
    folders = {entry.name for entry in view.storage.list_directory(FOLDER)}
    message = f"the folder is missing, although {_PARTITIONS} names it"
    missing = [
        Finding(Severity.PROBLEM, CHECK, f"{FOLDER}/{name}", message, _REBUILD)
        for name in names
        if name not in folders
    ]
    sample = 0 if missing else RECORD_SAMPLE
    findings = [*missing, *_differences(metadata, committed, stored, sample)]
    yield from findings
    if not findings:
        message = f"partitions {', '.join(names)}; it lists the files on the storage"
        yield Finding(Severity.OK, CHECK, "", message)


def _differences(
    metadata: MetadataTable, committed: TimelineFiles, stored: StoredFiles, sample: int
) -> Iterator[Finding]:
    """Compare it with the timeline, the storage and some of the rows."""
    paths = committed.written.keys()
    found = list(differences(metadata, stored=stored.sizes, committed=paths, sample=sample))
    missing = [d.subject for d in found if d.check == "commits"]
    if missing:
        message = f"its timeline lacks {len(missing)} commits from this one on"
        yield Finding(Severity.WARNING, CHECK, missing[0], message, _REBUILD)
    for difference in found:
        if difference.check == "record_index":
            yield _of_record(difference)
        elif difference.check != "commits":
            yield _of_file(difference, committed)


def _of_file(difference: Difference, committed: TimelineFiles) -> Finding:
    """Judge a file; where commits and the metadata table agree, the storage is wrong."""
    subject, message, advice = difference.subject, difference.problem, _REBUILD
    written = committed.written.get(subject)
    if (
        written is not None
        and subject not in committed.removed
        and (difference.table is None or difference.metadata_table == str(written.size))
    ):
        message, advice = f"{message}; commits agree with the metadata table", RESTORE
    return Finding(Severity.PROBLEM, CHECK, subject, message, advice)


def _of_record(difference: Difference) -> Finding:
    """Judge a row that the record index does not find; of several with one key it finds one."""
    message, advice, severity = difference.problem, _REBUILD, Severity.PROBLEM
    if difference.metadata_table:
        message += ": an insert may have repeated the key, or the index is wrong"
        severity = Severity.WARNING
    return Finding(severity, CHECK, f"record key {difference.subject}", message, advice)
