"""Which file slices are the table at an instant."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from hudi_pyspark.errors import CorruptTableError, MissingFileError, TimeTravelError
from hudi_pyspark.format.timeline.commit_metadata import parse_commit_metadata
from hudi_pyspark.format.timeline.instant import Instant, InstantState
from hudi_pyspark.format.timeline.table_service_metadata import (
    parse_clean_metadata,
    parse_compaction_plan,
    parse_replace_plan,
)
from hudi_pyspark.table.archive import load_archive
from hudi_pyspark.table.data_files import committed_files, data_files
from hudi_pyspark.table.file_group import group_files
from hudi_pyspark.table.lazy_metadata import LazyMetadata
from hudi_pyspark.table.listing import path_in
from hudi_pyspark.table.schema import newest_data_file_schema
from hudi_pyspark.table.timeline import CommittedTimes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    import pyarrow as pa

    from hudi_pyspark.format.timeline.commit_metadata import CommitMetadata
    from hudi_pyspark.storage import Storage
    from hudi_pyspark.table.archive import ArchivedInstant
    from hudi_pyspark.table.config import TableConfig
    from hudi_pyspark.table.data_files import CommittedFile
    from hudi_pyspark.table.file_group import FileGroup, FileSlice, LogFile
    from hudi_pyspark.table.listing import FileListing
    from hudi_pyspark.table.timeline import Timeline


@dataclass(frozen=True)
class TableView:
    """One consistent view of a table: its timeline was read once and is never read again.

    Files that writers add later are invisible, since their instants are not on this timeline.
    """

    storage: Storage
    config: TableConfig
    timeline: Timeline
    listing: FileListing

    @cached_property
    def commits(self) -> tuple[Instant, ...]:
        """Completed commits, delta commits and replace commits in order of requested time."""
        return self.timeline.completed_commits(merge_on_read=self.config.is_merge_on_read)

    @cached_property
    def committed(self) -> CommittedTimes:
        """Instants whose log blocks and log files count."""
        return CommittedTimes.of(
            self.commits, self.timeline.savepoint_times, self.timeline.pending_writes
        )

    @cached_property
    def sliceable(self) -> CommittedTimes:
        """Instants that may start a file slice: also compactions that are only planned.

        Writers attach log files to a planned compaction's slice from the moment it is planned.
        """
        planned = self.timeline.pending_compactions if self.config.is_merge_on_read else ()
        return CommittedTimes.of(
            (*self.commits, *planned),
            self.timeline.savepoint_times,
            self.timeline.pending_writes,
        )

    @property
    def last_instant(self) -> str:
        """Requested time of the newest instant that may start a slice; "" on an empty timeline."""
        return max(self.sliceable.times, default="")

    @cached_property
    def commit_metadata(self) -> LazyMetadata:
        """Requested time to metadata, for every completed commit of the active timeline."""
        return LazyMetadata(self.commits, self._load_commit)

    @cached_property
    def data_file_schema(self) -> pa.Schema | None:
        """Schema of the newest data file that can be read, meta columns included."""
        return newest_data_file_schema(self)

    def instant_path(self, instant: Instant) -> str:
        """Path of an instant's file, relative to the base path."""
        return f"{self.config.timeline_folder}/{instant.file_name(self.config.layout)}"

    def plan_path(self, instant: Instant) -> str:
        """Path of the file with the plan of a pending instant, relative to the base path."""
        requested = Instant(instant.requested_time, instant.action, InstantState.REQUESTED)
        return self.instant_path(requested)

    def file_slices(
        self,
        as_of: str | None = None,
        *,
        read_optimized: bool = False,
        check_files: bool = True,
    ) -> list[FileSlice]:
        """The slices that make up the table, by partition path and file id.

        Args:
            as_of: instant, inclusive, compared with requested times; None for the latest.
            read_optimized: slices with a base file only, without their log files.
            check_files: refuse where files are missing; else `is_listed` of each file tells.

        Raises:
            MissingFileError: a committed file that the answer needs is not on the storage.
        """
        instant = as_of if as_of is not None else self.last_instant
        replaced = self._replaced_file_groups(instant)
        chosen = []
        # A partition that commits know but the listing does not has lost its files, or its marker.
        partitions = sorted({*self.listing.partitions(), *self._committed_files})
        for group in self._file_groups(partitions, self._committed_files):
            if (group.partition_path, group.file_id) in replaced:
                continue
            choose = self._base_only_slice if read_optimized else self._merged_slice
            file_slice = choose(group, instant)
            if file_slice is None or file_slice.is_empty:
                continue
            if check_files:
                self._check_presence(file_slice)
            chosen.append(file_slice)
        return chosen

    def all_slices(self) -> list[FileSlice]:
        """Every slice that was or will be part of the table and has files, by partition path.

        Also those that are superseded or replaced and only wait for the cleaner.
        """
        partitions = sorted({*self.listing.partitions(), *self._committed_files})
        return [
            file_slice
            for group in self._file_groups(partitions, self._committed_files)
            for file_slice in group.slices
            if not file_slice.is_empty and self._is_visible(file_slice, self.last_instant)
        ]

    def file_group(self, partition_path: str, file_id: str) -> FileGroup | None:
        """All slices of a file group, older and uncommitted ones too; None if it has no files."""
        return self._groups_of(partition_path).get(file_id)

    def written_slices(self, times: Collection[str]) -> list[FileSlice]:
        """Slices made only of the files that some commits wrote, as of the last of them.

        Args:
            times: requested times of completed commits on the active timeline; not empty.

        Raises:
            MissingFileError: one of the files that the answer needs is not on the storage.
        """
        chosen = self._written_slices(times)
        for file_slice in chosen:
            self._check_presence(file_slice)
        return chosen

    def commits_without_files(self, times: Collection[str]) -> list[str]:
        """Those of some commits that wrote a file which their slices need and which is gone.

        Args:
            times: as for `written_slices`.
        """
        chosen = self._written_slices(times)
        gone = {path for file_slice in chosen for path, _ in self._missing_files(file_slice)}
        return [
            time
            for time, metadata in self.commit_metadata.of(sorted(times)).items()
            if any(
                path_in(partition, stat.file_name) in gone
                for partition, stat in metadata.all_stats()
            )
        ]

    def _written_slices(self, times: Collection[str]) -> list[FileSlice]:
        """The slices that some commits wrote, whether or not their files are still there."""
        until = max(times)
        replaced = self._replaced_file_groups(until)
        # What other commits say of these files does not matter, so it is not read.
        committed = committed_files(self.commit_metadata.of(sorted(times)))
        written = {partition: set(names) for partition, names in committed.items()}
        chosen = []
        for group in self._file_groups(sorted(written), committed, only=written):
            if (group.partition_path, group.file_id) in replaced:
                continue
            file_slice = self._merged_slice(group, until)
            if file_slice is not None and not file_slice.is_empty:
                chosen.append(file_slice)
        return chosen

    def whole_slices(
        self,
        file_groups: Collection[tuple[str, str]],
        until: str,
        *,
        completed_by: str = "",
        check_files: bool = False,
    ) -> list[FileSlice]:
        """The slices of some file groups as of an instant.

        Args:
            file_groups: partition path and file id of each.
            until: requested time of the last commit that counts.
            completed_by: commits that completed later do not count, although they began before;
                "" to go by requested times alone.
            check_files: refuse where files are missing; else `is_listed` of each file tells.

        Raises:
            MissingFileError: a file of the slices is not on the storage.
        """
        partitions = sorted({partition for partition, _ in file_groups})
        if self.config.log_file_has_one_commit:
            committed = committed_files(
                self.commit_metadata.of(self._times_since(file_groups, partitions, until))
            )
        else:
            committed = self._committed_files
        chosen = self._slices_of(file_groups, partitions, committed, until)
        if completed_by:
            chosen = [
                s.with_logs(
                    log
                    for log in s.log_files
                    if (self.completion_time(log.instant_time) or "") <= completed_by
                )
                for s in chosen
            ]
        if check_files:
            for file_slice in chosen:
                self._check_presence(file_slice)
        return chosen

    def _times_since(
        self, file_groups: Collection[tuple[str, str]], partitions: list[str], until: str
    ) -> list[str]:
        """Commits that can have written to the present slices of some file groups.

        From table version 8 on these are the ones that completed after its base file was begun.
        """
        listed = self._slices_of(file_groups, partitions, {}, until)
        is_based = len(listed) == len(file_groups) and all(s.base_file is not None for s in listed)
        since = min((s.base_instant_time for s in listed), default="") if is_based else ""
        return [
            c.requested_time
            for c in self.commits
            if c.requested_time <= until and (c.completion_time or c.requested_time) >= since
        ]

    def _slices_of(
        self,
        file_groups: Collection[tuple[str, str]],
        partitions: list[str],
        committed: Mapping[str, Mapping[str, CommittedFile]],
        until: str,
    ) -> list[FileSlice]:
        found = [
            self._merged_slice(group, until)
            for group in self._file_groups(partitions, committed)
            if (group.partition_path, group.file_id) in file_groups
        ]
        return [s for s in found if s is not None and not s.is_empty]

    def slice_before(self, time: str, partition_path: str, file_id: str) -> FileSlice | None:
        """A file group's slice as it was just before a commit; None where it did not exist.

        Raises:
            MissingFileError: a file of that slice is not on the storage any more.
        """
        earlier = self.instant_before(time)
        group = self.file_group(partition_path, file_id) if earlier else None
        found = self._merged_slice(group, earlier) if group is not None else None
        if found is None or found.is_empty:
            return None
        # Log files of later commits belong to the same slice; their blocks are skipped anyway.
        found = found.with_logs(log for log in found.log_files if not self._is_later(log, time))
        self._check_presence(found)
        return found

    def instant_before(self, time: str) -> str:
        """Requested time of the newest commit before another, maybe archived; "" if none is."""
        active = [c.requested_time for c in self.commits if c.requested_time < time]
        # Behind the active timeline the archive goes on: a file group may be older than it.
        earlier = active or [t for t in self.archived_commit_times if t < time]
        return max(earlier, default="")

    def _is_later(self, log: LogFile, time: str) -> bool:
        if self.config.log_file_has_one_commit:
            return log.instant_time >= time
        return not log.is_listed and log.committed_by >= time

    def _groups_of(self, partition_path: str) -> Mapping[str, FileGroup]:
        if partition_path not in self._groups_by_partition:
            self._groups_by_partition[partition_path] = {
                group.file_id: group
                for group in self._file_groups([partition_path], self._committed_files)
            }
        return self._groups_by_partition[partition_path]

    @cached_property
    def _groups_by_partition(self) -> dict[str, dict[str, FileGroup]]:
        return {}

    @cached_property
    def archived(self) -> tuple[ArchivedInstant, ...]:
        """What has left the active timeline; loads the archive."""
        return load_archive(self.storage, self.config.layout, self.config.archive_folder)

    @cached_property
    def archived_commit_times(self) -> Mapping[str, str]:
        """Requested to completion time of all archived instants; loads the archive."""
        return {a.requested_time: a.completion_time or a.requested_time for a in self.archived}

    def validate_as_of(self, as_of: str) -> None:
        """Refuse an instant whose state may still change or is already cleaned away.

        Raises:
            TimeTravelError: with the first or last instant that can be answered.
        """
        incomplete = self.first_incomplete_commit()
        if incomplete is not None and as_of >= incomplete.requested_time:
            raise TimeTravelError(
                f"as.of.instant {as_of} is not before {incomplete.requested_time}, a "
                f"{incomplete.action} that has not completed, so the answer could still change. "
                "Ask for an earlier instant, or let the writer finish or roll back"
            )
        earliest = self._earliest_retained()
        if earliest and as_of < earliest:
            raise TimeTravelError(
                f"as.of.instant {as_of} lies before {earliest}, the earliest commit that the "
                "cleaner kept: its files may be gone. Ask for that instant or a later one, or "
                "raise the cleaner's retention (hoodie.cleaner.commits.retained)"
            )

    def completion_time(self, requested_time: str) -> str | None:
        """Completion time of a commit, from the active timeline or the history; None if unknown."""
        known = self._completion_times.get(requested_time)
        # Committed, but not on the active timeline: archived. A savepoint's commit may be older.
        if known is None and requested_time in self.committed:
            return self.archived_commit_times.get(requested_time)
        return known

    @cached_property
    def _completion_times(self) -> Mapping[str, str]:
        # A completed instant without completion time comes from an upgraded table; the time of its
        # file would change with every copy, so its requested time stands in.
        return {i.requested_time: i.completion_time or i.requested_time for i in self.commits}

    def _load_commit(self, instant: Instant) -> CommitMetadata:
        path = self.instant_path(instant)
        return parse_commit_metadata(self.read_instant(path), path=path)

    def read_instant(self, path: str) -> bytes:
        """Content of an instant's file.

        Raises:
            MissingFileError: it was there when the timeline was listed, and is gone.
        """
        try:
            return self.storage.read_bytes(path)
        except FileNotFoundError as error:
            raise MissingFileError(
                f"{self.storage.describe(path)} has left the timeline since it was listed: a "
                "writer archived or rolled it back. Load the table again"
            ) from error

    def first_incomplete_commit(self) -> Instant | None:
        """The oldest commit that is still being written; clusterings do not count."""
        pending = (
            i
            for i in self.timeline.commits(merge_on_read=self.config.is_merge_on_read)
            if i.state is not InstantState.COMPLETED
        )
        return next((i for i in pending if not self._is_clustering(i)), None)

    def _is_clustering(self, instant: Instant) -> bool:
        """Whether a pending instant is a clustering; layout 1 shares the action with overwrites."""
        if instant.action == "clustering":
            return True
        if instant.action != "replacecommit":
            return False
        path = self.plan_path(instant)
        try:
            body = self.storage.read_bytes(path)
        except FileNotFoundError:
            return False
        return bool(body) and parse_replace_plan(body, path=path).is_clustering

    def _earliest_retained(self) -> str:
        """The earliest instant whose files the cleaner has kept; "" on a table never cleaned."""
        cleans = [i for i in self.timeline.completed if i.action == "clean"]
        if not cleans:
            return ""
        path = self.instant_path(cleans[-1])
        clean = parse_clean_metadata(self.read_instant(path), path=path)
        first_commit = self.commits[0].requested_time if self.commits else ""
        return clean.earliest_commit_to_retain or first_commit

    def _replaced_file_groups(self, instant: str) -> frozenset[tuple[str, str]]:
        replacing = [
            c.requested_time
            for c in self.commits
            if c.action == "replacecommit" and c.requested_time <= instant
        ]
        return frozenset(
            (partition, file_id)
            for metadata in self.commit_metadata.of(replacing).values()
            for partition, file_ids in metadata.replaced_file_ids.items()
            for file_id in file_ids
        )

    @cached_property
    def _pending_compactions(self) -> Mapping[str, Mapping[str, str]]:
        """Partition path to file id to the instant of the compaction planned for it."""
        planned: dict[str, dict[str, str]] = {}
        for instant in self.timeline.pending_compactions:
            path = self.plan_path(instant)
            plan = parse_compaction_plan(self.read_instant(path), path=path)
            for planned_slice in plan.slices:
                partition, file_id = planned_slice.partition_path, planned_slice.file_id
                groups = planned.setdefault(partition, {})
                if file_id in groups:
                    raise CorruptTableError(
                        f"compactions {groups[file_id]} and {instant.requested_time} are both "
                        f"planned for file group {file_id} of partition {partition!r}; Hudi plans "
                        "one at a time"
                    )
                groups[file_id] = instant.requested_time
        return planned

    def _pending_compaction(self, group: FileGroup) -> str | None:
        """The instant of the compaction planned for a file group."""
        return self._pending_compactions.get(group.partition_path, {}).get(group.file_id)

    def _file_groups(
        self,
        partitions: list[str],
        committed: Mapping[str, Mapping[str, CommittedFile]],
        only: Mapping[str, Collection[str]] | None = None,
    ) -> Iterable[FileGroup]:
        """File groups of some partitions.

        Args:
            partitions: their paths.
            committed: partition path to file name to what commits say of the file.
            only: partition path to names of files that count; None for all.
        """
        files = self.listing.files(partitions)
        for partition in partitions:
            listed = files[partition]
            if only is not None:
                listed = [file for file in listed if file.name in only[partition]]
            base_files, log_files = data_files(
                partition, listed, committed.get(partition, {}), self.config
            )
            yield from group_files(
                partition,
                base_files,
                [log for log in log_files if self._may_count(log)],
                pending_compactions=self._pending_compactions.get(partition, {}),
                completion_time=self.completion_time if self.config.layout > 1 else None,
            )

    @cached_property
    def _committed_files(self) -> Mapping[str, Mapping[str, CommittedFile]]:
        """Partition path to file name to what completed commits say of the file."""
        return committed_files(self.commit_metadata.of(self.commit_metadata))

    def _may_count(self, log: LogFile) -> bool:
        # Up to table version 7 one log file holds blocks of several commits, so that the decision
        # falls block by block, when the file is read. Later an uncommitted file is left out before
        # it can start a slice, which would hide the committed log files that follow it.
        return not self.config.log_file_has_one_commit or log.instant_time in self.committed

    def _is_visible(self, file_slice: FileSlice, instant: str) -> bool:
        key = file_slice.base_instant_time
        return key <= instant and key <= self.last_instant and key in self.sliceable

    def _merged_slice(self, group: FileGroup, instant: str) -> FileSlice | None:
        """The newest visible slice, without files that are gone and that only later commits wrote.

        On a planned compaction it comes together with the slice before.
        """
        found = self._newest_slice(group, instant)
        if found is None or all(log.is_listed for log in found.log_files):
            return found
        return found.with_logs(
            log for log in found.log_files if log.is_listed or log.first_committed_by <= instant
        )

    def _newest_slice(self, group: FileGroup, instant: str) -> FileSlice | None:
        visible = [s for s in group.slices if self._is_visible(s, instant)]
        if not visible:
            return None
        latest = visible[-1]
        planned = self._pending_compaction(group)
        if latest.base_instant_time != planned:
            return latest
        # Half-written output of the compaction must not hide the slice that it reads.
        latest = latest.without_base_file()
        if len(visible) == 1:
            return latest
        previous = visible[-2]
        return previous.with_logs((*previous.log_files, *latest.log_files))

    def _base_only_slice(self, group: FileGroup, instant: str) -> FileSlice | None:
        planned = self._pending_compaction(group)
        for file_slice in reversed(group.slices):
            if (
                file_slice.base_file is not None
                and file_slice.base_instant_time != planned
                and self._is_visible(file_slice, instant)
            ):
                return file_slice.with_logs(())
        return None

    def _check_presence(self, file_slice: FileSlice) -> None:
        for path, instant_time in self._missing_files(file_slice):
            raise MissingFileError.since_commit(self.storage.describe(path), instant_time)

    def _missing_files(self, file_slice: FileSlice) -> Iterator[tuple[str, str]]:
        """Path and instant of each file of a slice that is not on the storage."""
        base = file_slice.base_file
        if base is not None and not base.is_listed:
            yield base.path, base.instant_time
        # Where a log file may hold several commits, the blocks may be in another log file of the
        # slice (appended): the reader looks for them there, if there is any.
        may_be_appended = not self.config.log_file_has_one_commit and any(
            f.is_listed for f in file_slice.log_files
        )
        for log in file_slice.log_files:
            if not log.is_listed and not may_be_appended:
                yield log.path, log.first_committed_by or log.instant_time
