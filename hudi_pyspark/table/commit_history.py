"""Commits of a table and of its archive: what they did, and when."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, TypeVar

import pyarrow as pa

from hudi_pyspark.cached_property import cached_property
from hudi_pyspark.errors import CorruptTableError, CorruptTimelineError, TimeTravelError
from hudi_pyspark.format.timeline import instant_metadata
from hudi_pyspark.format.timeline.instant import (
    COMMIT_ACTIONS,
    Action,
    CompletionTime,
    Instant,
    InstantState,
    RequestedTime,
    WriteOperationType,
)
from hudi_pyspark.format.timeline.instant_body import BodyParser
from hudi_pyspark.storage.protocol import Storage, read_together
from hudi_pyspark.table.archive import ArchivedInstant, load_archive
from hudi_pyspark.table.archived_commits import ArchivedCommits
from hudi_pyspark.table.commit_content import problem_of_commit
from hudi_pyspark.table.config import METADATA_FOLDER, TableConfig
from hudi_pyspark.table.data_file_schema import newest_data_file_schema
from hudi_pyspark.table.file_group import BaseFile, LogFile
from hudi_pyspark.table.timeline import (
    CommittedTimes,
    Timeline,
    completion_times,
    instant_path,
    plan_path,
    read_instant,
)

_T = TypeVar("_T")
_UNKNOWN = "~"  # a completion time that sorts after every known one


@dataclass(eq=False)
class CommitHistory:
    """The commits of a timeline and of its archive.

    Each file is read when needed, and once. Threads that need the same one at the same time may
    both read it, to the same value.
    """

    storage: Storage
    config: TableConfig
    timeline: Timeline
    # What files have shown of a bucket index, kept by `BucketIndex`.
    bucket_verdicts: dict[object, Any] = field(default_factory=dict, init=False)
    # Keys of files, by path, or why a file has none; kept by `planning.pruning`.
    key_evidence: dict[str, Any] = field(default_factory=dict, init=False)
    _metadata: dict[str, instant_metadata.CommitMetadata] = field(default_factory=dict, init=False)
    _compacted_logs: dict[str, Mapping[tuple[str, str], Collection[str]]] = field(
        default_factory=dict, init=False
    )
    _replacements: dict[str, Mapping[tuple[str, str], Collection[Instant]]] = field(
        default_factory=dict, init=False
    )
    # The first archived time that was asked about, and completion times from there on.
    _archived_since: tuple[str, Mapping[RequestedTime, CompletionTime]] | None = field(
        default=None, init=False
    )

    @cached_property
    def commits(self) -> tuple[Instant, ...]:
        """Completed commits, delta commits and replace commits in order of requested time.

        COPY_ON_WRITE tables have no delta commits.
        """
        if self.config.is_merge_on_read:
            return self.all_commits
        return tuple(c for c in self.all_commits if c.action is not Action.DELTA_COMMIT)

    @cached_property
    def committed(self) -> CommittedTimes:
        """Instants whose log blocks and log files count."""
        return CommittedTimes.of(self.commits, self.timeline, self.archived_commits)

    @cached_property
    def archived_commits(self) -> ArchivedCommits:
        """The archived commits since the earliest active one, and perhaps earlier ones.

        There are some if an archiver went on beyond a savepoint: see `CommittedTimes`.
        """
        config = self.config
        first = self.commits[0].requested_time if self.commits else ""
        # An upgrade does not name the files of the history by their first and last instant.
        since = "" if config.was_upgraded else first
        return ArchivedCommits(self.storage, config.layout, config.archive_folders, since)

    @cached_property
    def all_commits(self) -> tuple[Instant, ...]:
        """Completed commits, whatever the type of the table is now, in order of requested time.

        A COPY_ON_WRITE table may have been MERGE_ON_READ: then delta commits say its schema.
        Source: Hudi's TableSchemaResolver, which asks the active timeline whatever the type.
        """
        return tuple(i for i in self.timeline.completed if i.action in COMMIT_ACTIONS)

    @cached_property
    def _commit_at(self) -> Mapping[str, Instant]:
        """All completed commits by requested time; `commits` win over the others."""
        return {commit.requested_time: commit for commit in (*self.all_commits, *self.commits)}

    def metadata(self, time: str) -> instant_metadata.CommitMetadata:
        """Return the metadata of a completed commit of the active timeline.

        Raises:
            MissingFileError, CorruptTimelineError: as `metadata_of`.
        """
        return self._metadata.get(time) or self.metadata_of([time])[time]

    def metadata_of(
        self, times: Iterable[str] | None = None
    ) -> dict[str, instant_metadata.CommitMetadata]:
        """Return the metadata of some commits by requested time, in their order.

        The files that no query has read yet are read together. So a query of few commits reads few
        files, however long the timeline is.

        Args:
            times: requested times of completed commits of the active timeline; None for those of
                `commits`.

        Raises:
            MissingFileError: a file has left the timeline since that was listed.
            CorruptTimelineError: a file cannot be decoded.
        """
        ordered = [c.requested_time for c in self.commits] if times is None else list(times)
        unread = [self._commit_at[time] for time in ordered if time not in self._metadata]
        read = read_together(self._load_commit, unread, is_local=self.storage.is_local)
        for commit, metadata in read:
            self._metadata[commit.requested_time] = metadata
        return {time: self._metadata[time] for time in ordered}

    def _load_commit(self, commit: Instant) -> instant_metadata.CommitMetadata:
        """Load the metadata of a completed commit; refuse that of another instant."""
        is_replacing = commit.action is Action.REPLACE_COMMIT
        metadata = self.load(
            commit,
            instant_metadata.parse_replace_metadata
            if is_replacing
            else instant_metadata.parse_commit_metadata,
        )
        if problem := problem_of_commit(commit, metadata):
            found = f"the content is not of this {commit.action}: {problem}"
            raise CorruptTimelineError(self._place(commit), found)
        return metadata

    @cached_property
    def data_file_schema(self) -> pa.Schema | None:
        """Schema of the newest data file that can be read, meta columns included."""
        newest_first = (self.metadata(c.requested_time) for c in reversed(self.commits))
        return newest_data_file_schema(self.storage, newest_first)

    def load(self, instant: Instant, parse: BodyParser[_T]) -> _T:
        """Return what the file of an instant says.

        Raises:
            MissingFileError: it has left the timeline since that was listed.
            CorruptTimelineError: it cannot be decoded.
        """
        path = instant_path(instant, self.config)
        return parse(read_instant(self.storage, path), path=path)

    @cached_property
    def archived(self) -> tuple[ArchivedInstant, ...]:
        """The instants that have left the active timeline, oldest first; loads the archive once."""
        return self.archived_between()

    def archived_between(self, since: str = "", until: str = "") -> tuple[ArchivedInstant, ...]:
        """Return at least the archived instants between two requested times, oldest first.

        Args:
            since: "" for the first instant of the archive.
            until: "" for the last one.
        """
        config = self.config
        # An upgrade does not name the files of the history by their first and last instant.
        if "archived" in self.__dict__ or ((since or until) and config.was_upgraded):
            return self.archived
        found = load_archive(self.storage, config.layout, config.archive_folders, since, until)
        return self._with_forgotten(found) if config.has_completion_times else found

    def _with_forgotten(self, archived: tuple[ArchivedInstant, ...]) -> tuple[ArchivedInstant, ...]:
        """Add the instants that Apache Hudi up to 0.9 archived into the metadata folder itself.

        Later releases do not look for them there, so an upgrade leaves them behind.
        """
        if not self.config.was_upgraded:
            return archived
        known = {(i.requested_time, i.action) for i in archived}
        logs = load_archive(self.storage, 1, [METADATA_FOLDER])
        forgotten = [i for i in logs if (i.requested_time, i.action) not in known]
        return tuple(sorted([*archived, *forgotten], key=attrgetter("requested_time")))

    @cached_property
    def archived_times(self) -> Mapping[RequestedTime, CompletionTime]:
        """Completion times of all archived instants, by requested time; loads the archive."""
        return completion_times(self.archived)

    def completion_time(self, text: str) -> CompletionTime | None:
        """Return when a commit completed, by its requested time; None if that is unknown.

        The timeline has it, or else the archive.
        """
        requested_time = RequestedTime(text)
        completed_at = self._completion_times.get(requested_time)
        # Committed, but not on the active timeline: archived. A savepoint's commit may be older.
        if completed_at is not None or requested_time not in self.committed:
            return completed_at
        if self._archived_since is None:
            archived = self.archived_between(since=requested_time)
            self._archived_since = requested_time, completion_times(archived)
        since, times = self._archived_since
        return (times if since <= requested_time else self.archived_times).get(requested_time)

    @cached_property
    def _completion_times(self) -> Mapping[RequestedTime, CompletionTime]:
        return completion_times(self.commits)

    def instant_before(self, time: str) -> str:
        """Return the requested time of the last commit before another; "" if there is none."""
        active = [c.requested_time for c in self.commits if c.requested_time < time]
        # The archive has the commits before the active timeline: a file group may be older than it.
        return max(active or [t for t in self.archived_times if t < time], default="")

    def empty_commits(self, times: Iterable[str]) -> dict[str, str]:
        """Return the commits whose file is empty, with the place of the file, by requested time.

        Apache Hudi takes such a commit for one that wrote nothing. The files of commits that were
        not read before are read.
        """
        metadata = self.metadata_of(times)
        empty = {time for time in metadata if metadata[time].is_empty}
        commits = [commit for commit in self.all_commits if commit.requested_time in empty]
        return {c.requested_time: self._place(c) for c in commits}

    def _place(self, instant: Instant) -> str:
        return self.storage.describe(instant_path(instant, self.config))

    def lost_among(self, commits: Iterable[instant_metadata.CommitMetadata]) -> set[str]:
        """Return instants that are not committed, although some commits built on their files."""
        return {time for time in self._bases_of(commits) if time not in self.committed}

    def shows_gap(self, commits: Iterable[instant_metadata.CommitMetadata]) -> bool:
        """Return whether some commits built on files of archived ones after the earliest active.

        Then a range may have archived commits although it begins later: see `CommittedTimes`.
        """
        times, first = self.committed.times, self.committed.first
        later = {time for time in self._bases_of(commits) - times if time > first}
        return any(time in self.committed for time in later)

    def _bases_of(self, commits: Iterable[instant_metadata.CommitMetadata]) -> set[str]:
        """Return the instants on whose files some commits built.

        Without planned compactions: a log file may be on top of one.
        """
        bases = {stat.prev_commit or "" for metadata in commits for _, stat in metadata.all_stats()}
        planned = {instant.requested_time for instant in self.timeline.pending_compactions}
        return {time for time in bases - planned if time.isdigit()}

    def first_incomplete_commit(self) -> Instant | None:
        """Return the oldest commit that is still being written.

        Clusterings do not count. Nor do compactions: they complete as commits, and until then their
        plans block nobody.
        """
        has_deltas = self.config.is_merge_on_read
        actions = COMMIT_ACTIONS if has_deltas else COMMIT_ACTIONS - {Action.DELTA_COMMIT}
        pending = (i for i in self.timeline.pending if i.action in actions)
        return next((i for i in pending if not self.is_clustering(i)), None)

    def is_clustering(self, instant: Instant) -> bool:
        """Decide whether an instant is a clustering, which completes as a replacecommit.

        Before layout 2 it begins as a replacecommit as well, so its plan decides. A plan that is
        gone or empty is none of a clustering.

        Raises:
            CorruptTimelineError: the plan or the commit cannot be decoded.
        """
        if instant.action is not Action.REPLACE_COMMIT:
            return instant.action is Action.CLUSTERING
        if instant.is_completed:
            operation = self.metadata(instant.requested_time).operation_type
            return operation is WriteOperationType.CLUSTER
        path = plan_path(instant, self.config)
        try:
            body = self.storage.read_bytes(path)
        except FileNotFoundError:
            return False
        return bool(body) and instant_metadata.parse_replace_plan(body, path=path).is_clustering

    @cached_property
    def planned_compactions(self) -> Mapping[str, Mapping[str, str]]:
        """Instants of the compactions planned for file groups, by partition path and file id.

        Raises:
            CorruptTableError: two compactions are planned for one file group.
            CorruptTimelineError: a plan cannot be decoded.
        """
        planned: dict[str, dict[str, str]] = {}
        for instant in self.timeline.pending_compactions:
            path = plan_path(instant, self.config)
            body = read_instant(self.storage, path)
            for planned_slice in instant_metadata.parse_compaction_plan(body, path=path):
                partition = planned_slice.partition_path
                file_id = planned_slice.file_id
                instants = planned.setdefault(partition, {})
                if file_id in instants:
                    raise CorruptTableError(
                        f"compactions {instants[file_id]} and {instant.requested_time} are both "
                        f"planned for file group {file_id} of partition {partition!r}; Hudi plans "
                        "one at a time"
                    )
                instants[file_id] = instant.requested_time
        return planned

    def compacted_logs(self, time: str) -> Mapping[tuple[str, str], Collection[str]]:
        """Return the names of the log files that a compaction merged, by partition and file id.

        Empty if the instant is none of a compaction whose plan is still on the timeline.
        """
        if time not in self._compacted_logs:
            compaction = Instant(RequestedTime(time), Action.COMPACTION, InstantState.COMPLETED)
            path = plan_path(compaction, self.config)
            try:
                body = self.storage.read_bytes(path)
                plan = instant_metadata.parse_compaction_plan(body, path=path)
            except FileNotFoundError:
                plan = ()
            self._compacted_logs[time] = {
                (planned.partition_path, planned.file_id): planned.log_file_names
                for planned in plan
            }
        return self._compacted_logs[time]

    def check_as_of(self, as_of: str) -> None:
        """Refuse an instant as of which the table cannot be read.

        Raises:
            TimeTravelError: the state at the instant may still change, or is cleaned away.
        """
        incomplete = self.first_incomplete_commit()
        if incomplete is not None and as_of >= incomplete.requested_time:
            raise TimeTravelError(
                f"as.of.instant {as_of} is not before {incomplete.requested_time}, a "
                f"{incomplete.action} that has not completed, so the answer could still change",
                advice="Ask for an earlier instant, or let the writer finish or roll back",
            )
        if as_of < self._first_kept and self.saved_files(as_of) is None:
            raise TimeTravelError(
                f"as.of.instant {as_of} is before {self._first_kept}, the earliest commit that "
                "the cleaner kept: its files may be gone",
                advice=(
                    "Ask for that instant or a later one, or for that of a savepoint without "
                    "pending compactions, or raise the cleaner's retention "
                    "(hoodie.cleaner.commits.retained)"
                ),
            )

    @cached_property
    def _first_kept(self) -> str:
        """The earliest instant whose files the cleaner kept; "" if it never ran."""
        cleans = [i for i in self.timeline.completed if i.action is Action.CLEAN]
        if not cleans:
            return ""
        clean = self.load(cleans[-1], instant_metadata.parse_clean_metadata)
        first_commit = self.commits[0].requested_time if self.commits else ""
        return clean.earliest_commit_to_retain or first_commit

    def saved_files(self, as_of: str) -> Mapping[str, Collection[str]] | None:
        """Return the names of the files of a savepoint, by partition path.

        None if the instant has no completed savepoint, if the cleaner kept the files of all
        commits from it on, or if the savepoint may lack files, as an empty file does.
        """
        savepoints = (i for i in self.timeline.of_action(Action.SAVEPOINT) if i.is_completed)
        savepoint = next((i for i in savepoints if i.requested_time == as_of), None)
        if savepoint is None or as_of >= self._first_kept or not self._is_whole(savepoint):
            return None
        return self.load(savepoint, instant_metadata.parse_savepoint_metadata).file_names or None

    def _is_whole(self, savepoint: Instant) -> bool:
        """Decide whether a savepoint names all files of its instant.

        While a compaction is pending, Hudi saves its slice alone, without the one that it reads,
        and leaves out log files of earlier commits that complete later. Without completion times
        nobody knows. A COPY_ON_WRITE table with delta commits was MERGE_ON_READ before.

        Source: ``SavepointActionExecutor``, ``getLatestFileSlicesBeforeOrOn`` of the view.
        """
        instants = [*self.timeline.completed, *self.archived]
        was_merged = any(i.action is Action.DELTA_COMMIT for i in instants)
        if not (self.config.is_merge_on_read or was_merged):
            return True
        if not self.config.has_completion_times:
            return False
        until = savepoint.requested_time
        saved_at = savepoint.completion_time or ""
        compactions = [i for i in instants if i.action is Action.COMMIT]
        return all(
            (c.completion_time or _UNKNOWN) <= saved_at
            if c.requested_time <= until
            else c.requested_time >= saved_at
            for c in (*compactions, *self.timeline.pending_compactions)
        )

    def replacements(self, until: str) -> Mapping[tuple[str, str], Collection[Instant]]:
        """Return the commits up to one that replaced file groups, by partition path and file id.

        Raises:
            CorruptTimelineError: the file of such a commit is empty, or cannot be decoded.
        """
        if until not in self._replacements:
            commits = (c for c in self.commits if c.requested_time <= until)
            replacing = [c for c in commits if c.action is Action.REPLACE_COMMIT]
            by_group: dict[tuple[str, str], list[Instant]] = {}
            metadata_of = self.metadata_of(commit.requested_time for commit in replacing)
            for commit, metadata in zip(replacing, metadata_of.values(), strict=True):
                if metadata.is_empty:
                    raise self._unknown_replacement(commit)
                for partition, file_ids in metadata.replaced_file_ids.items():
                    for file_id in file_ids:
                        by_group.setdefault((partition, file_id), []).append(commit)
            self._replacements[until] = by_group
        return self._replacements[until]

    def _unknown_replacement(self, commit: Instant) -> CorruptTimelineError:
        return CorruptTimelineError(
            self._place(commit),
            f"the file of a completed {commit.action} is empty, so nobody knows what it replaced: "
            "replaced rows would be read again. The table can be read as of an instant before "
            f"{commit.requested_time}",
        )

    def outlives(self, file: BaseFile | LogFile, replacement: Instant) -> bool:
        """Decide whether a file is still part of its group after a commit replaced the group.

        File ids of bucket indexes may be used again. A replacement ends what was written before it,
        so its own files, and files of commits that began after it completed, stay. A commit that
        began before and completed later adds the rows of its log files; its base files have rows
        that were there before. Table services only move rows. A clustering also moves the rows of
        commits that it overtakes: their writers write into both file groups.

        Apache Hudi hides all files of the group, whenever they were written.
        """
        time = file.instant_time
        replaced_at = replacement.requested_time
        completed_at = replacement.completion_time or replaced_at
        if time == replaced_at or time > completed_at:
            return True
        if isinstance(file, BaseFile):
            return False
        file_completed_at = self._completion_times.get(RequestedTime(time))
        if file_completed_at is None or file_completed_at < completed_at:
            return False
        operations = [self.metadata(t).operation_type for t in (time, replaced_at)]
        return not any(operation.is_table_service for operation in operations)
