"""What the lines of a program call: they make frames and views, and read and write rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

import hudi_pyspark
from verification.common.writing import write_rows
from verification.states.growth import CASES, COLUMNS, Growth
from verification.states.program import Program

ICEBERG = "iceberg"  # the catalog of tables into which rows are merged


class Stage:
    """What the lines of a program call."""

    def __init__(self, program: Program, make: Callable[[], SparkSession], folder: Path) -> None:
        self.growth = Growth(CASES[program.case], folder)
        self._make = make
        self._folder = folder
        self._count = 0
        self._streams: list[Any] = []
        self.read_states: list[int | str] = []
        self.names: dict[str, Any] = {
            "F": sf, "path": self.growth.path, "commit": self.growth.commit,
            "create_again": self.growth.create_again, "new_session": make, "clone": self._clone,
            "load": self._load, "sql": self._sql, "read": self._read, "written": self._written,
            "instants": self.growth.instants, "joined_stream": self._joined_stream, "spark": make(),
        }  # fmt: skip

    @property
    def _spark(self) -> SparkSession:
        spark: SparkSession = self.names["spark"]
        return spark

    def run(self, program: Program) -> list[int | str]:
        """Run a program; return the state of each of its reads, or what is wrong with it."""
        try:
            for step in program.steps:
                before = len(self.read_states)
                try:
                    exec(step.line, self.names)
                except Exception as error:
                    del self.read_states[before:]
                    if step.wanted is None:
                        raise
                    self.read_states.append(f"{type(error).__name__} {str(error)[:300]}")
        finally:
            for query in self._streams:
                query.stop()
        return self.read_states

    def _load(self, **options: str) -> DataFrame:
        return self._spark.read.format("hudi-py").options(**options).load(self.growth.path)

    def _sql(self, text: str, **frames: Any) -> DataFrame:
        return self._spark.sql(text.replace("{path}", self.growth.path), **frames)

    def _clone(self) -> SparkSession:
        clone = getattr(self._spark, "cloneSession", None)  # older clients make none
        made: SparkSession = clone() if clone else self._spark
        hudi_pyspark.register(made)
        return made

    def _read(self, frame: DataFrame) -> None:
        self.read_states.append(self.growth.state_of(frame.select(*COLUMNS).collect()))

    def _written(self, frame: DataFrame, way: str) -> DataFrame:
        """Write a frame, and return what is found where it was written."""
        self._count += 1
        place = str(self._folder / f"written{self._count}")
        table = f"t{self._count}_{abs(hash(place))}"
        rows = frame.select(*COLUMNS)
        if way != "merge":
            write_rows(self._spark, rows, way, place, table=table)
            return self._spark.read.parquet(place)
        # Half of the rows are there with another value; all columns have the same names.
        rows.createOrReplaceTempView("to_write")
        table = f"{ICEBERG}.db.{table}"
        values = ", ".join("-1 AS ts" if name == "ts" else name for name in COLUMNS)
        some = f"SELECT {values} FROM to_write WHERE hash(id) % 2 = 0"
        self._spark.sql(f"CREATE TABLE {table} USING iceberg AS {some}").collect()
        self._spark.sql(
            f"MERGE INTO {table} t USING to_write s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        ).collect()
        return self._spark.table(table)

    def _joined_stream(self, frame: DataFrame) -> Callable[..., Any]:
        """Start a stream of the keys of the table that is joined with a frame.

        Each call of what is returned brings one more file of the stream, and returns what the
        micro-batch wrote; a call with None ends the stream.
        """
        self._count += 1
        source, target = (self._folder / f"{n}{self._count}" for n in ("source", "target"))
        keys = [(f"{number:04}",) for number in range(2)]
        maker = self._spark.createDataFrame(keys, "word string").coalesce(1)
        source.mkdir()
        stream = self._spark.readStream.schema("word string").parquet(str(source))
        # All rows of the frame for one word of the stream.
        joined = stream.where("word = '0000'").join(frame, sf.expr("true")).select(*COLUMNS, "word")
        query = (
            joined.writeStream.format("parquet")
            .option("checkpointLocation", str(self._folder / f"checkpoint{self._count}"))
            .start(str(target))
        )
        self._streams.append(query)
        seen: list[str] = []

        def batch(*end: Any) -> DataFrame | None:
            if end:
                query.stop()
                return None
            maker.write.mode("append").parquet(str(source))
            query.processAllAvailable()
            new = sorted(str(p) for p in target.glob("*.parquet") if str(p) not in seen)
            seen.extend(new)
            return self._spark.read.parquet(*new)

        return batch
