"""The instants of a table, in order, and their files."""

import gc
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from hudi_pyspark import thresholds
from hudi_pyspark.cached_property import PickledWithoutCache, cached_property
from hudi_pyspark.errors import MissingFileError, StorageError
from hudi_pyspark.format.timeline.instant import (
    COMMIT_ACTIONS,
    Action,
    CompletionTime,
    Instant,
    InstantState,
    NotAnInstant,
    RequestedTime,
)
from hudi_pyspark.storage.protocol import Storage
from hudi_pyspark.table.config import METADATA_FOLDER, TableConfig

_MOST_LISTINGS = 5


@dataclass(frozen=True)
class Timeline(PickledWithoutCache):
    """Instants in order of requested time, as text, one per time and comparable action."""

    instants: tuple[Instant, ...]

    @classmethod
    def collapse(cls, instants: Iterable[Instant]) -> "Timeline":
        """Keep the highest state of each action: a finished compaction hides its plan file."""
        latest: dict[tuple[str, Action], Instant] = {}
        for instant in instants:
            key = (instant.requested_time, instant.comparable_action)
            if key not in latest or latest[key].state < instant.state:
                latest[key] = instant
        return cls(tuple(latest[key] for key in sorted(latest)))

    @cached_property
    def completed(self) -> tuple[Instant, ...]:
        """Completed instants, in order of requested time."""
        return tuple(i for i in self.instants if i.state is InstantState.COMPLETED)

    @cached_property
    def pending(self) -> tuple[Instant, ...]:
        """Instants that are requested or inflight."""
        return tuple(i for i in self.instants if i.state is not InstantState.COMPLETED)

    def of_action(self, action: Action) -> tuple[Instant, ...]:
        """Return the instants of one action, in every state."""
        return tuple(i for i in self.instants if i.action is action)

    @cached_property
    def pending_compactions(self) -> tuple[Instant, ...]:
        """Compactions that are planned or running."""
        return tuple(i for i in self.pending if i.action is Action.COMPACTION)


@dataclass(frozen=True)
class CommittedTimes:
    """The instants that count as committed: the completed ones and whatever is archived.

    ``first`` is the earliest commit that is not kept only by a savepoint, "" on an empty timeline.
    Everything before it has left the active timeline; failed writes are rolled back before that.
    What is still pending never counts: of two concurrent writers the later may commit first.

    An archiver that goes on beyond savepoints leaves a gap between a savepoint's commit and the
    rest of the timeline. Once the savepoint is deleted, nothing on the timeline shows the gap. So
    ``archived`` is asked about an instant that the timeline lacks, after ``first`` and before the
    newest commit, which no archiver takes.
    """

    times: frozenset[str]
    first: str
    pending: frozenset[str] = frozenset()
    # The archived commits after ``first``; empty if nobody can know them.
    archived: Container[str] = field(default=(), compare=False, repr=False)

    @classmethod
    def of(
        cls,
        instants: Iterable[Instant],
        timeline: Timeline,
        archived: Container[str] = (),
    ) -> "CommittedTimes":
        """Return the times of some completed instants, given the timeline that they are on.

        Args:
            instants: the completed ones.
            timeline: that they are on.
            archived: the archived commits that may be later than the earliest of them.
        """
        times = frozenset(i.requested_time for i in instants)
        saved = {i.requested_time for i in timeline.of_action(Action.SAVEPOINT)}
        # Pending actions that write data files, table services included.
        writes = (i for i in timeline.pending if i.comparable_action in COMMIT_ACTIONS)
        pending = frozenset(i.requested_time for i in writes)
        return cls(times, min(times - saved, default=""), pending, archived)

    def __contains__(self, time: str) -> bool:
        # Before Hudi 0.10 instants had 14 digits; newer writers pad them with 999 milliseconds.
        if time in self.times:
            return True
        if len(time) == 17 and time.endswith("999") and time[:14] in self.times:
            return True
        if not self.first or time in self.pending:
            return False
        if time < self.first:
            return True
        return time < max(self.times, default="") and time in self.archived


@contextmanager
def collection_paused() -> Iterator[None]:
    """Pause the garbage collector, which would walk a growing timeline or plan many times.

    They have no cycles. 1,000,000 slices and tasks take 1.9 instead of 5.2 s of processor time, the
    first timeline of a process with 1,000 commits 0.02 instead of 0.04 s.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@collection_paused()
def load_timeline(storage: Storage, config: TableConfig) -> Timeline:
    """List the active timeline, without opening any file.

    From layout 2 on a long one is listed at least twice, since no storage lists it in one step: the
    answer is a state that the timeline had at one moment.

    Raises:
        MissingFileError: a writer archives or rolls back faster than the folder can be listed;
            loading the table again helps.
        StorageError: a store lists nothing where a table is.
    """
    instants = _listed_instants(storage, config)
    if not config.has_completion_times or len(instants) <= thresholds.LISTED_AT_ONCE:
        return Timeline.collapse(instants)
    for _ in range(_MOST_LISTINGS):
        again = _listed_instants(storage, config)
        # The archiver removes the oldest first. What it removes during one listing was there
        # during the one before, so that a gap between two instants shows.
        if {i for i in instants if i.is_completed} <= set(again):
            # Instants complete one after another. Instants up to the last one of the first listing
            # were complete before the second began; of later ones it may lack some.
            last = max(i.completion_time or "" for i in instants)
            return Timeline.collapse(i for i in again if (i.completion_time or "") <= last)
        instants = again
    raise MissingFileError(
        f"instants left {storage.describe(config.timeline_folder)} during each of "
        f"{_MOST_LISTINGS} listings: a writer archives or rolls back",
        advice="Load the table again",
    )


def _listed_instants(storage: Storage, config: TableConfig) -> list[Instant]:
    """List the timeline's folder; StorageError if a store lists nothing that must be there."""
    folder = config.timeline_folder
    layout = config.layout
    instants = []
    # A store, or a proxy in front of it, may answer without a list. But a new table has an empty
    # timeline, or none.
    names = storage.list_file_names(folder) or storage.list_file_names(folder)
    if not names and not storage.is_local and not storage.list_directory(METADATA_FOLDER):
        problem = "the store lists nothing here, twice, although hoodie.properties is there"
        raise StorageError(storage.describe(folder), problem, 2)
    for name in names:
        with suppress(NotAnInstant):
            instants.append(Instant.parse(name, layout))
    return instants


def instant_path(instant: Instant, config: TableConfig) -> str:
    """Return the path of an instant's file, relative to the base path.

    Raises:
        ValueError: a requested savepoint, which has no file.
    """
    return f"{config.timeline_folder}/{instant.file_name(config.layout)}"


def plan_path(instant: Instant, config: TableConfig) -> str:
    """Return the path of the file with a pending instant's plan, relative to the base path."""
    requested = Instant(instant.requested_time, instant.action, InstantState.REQUESTED)
    return instant_path(requested, config)


def read_instant(storage: Storage, path: str) -> bytes:
    """Read an instant's file.

    Raises:
        MissingFileError: it has left the timeline since that was listed; loading the table again
            helps.
    """
    try:
        return storage.read_bytes(path)
    except FileNotFoundError as error:
        raise MissingFileError(
            f"{storage.describe(path)} has left the timeline since it was listed: a writer "
            "archived or rolled it back",
            advice="Load the table again",
        ) from error


def completion_times(instants: Iterable[Instant]) -> dict[RequestedTime, CompletionTime]:
    """Map the requested times of completed instants to their completion times.

    An instant without one is of a table before version 8, or from before an upgrade. The time of
    its file would change with every copy, so its requested time is used.
    """
    return {
        i.requested_time: i.completion_time or CompletionTime(i.requested_time) for i in instants
    }
