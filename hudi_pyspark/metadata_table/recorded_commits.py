"""Compare the commits of a table and of its metadata table: recorded, missing, or lost.

Each commit of the table is a delta commit of the metadata table under the same requested time, and
completes there first.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from hudi_pyspark.cached_property import cached_property
from hudi_pyspark.format.timeline.instant import Action, Instant, RequestedTime
from hudi_pyspark.metadata_table.records import INITIAL_INSTANTS, FileRecords
from hudi_pyspark.table.lost_commits import COMPLETED, COMPLETED_OR_FAILED, LISTED
from hudi_pyspark.table.table_services import rolled_back_times
from hudi_pyspark.table.timeline import CommittedTimes, Timeline, completion_times, load_timeline
from hudi_pyspark.table.view import TableView

_OWN_INSTANT_LENGTH = 20  # of instants that only the metadata table has, up to table version 7


@dataclass(eq=False)
class RecordedCommits:
    """The commits of a table, as its metadata table has recorded them."""

    own: TableView  # of the metadata table
    table: TableView
    files: Callable[[], FileRecords]  # loads the listing of the table's files

    @cached_property
    def missing(self) -> list[str]:
        """The requested times of the table's commits that the metadata table lacks, in order."""
        timeline = self.own.timeline
        completed = set(_times(timeline.completed))
        # The metadata table's base files have the commits before its own timeline. They lack a
        # commit that is pending there: its completed instant is lost.
        own_times = (time for time in completed if not time.startswith(INITIAL_INSTANTS))
        first = min(own_times, default="")
        pending = set(_times(timeline.pending))
        missing = self.table.history.committed.times - completed
        return sorted(time for time in missing if time >= first or time in pending)

    @cached_property
    def listed(self) -> frozenset[str]:
        """The table's commits whose files are certainly listed as they were committed.

        There is none if the metadata table is ahead of the table: a clean may have removed files
        from the listing that this state of the table needs.

        The files of all other commits were listed on the storage when the metadata table was built,
        which may have missed some. A commit without a log block counts only if the listing has
        files of it or of a later commit. The name of a base file may be newer than its content: if
        a file named after commit 3 is an older copy with commit 1, it lacks the files of commits 2
        and 3.
        """
        delta_commits = _delta_commits(self.own.timeline)
        newest_of_table = max(_times(self.table.timeline.completed), default="")
        if max(delta_commits, default="") > newest_of_table:
            return frozenset()
        files = self.files()
        recorded = delta_commits & self.table.history.committed.times
        without_block = recorded - files.block_instants
        newest = files.newest_instant(ignoring=files.block_instants) if without_block else ""
        return frozenset(recorded - {time for time in without_block if time > newest})

    @property
    def uncommitted(self) -> frozenset[RequestedTime]:
        """The delta commits that completed in the metadata table, but not in the table.

        The writer of a commit may be about to complete it or may have failed in between; the commit
        may have been undone or archived since; or the table's timeline has lost it. A few are table
        services of the metadata table itself.
        """
        return _delta_commits(self.own.timeline) - _completed_commits(self.table.timeline)

    @cached_property
    def ahead(self) -> list[str]:
        """The delta commits of the table that began after its timeline was read, in order.

        Their records count (`valid`), so an index by keys may have lost what the older state has.
        """
        newest = max(_times(self.table.timeline.completed), default="")
        later = self.uncommitted - set(_times(self.table.timeline.pending))
        return sorted(
            time
            for time in later
            if time > newest
            and len(time) != _OWN_INSTANT_LENGTH
            and not self.own.history.metadata(time).operation_type.is_table_service
        )

    @cached_property
    def lost(self) -> dict[str, str]:
        """The proof for each commit that the table's timeline has lost, by requested time.

        ======================  ===================================================================
        in the table it is      and the commit is lost if
        ======================  ===================================================================
        pending                 another instant has completed since, or it is older than a day; or
                                the metadata table was built later, and lists its files
        missing                 it added files, and was neither undone nor archived
        ======================  ===================================================================

        Nothing is requested if no commit seems to be lost. Else the timeline is listed once more,
        since a writer may have completed or undone commits meanwhile.

        Raises:
            MissingFileError: a writer archives or rolls back faster than files can be listed.
            CorruptTableError: the listing of files, or a rollback, is damaged.
        """
        pending = set(_times(self.table.timeline.pending))
        suspects: dict[str, str] = {}
        for time in sorted(self.uncommitted):
            if time in pending:
                proof = _proof_of_pending(time, self.own.timeline, self.table)
            else:
                proof = COMPLETED if _is_missing(time, self.table, self.files) else ""
            if proof:
                suspects[time] = proof
        suspects |= dict.fromkeys(self._listed_as_committed(pending - self.uncommitted), LISTED)
        return self._still_lost(suspects, pending) if suspects else {}

    def _listed_as_committed(self, pending: Collection[RequestedTime]) -> list[RequestedTime]:
        """Return the pending commits whose files were listed when the metadata table was built.

        It was built without the files of commits that were pending then. A log file may have the
        instant of a planned compaction, though, and a rollback or a restore makes the commit that
        it undoes pending again.

        Source: ``DirectoryInfo`` of Hudi's HoodieTableMetadataUtil.
        """
        if _is_undoing(self.table.timeline):
            return []
        planned = {instant.requested_time for instant in self.table.timeline.pending_compactions}
        built_before = min(_delta_commits(self.own.timeline), default="")
        older = [time for time in pending if time < built_before and time not in planned]
        return [time for time in older if time in self.files().file_instants]

    def _still_lost(self, suspects: dict[str, str], pending: set[RequestedTime]) -> dict[str, str]:
        """Return the suspects that are lost according to the timeline as it is now."""
        again = load_timeline(self.table.storage, self.table.config)
        still_pending = set(_times(again.pending))
        completed = _completed_commits(again)
        undone = rolled_back_times(self.table) if suspects.keys() - pending else frozenset()

        def is_lost(time: str) -> bool:
            if time in completed or (time in pending) != (time in still_pending):
                return False
            if time in pending:
                return True
            is_service = self.own.history.metadata(time).operation_type.is_table_service
            return not (time in undone or is_service)

        return {time: proof for time, proof in suspects.items() if is_lost(time)}

    @cached_property
    def valid(self) -> CommittedTimes:
        """The instants whose records count without asking what was rolled back since."""
        valid = set(_times(self.table.timeline.completed))
        pending = set(_times(self.table.timeline.pending))
        for instant in self.own.timeline.completed:
            time = instant.requested_time
            is_undoing = instant.action in (Action.ROLLBACK, Action.RESTORE)
            if time.startswith(INITIAL_INSTANTS) or is_undoing:
                valid.add(time)
            elif instant.action in (Action.DELTA_COMMIT, Action.COMMIT):
                # From layout 2 on, instants of the metadata table are as long as those of the
                # table.
                has_completion_times = self.table.config.has_completion_times
                is_own = has_completion_times or len(time) == _OWN_INSTANT_LENGTH
                if is_own and time not in pending:
                    valid.add(time)
        # Instants before the active timeline of the table have committed, or were rolled back.
        first = min(_times(self.table.timeline.instants), default="")
        return CommittedTimes(frozenset(valid), first, frozenset(pending))


def _proof_of_pending(time: RequestedTime, own: Timeline, table: TableView) -> str:
    """Say why a pending commit seems to be lost; "" if its writer may be about to complete it."""
    completed_here = completion_times(own.completed)[time]
    by_completion = table.config.has_completion_times
    completed = completion_times(table.timeline.completed)
    is_overtaken = completed_here < max(completed.values(), default="")
    # Instants have the time zone of their writer, which may be half a day away.
    yesterday = datetime.now(timezone.utc) - timedelta(days=1)
    is_old = completed_here < yesterday.strftime("%Y%m%d%H%M%S")
    # A writer completes a commit in both tables before another writer goes on. Without completion
    # times, a commit that was requested later may have completed long before.
    if is_overtaken and (by_completion or is_old):
        return COMPLETED
    return COMPLETED_OR_FAILED if is_overtaken or is_old else ""


def _is_missing(time: str, table: TableView, files: Callable[[], FileRecords]) -> bool:
    """Decide whether a commit that is not on the table's timeline should be there."""
    timeline = table.timeline
    if time < table.history.committed.first or len(time) == _OWN_INSTANT_LENGTH:
        return False
    if time in files().file_instants:
        return time not in table.history.committed
    # The oldest rollbacks are archived, and a restore removes instants.
    may_be_undone = time < max(
        min(_times(timeline.of_action(Action.ROLLBACK)), default=""),
        max(_times(timeline.of_action(Action.RESTORE)), default=""),
    ) or _is_undoing(timeline)
    is_missing = not may_be_undone and files().has_files_added_by(time)
    return is_missing and time not in table.history.committed


def _is_undoing(timeline: Timeline) -> bool:
    """Return whether a rollback or a restore is pending."""
    return any(i.action in (Action.ROLLBACK, Action.RESTORE) for i in timeline.pending)


def _delta_commits(own: Timeline) -> frozenset[RequestedTime]:
    """Return the completed delta commits of a metadata table, without those that built it."""
    times = _times(i for i in own.completed if i.action is Action.DELTA_COMMIT)
    return frozenset(time for time in times if not time.startswith(INITIAL_INSTANTS))


def _completed_commits(timeline: Timeline) -> set[str]:
    """Return the completed instants of a timeline; a savepoint has the time of its commit."""
    return set(_times(i for i in timeline.completed if i.action is not Action.SAVEPOINT))


def _times(instants: Iterable[Instant]) -> Iterator[RequestedTime]:
    return (instant.requested_time for instant in instants)
