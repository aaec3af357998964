"""The metadata table: there, whole, in step, and telling of the files that are on the storage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_pyspark.doctor.finding import Finding, Severity
from hudi_pyspark.errors import HudiError, TableNotFoundError
from hudi_pyspark.query.metadata_table import FILES_PARTITION, listed_files
from hudi_pyspark.table.config import METADATA_FOLDER
from hudi_pyspark.table.open import open_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hudi_pyspark.doctor.files import StoredFiles
    from hudi_pyspark.doctor.timeline import FilesOfTimeline
    from hudi_pyspark.table.view import TableView

CHECK = "metadata table"
FOLDER = f"{METADATA_FOLDER}/metadata"
_PARTITIONS = "hoodie.table.metadata.partitions"
_INFLIGHT = "hoodie.table.metadata.partitions.inflight"
_REBUILD = (
    "Reads with this package list folders and are right. For Apache Hudi delete the metadata table "
    "(hudi-cli: metadata delete); the next write builds it again"
)


def check_metadata_table(
    view: TableView, told: FilesOfTimeline, stored: StoredFiles
) -> Iterator[Finding]:
    """Compare the metadata table, where there is one, with the timeline and with the storage."""
    names = view.config.metadata_partitions
    building = view.config.properties.get(_INFLIGHT, "")
    if building:
        message = f"partitions {building} are being built, or their building broke off"
        yield Finding(Severity.WARNING, CHECK, _INFLIGHT, message)
    if not names:
        message = "the table has none: files are found by listing folders"
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
    found = [
        *_missing_partitions(view, names),
        *_missing_commits(view, metadata),
        *(_differences(view, told, stored) if FILES_PARTITION in names else ()),
    ]
    yield from found
    if not found:
        message = f"partitions {', '.join(names)}; its files are those on the storage"
        yield Finding(Severity.OK, CHECK, "", message)


def _missing_partitions(view: TableView, names: tuple[str, ...]) -> Iterator[Finding]:
    there = {entry.name for entry in view.storage.list_directory(FOLDER)}
    for name in names:
        if name not in there:
            message = f"the folder is missing, although {_PARTITIONS} names it"
            yield Finding(Severity.PROBLEM, CHECK, f"{FOLDER}/{name}", message, _REBUILD)


def _missing_commits(view: TableView, metadata: TableView) -> Iterator[Finding]:
    """Commits of the table that the metadata table was not told of."""
    known = {instant.requested_time for instant in metadata.timeline.completed}
    # It is built from a listing at first: of commits before that it was never told.
    first = min((time for time in known if not time.startswith("0000")), default="")
    lacking = [
        commit.requested_time
        for commit in view.commits
        if commit.requested_time >= first and commit.requested_time not in known
    ]
    if first and lacking:
        yield Finding(
            Severity.WARNING,
            CHECK,
            lacking[0],
            f"{len(lacking)} commits from this one on are not in its timeline: it is behind",
            _REBUILD,
        )


def _differences(view: TableView, told: FilesOfTimeline, stored: StoredFiles) -> Iterator[Finding]:
    """Its listing of committed files against the storage."""
    listed = listed_files(view)
    for path, size in sorted(listed.items()):
        found = stored.sizes.get(path)
        if found is None:
            message = "listed in the metadata table, but not on the storage"
            yield Finding(Severity.PROBLEM, CHECK, path, message, _REBUILD)
        # Before layout 2 later commits append to a log file.
        elif found < size or (found > size and not path.rpartition("/")[2].startswith(".")):
            message = f"{found} bytes on the storage, {size} in the metadata table"
            yield Finding(Severity.PROBLEM, CHECK, path, message, _REBUILD)
    for path in sorted(told.written.keys() & stored.sizes.keys() - listed.keys()):
        message = "committed and on the storage, but not listed in the metadata table"
        yield Finding(Severity.PROBLEM, CHECK, path, message, _REBUILD)
