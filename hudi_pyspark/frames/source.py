"""What engines ask of a scan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from typing_extensions import Self

    from hudi_pyspark.filter.predicate import Predicate
    from hudi_pyspark.storage import Storage
    from hudi_pyspark.tasks import ReadTask


class Source(Protocol):
    """A scan, or a part of one."""

    @property
    def schema(self) -> pa.Schema:
        """The columns of the rows."""

    @property
    def storage(self) -> Storage:
        """The storage from which tasks read; picklable."""

    def select(self, columns: Sequence[str]) -> Self:
        """Return the source with some of its columns, in this order."""

    def where(self, predicate: Predicate) -> Self:
        """Return the source, perhaps without rows for which the predicate is not true."""

    def plan_groups(self) -> list[tuple[ReadTask, ...]]:
        """Return the tasks in groups of about equal cost."""

    def to_batches(self, threads: int | None = None) -> pa.RecordBatchReader:
        """Stream the rows of that many file slices at a time; the reader raises HudiError."""
