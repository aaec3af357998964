"""A Spark stream of a table into a Parquet sink, run step by step and killed in between."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import StructType

from hudi_pyspark.spark.stream import _HAS_READ_LIMITS
from tests.conftest import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


@dataclass
class RunningStream:
    """One checkpoint and one sink; every `run` is a separate query on both."""

    spark: SparkSession
    table: Path
    folder: Path
    options: Mapping[str, str] = field(default_factory=dict)  # of every run
    schema: StructType = field(default_factory=StructType)  # of the columns last read
    _was_killed: bool = False

    def start(self, schema: str | None = None, every: str = "", **options: str) -> StreamingQuery:
        """Start the query; it ends with what is there unless it is to look again and again."""
        reader = self.spark.readStream.format("hudi-py").options(**{**self.options, **options})
        reader = reader.schema(schema) if schema is not None else reader
        frame = reader.load(str(self.table))
        self.schema = frame.schema
        writer = frame.writeStream.format("parquet").outputMode("append")
        writer = writer.option("checkpointLocation", str(self.folder / "checkpoint"))
        writer = (
            writer.trigger(processingTime=every) if every else writer.trigger(availableNow=True)
        )
        return writer.start(str(self.folder / "sink"))

    def run(self, schema: str | None = None, **options: str) -> list[dict[str, Any]]:
        """Read what is there.

        Returns:
            Spark's report on the source for each batch that read something.
        """
        if self._was_killed and not _HAS_READ_LIMITS:
            # Spark 4.0 and 4.1 finish the batch that was left and leave it at that.
            self._was_killed = False
            self.run(schema, **options)
        query = self.start(schema, **options)
        try:
            assert query.awaitTermination(PATIENCE), "the stream has not ended"
        finally:
            query.stop()
        reports = [json.loads(progress.json) for progress in query.recentProgress]
        sources: list[dict[str, Any]] = [report["sources"][0] for report in reports]
        return [s for s in sources if s["startOffset"] != s["endOffset"]]

    def answer(self) -> DataFrame:
        """All that has reached the sink, by its own record of finished batches."""
        return self.spark.read.schema(self.schema).parquet(str(self.folder / "sink"))

    def lose_last_batch(self) -> None:
        """Leave what a process leaves that dies after it planned a batch, before it wrote it."""
        last = max(self._batches("checkpoint/commits"))
        assert last == max(self._batches("checkpoint/offsets"))
        (self.folder / "checkpoint" / "commits" / str(last)).unlink()
        (self.folder / "sink" / "_spark_metadata" / str(last)).unlink()
        self._die()

    def lose_last_commit(self) -> None:
        """Leave what a process leaves that dies after it wrote a batch, before it said so."""
        last = max(self._batches("checkpoint/commits"))
        (self.folder / "checkpoint" / "commits" / str(last)).unlink()
        self._die()

    def _die(self) -> None:
        self._was_killed = True
        for path in self.folder.rglob(".*.crc"):
            path.unlink()

    def _batches(self, log: str) -> list[int]:
        return [int(path.name) for path in (self.folder / log).iterdir() if path.name.isdigit()]
