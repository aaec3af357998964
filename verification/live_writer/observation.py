"""What a reader saw: one read of the live table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path
from typing import Any


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

    The state of the table is chosen between ``begun`` and ``opened``, seconds since 1970.
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
    is_named: bool = True  # one of this project's errors
    message: str = ""
    rows_before: int = 0  # the error


def append_read(file: Path, read: Read) -> None:
    with file.open("a") as opened:
        print(json.dumps(asdict(read)), file=opened)


def load_reads(file: Path) -> Iterator[Read]:
    """Yield the reads of a file, in order."""
    for line in file.read_text().splitlines():
        fields: dict[str, Any] = json.loads(line)
        rows = tuple(tuple(row) for row in fields.pop("rows"))
        yield Read(kind=Kind(fields.pop("kind")), rows=rows, **fields)
