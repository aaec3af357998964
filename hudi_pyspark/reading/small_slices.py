"""Which slices are so small that fixed costs prevail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hudi_pyspark import thresholds
from hudi_pyspark.tasks import ReadTask, ScanTask

if TYPE_CHECKING:
    from hudi_pyspark.table.file_group import FileSlice


def is_tiny(file_slice: FileSlice) -> bool:
    """Return whether all files of a slice together have at most 64 KiB."""
    return sum(file.size for file in file_slice.files) <= thresholds.TINY_SLICE


def are_tiny(tasks: Sequence[ReadTask]) -> bool:
    """Return whether each task reads a tiny slice.

    Threads that read such slices would mostly wait for the interpreter lock.
    """
    return all(isinstance(task, ScanTask) and is_tiny(task.file_slice) for task in tasks)
