"""Read streams of Spark, whose offsets are instants of the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from hudi_pyspark.errors import StreamSchemaChangedError
from hudi_pyspark.options.read_options import StreamOptions
from hudi_pyspark.planning import stream_offsets
from hudi_pyspark.planning.stream_offsets import OFFSET_KEY, batch_options
from hudi_pyspark.spark.reader import HudiPartition, pack, read_partition

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
        """A placeholder for the class that older versions of Spark lack."""


if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from hudi_pyspark.custom_mergers import Mergers
    from hudi_pyspark.hudi_table import HudiTable

    Offset = dict[str, str]


@dataclass(eq=False, repr=False)  # the options may contain secrets
class HudiStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A reader of micro-batches: the rows written after one instant, up to another.

    Every call opens the table again, since the timeline grows.
    """

    options: Mapping[str, str]  # all options, also those of the table
    open_table: Callable[[], HudiTable]
    mergers: Mergers
    table_schema: pa.Schema  # when the query began
    columns: list[str]  # that the query reads
    schema: pa.Schema  # of the batches, with the names of the table
    names: Sequence[str]  # of the columns of the batches, as the query spells them

    def __post_init__(self) -> None:
        self._stream_options = StreamOptions.parse(self.options)
        self._storage = self.open_table().storage
        self._planned_until = ""  # the last planned offset, for Sparks that do not pass it
        # The offset where a stream of "latest" begins; "" once its first batch is planned.
        self._start: str | None = None
        self._available_until = ""  # where Trigger.AvailableNow ends

    def initialOffset(self) -> Offset:  # noqa: N802  (Spark's name)
        view = self.open_table()._view
        options = self._stream_options
        self._planned_until = stream_offsets.initial_offset(view, options)
        if self._start is None and options.start_offset == "latest":
            self._start = self._planned_until
        return {OFFSET_KEY: self._planned_until}

    # Spark 4.0 and 4.1 pass no arguments.
    def latestOffset(self, start: Offset | None = None, limit: ReadLimit | None = None) -> Offset:  # noqa: N802
        """Return where the next batch ends: at a limit of the options, or at the last commit.

        Args:
            start: where the batch begins; None in Spark 4.0 and 4.1, which do not pass it.
            limit: Spark's limit. ``ReadAllAvailable`` lifts the limits of the options; any other
                value applies them.
        """
        begin = start[OFFSET_KEY] if start is not None else self._planned_until
        if begin and begin == self._start:
            # Spark records only the ends of batches. If the first batch did not finish, Spark would
            # ask for the latest offset again and lose the rows of the batch, so the batch is empty.
            self._start = ""
            return {OFFSET_KEY: begin}
        limited = begin != "" and not (_HAS_READ_LIMITS and isinstance(limit, ReadAllAvailable))
        view = self.open_table()._view
        options = self._stream_options
        begin = begin or stream_offsets.first_offset(options)
        end = stream_offsets.next_offset(
            view, begin, options, until=self._available_until, limited=limited
        )
        return {OFFSET_KEY: end}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802  (Spark's name)
        # Spark has no limit in commits. Spark passes this limit back to latestOffset, for which any
        # limit except "all available" stands for the limits of the options.
        if self._stream_options.max_commits:
            return ReadMaxFiles(self._stream_options.max_commits)
        if self._stream_options.max_bytes:
            return ReadMaxBytes(self._stream_options.max_bytes)
        return ReadAllAvailable()

    def reportLatestOffset(self) -> Offset | None:  # noqa: N802  (Spark's name)
        latest = max(stream_offsets.commit_offsets(self.open_table()._view), default="")
        return {OFFSET_KEY: latest} if latest else None

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  (Spark's name)
        offsets = stream_offsets.commit_offsets(self.open_table()._view)
        self._available_until = max(offsets, default="0")

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """Plan the rows written after one offset, up to another; none if ``end`` is not later.

        Raises:
            StreamSchemaChangedError: columns that the query reads have changed since it began.
        """
        begin, until = start[OFFSET_KEY], end[OFFSET_KEY]
        self._planned_until = until
        self._start = ""
        # The end may precede the begin: when the empty first batch of a stream of "latest" is
        # planned again, and after a rollback if Spark does not pass the current offset.
        if until <= begin:
            return []
        scan = self.open_table()._scan(batch_options(self.options, begin, until), self.mergers)
        self._check_schema(scan.schema)
        groups, shared = pack(scan._plan_groups(self.columns))
        return [HudiPartition(tasks, shared) for tasks in groups]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # The optimizer's rule may have narrowed the schema since the partition was planned.
        yield from read_partition(
            partition, self._storage, self.schema, names=self.names, columns=self.columns
        )

    def _check_schema(self, current: pa.Schema) -> None:
        """Refuse changes of the columns that the query reads; a query may read all columns.

        Raises:
            StreamSchemaChangedError: such a column is new, gone, or of another type.
        """
        reads_all = {*self.columns} == {*self.table_schema.names}
        names = current.names if reads_all else self.columns
        current_types = {field.name: str(field.type) for field in current}
        new_types = {(n, current_types[n]) for n in names if n in current_types}
        old_types = {(n, str(self.table_schema.field(n).type)) for n in self.columns}
        if new_types != old_types:
            changed = sorted(f"{name} {kind}" for name, kind in new_types ^ old_types)
            raise StreamSchemaChangedError(
                f"the table's columns changed while the stream ran: {', '.join(changed)}",
                advice=(
                    "Restart the query on the same checkpoint to continue with the new columns, "
                    "or name the columns to read with .schema(...) or the option columns"
                ),
            )
