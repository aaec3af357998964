"""What frames need of a read, and the part of one that a worker of a distributed engine reads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from hudi_pyspark.reading.read_task import read_task
from hudi_pyspark.tasks import ScanTask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Self

    from hudi_pyspark.filter.predicate import Predicate
    from hudi_pyspark.storage import Storage
    from hudi_pyspark.tasks import ReadTask


class Source(Protocol):
    """A scan, or a part of one."""

    @property
    def schema(self) -> pa.Schema: ...
    @property
    def storage(self) -> Storage: ...

    def select(self, columns: Sequence[str]) -> Self:
        """Return the same rows of some columns, in that order."""

    def where(self, predicate: Predicate) -> Self:
        """Return the rows; those for which the predicate is not true may be left out."""

    def plan_groups(self) -> list[tuple[ReadTask, ...]]:
        """Return the tasks in groups of about equal cost."""

    def to_batches(self, threads: int | None = None) -> pa.RecordBatchReader:
        """Stream the rows, of as many file slices at a time."""


@dataclass(frozen=True)
class Split:
    """The rows of one group of tasks; picklable."""

    tasks: tuple[ReadTask, ...]
    storage: Storage
    schema: pa.Schema

    def select(self, columns: Sequence[str]) -> Split:
        """Return the same rows of some columns."""
        wanted = pa.schema([self.schema.field(name) for name in columns])
        tasks = (t.narrowed(wanted) if isinstance(t, ScanTask) else t for t in self.tasks)
        return replace(self, tasks=tuple(tasks), schema=wanted)

    def where(self, predicate: Predicate) -> Split:  # noqa: ARG002  (it is planned already)
        """Return the same rows."""
        return self

    def plan_groups(self) -> list[tuple[ReadTask, ...]]:
        """Return the one group."""
        return [self.tasks]

    def to_batches(self, threads: int | None = None) -> pa.RecordBatchReader:  # noqa: ARG002
        """Stream the rows, one task after the other.

        Raises:
            HudiError: a file is missing, corrupt or not supported; raised by the reader.
        """
        tables = (table for task in self.tasks for table in read_task(task, self.storage))
        batches = (b for table in tables for b in table.select(self.schema.names).to_batches())
        return pa.RecordBatchReader.from_batches(self.schema, batches)
