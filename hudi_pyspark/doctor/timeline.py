"""Checks of the timeline, and the files that its instants name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hudi_pyspark.doctor.finding import (
    RESTORE,
    Finding,
    Severity,
    reason_of,
    restore_properties,
)
from hudi_pyspark.errors import HudiError
from hudi_pyspark.format.timeline import instant_metadata
from hudi_pyspark.format.timeline.instant import COMMIT_ACTIONS, Action, Instant
from hudi_pyspark.format.timeline.instant_body import BodyParser, read_body
from hudi_pyspark.format.timeline.instant_metadata import CommitMetadata
from hudi_pyspark.table.file_groups import CommittedFile, by_path, committed_files, unreadable_files
from hudi_pyspark.table.listing import path_in
from hudi_pyspark.table.timeline import instant_path, plan_path
from hudi_pyspark.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hudi_pyspark.doctor.finding import Track
    from hudi_pyspark.format.timeline.instant_metadata import CleanMetadata, RollbackMetadata
    from hudi_pyspark.table.view import TableView

CHECK = "timeline"
RESTORE_INSTANT = (
    "Restore the files of the timeline from a copy of the table. Until then keep writers and "
    "cleaners from it: Apache Hudi would roll the commits back and delete their rows"
)
_PLANNING = (Action.LOG_COMPACTION, Action.CLUSTERING, Action.REPLACE_COMMIT)
_REMOVING: Mapping[Action, BodyParser[CleanMetadata | RollbackMetadata]] = {
    Action.CLEAN: instant_metadata.parse_clean_metadata,
    Action.ROLLBACK: instant_metadata.parse_rollback_metadata,
    Action.RESTORE: instant_metadata.parse_restore_metadata,
}


@dataclass(frozen=True)
class TimelineFiles:
    """The data files that the active timeline names, by path relative to the base path."""

    written: Mapping[str, CommittedFile]  # by completed commits, CDC log files included
    unreadable: Mapping[str, str]  # written files that no file slice can have, with the reason
    removed: frozenset[str]  # by cleans, rollbacks and restores
    undecodable: tuple[Finding, ...]  # instants that cannot be decoded, or that reads ignore
    lost: Mapping[str, str]  # requested times of commits that completed, with the proof


def check_timeline(view: TableView, files: TimelineFiles) -> Iterator[Finding]:
    """Check that every completed instant can be decoded, and report pending ones."""
    yield from files.undecodable
    yield from _lost(files)
    yield from (finding for finding in _pending(view) if finding.subject not in files.lost)
    completed = view.timeline.completed
    if not completed:
        yield Finding(Severity.NOTE, CHECK, "", "no completed instant: reads find no rows")
    elif not files.undecodable:
        span = f"{completed[0].requested_time} to {completed[-1].requested_time}"
        message = f"{counted(len(completed), 'completed instant')} ({span}), all decoded"
        yield Finding(Severity.OK, CHECK, "", message)


def _lost(files: TimelineFiles) -> Iterator[Finding]:
    """Report commits that the timeline has lost, by what proves them."""
    for proof in sorted(set(files.lost.values())):
        times = sorted(time for time in files.lost if files.lost[time] == proof)
        message = (
            f"the timeline has lost {counted(len(times), 'commit')}, from this one on: {proof}"
        )
        yield Finding(Severity.PROBLEM, CHECK, times[0], message, RESTORE_INSTANT)


def _ignored(view: TableView) -> Iterator[Finding]:
    """Find delta commits of a table whose type has none: its type may be damaged."""
    deltas = list(view.timeline.of_action(Action.DELTA_COMMIT))
    if deltas and not view.config.is_merge_on_read:
        message = (
            f"hoodie.table.type says {view.config.table_type.value}, so reads ignore the log files "
            f"of {counted(len(deltas), 'delta commit')} from this one on, and base files of those "
            "that follow the first commit"
        )
        first = deltas[0].requested_time
        yield Finding(Severity.PROBLEM, CHECK, first, message, restore_properties(view.storage))


def _pending(view: TableView) -> Iterator[Finding]:
    """Report the instants that are planned or begun, but not completed."""
    for instant in view.timeline.pending:
        subject = instant.requested_time
        state = instant.state.name.lower()
        if instant.action in _PLANNING and (problem := _problem_of_plan(view, instant)):
            message = f"reads ignore the plan, and Apache Hudi refuses the table: {problem}"
            yield Finding(Severity.NOTE, CHECK, subject, message, RESTORE)
            continue
        if instant.action not in COMMIT_ACTIONS or view.history.is_clustering(instant):
            message = (
                f"{instant.action} {state}: planned or begun, but not completed; reads ignore it"
            )
            yield Finding(Severity.NOTE, CHECK, subject, message)
            continue
        message = (
            f"{instant.action} {state}: a writer is running, or it failed. Its rows are not read, "
            "and time travel to it or later raises an error"
        )
        advice = (
            "If no writer is running, the next one of Apache Hudi rolls the write back and deletes "
            "its rows. Make sure before that the timeline is whole: an incomplete copy looks alike"
        )
        yield Finding(Severity.WARNING, CHECK, subject, message, advice)


def _problem_of_plan(view: TableView, instant: Instant) -> str:
    """Return why a plan cannot be decoded; "" if it can, or if there is none."""
    path = plan_path(instant, view.config)
    try:
        body = view.storage.read_bytes(path)
        read_body(body, path=path)
    except FileNotFoundError:
        return ""
    except (HudiError, OSError) as error:
        return reason_of(error, path)
    return "" if body or instant.action is not Action.LOG_COMPACTION else "it is empty"


def collect_timeline_files(view: TableView, track: Track) -> TimelineFiles:
    """Decode every completed instant of the active timeline."""
    commits: dict[str, CommitMetadata] = {}
    removed: set[str] = set()
    undecodable = list(_ignored(view))
    for instant in track(view.timeline.completed, "Reading the timeline"):
        try:
            if instant not in view.history.commits:
                removed |= _removed_by(view, instant)
                continue
            metadata = view.history.metadata(instant.requested_time)
            if metadata.is_empty:
                undecodable.append(_empty_commit(view, instant))
                continue
            commits[instant.requested_time] = metadata
        except (HudiError, OSError) as error:
            path = instant_path(instant, view.config)
            reason = reason_of(error, path)
            problem = f"the completed {instant.action} cannot be decoded: {reason}"
            undecodable.append(Finding(Severity.PROBLEM, CHECK, path, problem, RESTORE))
    files = committed_files(commits)
    unreadable = unreadable_files(files, view.config)
    lost = dict.fromkeys(view.history.lost_among(commits.values()), "later commits built on it")
    return TimelineFiles(by_path(files), unreadable, frozenset(removed), tuple(undecodable), lost)


def _empty_commit(view: TableView, instant: Instant) -> Finding:
    """Report a completed commit whose file has no content: what it wrote is unknown."""
    if instant.action is Action.REPLACE_COMMIT:
        consequence = "nobody knows which rows it replaced, so reads refuse the table from it on"
    else:
        consequence = (
            "nobody knows what it wrote. Snapshots have its rows, incremental queries and streams "
            "warn or refuse, and Apache Hudi leaves its rows out of them"
        )
    message = f"the file of this completed {instant.action} is empty: {consequence}"
    path = instant_path(instant, view.config)
    return Finding(Severity.PROBLEM, CHECK, path, message, RESTORE)


def _removed_by(view: TableView, instant: Instant) -> set[str]:
    """Return the paths of files that an instant removed, by decoding the instant."""
    path = instant_path(instant, view.config)
    body = view.storage.read_bytes(path)
    if instant.action is Action.SAVEPOINT:
        instant_metadata.parse_savepoint_metadata(body, path=path)
    if instant.action not in _REMOVING:
        return set()
    partitions = _REMOVING[instant.action](body, path=path).partitions
    return {path_in(p.partition_path, name) for p in partitions for name in p.deleted_files}
