"""Peak memory and time of a read whose log records exceed the memory limit of a worker.

``python benchmarks/spill.py [GIGABYTES [OPTION=VALUE …]]`` writes a table of one file slice into a
temporary folder: a base file of a million rows, and a log file whose decoded records have that many
gigabytes (1 by default). Then another process reads it with these options, and the result is
compared with the rows written.
"""

from __future__ import annotations

import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from hudi_pyspark import HudiTable
from hudi_pyspark.format.log.log_block import HeaderKey, LogBlockType
from hudi_pyspark.table.meta_columns import META_COLUMNS

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for the tests' writer of blocks

from tests.format.log.log_writer import avro_records, write_block

if TYPE_CHECKING:
    from collections.abc import Mapping

Octets = npt.NDArray[np.uint8]

BASE_ROWS = 1_000_000
BLOCK_ROWS = 400_000  # some 130 MB; Apache Hudi begins a new block at 256 MB
ROW_BYTES = 303  # of a decoded record
LIMIT = 1536  # MiB that a worker may take with the default options
FILE_ID = "00000000-0000-0000-0000-000000000000-0"
BASE_INSTANT, LOG_INSTANT = "20250101000000000", "20250101000001000"
BASE_FILE = f"{FILE_ID}_0-1-0_{BASE_INSTANT}.parquet"
LOG_FILE = f".{FILE_ID}_{BASE_INSTANT}.log.1_0-2-0"
TEXTS = ("rider", "driver", "city", "note")
NUMBERS = ("fare", "tip", "distance")
COLUMNS = [*META_COLUMNS, *TEXTS, *NUMBERS, "ts"]
SCHEMA: dict[str, Any] = {
    "type": "record",
    "name": "trip",
    "fields": [
        {"name": name, "type": ["null", "string" if name in (*META_COLUMNS, *TEXTS) else "double"]}
        for name in COLUMNS
    ],
}
PROPERTIES = """hoodie.table.name=spilled
hoodie.table.version=6
hoodie.table.type=MERGE_ON_READ
hoodie.table.recordkey.fields=_hoodie_record_key
hoodie.table.precombine.field=ts
hoodie.compaction.payload.class=org.apache.hudi.common.model.DefaultHoodieRecordPayload
"""


def main(gigabytes: float = 1, *options: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        rows = round(gigabytes * 1e9 / ROW_BYTES)
        # In another process, too: the peak of a child is at least the memory of its parent.
        expected = in_child("--write", folder, str(rows))
        start = time.perf_counter()
        answer = in_child("--read", folder, *options)
        seconds = time.perf_counter() - start
    print(f"{rows:,} log records, {gigabytes:g} GB decoded, onto {BASE_ROWS:,} base rows")
    print(f"  {answer['rows']:,} rows in {seconds:.1f} s")
    print(f"  peak {answer['peak']:,} MiB, of them {answer['before']:,} MiB before the read began")
    assert answer["rows"] == expected["rows"]
    assert math.isclose(answer["ts"], expected["ts"], rel_tol=1e-9)
    return int(not options and answer["peak"] > LIMIT)


def in_child(*arguments: str) -> dict[str, float]:
    """Run this script in another process and return what it prints."""
    command = [sys.executable, __file__, *arguments]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    numbers: dict[str, float] = json.loads(printed)
    return numbers


def write_table(
    folder: Path,
    log_rows: int,
    rows: int = BASE_ROWS,
    *,
    block_rows: int = BLOCK_ROWS,
    more_columns: int = 0,
) -> None:
    """Write the table; print the number of merged rows and the sum of their ordering values.

    Args:
        folder: of the table.
        log_rows: records of the log file.
        rows: of the base file.
        block_rows: records of a block of the log file.
        more_columns: columns of doubles that the table has besides `COLUMNS`.
    """
    more = [f"c{number}" for number in range(more_columns)]
    fields = [{"name": name, "type": ["null", "double"]} for name in more]
    schema = {**SCHEMA, "fields": [*SCHEMA["fields"], *fields]}
    timeline = folder / ".hoodie"
    timeline.mkdir()
    (timeline / "hoodie.properties").write_text(PROPERTIES)
    (folder / ".hoodie_partition_metadata").write_bytes(b"commitTime=0")
    newest = np.full(max(log_rows, rows), -1.0)  # ordering value by key; -1 for no row
    newest[:rows] = 0
    base = base_rows(rows)
    for name in more:
        base = base.append_column(name, pa.array(np.zeros(rows)))
    pq.write_table(base, folder / BASE_FILE)
    random = np.random.default_rng(1)
    with (folder / LOG_FILE).open("wb") as file:
        for start in range(0, log_rows, block_rows):
            count = min(block_rows, log_rows - start)
            write_data_block(file, random, newest, count, schema=schema)
    for instant, name in ((BASE_INSTANT, BASE_FILE), (LOG_INSTANT, LOG_FILE)):
        write_commit(folder, instant, name, schema)
    alive = newest[newest >= 0]
    print(json.dumps({"rows": len(alive), "ts": float(alive.sum())}))


def write_commit(
    folder: Path, instant: str, name: str, schema: Mapping[str, Any] | None = None
) -> None:
    """Write the completed delta commit of one file."""
    timeline = folder / ".hoodie"
    size = (folder / name).stat().st_size
    stat = {"path": name, "fileId": FILE_ID, "fileSizeInBytes": size}
    body = {
        "partitionToWriteStats": {"": [stat]},
        "extraMetadata": {"schema": json.dumps(schema or SCHEMA)},
        "operationType": "UPSERT",
    }
    for state in (".requested", ".inflight"):
        (timeline / f"{instant}.deltacommit{state}").write_bytes(b"")
    (timeline / f"{instant}.deltacommit").write_text(json.dumps(body))


def base_rows(rows: int) -> pa.Table:
    zeros = pa.array(np.zeros(rows))
    columns = {name: pa.array(["x"] * rows) for name in (*META_COLUMNS, *TEXTS)}
    keys = [f"{number:024}" for number in range(rows)]
    columns |= {"_hoodie_record_key": pa.array(keys), **dict.fromkeys((*NUMBERS, "ts"), zeros)}
    return pa.table({name: columns[name] for name in COLUMNS})


def write_data_block(
    file: IO[bytes],
    random: np.random.Generator,
    newest: npt.NDArray[np.float64],
    count: int,
    instant: str = LOG_INSTANT,
    *,
    schema: Mapping[str, Any] = SCHEMA,
) -> None:
    """Write a block of records with random keys, texts and ordering values.

    One record is encoded and copied, then the values are overwritten in all copies.
    """
    width = {"_hoodie_commit_seqno": 24, "_hoodie_record_key": 24, "_hoodie_partition_path": 0}
    width |= {"_hoodie_commit_time": 17, "_hoodie_file_name": 40, **dict.fromkeys(TEXTS, 32)}
    marks = {name: chr(ord("a") + place) * width[name] for place, name in enumerate(width)}
    record = {**dict.fromkeys((field["name"] for field in schema["fields"]), 0.5), **marks}
    (encoded,) = avro_records(schema, [{**record, "ts": 12345.678}])
    octets = np.tile(np.frombuffer(len(encoded).to_bytes(4, "big") + encoded, np.uint8), (count, 1))
    keys = random.integers(0, len(newest), count)
    ordering = random.random(count)
    np.maximum.at(newest, keys, ordering)
    put(octets, encoded, marks["_hoodie_record_key"].encode(), digits(keys, 24))
    put(octets, encoded, np.float64(12345.678).tobytes(), ordering.view(np.uint8).reshape(-1, 8))
    letters = np.frombuffer(b"0123456789abcdef", np.uint8)
    for name in TEXTS:
        put(octets, encoded, marks[name].encode(), letters[random.integers(0, 16, (count, 32))])
    content = b"".join((b"\0\0\0\3", count.to_bytes(4, "big"), octets.tobytes()))
    header: dict[HeaderKey | int, str] = {
        HeaderKey.INSTANT_TIME: instant,
        HeaderKey.SCHEMA: json.dumps(schema),
    }
    file.write(write_block(LogBlockType.AVRO_DATA_BLOCK, header, content))


def put(octets: Octets, encoded: bytes, mark: bytes, values: Octets) -> None:
    """Overwrite a mark in all copies of the encoded record, which follow a 4-byte length."""
    start = 4 + encoded.index(mark)
    octets[:, start : start + len(mark)] = values


def digits(numbers: npt.NDArray[np.int64], width: int) -> Octets:
    powers = 10 ** np.arange(min(width, 18) - 1, -1, -1)
    text = np.full((len(numbers), width), ord("0"), np.uint8)
    text[:, -len(powers) :] += (numbers[:, None] // powers % 10).astype(np.uint8)
    return text


def read(folder: str, *options: str) -> None:
    before = peak()
    rows = 0
    ts = 0.0
    given = dict(option.split("=", 1) for option in options)
    for batch in HudiTable(folder).scan(**given).to_batches():
        rows += batch.num_rows
        ts += float(np.sum(batch.column("ts").to_numpy()))
    print(json.dumps({"rows": rows, "ts": ts, "peak": peak(), "before": before}))


def peak() -> int:
    """Return the peak memory of the process so far, in MiB (Linux counts in KiB)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


if __name__ == "__main__":
    if sys.argv[1:2] == ["--read"]:
        sys.exit(read(*sys.argv[2:]))
    if sys.argv[1:2] == ["--write"]:
        sys.exit(write_table(Path(sys.argv[2]), int(sys.argv[3])))
    sys.exit(main(*map(float, sys.argv[1:2]), *sys.argv[2:]))
