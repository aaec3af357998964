"""Checks of the metadata table: complete, up to date, and with the files on the storage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_pyspark.doctor.finding import Finding, Severity
from hudi_pyspark.errors import HudiError, TableNotFoundError
from hudi_pyspark.query.metadata_table.records import listed_files
from hudi_pyspark.query.metadata_table.table import FILES
from hudi_pyspark.table.config import METADATA_FOLDER
from hudi_pyspark.table.view import open_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hudi_pyspark.doctor.files import StoredFiles
    from hudi_pyspark.doctor.timeline import TimelineFiles
    from hudi_pyspark.table.view import TableView

CHECK = "metadata table"
FOLDER = f"{METADATA_FOLDER}/metadata"
_PARTITIONS = "hoodie.table.metadata.partitions"
_INFLIGHT = "hoodie.table.metadata.partitions.inflight"
_REBUILD = (
    "This package lists folders, so its reads are right. For Apache Hudi, delete the metadata "
    "table (hudi-cli: metadata delete); the next write builds it again"
)


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
        metadata = open_table(view.storage.at(view.storage.describe(FOLDER)))
    except TableNotFoundError:
        message = f"missing, although {_PARTITIONS} names {', '.join(names)}"
        yield Finding(Severity.PROBLEM, CHECK, FOLDER, message, _REBUILD)
        return
    except HudiError as error:
        yield Finding(Severity.PROBLEM, CHECK, FOLDER, error.reason(), _REBUILD)
        return
    findings = [
        *_missing_partitions(view, names),
        *_missing_commits(view, metadata),
        *(_differences(view, committed, stored) if FILES in names else ()),
    ]
    yield from findings
    if not findings:
        message = f"partitions {', '.join(names)}; it lists the files on the storage"
        yield Finding(Severity.OK, CHECK, "", message)


def _missing_partitions(view: TableView, names: tuple[str, ...]) -> Iterator[Finding]:
    folders = {entry.name for entry in view.storage.list_directory(FOLDER)}
    for name in names:
        if name not in folders:
            message = f"the folder is missing, although {_PARTITIONS} names it"
            yield Finding(Severity.PROBLEM, CHECK, f"{FOLDER}/{name}", message, _REBUILD)


def _missing_commits(view: TableView, metadata: TableView) -> Iterator[Finding]:
    """Find commits of the table that the metadata table lacks."""
    known = {instant.requested_time for instant in metadata.timeline.completed}
    # It was first built from a listing, and has no instants for the commits before that.
    first = min((time for time in known if not time.startswith("0000")), default="")
    missing = [
        commit.requested_time
        for commit in view.commits
        if commit.requested_time >= first and commit.requested_time not in known
    ]
    if first and missing:
        yield Finding(
            Severity.WARNING,
            CHECK,
            missing[0],
            f"its timeline lacks {len(missing)} commits from this one on",
            _REBUILD,
        )


def _differences(
    view: TableView, committed: TimelineFiles, stored: StoredFiles
) -> Iterator[Finding]:
    """Compare its listing of committed files with the storage."""
    listed = listed_files(view)
    for path, size in sorted(listed.items()):
        stored_size = stored.sizes.get(path)
        if stored_size is None:
            message = "listed in the metadata table, but not on the storage"
            yield Finding(Severity.PROBLEM, CHECK, path, message, _REBUILD)
        # Before layout 2 later commits append to a log file.
        elif stored_size < size or (
            stored_size > size and not path.rpartition("/")[2].startswith(".")
        ):
            message = f"{stored_size} bytes on the storage, {size} in the metadata table"
            yield Finding(Severity.PROBLEM, CHECK, path, message, _REBUILD)
    for path in sorted(committed.written.keys() & stored.sizes.keys() - listed.keys()):
        message = "committed and on the storage, but not listed in the metadata table"
        yield Finding(Severity.PROBLEM, CHECK, path, message, _REBUILD)
