"""The timeline: instants that can be decoded, and what they say of files."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hudi_pyspark.doctor.finding import Finding, Severity, counted
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
    """What completed commits say of one file."""

    size: int  # bytes, the largest that a commit names; 0 if none does
    commit: str  # requested time of the newest commit that names the file


@dataclass(frozen=True)
class FilesOfTimeline:
    """What the active timeline says of data files, by path relative to the base path."""

    written: Mapping[str, Written]  # by completed commits, change logs included
    removed: frozenset[str]  # by cleans, rollbacks and restores
    rollback_logs: frozenset[str]  # log files that rollbacks wrote
    undecodable: tuple[Finding, ...]  # instants that could not be asked


def check_timeline(view: TableView, files: FilesOfTimeline) -> Iterator[Finding]:
    """Check that every completed instant can be decoded, and tell what is pending."""
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
    """What has been begun, or only planned, and is not done."""
    incomplete = view.history.first_incomplete_commit()
    for instant in view.timeline.pending:
        subject, state = instant.requested_time, instant.state.name.lower()
        # Before layout 2 a clustering is named like an overwrite; time travel does not mind it.
        is_planned = instant.action in _TABLE_SERVICES or (
            instant.action == Action.REPLACE_COMMIT
            and (incomplete is None or instant.requested_time < incomplete.requested_time)
        )
        if is_planned or instant.action not in _WRITES:
            message = f"{instant.action} {state}: planned or begun, and not done; reads do without"
            yield Finding(Severity.NOTE, CHECK, subject, message)
            continue
        yield Finding(
            Severity.WARNING,
            CHECK,
            subject,
            f"{instant.action} {state}: a writer is at work, or it died. Its rows are not read, "
            "and time travel to it or later is refused",
            "If no writer runs, start one: Apache Hudi rolls failed writes back",
        )


def files_of_timeline(view: TableView, track: Track) -> FilesOfTimeline:
    """Ask every completed instant of the active timeline which files it wrote or removed."""
    told = _Told()
    for instant in track(view.timeline.completed, "Reading the timeline"):
        told.ask(view, instant)
    written = {path: Written(told.sizes[path], told.commits[path]) for path in told.commits}
    return FilesOfTimeline(
        written, frozenset(told.removed), frozenset(told.rollback_logs), tuple(told.undecodable)
    )


class _Told:
    """What the instants asked so far have said."""

    def __init__(self) -> None:
        self.sizes: dict[str, int] = defaultdict(int)
        self.commits: dict[str, str] = {}
        self.removed: set[str] = set()
        self.rollback_logs: set[str] = set()
        self.undecodable: list[Finding] = []

    def ask(self, view: TableView, instant: Instant) -> None:
        """Decode one completed instant, or remember why it cannot be decoded."""
        try:
            self._ask(view, instant)
        except (HudiError, OSError) as error:
            self.undecodable.append(_undecodable(view, instant, error))

    def _ask(self, view: TableView, instant: Instant) -> None:
        if instant.requested_time in view.commit_metadata and instant in view.commits:
            self._ask_commit(view, instant)
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

    def _ask_commit(self, view: TableView, instant: Instant) -> None:
        time = instant.requested_time
        metadata = view.commit_metadata[time]
        if metadata == CommitMetadata():
            raise CorruptTableError("it says nothing: the file is empty")
        for partition, stat in metadata.all_stats():
            if stat.path:
                name = stat.path.rpartition("/")[2]
                self._write(path_in(partition, name), stat.file_size, time)
            for path, size in stat.cdc_files:
                self._write(path, size, time)

    def _write(self, path: str, size: int, time: str) -> None:
        self.sizes[path] = max(self.sizes[path], size)
        self.commits[path] = time

    def _roll_back(self, rollback: RollbackMetadata) -> None:
        for undone in rollback.partitions:
            self._remove(undone.partition_path, undone.deleted_files)
            names = (*undone.rollback_log_files, *undone.failed_log_files)
            self.rollback_logs |= {path_in(undone.partition_path, n) for n in names}

    def _remove(self, partition: str, names: Iterable[str]) -> None:
        self.removed |= {path_in(partition, name) for name in names}


def _undecodable(view: TableView, instant: Instant, error: Exception) -> Finding:
    reason = error.reason() if isinstance(error, HudiError) else str(error)
    return Finding(
        Severity.PROBLEM,
        CHECK,
        instant_path(instant, view.config),
        f"the completed {instant.action} cannot be decoded: {reason}",
        "Restore the file from a copy of the table",
    )
