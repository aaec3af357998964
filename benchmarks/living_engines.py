"""The processes of `living_tables`: a writer, and one reader for each engine.

    python -m benchmarks.living_engines NAME [JAR]

A process answers requests, one JSON line each, with ``{"seconds": …, "result": …}``. A result is
what both readers have to agree on: numbers by name.
"""

from __future__ import annotations

import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import IO, TYPE_CHECKING, Any

from pyspark.sql import functions as f

from benchmarks.spark_session import HUDI_PY, hudi_session, plain_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

Answer = dict[str, Any]
QUERY_TYPE = "hoodie.datasource.query.type"
BEGIN = "hoodie.datasource.read.begin.instanttime"
CDC = {"hoodie.datasource.query.incremental.format": "cdc"}
SUMS = ("fare", "distance", "seats", "price")
SPAN = (1_700_000_500_000, 1_700_000_540_000)  # of ts: one file group in sixteen has it


class Reader:
    """Asks each question in the same way of the format of either reader."""

    def __init__(self, session: SparkSession, name: str) -> None:
        self._session = session
        self._name = name

    def count(self, path: str) -> Answer:
        return {"rows": self._read(path).count()}

    def dashboard(self, path: str) -> Answer:
        groups = self._read(path).groupBy("city").agg(f.count("*"), f.sum("distance")).collect()
        return {row[0]: [row[1], row[2]] for row in groups}

    def last(self, path: str, begin: str) -> Answer:
        return {"rows": self._incremental(path, begin).count()}

    def incremental(self, path: str, begin: str) -> Answer:
        rows = self._incremental(path, begin)
        return counted(rows.agg(f.count("*"), f.sum("distance"), f.sum(f.length("note"))).first())

    def changes(self, path: str, begin: str) -> Answer:
        changes = self._read(path, **{QUERY_TYPE: "incremental", BEGIN: begin}, **CDC)
        images = (f.count(f.get_json_object(side, "$.uuid")) for side in ("before", "after"))
        return counted(changes.agg(f.count("*"), f.count_if(f.col("op") == "i"), *images).first())

    def threads(self, path: str) -> Answer:
        """Ask eight queries at a time in one driver."""

        def ask(number: int) -> float:
            rows = self._read(path).filter(f"seats <> {number}")
            row = rows.agg(f.sum(SUMS[number % len(SUMS)])).first()
            return round(float(row[0]), 3) if row else 0.0

        with ThreadPoolExecutor(8) as pool:
            return {str(number): total for number, total in enumerate(pool.map(ask, range(8)))}

    def join(self, path: str) -> Answer:
        """Join rows of one file group, which its column statistics show, with a small table."""
        cities = [(name, number) for number, name in enumerate(("amsterdam", "berlin", "chennai"))]
        small = self._session.createDataFrame(cities, "city string, region int")
        rows = self._read(path).filter(f"ts BETWEEN {SPAN[0]} AND {SPAN[1]}").join(small, "city")
        return counted(rows.agg(f.count("*"), f.sum("distance"), f.sum("region")).first())

    def join_keys(self, path: str) -> Answer:
        """Join with a small table, whose keys alone show which file groups have them."""
        moments = self._session.range(SPAN[0], SPAN[1], 400).selectExpr("id AS ts")
        rows = self._read(path).join(f.broadcast(moments), "ts")
        return counted(rows.agg(f.count("*"), f.sum("distance")).first())

    def stream(self, path: str, checkpoints: str) -> Answer:
        """Read by a stream what is new since the checkpoint, which begins at the latest commit."""
        stream = self._session.readStream.format(self._name)
        rows = stream.option("hoodie.datasource.streaming.startOffset", "latest").load(path)
        counts: list[int] = []
        writer = rows.writeStream.foreachBatch(lambda batch, _: counts.append(batch.count()))
        writer = writer.option("checkpointLocation", f"{checkpoints}/{self._name}").trigger(
            availableNow=True
        )
        writer.start().awaitTermination()
        return {"rows": sum(counts)}

    def start_polling(self, path: str) -> Answer:
        """Start a stream that looks for new commits once a second, and finds none."""
        reader = self._session.readStream.format(self._name)
        rows = reader.option("hoodie.datasource.streaming.startOffset", "latest").load(path)
        writer = rows.writeStream.format("noop").trigger(processingTime="1 second")
        self._stream = writer.start()
        while not self._stream.recentProgress:
            time.sleep(0.1)
        return {}

    def poll(self, seconds: int) -> Answer:
        """Let the stream look for new commits for some seconds."""
        time.sleep(seconds)
        progress = self._stream.lastProgress
        return {"is_active": self._stream.isActive, "rows": progress and progress["numInputRows"]}

    def stop_polling(self) -> Answer:
        self._stream.stop()
        return {}

    def _incremental(self, path: str, begin: str) -> DataFrame:
        return self._read(path, **{QUERY_TYPE: "incremental", BEGIN: begin})

    def _read(self, path: str, **options: str) -> DataFrame:
        return self._session.read.format(self._name).options(**options).load(path)


class Writer:
    """Writes tables with Apache Hudi."""

    def __init__(self, jar: str) -> None:
        self._session = hudi_session(jar)

    def upsert(self, path: str, number: int, rows: int, share: int, name: str) -> Answer:
        """Upsert one row in so many, spread over the whole table of so many rows."""
        from benchmarks.tables import EVENT_TIME, core_columns
        from benchmarks.write_tables import WRITE_OPTIONS

        ids = self._session.range(0, rows // share, 1, 2)
        changed = ids.selectExpr(f"id * {share} + {number} % {share} as id", f"{number} as round")
        columns = (f"{sql} as {column}" for column, sql in core_columns(rows).items())
        writer = changed.selectExpr(*columns).write.format("hudi").options(**WRITE_OPTIONS)
        writer = writer.options(**EVENT_TIME).option("hoodie.table.name", name)
        operation = "bulk_insert" if share == 1 else "upsert"
        writer = writer.option("hoodie.table.cdc.enabled", str(name == "changes").lower())
        writer = writer.option("hoodie.bulkinsert.shuffle.parallelism", "4")
        writer = writer.option("hoodie.datasource.write.operation", operation)
        writer.mode("append").save(path)
        return {}


def counted(row: Row | None) -> Answer:
    assert row is not None  # an aggregation without keys has one row
    return {str(place): value for place, value in enumerate(row)}


def engine(name: str, arguments: list[str]) -> Reader | Writer:
    if name == "writer":
        return Writer(*arguments)
    if name == "hudi-jvm":
        return Reader(hudi_session(*arguments), "hudi")
    import hudi_pyspark

    session = plain_session(HUDI_PY)
    hudi_pyspark.register(session)
    return Reader(session, "hudi-py")


def serve(asked: Reader | Writer, replies: IO[str]) -> None:
    for line in sys.stdin:
        method, arguments = json.loads(line)
        begin = time.perf_counter()
        try:
            reply: Answer = {"result": getattr(asked, method)(*arguments)}
        except Exception as error:  # noqa: BLE001 - any failure of an engine is its answer
            lines = [text for text in str(error).splitlines() if text.strip()] or [""]
            reply = {"error": f"{type(error).__name__}: {lines[0]}"[:400]}
        reply["seconds"] = time.perf_counter() - begin
        print(json.dumps(reply), file=replies, flush=True)


if __name__ == "__main__":
    own = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    started = engine(sys.argv[1], sys.argv[2:])
    print(json.dumps({}), file=own, flush=True)
    serve(started, own)
