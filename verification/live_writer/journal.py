"""What the writers did, in their own words: the referee of every read."""

from __future__ import annotations

import json
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Write:
    """One batch of a writer, committed or not. Times are seconds since 1970."""

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


class Journal:
    """A file of JSON lines that several threads append to."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()

    def append(self, entry: Write | Service) -> None:
        line = json.dumps({"entry": type(entry).__name__, **asdict(entry)})
        with self._lock, self._file.open("a") as file:
            print(line, file=file)

    def load(self) -> tuple[list[Write], list[Service]]:
        """Return all writes and services so far, in the order in which they ended."""
        with self._lock:
            return load_journal(self._file)


def load_journal(file: Path) -> tuple[list[Write], list[Service]]:
    """Return all writes and services, in the order in which they ended."""
    writes: list[Write] = []
    services: list[Service] = []
    for line in file.read_text().splitlines():
        fields: dict[str, Any] = json.loads(line)
        if fields.pop("entry") == Write.__name__:
            upserts, deletes = tuple(fields.pop("upserts")), tuple(fields.pop("deletes"))
            writes.append(Write(upserts=upserts, deletes=deletes, **fields))
        else:
            services.append(Service(**fields))
    return writes, services
