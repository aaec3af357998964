"""File slices of a table: at an instant, as some commits wrote them, or of some file groups."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from hudi_pyspark.cached_property import PickledWithoutCache, cached_property
from hudi_pyspark.errors import MissingFileError
from hudi_pyspark.table.file_group import BaseFile, FileGroup, FileSlice, LogFile
from hudi_pyspark.table.file_groups import (
    CommittedFiles,
    FileGroups,
    as_recorded,
    by_path,
    committed_files,
)
from hudi_pyspark.table.listing import PartitionChoice
from hudi_pyspark.table.timeline import CommittedTimes

if TYPE_CHECKING:
    from hudi_pyspark.format.timeline.instant import CompletionTime
    from hudi_pyspark.table.commit_history import CommitHistory


@dataclass(frozen=True)
class FileSlices(PickledWithoutCache):
    """The file slices of a table, at the latest instant or at an earlier one."""

    history: CommitHistory
    groups: FileGroups

    @cached_property
    def _base_instants(self) -> CommittedTimes:
        """Instants that may start a file slice: also compactions that are only planned.

        Writers attach log files to a planned compaction's slice from the moment it is planned.
        """
        timeline = self.history.timeline
        planned = timeline.pending_compactions if self.history.config.is_merge_on_read else ()
        instants = (*self.history.commits, *planned)
        return CommittedTimes.of(instants, timeline, self.history.archived_commits)

    @cached_property
    def last_instant(self) -> str:
        """Requested time of the newest instant that may start a slice; "" on an empty timeline."""
        return max(self._base_instants.times, default="")

    def as_of(
        self,
        instant: str | None = None,
        *,
        read_optimized: bool = False,
        check_files: bool = True,
        choice: PartitionChoice | None = None,
    ) -> list[FileSlice]:
        """Return the slices of the table at an instant (inclusive), by partition and file id.

        None is the latest. ``read_optimized`` slices have a base file and no log files. Without
        ``check_files``, see `is_listed` of each file; partitions that ``choice`` excludes are not
        listed. A savepoint has the files of its instant even after the cleaner went on.
        """
        until = instant if instant is not None else self.last_instant
        saved = self.history.saved_files(until)
        choose = self._base_only if read_optimized else self.latest

        def slices() -> Iterator[FileSlice]:
            if saved is None:
                groups = self.groups.all(choice, until)
            else:
                groups = self.groups.of_savepoint(saved, choice)
            for group in groups:
                file_slice = choose(self.unreplaced(group, until), until)
                if file_slice is not None and not file_slice.is_empty:
                    yield file_slice

        return self._with_sizes(self.checked(slices) if check_files else list(slices()))

    def _with_sizes(self, slices: list[FileSlice]) -> list[FileSlice]:
        """Return the slices with what commits beyond the checked ones record of their log files."""
        if not self.history.config.has_completion_times:
            return slices
        unknown = {log.instant_time for s in slices for log in s.log_files if not log.committed_by}
        older = sorted(unknown & self.history.committed.times)
        if not older:
            return slices
        recorded = committed_files(self.history.metadata_of(older))
        return [
            s.with_logs(as_recorded(log, recorded[s.partition_path]) for log in s.log_files)
            if s.log_files and s.partition_path in recorded
            else s
            for s in slices
        ]

    def checked(self, make: Callable[[], Iterable[FileSlice]]) -> list[FileSlice]:
        """Return slices with all files; ``make`` is called again if the listing was completed."""
        slices = self.completed(make)
        for file_slice in slices:
            if file_slice.lacks_files:
                self.check_files(file_slice)
        return slices

    def completed(self, make: Callable[[], Iterable[FileSlice]]) -> list[FileSlice]:
        """Return slices like `checked`, but with missing files allowed."""
        recorded = self.groups.listing.recorded_commits()
        slices = list(make())
        is_relisted = [
            self.groups.relist(file_slice.partition_path, path)
            for file_slice in slices
            if file_slice.lacks_files
            for path, _ in islice(self.missing_files(file_slice), 1)
        ]
        # If the metadata table turned out to be unreadable, its recorded commits do not count.
        if any(is_relisted) or self.groups.listing.recorded_commits() != recorded:
            return list(make())
        return slices

    def all(self) -> list[FileSlice]:
        """Return every slice that was or will be part of the table, by partition and file id.

        Superseded and replaced slices, which only wait for the cleaner, are among them.
        """
        return [
            file_slice
            for group in self.groups.all()
            for file_slice in self._visible(group, self.last_instant)
            if not file_slice.is_empty
        ]

    def before(self, time: str, partition_path: str, file_id: str) -> FileSlice | None:
        """Return a file group's slice as it was just before a commit; None if it did not exist."""
        earlier = self.history.instant_before(time)

        def slices() -> Iterator[FileSlice]:
            group = self.groups.find(partition_path, file_id) if earlier else None
            if group is None:
                return
            file_slice = self.latest(self.unreplaced(group, earlier), earlier)
            if file_slice is not None:
                # Log files of later commits belong to the same slice; their blocks are skipped.
                file_slice = file_slice.filter_logs(lambda log: not self._is_later(log, time))
                if not file_slice.is_empty:
                    yield file_slice

        return next(iter(self.checked(slices)), None)

    def _is_later(self, log: LogFile, time: str) -> bool:
        if self.history.config.has_completion_times:
            return log.instant_time >= time
        return not log.is_listed and log.committed_by >= time

    def of(
        self, groups: Iterable[FileGroup], until: str, *, replaced_until: str
    ) -> list[FileSlice]:
        """Return the newest slices of some groups up to an instant, if they have files.

        Files that commits up to ``replaced_until`` replaced are left out; "" leaves out none.
        """
        slices = (self.latest(self.unreplaced(group, replaced_until), until) for group in groups)
        return [s for s in slices if s is not None and not s.is_empty]

    def written_by(self, times: Collection[str]) -> list[FileSlice]:
        """Return the slices that some commits wrote to, as of the last of these commits."""
        return self.checked(lambda: self._written_by(times))

    def commits_without_files(self, times: Collection[str]) -> list[str]:
        """Return the commits with a file that is gone, although their slices still need it."""
        missing = {
            path
            for file_slice in self._written_by(times)
            for path, _ in self.missing_files(file_slice)
        }
        return [
            time
            for time, metadata in self.history.metadata_of(sorted(times)).items()
            if not missing.isdisjoint(by_path(committed_files({time: metadata})))
        ]

    def _written_by(self, times: Collection[str]) -> list[FileSlice]:
        """Return the slices that some commits wrote, whether or not their files are still there."""
        until = max(times)
        # What other commits record of these files does not matter, so it is not read.
        committed = committed_files(self.history.metadata_of(sorted(times)))
        names = {partition: set(files) for partition, files in committed.items()}
        groups = self.groups.of(sorted(names), committed, only=names)
        return self.of(groups, until, replaced_until=until)

    def of_groups(
        self,
        file_groups: Collection[tuple[str, str]],
        until: str,
        *,
        replaced_until: str = "",
        completed_by: CompletionTime | None = None,
        check_files: bool = False,
    ) -> list[FileSlice]:
        """Return the slices of some file groups (partition path, file id) as of an instant.

        Commits that replaced the file groups count up to ``replaced_until``, which may be earlier;
        "" for none. Commits that completed after ``completed_by`` do not count, although they began
        before; None goes by requested times alone.

        Raises:
            MissingFileError: ``check_files`` is true, and a file that a commit wrote is gone.
        """
        if self.history.config.has_completion_times:
            times = self._times_since(file_groups, until)
            committed = committed_files(self.history.metadata_of(times))
        else:
            committed = self.groups.committed_files
        slices = self.completed(
            lambda: self._of_groups(file_groups, committed, until, replaced_until=replaced_until)
        )
        if completed_by:

            def is_completed(log: LogFile) -> bool:
                return (self.history.completion_time(log.instant_time) or "") <= completed_by

            slices = [s.filter_logs(is_completed) for s in slices]
        if check_files:
            for file_slice in slices:
                self.check_files(file_slice)
        return slices

    def _times_since(self, file_groups: Collection[tuple[str, str]], until: str) -> list[str]:
        """Return the commits that can have written to the present slices of some file groups.

        From table version 8 on these are the ones that completed after its base file was begun.
        """
        present_slices = self._of_groups(file_groups, {}, until)
        is_based = len(present_slices) == len(file_groups) and all(
            s.base_file is not None for s in present_slices
        )
        since = min((s.base_instant_time for s in present_slices), default="") if is_based else ""
        commits = (c for c in self.history.commits if c.requested_time <= until)
        return [
            c.requested_time for c in commits if (c.completion_time or c.requested_time) >= since
        ]

    def _of_groups(
        self,
        file_groups: Collection[tuple[str, str]],
        committed: CommittedFiles,
        until: str,
        *,
        replaced_until: str = "",
    ) -> list[FileSlice]:
        partitions = sorted({partition for partition, _ in file_groups})
        groups = self.groups.of(partitions, committed)
        chosen = (g for g in groups if (g.partition_path, g.file_id) in file_groups)
        return self.of(chosen, until, replaced_until=replaced_until)

    def latest(self, group: FileGroup, until: str) -> FileSlice | None:
        """Return a group's newest visible slice up to an instant; None if it has none.

        A slice that a planned compaction started comes together with the slice before. Log files
        that are gone and that only later commits wrote are left out.
        """
        file_slice = self._newest(group, until)
        if file_slice is None or not file_slice.lacks_files:
            return file_slice
        return file_slice.filter_logs(lambda log: log.is_listed or log.first_committed_by <= until)

    def _newest(self, group: FileGroup, until: str) -> FileSlice | None:
        visible = self._visible(group, until)
        # Of a commit that was in progress when a compaction was planned, log files belong to the
        # slice of the compaction, which began later than the commit.
        later_slices = [s for s in group.slices if s.base_instant_time > until]
        late = [log for s in later_slices for log in s.log_files if log.instant_time <= until]
        if not visible:
            if not late:
                return None
            return FileSlice(group.partition_path, group.file_id, until, None, ()).with_logs(late)
        latest = visible[-1]
        late += self._misplaced(visible, until)
        if late:
            latest = latest.with_logs((*latest.log_files, *late))
        if latest.base_instant_time != group.pending_compaction:
            return latest
        # Half-written output of the compaction must not hide the slice that it reads.
        latest = replace(latest, base_file=None)
        if len(visible) == 1:
            return latest
        previous = visible[-2]
        return previous.with_logs((*previous.log_files, *latest.log_files))

    def _misplaced(self, visible: Sequence[FileSlice], until: str) -> list[LogFile]:
        """Return the log files that the newest slice lacks, since their commits misname them.

        Up to table version 7 log files name the slice that they are written to, and a commit writes
        to the newest one. What it names in an older slice, and no listing has, was written to the
        newest.
        """
        if self.history.config.has_completion_times:
            return []
        newest = visible[-1].base_instant_time
        return [
            log
            for file_slice in visible[:-1]
            for log in file_slice.log_files
            if not log.is_listed and newest <= log.committed_by <= until
        ]

    def _base_only(self, group: FileGroup, until: str) -> FileSlice | None:
        visible = reversed(self._visible(group, until))
        planned = group.pending_compaction
        based = (s for s in visible if s.base_file is not None and s.base_instant_time != planned)
        return next((s.with_logs(()) for s in based), None)

    def unreplaced(self, group: FileGroup, until: str) -> FileGroup:
        """Return a group without the files that commits up to an instant replaced."""
        replacements = self.history.replacements(until).get((group.partition_path, group.file_id))
        if replacements is None:
            return group

        def is_left(file: BaseFile | LogFile | None) -> bool:
            return file is not None and all(self.history.outlives(file, r) for r in replacements)

        slices = (
            replace(
                file_slice,
                base_file=file_slice.base_file if is_left(file_slice.base_file) else None,
                log_files=tuple(filter(is_left, file_slice.log_files)),
            )
            for file_slice in group.slices
        )
        replaced_at = max(instant.requested_time for instant in replacements)
        left = (file_slice for file_slice in slices if not file_slice.is_empty)
        return replace(group, slices=tuple(_joined_since(replaced_at, left)))

    def _visible(self, group: FileGroup, until: str) -> list[FileSlice]:
        """Return a group's slices that began up to an instant, oldest first."""
        last = min(until, self.last_instant)
        begins = self._base_instants
        return [
            s for s in group.slices if s.base_instant_time <= last and s.base_instant_time in begins
        ]

    def check_files(self, file_slice: FileSlice) -> None:
        """Refuse a slice whose files are missing.

        Raises:
            MissingFileError: names the first of them, and the commit that wrote it.
        """
        for path, instant_time in self.missing_files(file_slice):
            raise MissingFileError.since_commit(self.history.storage.describe(path), instant_time)

    def missing_files(self, file_slice: FileSlice) -> Iterator[tuple[str, str]]:
        """Yield path and instant of each file of a slice that is not on the storage."""
        base = file_slice.base_file
        if base is not None and not base.is_listed:
            yield base.path, base.instant_time
        # If a log file may hold several commits, the blocks may be in another log file of the
        # slice (appended): the reader looks for them there, if there is any.
        may_be_appended = not self.history.config.has_completion_times and any(
            f.is_listed for f in file_slice.log_files
        )
        for log in file_slice.log_files:
            if not log.is_listed and not may_be_appended:
                yield log.path, log.first_committed_by or log.instant_time


def _joined_since(replaced_at: str, slices: Iterable[FileSlice]) -> list[FileSlice]:
    """Join what is left of a slice that a commit replaced with the slice that follows it.

    Up to table version 7 the first log file after a replacement may name its own commit, as log
    files from before a downgrade do, and so stand in the slice before. A slice with a base file
    has the rows of the slice before.
    """
    joined: list[FileSlice] = []
    for file_slice in slices:
        previous = joined[-1] if joined else None
        if (
            previous is not None
            and previous.base_file is None
            and previous.base_instant_time <= replaced_at
            and file_slice.base_file is None
        ):
            joined[-1] = file_slice.with_logs((*previous.log_files, *file_slice.log_files))
        else:
            joined.append(file_slice)
    return joined
