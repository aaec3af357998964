"""The Spark stream source, whose offsets are instants of the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from hudi_pyspark.errors import StreamSchemaChangedError
from hudi_pyspark.options.read_options import StreamOptions
from hudi_pyspark.planning import stream_offsets
from hudi_pyspark.planning.stream_offsets import OFFSET_KEY
from hudi_pyspark.spark.reader import HudiPartition, PackedTasks, read_partition

try:  # Spark 4.2 added admission control
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxBytes,
        ReadMaxFiles,
        SupportsTriggerAvailableNow,
    )

    _HAS_READ_LIMITS = True
except ImportError:
    _HAS_READ_LIMITS = False

    class SupportsTriggerAvailableNow:  # type: ignore[no-redef]
        """A substitute for the class that older versions of Spark lack."""


if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import pyarrow as pa

    from hudi_pyspark.custom_mergers import Mergers
    from hudi_pyspark.hudi_table import HudiTable

    Offset = dict[str, str]


@dataclass(eq=False, repr=False)  # the options may contain secrets
class HudiStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A reader of micro-batches: the rows written after one instant, up to another.

    Every call opens the table anew, since its timeline grows.
    """

    given: Mapping[str, str]  # all options
    open_table: Callable[[], HudiTable]
    mergers: Mergers
    source: pa.Schema  # of the table, when the query began
    columns: list[str]  # that the query reads
    schema: pa.Schema  # of the batches

    def __post_init__(self) -> None:
        self._options = StreamOptions.parse(self.given)
        self._storage = self.open_table().storage
        self._last = ""  # offset up to which Spark has planned, where it does not pass it
        # Offset where a stream of the latest begins; "" once its first batch is planned.
        self._start: str | None = None
        self._until = ""  # where Trigger.AvailableNow ends

    def initialOffset(self) -> Offset:  # noqa: N802  (Spark's name)
        self._last = stream_offsets.initial_offset(self.open_table().view, self._options)
        if self._start is None and self._options.start_offset == "latest":
            self._start = self._last
        return {OFFSET_KEY: self._last}

    def latestOffset(  # noqa: N802  (Spark's name; 4.0 and 4.1 call it without arguments)
        self, start: Offset | None = None, limit: ReadLimit | None = None
    ) -> Offset:
        """Return where the next batch ends, by the limits of the options or at the last commit.

        Args:
            start: where it begins; None in Spark 4.0 and 4.1, which do not pass it.
            limit: Spark's; only whether it is that of all available data counts.
        """
        begin = start[OFFSET_KEY] if start is not None else self._last
        if begin and begin == self._start:
            # Spark records only the ends of batches. If the first batch does not finish, it asks
            # for the latest offset again and would lose the rows of that batch, so it is empty.
            self._start = ""
            return {OFFSET_KEY: begin}
        limited = begin != "" and not (_HAS_READ_LIMITS and isinstance(limit, ReadAllAvailable))
        view = self.open_table().view
        begin = begin or stream_offsets.first_offset(self._options)
        end = stream_offsets.next_offset(
            view, begin, self._options, until=self._until, limited=limited
        )
        return {OFFSET_KEY: end}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802  (Spark's name)
        # Spark has no limit in commits. It passes back the limit returned here, so any limit but
        # "all" means the limits of the options.
        if self._options.max_commits:
            return ReadMaxFiles(self._options.max_commits)
        if self._options.max_bytes:
            return ReadMaxBytes(self._options.max_bytes)
        return ReadAllAvailable()

    def reportLatestOffset(self) -> Offset | None:  # noqa: N802  (Spark's name)
        latest = max(stream_offsets.commit_offsets(self.open_table().view), default="")
        return {OFFSET_KEY: latest} if latest else None

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  (Spark's name)
        self._until = max(stream_offsets.commit_offsets(self.open_table().view), default="0")

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """Plan the rows written after one offset, up to another; none if it is not later.

        Raises:
            StreamSchemaChangedError: columns that the query reads have changed since it began.
        """
        begin, until = start[OFFSET_KEY], end[OFFSET_KEY]
        self._last, self._start = until, ""
        # The end may be before the begin: when the first, empty batch of a stream of the latest is
        # planned again, and after a rollback, where Spark does not pass the current offset.
        if until <= begin:
            return []
        scan = self.open_table().scan_range(self.given, begin, until, self.mergers)
        self._check_schema(scan.schema)
        packed = PackedTasks.of(scan.plan_groups(self.columns))
        return [HudiPartition(tasks, packed.shared) for tasks in packed.groups]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # Spark's optimizer may have narrowed the schema since the partition was planned.
        yield from read_partition(partition, self._storage, self.schema, columns=self.columns)

    def _check_schema(self, current: pa.Schema) -> None:
        """Refuse to lose new columns in a query that reads all, or columns that any query reads."""
        reads_all = self.columns == self.source.names
        names = current.names if reads_all else self.columns
        now = [(n, str(current.field(n).type)) for n in names if n in current.names]
        then = [(n, str(self.source.field(n).type)) for n in self.columns]
        if now != then:
            changed = sorted({f"{name} {kind}" for name, kind in set(now) ^ set(then)})
            raise StreamSchemaChangedError(
                f"the table's columns changed while the stream ran: {', '.join(changed)}. Restart "
                "the query on the same checkpoint to continue with the new columns, or name the "
                "columns to read with .schema(...) or the option columns"
            )
