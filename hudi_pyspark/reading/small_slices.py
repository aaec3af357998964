"""Which slices are small, and what is done in another way for them.

The fixed costs of a small slice exceed those of its rows: to open its files, to merge, to wait for
the interpreter lock. Each limit says how it was measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hudi_pyspark.tasks import ReadTask, ScanTask

if TYPE_CHECKING:
    from hudi_pyspark.table.file_group import FileSlice

TINY_SLICE = 64 * 1024
"""Bytes of all files of a slice, up to which fixed costs prevail.

To read 200 slices of 10 kB took 0.31 s of processor time with one thread, and 0.36 s with four.
"""

FEWEST_SLICES = 8
"""Fewer tiny slices are merged one by one.

A merge takes about a millisecond, whatever the number of its rows: 1,000 partitions of 20 rows took
2.4 s of processor time when they were merged one by one, and 1.0 s together.
"""

MOST_JOINED_BYTES = 1 << 24
"""Bytes of base rows that are merged together: they are in memory, and files compress well."""

SMALL_BASE_FILE = 1 << 20
"""Bytes of a base file below which it is read once, with all columns that a query requests.

To open a file and read it twice, first keys and then columns, costs more than to decode columns
of rows that the merge drops. All 16 columns of a file of 1.3 MB took 20 ms of processor time when
the file was read once, and 26 ms when it was read twice; of a file of 3.8 MB, 48 ms and 53 ms.
Larger files are read twice, so that their rows are never in memory all at once.
"""


def is_tiny(file_slice: FileSlice) -> bool:
    """Return whether all files of a slice together have at most 64 KiB."""
    return sum(file.size for file in file_slice.files) <= TINY_SLICE


def are_tiny(tasks: Sequence[ReadTask]) -> bool:
    """Return whether each task reads a tiny slice.

    Threads that read such slices would mostly wait for the interpreter lock.
    """
    return all(isinstance(task, ScanTask) and is_tiny(task.file_slice) for task in tasks)
