"""All checks of a table, in the order in which they build on each other."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from hudi_pyspark.doctor.content import BASES, LOGS, check_base_files, check_logs
from hudi_pyspark.doctor.files import FILES, SIZES, check_files, check_sizes, collect_stored_files
from hudi_pyspark.doctor.finding import (
    RESTORE,
    Finding,
    Severity,
    Track,
    reason_of,
    restore_properties,
    silently,
    worst,
)
from hudi_pyspark.doctor.schema import SCHEMA, check_schema
from hudi_pyspark.doctor.timeline import TimelineFiles, check_timeline, collect_timeline_files
from hudi_pyspark.errors import CorruptTableError, HudiError, MissingFileError, TableNotFoundError
from hudi_pyspark.inspection.metadata import RECORD_SAMPLE, Difference, differences
from hudi_pyspark.metadata_table.table import MetadataTable
from hudi_pyspark.options.read_options import ReadOptions
from hudi_pyspark.planning.query import resolve_query
from hudi_pyspark.reading.kept_merges import count_merged
from hudi_pyspark.table.config import (
    BACKUP_FILE,
    CHECKSUM,
    FIRST_RELEASES,
    METADATA_FOLDER,
    PROPERTIES_FILE,
    TableConfig,
    has_lost_ordering_fields,
    lacks_ordering_fields,
    load_properties,
)
from hudi_pyspark.table.lost_commits import COMPLETED_OR_FAILED
from hudi_pyspark.table.merge_mode import MergeCache
from hudi_pyspark.table.view import TableView, open_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hudi_pyspark.doctor.files import StoredFiles
    from hudi_pyspark.storage import Storage

PROPERTIES = "properties"
_ORDERING_FIELDS = "hoodie.table.ordering.fields"
# Apache Hudi knows these words only in capitals. "" if another check reports unknown words.
_WORDS = {
    "hoodie.table.type": "",
    "hoodie.table.base.file.format": "",
    "hoodie.table.keygenerator.type": "",
    "hoodie.table.partial.update.mode": "",
    "hoodie.table.log.file.format": "HOODIE_LOG PARQUET ORC HFILE LANCE VORTEX",
    "hoodie.bootstrap.index.type": "HFILE NO_OP",
}
METADATA_TABLE = "metadata table"
MERGES = "merges"
_METADATA_FOLDER = f"{METADATA_FOLDER}/metadata"
_PARTITIONS = "hoodie.table.metadata.partitions"
_INFLIGHT = "hoodie.table.metadata.partitions.inflight"
_REBUILD = (
    "Until it is rebuilt, read with use_metadata_table=false (Apache Hudi: "
    "hoodie.metadata.enable=false). First mend what other checks find, since a rebuilt metadata "
    "table forgets the commits and files that the table has lost. Then delete it (hudi-cli: "
    "metadata delete): the next write builds it again"
)
_READ_WITHOUT_INDEX = (
    "Do not rely on the index: read in Apache Hudi with hoodie.enable.data.skipping=false. No row "
    "needs to be restored"
)
_NEXT_WRITE = "The next write of Apache Hudi builds it again; mend first what other checks find"


def examine_table(
    storage: Storage, *, deep: bool = False, track: Track = silently
) -> Iterator[Finding]:
    """Check a table, even one that is too damaged to be opened.

    Args:
        storage: of the table's base path.
        deep: also decode all data files.
        track: is shown what is checked, as the checks go on.

    Raises:
        TableNotFoundError: there is no table; any other error is a finding.
    """
    try:
        view = open_table(storage)
    except TableNotFoundError:
        raise
    except HudiError as error:
        yield unopened(storage, error)
        return
    yield from examine(view, deep=deep, track=track)


def unopened(storage: Storage, error: HudiError) -> Finding:
    """Return the only finding of a table that cannot be opened."""
    if error.place == storage.describe("").rstrip("/"):
        error.place = ""  # all findings are about this table
    reason = reason_of(error, PROPERTIES_FILE)
    # Only the doctor looks for a backup of the properties.
    is_about_properties = not error.place or PROPERTIES_FILE in error.found
    advice = restore_properties(storage) if is_about_properties else error.advice
    return Finding(Severity.PROBLEM, PROPERTIES, PROPERTIES_FILE, reason, advice)


def examine(
    view: TableView,
    *,
    deep: bool = False,
    files: bool = True,
    most_log_headers: int | None = None,
    track: Track = silently,
) -> Iterator[Finding]:
    """Check an open table; what several checks find about one file becomes one finding.

    Args:
        view: the table.
        deep: as of `examine_table`.
        files: compare the files on the storage with commits and with the metadata table.
        most_log_headers: of how many log files to read the headers, the newest first, without
            opening any base file; None to look at all data files.
        track: shows the progress of long checks.
    """
    committed = collect_timeline_files(view, track)
    committed = replace(committed, lost={**committed.lost, **_recorded(view)})
    checks: list[tuple[str, Iterable[Finding]]] = []
    if not committed.undecodable:
        checks.append((SCHEMA, check_schema(view)))
    try:
        stored = collect_stored_files(view, committed) if files else None
    except CorruptTableError as error:  # a folder that commits name cannot be one
        stored = None
        checks.append((FILES, [Finding(Severity.PROBLEM, FILES, "", error.reason())]))
    if stored is not None:
        checks += [(FILES, check_files(stored)), (SIZES, check_sizes(stored))]
        checks.append((LOGS, check_logs(stored, track, deep=deep, most_files=most_log_headers)))
        if most_log_headers is None:
            checks.append((BASES, check_base_files(stored, track, deep=deep)))
        checks += [(METADATA_TABLE, check_metadata_table(stored)), (MERGES, _kept_merges(view))]
    findings = [*_check_properties(view.storage, view.config), *check_timeline(view, committed)]
    for check, found in checks:
        places = {f.subject: i for i, f in enumerate(findings) if f.check in (FILES, SIZES)}
        try:
            for finding in found:
                place = places.get(finding.subject) if finding.subject else None
                if place is None:
                    findings.append(finding)
                elif finding.check == LOGS:  # it knows the bytes of the file, and not its commit
                    earlier = findings[place]
                    judged = earlier if earlier.check == FILES else finding
                    message = f"{earlier.message}; {finding.message}"
                    findings[place] = replace(judged, check=earlier.check, message=message)
        except HudiError as error:
            findings.append(_failed(check, error.reason(), findings, committed))
    return iter(_by_partition(findings, stored) if stored is not None else findings)


def _recorded(view: TableView) -> dict[str, str]:
    """Return commits that the metadata table has, and the timeline lost or never completed."""
    with suppress(HudiError):  # its own check says why
        if view.config.metadata_partitions:
            metadata = MetadataTable(view)
            pending = {i.requested_time for i in view.timeline.pending}
            pending &= metadata.commits.uncommitted
            return dict.fromkeys(pending, COMPLETED_OR_FAILED) | metadata.commits.lost
    return {}


def _by_partition(findings: list[Finding], stored: StoredFiles) -> list[Finding]:
    """Make one finding of the missing files of each partition that has no file left."""
    present = {path.rpartition("/")[0] for path in stored.data_files}
    grouped: dict[tuple[str, int], list[Finding]] = {}
    for finding in findings:
        folder = finding.subject.rpartition("/")[0]
        is_gone = finding.check == FILES and finding.subject in stored.timeline.written
        place = -1 if is_gone and folder not in present else len(grouped)
        grouped.setdefault((folder, place), []).append(finding)
    return [
        group[0] if len(group) == 1 else _of_partition(folder, group)
        for (folder, _), group in grouped.items()
    ]


def _of_partition(folder: str, missing: list[Finding]) -> Finding:
    severity = worst(finding.severity for finding in missing)
    first = next(finding for finding in missing if finding.severity is severity)
    message = f"none of its {len(missing)} files is left, such as {first.subject}: {first.message}"
    return Finding(severity, FILES, folder or ".", message, "Restore the folder from a copy")


def _kept_merges(view: TableView) -> Iterator[Finding]:
    """Say how many merges are kept in files on this machine, if any are."""
    with suppress(HudiError, OSError):  # the other checks say what is wrong
        options = ReadOptions.parse({"merge_cache": MergeCache.DISK.value})
        query = resolve_query(view, options, {})
        plan = query.plan(query.schema, None)
        merged, merges = count_merged(plan.tasks, view.storage)
        if merged:
            message = f"{merged} of {merges} slices merged before"
            yield Finding(Severity.OK, MERGES, "", message)


def _failed(check: str, reason: str, findings: list[Finding], committed: TimelineFiles) -> Finding:
    """Return the finding of a check that failed: only a note if the cause is known already."""
    causes = [f.subject for f in findings if f.severity is Severity.PROBLEM and f.subject in reason]
    causes = [f.subject for f in committed.undecodable] or list(filter(None, causes))
    if causes:
        return Finding(Severity.NOTE, check, "", f"not checked to the end, because of {causes[0]}")
    return Finding(Severity.PROBLEM, check, "", f"the check failed: {reason}")


def _check_properties(storage: Storage, config: TableConfig) -> Iterator[Finding]:
    """Check the properties of a table that could be opened."""
    try:
        stored = load_properties(storage)
    except (FileNotFoundError, CorruptTableError) as error:  # since the table was opened
        yield Finding(Severity.PROBLEM, PROPERTIES, PROPERTIES_FILE, str(error), RESTORE)
        return
    if stored.path != PROPERTIES_FILE:
        message = f"it {stored.problem}; {BACKUP_FILE} is read instead"
        advice = (
            "An update of the properties was interrupted. Copy the backup over the file, as the "
            "next writer of Apache Hudi does"
        )
        yield Finding(Severity.PROBLEM, PROPERTIES, PROPERTIES_FILE, message, advice)
    message = (
        f"table version {config.version}, {config.table_type.value}: supported; Apache Hudi before "
        f"{FIRST_RELEASES[config.version]} refuses it"
    )
    yield Finding(Severity.OK, PROPERTIES, "hoodie.table.version", message)
    restore = restore_properties(storage)
    yield _checksum(config, restore)
    if lacks_ordering_fields(config.properties):
        is_lost = has_lost_ordering_fields(config.properties)
        yield Finding(
            Severity.PROBLEM if is_lost else Severity.WARNING,
            PROPERTIES,
            _ORDERING_FIELDS,
            "records are ordered by event time, and no field or payload class says by what: merges "
            "are refused"
            if is_lost
            else "records are ordered by event time, and no field says by which: the later of two "
            "records of a key wins, as in Apache Hudi",
            restore,
        )
    for key, reason in _refused(config):
        message = f"{reason}: Apache Hudi refuses the table, which is read here"
        yield Finding(Severity.NOTE, PROPERTIES, key, message, restore)


def _refused(config: TableConfig) -> Iterator[tuple[str, str]]:
    """Yield properties with which Apache Hudi 1.2.0 was seen to fail, each with the reason."""
    properties = config.properties
    for key, known in _WORDS.items():
        value = properties.get(key, "")
        if value != value.upper() or (known and value and value not in known.split()):
            yield key, f"{value!r} is not one of this property's words, which are in capitals"
    needed = ["hoodie.timeline.layout.version"]
    if config.is_merge_on_read and config.has_completion_times:
        needed.append("hoodie.record.merge.mode")
    yield from ((key, "missing") for key in needed if not properties.get(key))


def _checksum(config: TableConfig, restore: str) -> Finding:
    """Say whether the properties have a checksum; a table whose checksum is wrong is not opened."""
    recorded = config.properties.get(CHECKSUM)
    if recorded is not None:
        return Finding(Severity.OK, PROPERTIES, CHECKSUM, f"{recorded} fits the table's name")
    if not config.has_checksum:
        return Finding(Severity.NOTE, PROPERTIES, CHECKSUM, "none is recorded, as in old tables")
    return Finding(
        Severity.WARNING,
        PROPERTIES,
        CHECKSUM,
        f"none is recorded, although Apache Hudi records one in tables of version {config.version}:"
        " the file was edited, or is cut",
        restore,
    )


def check_metadata_table(stored: StoredFiles) -> Iterator[Finding]:
    """Compare the metadata table, if there is one, with the timeline and the storage."""
    view = stored.view
    names = view.config.metadata_partitions
    building = view.config.properties.get(_INFLIGHT, "")
    if building:
        message = f"partitions {building} are being built, or building them was interrupted"
        yield Finding(Severity.WARNING, METADATA_TABLE, _INFLIGHT, message)
    if not names:
        yield _unregistered(view.storage)
        return
    metadata = MetadataTable(view)
    try:
        storage = metadata.view.storage
    except MissingFileError as error:
        message = f"{error.reason()}; reads list folders"
        yield Finding(Severity.WARNING, METADATA_TABLE, _METADATA_FOLDER, message, _NEXT_WRITE)
        return
    except HudiError as error:
        yield Finding(Severity.PROBLEM, METADATA_TABLE, _METADATA_FOLDER, error.reason(), _REBUILD)
        return
    folders = {entry.name for entry in storage.list_directory("")}
    message = f"the folder is missing, although {_PARTITIONS} names it"
    missing = [
        Finding(Severity.PROBLEM, METADATA_TABLE, f"{_METADATA_FOLDER}/{name}", message, _REBUILD)
        for name in names
        if name not in folders
    ]
    sample = 0 if missing else RECORD_SAMPLE
    findings = [*missing, *_differences(metadata, stored, sample)]
    yield from findings
    if not findings:
        message = f"partitions {', '.join(names)}; it lists the files on the storage"
        yield Finding(Severity.OK, METADATA_TABLE, "", message)


def _unregistered(storage: Storage) -> Finding:
    """Say why no metadata table is read, given that the properties name no partition of one."""
    try:
        storage.open_input(f"{_METADATA_FOLDER}/{PROPERTIES_FILE}").close()
    except FileNotFoundError:
        message = "the table has none, so reads list folders"
        return Finding(Severity.NOTE, METADATA_TABLE, "", message)
    message = (
        f"not registered: {_PARTITIONS} does not name its partitions, as before Apache Hudi 0.11. "
        "Reads list folders"
    )
    return Finding(Severity.NOTE, METADATA_TABLE, _METADATA_FOLDER, message)


def _differences(metadata: MetadataTable, stored: StoredFiles, sample: int) -> Iterator[Finding]:
    """Compare the metadata table with the timeline, the storage and some of the rows."""
    paths = stored.timeline.written.keys()
    differing = list(differences(metadata, stored.sizes, paths, sample))
    missing = [d.subject for d in differing if d.check == "commits"]
    if missing:
        message = f"its timeline lacks {len(missing)} commits from this one on"
        yield Finding(Severity.WARNING, METADATA_TABLE, missing[0], message, _REBUILD)
    for difference in differing:
        if difference.check == "record_index":
            yield _of_record(difference)
        elif difference.check != "commits":
            yield _of_file(difference, stored.timeline)


def _of_file(difference: Difference, committed: TimelineFiles) -> Finding:
    """Judge a file; if commits and the metadata table agree, the storage is wrong."""
    subject = difference.subject
    message = difference.problem
    advice = _REBUILD
    written = committed.written.get(subject)
    if subject not in committed.removed and difference.metadata_table is not None:
        if written is None:  # by an archived commit: only the metadata table has it
            advice = f"{RESTORE}. A metadata table that is built again forgets what is lost"
        elif difference.table is None or difference.metadata_table == str(written.size):
            message = f"{message}; commits agree with the metadata table"
            advice = RESTORE
    return Finding(Severity.PROBLEM, METADATA_TABLE, subject, message, advice)


def _of_record(difference: Difference) -> Finding:
    """Judge a row missing from the record index, which holds one location per key."""
    subject = f"record key {difference.subject}"
    message = difference.problem
    if difference.metadata_table:
        message += ": an insert may have repeated the key, or the index is wrong"
        return Finding(Severity.WARNING, METADATA_TABLE, subject, message, _READ_WITHOUT_INDEX)
    message += (
        ". The row is not lost, and reads here find it. Writers remove the entry of a key with one "
        "of its rows, or with a delete that loses"
    )
    return Finding(Severity.PROBLEM, METADATA_TABLE, subject, message, _READ_WITHOUT_INDEX)
