"""The rows of the live table: everything in a row follows from its key and its batch."""

from __future__ import annotations

WRITERS = ("a", "b")
KEYS_OF_A_WRITER = 60
COLUMNS = ("id", "batch", "text", "part")
DDL = "id string, batch bigint, text string, part string"
SHARED_PARTITION = "shared"


def keys_of(writer: str) -> tuple[str, ...]:
    """Return the keys that only this writer writes."""
    return tuple(f"{writer}-{number:03}" for number in range(KEYS_OF_A_WRITER))


def partition_of(key: str) -> str:
    """Return one of three partitions: two of the writer's own, and one that writers share."""
    writer, number = key.split("-")
    part = int(number) % 3
    return SHARED_PARTITION if part == 2 else f"{writer}{part}"


def row_of(key: str, batch: int) -> tuple[str, int, str, str]:
    """Return the row in order of the columns; its text is long enough for pages to matter."""
    return key, batch, f"{key} of batch {batch} " * 8, partition_of(key)
