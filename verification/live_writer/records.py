"""What the writers did, which is the referee of every read, and what the readers saw.

Both are lines of JSON in files. Times are seconds since 1970.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path
from typing import Any, TypeAlias, TypeVar


@dataclass(frozen=True, slots=True)
class Write:
    """One batch of a writer, committed or not."""

    writer: str
    number: int  # of the batch; the value of its rows
    begun: float
    ended: float
    upserts: tuple[str, ...]  # keys
    deletes: tuple[str, ...]
    requested: str  # instants; "" if Apache Hudi did not commit the batch
    completion: str
    problem: str = ""  # what Apache Hudi raised

    @property
    def is_committed(self) -> bool:
        return bool(self.requested)


@dataclass(frozen=True, slots=True)
class Service:
    """One table service, whether it succeeded or not."""

    kind: str
    begun: float
    ended: float
    rolled_back: str = ""  # requested time of the commit that it took away
    problem: str = ""


class Kind(str, Enum):
    """A kind of read."""

    SNAPSHOT = "snapshot"
    PROJECTION = "snapshot, two columns"
    FILTER = "snapshot, filtered"
    LOOKUP = "snapshot, keys looked up"
    SLOW = "snapshot, read slowly"
    AS_OF = "time travel"
    INCREMENTAL = "incremental"
    LATEST_OF_RANGE = "incremental, full_scan"
    STREAM = "stream"


@dataclass(frozen=True, slots=True)
class Read:
    """One read and its answer, or its error.

    The state of the table is chosen between ``begun`` and ``opened``.
    """

    kind: Kind
    reader: str  # that made it
    options: dict[str, str]
    begun: float
    opened: float
    ended: float
    rows: tuple[tuple[Any, ...], ...] = ()  # of COLUMNS, or of those that the read asks for
    as_of: str = ""
    begin: str = ""  # of a range, exclusive
    end: str = ""
    is_first: bool = False  # of a stream: it does not go on from the read before
    is_repeated: bool = False  # of a stream: the same batch once more, as after a kill
    is_warned: bool = False  # the answer is that of a full scan
    error: str = ""  # its class
    message: str = ""  # with the traceback
    rows_before: int = 0  # the error

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", Kind(self.kind))  # of what was loaded, it is text


Record: TypeAlias = Write | Service | Read
AnyRecord = TypeVar("AnyRecord", Write, Service, Read)
_TYPES: dict[str, type[Record]] = {each.__name__: each for each in (Write, Service, Read)}


class Journal:
    """A file of records that several threads append to."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()

    @classmethod
    def of_reader(cls, folder: Path, name: str) -> Journal:
        """Return the journal of a reader in the folder of a run."""
        return cls(folder / f"{name.replace(' ', '_')}.jsonl")

    def append(self, record: Record) -> None:
        line = json.dumps({"record": type(record).__name__, **asdict(record)})
        with self._lock, self._file.open("a") as file:
            print(line, file=file)

    def load(self) -> Iterator[Record]:
        """Yield all records so far, in the order in which they ended."""
        with self._lock:
            lines = self._file.read_text().splitlines() if self._file.exists() else []
        for line in lines:
            fields = {name: _tuples(value) for name, value in json.loads(line).items()}
            yield _TYPES[fields.pop("record")](**fields)

    def all(self, kind: type[AnyRecord]) -> list[AnyRecord]:
        """Return all records of a kind."""
        return [record for record in self.load() if isinstance(record, kind)]


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
