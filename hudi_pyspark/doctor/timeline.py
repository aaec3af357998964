"""Checks of the timeline, and the files that its instants name."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hudi_pyspark.description import counted
from hudi_pyspark.doctor.finding import Finding, Severity, reason_of
from hudi_pyspark.errors import CorruptTableError, HudiError
from hudi_pyspark.format.timeline.commit_metadata import CommitMetadata
from hudi_pyspark.format.timeline.instant import Action
from hudi_pyspark.format.timeline.table_service_metadata import (
    parse_clean_metadata,
    parse_restore_metadata,
    parse_rollback_metadata,
    parse_savepoint_metadata,
)
from hudi_pyspark.table.listing import path_in
from hudi_pyspark.table.timeline import instant_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hudi_pyspark.doctor.finding import Track
    from hudi_pyspark.format.timeline.instant import Instant
    from hudi_pyspark.format.timeline.table_service_metadata import RollbackMetadata
    from hudi_pyspark.table.view import TableView

CHECK = "timeline"
_WRITES = (Action.COMMIT, Action.DELTA_COMMIT, Action.REPLACE_COMMIT)
_TABLE_SERVICES = (Action.COMPACTION, Action.LOG_COMPACTION, Action.CLUSTERING)


@dataclass(frozen=True, slots=True)
class Written:
    """What completed commits recorded about one file."""

    size: int  # bytes, the largest that a commit recorded; 0 if none did
    commit: str  # requested time of the newest commit that names the file


@dataclass(frozen=True)
class TimelineFiles:
    """The data files that the active timeline names, by path relative to the base path."""

    written: Mapping[str, Written]  # by completed commits, CDC log files included
    removed: frozenset[str]  # by cleans, rollbacks and restores
    undecodable: tuple[Finding, ...]  # instants that cannot be decoded


def check_timeline(view: TableView, files: TimelineFiles) -> Iterator[Finding]:
    """Check that every completed instant can be decoded, and report pending ones."""
    yield from files.undecodable
    yield from _pending(view)
    completed = view.timeline.completed
    if not completed:
        yield Finding(Severity.NOTE, CHECK, "", "no completed instant: the table is empty")
    elif not files.undecodable:
        span = f"{completed[0].requested_time} to {completed[-1].requested_time}"
        message = f"{counted(len(completed), 'completed instant')} ({span}), all decoded"
        yield Finding(Severity.OK, CHECK, "", message)


def _pending(view: TableView) -> Iterator[Finding]:
    """Report the instants that are planned or begun, but not completed."""
    incomplete = view.history.first_incomplete_commit()
    for instant in view.timeline.pending:
        subject, state = instant.requested_time, instant.state.name.lower()
        # Before layout 2 a clustering has the action of an overwrite; time travel allows it.
        is_planned = instant.action in _TABLE_SERVICES or (
            instant.action == Action.REPLACE_COMMIT
            and (incomplete is None or instant.requested_time < incomplete.requested_time)
        )
        if is_planned or instant.action not in _WRITES:
            message = (
                f"{instant.action} {state}: planned or begun, but not completed; reads ignore it"
            )
            yield Finding(Severity.NOTE, CHECK, subject, message)
            continue
        yield Finding(
            Severity.WARNING,
            CHECK,
            subject,
            f"{instant.action} {state}: a writer is running, or it failed. Its rows are not read, "
            "and time travel to it or later raises an error",
            "If no writer is running, start one: Apache Hudi rolls back failed writes",
        )


def collect_timeline_files(view: TableView, track: Track) -> TimelineFiles:
    """Decode every completed instant of the active timeline."""
    files = _FileCollector()
    for instant in track(view.timeline.completed, "Reading the timeline"):
        files.add(view, instant)
    return files.collected()


class _FileCollector:
    """Collects the files that completed instants wrote or removed."""

    def __init__(self) -> None:
        self._sizes: dict[str, int] = defaultdict(int)
        self._commits: dict[str, str] = {}
        self._removed: set[str] = set()
        self._undecodable: list[Finding] = []

    def collected(self) -> TimelineFiles:
        written = {path: Written(self._sizes[path], time) for path, time in self._commits.items()}
        return TimelineFiles(written, frozenset(self._removed), tuple(self._undecodable))

    def add(self, view: TableView, instant: Instant) -> None:
        """Decode one completed instant, or record why it cannot be decoded."""
        try:
            self._decode(view, instant)
        except (HudiError, OSError) as error:
            self._undecodable.append(_undecodable(view, instant, error))

    def _decode(self, view: TableView, instant: Instant) -> None:
        if instant.requested_time in view.commit_metadata and instant in view.commits:
            self._add_commit(view, instant)
            return
        path = instant_path(instant, view.config)
        body = view.storage.read_bytes(path)
        if instant.action == Action.CLEAN:
            for cleaned in parse_clean_metadata(body, path=path).partitions:
                self._remove(cleaned.partition_path, cleaned.deleted_files)
        elif instant.action == Action.ROLLBACK:
            self._roll_back(parse_rollback_metadata(body, path=path))
        elif instant.action == Action.RESTORE:
            for rollback in parse_restore_metadata(body, path=path).rollbacks:
                self._roll_back(rollback)
        elif instant.action == Action.SAVEPOINT:
            parse_savepoint_metadata(body, path=path)

    def _add_commit(self, view: TableView, instant: Instant) -> None:
        time = instant.requested_time
        metadata = view.commit_metadata[time]
        if metadata == CommitMetadata():
            raise CorruptTableError("the file is empty")
        for partition, stat in metadata.all_stats():
            if stat.path:
                name = stat.path.rpartition("/")[2]
                self._write(path_in(partition, name), stat.file_size, time)
            for path, size in stat.cdc_files:
                self._write(path, size, time)

    def _write(self, path: str, size: int, time: str) -> None:
        self._sizes[path] = max(self._sizes[path], size)
        self._commits[path] = time

    def _roll_back(self, rollback: RollbackMetadata) -> None:
        for partition in rollback.partitions:
            self._remove(partition.partition_path, partition.deleted_files)

    def _remove(self, partition: str, names: Iterable[str]) -> None:
        self._removed |= {path_in(partition, name) for name in names}


def _undecodable(view: TableView, instant: Instant, error: Exception) -> Finding:
    return Finding(
        Severity.PROBLEM,
        CHECK,
        instant_path(instant, view.config),
        f"the completed {instant.action} cannot be decoded: {reason_of(error)}",
        "Restore the file from a copy of the table",
    )
