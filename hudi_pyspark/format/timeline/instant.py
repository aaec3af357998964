"""Parse and write names of timeline files, and read their times: `Instant`.

Layouts 0 and 1 (table versions up to 7) name files by the requested time only. In layout 2 (from
table version 8 on) the name of a completed file also has the completion time.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, IntEnum
from functools import lru_cache
from typing import Final, NewType, TypeAlias

_NAME = re.compile(r"([0-9]+)(?:_([0-9]+))?\.([a-z]+(?:\.(?:requested|inflight))?)")
# Texts of digits, mostly 17 (yyyyMMddHHmmssSSS), which sort by time. Names of files, log blocks and
# records have requested times, and callers give them as text.
RequestedTime = NewType("RequestedTime", str)
"""When an instant was requested, which identifies it."""
CompletionTime = NewType("CompletionTime", str)
"""When an instant completed, as far as timelines have it: from table version 8 on."""
ComparedTime: TypeAlias = RequestedTime | CompletionTime
"""What a range of commits compares: the one for all commits, or the other."""
FIRST_OFFSET: Final = "00000000000000"
"""Before every commit, bootstraps included. Apache Hudi has the same constant."""
LAST_OFFSET: Final = "99999999999999999"
"""After every commit: a range that begins here is empty."""


class NotAnInstant(ValueError):
    """A name does not belong to a timeline file: a checksum, a temporary file, a folder."""


class InstantState(IntEnum):
    """The progress of an action; a later state hides earlier states of the same action."""

    REQUESTED = 0
    INFLIGHT = 1
    COMPLETED = 2


class Action(str, Enum):
    """What an instant does to the table; members equal Hudi's own words."""

    COMMIT = "commit"
    DELTA_COMMIT = "deltacommit"
    REPLACE_COMMIT = "replacecommit"
    COMPACTION = "compaction"  # only pending: completes as a commit
    LOG_COMPACTION = "logcompaction"  # only pending: completes as a deltacommit
    CLUSTERING = "clustering"  # layout 2, only pending: completes as a replacecommit
    CLEAN = "clean"
    ROLLBACK = "rollback"
    RESTORE = "restore"
    SAVEPOINT = "savepoint"
    INDEXING = "indexing"
    SCHEMA_COMMIT = "schemacommit"

    def __str__(self) -> str:
        return self.value


class WriteOperationType(str, Enum):
    """The operation that wrote a commit; members equal Hudi's own names."""

    UNKNOWN = "UNKNOWN"  # not recorded, or newer than this release
    INSERT = "INSERT"
    INSERT_PREPPED = "INSERT_PREPPED"
    UPSERT = "UPSERT"
    UPSERT_PREPPED = "UPSERT_PREPPED"
    BULK_INSERT = "BULK_INSERT"
    BULK_INSERT_PREPPED = "BULK_INSERT_PREPPED"
    DELETE = "DELETE"
    DELETE_PREPPED = "DELETE_PREPPED"
    BOOTSTRAP = "BOOTSTRAP"
    INSERT_OVERWRITE = "INSERT_OVERWRITE"
    INSERT_OVERWRITE_TABLE = "INSERT_OVERWRITE_TABLE"
    DELETE_PARTITION = "DELETE_PARTITION"
    CLUSTER = "CLUSTER"
    COMPACT = "COMPACT"
    LOG_COMPACT = "LOG_COMPACT"
    INDEX = "INDEX"
    ALTER_SCHEMA = "ALTER_SCHEMA"
    BUCKET_RESCALE = "BUCKET_RESCALE"

    def __str__(self) -> str:
        return self.value

    @property
    def is_delete(self) -> bool:
        """Whether the operation only deletes records."""
        return self in {WriteOperationType.DELETE, WriteOperationType.DELETE_PREPPED}

    @property
    def is_table_service(self) -> bool:
        """Whether the operation only rewrites files: rows and columns stay the same."""
        return self in (self.CLUSTER, self.COMPACT, self.LOG_COMPACT, self.INDEX)

    @classmethod
    def parse(cls, name: str | None) -> "WriteOperationType":
        """Parse an operation's name; UNKNOWN for None and for names of later releases."""
        return _OPERATIONS.get((name or "").upper(), cls.UNKNOWN)


_OPERATIONS = {operation.value: operation for operation in WriteOperationType}


# Completed instants of these actions have commit metadata, which lists the files they wrote.
COMMIT_ACTIONS = frozenset({Action.COMMIT, Action.DELTA_COMMIT, Action.REPLACE_COMMIT})
_COMPLETES_AS = {
    Action.COMPACTION: Action.COMMIT,
    Action.LOG_COMPACTION: Action.DELTA_COMMIT,
    Action.CLUSTERING: Action.REPLACE_COMMIT,
}
_ACTIONS = {action.value: action for action in Action}


@dataclass(frozen=True, slots=True)
class Instant:
    """One state of one action on the timeline. Compare times as text, not as dates."""

    requested_time: RequestedTime
    action: Action
    state: InstantState
    # None while pending, and if the file name has none.
    completion_time: CompletionTime | None = None

    @classmethod
    def parse(cls, file_name: str, layout: int) -> "Instant":
        """Parse the name of a timeline file; the method `file_name` inverts it.

        The completion time is None for pending instants and for all instants of layout 1, whose
        names lack it. Source: Hudi's InstantFileNameParserV1 and V2.

        Args:
            file_name: without its folder.
            layout: of the timeline: 1 up to table version 7, 2 from version 8 on.

        Raises:
            NotAnInstant: the layout has no file of this name, such as a temporary file or a folder.
        """
        match = _NAME.fullmatch(file_name)
        if match is None:
            raise NotAnInstant(file_name)
        requested_time, completion_time, ending = match.groups()
        kind = _kind_of(ending, layout, has_completion_time=completion_time is not None)
        if kind is None:
            raise NotAnInstant(file_name)
        completed = None if completion_time is None else CompletionTime(completion_time)
        return cls(RequestedTime(requested_time), *kind, completed)

    def file_name(self, layout: int) -> str:
        """Return the name that Hudi gives this instant's file; `parse` inverts it.

        A completed compaction has the name of the commit that it became; see `comparable_action`.

        Args:
            layout: of the timeline: 1 up to table version 7, 2 from version 8 on.

        Raises:
            ValueError: a requested savepoint, which has no file.
        """
        if self.state is InstantState.REQUESTED and self.action is Action.SAVEPOINT:
            raise ValueError(f"savepoint {self.requested_time} has no requested file")
        if self.state is InstantState.COMPLETED:
            time: str = self.requested_time
            if layout >= 2 and self.completion_time is not None:
                time = f"{time}_{self.completion_time}"
            return f"{time}.{self.comparable_action}"
        if self.state is InstantState.INFLIGHT and self.action is Action.COMMIT:
            return f"{self.requested_time}.inflight"
        action = self.action
        if action is Action.CLUSTERING and layout < 2:
            action = Action.REPLACE_COMMIT  # before layout 2, also while pending
        return f"{self.requested_time}.{action}.{self.state.name.lower()}"

    @property
    def comparable_action(self) -> Action:
        """The action under which this one completes: a compaction completes as a commit."""
        return _COMPLETES_AS.get(self.action, self.action)

    @property
    def is_completed(self) -> bool:
        """Whether the action has ended, so that its changes count."""
        return self.state is InstantState.COMPLETED


@lru_cache(maxsize=256)  # a folder has thousands of names, with few endings
def _kind_of(
    ending: str, layout: int, *, has_completion_time: bool
) -> tuple[Action, InstantState] | None:
    """Return action and state by the ending of a name; None if the layout has no such ending."""
    word, _, suffix = ending.partition(".")
    # Only the inflight file of a commit leaves the action out of its name.
    if ending == "inflight":
        word = "commit"
        suffix = "inflight"
    if word not in _ACTIONS or (word, suffix) == (Action.SAVEPOINT, "requested"):
        return None
    action = _ACTIONS[word]
    state = InstantState[suffix.upper() or "COMPLETED"]
    times = "1_2" if has_completion_time else "1"
    completion_time = CompletionTime("2") if has_completion_time else None
    name = Instant(RequestedTime("1"), action, state, completion_time).file_name(layout)
    return (action, state) if name == f"{times}.{ending}" else None


def moment_of(text: str | None) -> datetime | None:
    """Convert a 14- or 17-digit instant to a local time without zone; None for any other text.

    Fourteen digits mean the last millisecond of their second, as in Hudi. The time is that of the
    writer's clock, and no instant records its zone. The instant of a bootstrap is no time: None.
    """
    if text is None or not (text.isascii() and text.isdigit() and len(text) in (14, 17)):
        return None
    digits = text if len(text) == 17 else f"{text}999"
    day = f"{digits[:4]}-{digits[4:6]}-{digits[6:8]}"
    clock = f"{digits[8:10]}:{digits[10:12]}:{digits[12:14]}.{digits[14:]}"
    try:
        return datetime.fromisoformat(f"{day}T{clock}")
    except ValueError:
        return None
