"""Seconds, memory and requests to plan queries of tables with very many files.

    python benchmarks/lake.py [files …] [--latency MILLISECONDS] [--keys KEYS] [--data FOLDER]

Each table is a small one that Apache Hudi wrote (a golden table), into whose metadata table files
in very many partitions, 20 in each, and record keys are written. The data files themselves do not
exist: planning does not open them. Every query runs in a new process, as one of Spark's
planning workers does; requests are those of the storage, each of which may be delayed.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
import uuid
import zipfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fastavro

from benchmarks.counted_storage import CountedStorage
from hudi_pyspark import HudiTable
from hudi_pyspark.format.hfile.reader import read_hfile
from hudi_pyspark.metadata_table.record_types import FILES
from hudi_pyspark.metadata_table.records import RECORD_INDEX

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))  # for the tests' writer of HFiles

from tests.format.hfile_writer import GZIP, block, entry, hfile, message, varint  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


CASE = "v9_mor_mdt_indexes"
FILES_PER_PARTITION = 20
BLOCK = 1 << 20  # bytes of entries, as Apache Hudi's default
ARCHIVED = "20260101000000000"  # the commit of the added files, long archived
PROPERTY = "hoodie.table.metadata.partitions"


def write_table(folder: Path, files: int, keys: int) -> Path:
    """Unpack the golden table and add to its metadata table."""
    with zipfile.ZipFile(PROJECT / "tests" / "golden" / CASE / "table.zip") as archive:
        archive.extractall(folder)
    table = folder / CASE
    rng = random.Random(files)
    partitions = [f"p{number:06}" for number in range(files // FILES_PER_PARTITION)]
    add(table, FILES, {name: file_list(rng) for name in partitions} | {None: partitions})
    groups = {f"key-{number:012}": rng.choice(partitions or [""]) for number in range(keys)}
    add(table, RECORD_INDEX, {key: place(rng, partition) for key, partition in groups.items()})
    return table


def add(table: Path, partition: str, values: Mapping[str | None, Any]) -> None:
    """Write the base file of a metadata partition anew, with more records."""
    folder = table / ".hoodie" / "metadata" / partition
    path = max(folder.glob("*.hfile"), key=lambda file: file.name.rpartition("_")[2])
    old = read_hfile(path.read_bytes(), path=path.name)
    schema = fastavro.parse_schema(json.loads(old.file_info["schema"]))
    records = {
        key.as_py(): fastavro.schemaless_reader(io.BytesIO(old.values_data[start:end]), schema)
        for key, start, end in zip(
            old.keys, old.value_starts.tolist(), old.value_ends.tolist(), strict=True
        )
    }
    field = "filesystemMetadata" if partition == FILES else "recordIndexMetadata"
    for key, value in values.items():
        if key is None:  # all partitions
            names = records[b"__all_partitions__"][field]
            names |= {name: {"size": 0, "isDeleted": False} for name in value}
        else:
            kind = 2 if partition == FILES else 5
            records[key.encode()] = {"key": "", "type": kind, field: value}
    path.write_bytes(hfile_of(records, schema, old.file_info))
    commit_size(table / ".hoodie" / "metadata", path)


def commit_size(metadata_table: Path, file: Path) -> None:
    """Write the new size of a file into its commit: a file of another size is not read."""
    [commit] = (metadata_table / ".hoodie" / "timeline").glob(f"{file.stem.split('_')[-1]}_*commit")
    with commit.open("rb") as stream:
        reader = fastavro.reader(stream)
        schema, [metadata] = reader.writer_schema, [*reader]
    for written in metadata["partitionToWriteStats"][file.parent.name]:
        if written["path"].endswith(file.name):
            written["fileSizeInBytes"] = file.stat().st_size
    with commit.open("wb") as stream:
        fastavro.writer(stream, schema, [metadata])


def hfile_of(records: Mapping[bytes, Any], schema: Any, old_info: Mapping[str, bytes]) -> bytes:
    blocks: list[bytes] = []
    index: list[tuple[bytes, int, int]] = []
    rows: list[bytes] = []
    offset = size = 0
    ordered = sorted(records)
    for number, key in enumerate(ordered):
        value = io.BytesIO()
        fastavro.schemaless_writer(value, schema, records[key])
        rows.append(entry(key, value.getvalue()))
        size += len(rows[-1])
        if size >= BLOCK or number == len(ordered) - 1:
            blocks.append(block(b"DATABLK*", b"".join(rows), GZIP))
            index.append((ordered[number - len(rows) + 1], offset, len(blocks[-1])))
            offset += len(blocks[-1])
            rows = []
            size = 0
    info = file_info({**old_info, **bounds(ordered[0], ordered[-1])})
    return hfile(blocks, entry_count=len(ordered), codec=GZIP, info=info, index=index)


def bounds(first: bytes, last: bytes) -> dict[str, bytes]:
    last_key = len(last).to_bytes(2, "big") + last
    return {"hfile.LASTKEY": last_key, "minRecordKey": first, "maxRecordKey": last}


def file_info(pairs: Mapping[str, bytes]) -> bytes:
    """Return the block of file info; without a Bloom filter, which the HFile does not have."""
    kept = {key: value for key, value in pairs.items() if not key.startswith("bloomFilter")}
    fields = b"".join(
        varint(1 << 3 | 2) + message({1: key.encode(), 2: value}) for key, value in kept.items()
    )
    return b"PBUF" + varint(len(fields)) + fields


def file_list(rng: random.Random) -> dict[str, Any]:
    names = (f"{uuid.UUID(int=rng.getrandbits(128))}-0" for _ in range(FILES_PER_PARTITION))
    return {
        f"{name}_0-1-1_{ARCHIVED}.parquet": {"size": 120_000_000, "isDeleted": False}
        for name in names
    }


def place(rng: random.Random, partition: str) -> dict[str, Any]:
    return {
        "partitionName": partition,
        "fileIdHighBits": rng.getrandbits(62),
        "fileIdLowBits": rng.getrandbits(62),
        "fileIndex": 0,
        "fileId": "",
        "instantTime": 1_767_225_600_000,
        "fileIdEncoding": 0,
    }


def plan(table: HudiTable, **options: Any) -> int:
    """Return the number of tasks."""
    return sum(len(group) for group in table.scan(**options)._plan_groups())


def pack(table: HudiTable) -> int:
    """Return the number of partitions that Spark gets, which are in memory at once."""
    from hudi_pyspark.spark.reader import HudiPartition
    from hudi_pyspark.spark.reader import pack as pack_groups

    groups, shared = pack_groups(table.scan()._plan_groups())
    return len([HudiPartition(tasks, shared) for tasks in groups])


def look_up(table: HudiTable, keys: int, wanted: int) -> int:
    from hudi_pyspark.metadata_table.table import MetadataTable

    names = [f"key-{number:012}" for number in random.Random(1).sample(range(keys), wanted)]
    return len(MetadataTable(table._view).locate(names))


def queries(files: int, keys: int) -> dict[str, Callable[[HudiTable], int]]:
    middle = f"p{files // FILES_PER_PARTITION // 2:06}"
    return {
        "all files": plan,
        "all files, for Spark": pack,
        "one partition": partial(plan, filter=f"region = '{middle}'"),
        "ten partitions": partial(
            plan, filter=f"region >= '{middle}' and region < '{middle[:-1]}z'"
        ),
        "one key, by index": partial(look_up, keys=keys, wanted=1),
        f"{keys // 10:,} keys, by index": partial(look_up, keys=keys, wanted=keys // 10),
    }


def measure(path: str, name: str, files: int, keys: int, latency: float) -> None:
    """Run one query in this process and print what it took."""
    CountedStorage.latency = latency
    table = HudiTable(path)
    CountedStorage.count(table)
    started = time.perf_counter()
    cpu_started = time.process_time()
    found = queries(files, keys)[name](table)
    seconds = time.perf_counter() - started
    cpu = time.process_time() - cpu_started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    requests = CountedStorage.requests
    print(f"{name:24} {found:>10,} {seconds:>8.2f} {cpu:>6.2f} {peak:>9,.0f} {requests:>9,}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--latency", type=float, default=0.0, help="milliseconds per request")
    parser.add_argument("--keys", type=int, default=100_000, help="in the record index")
    parser.add_argument("--data", type=Path, help="folder that keeps the tables for other runs")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for files in given.files:
            place = (given.data or Path(folder)) / f"{files}-{given.keys}"
            path = place / CASE if place.exists() else write_table(place, files, given.keys)
            print(f"\n{files:,} files in {files // FILES_PER_PARTITION:,} partitions")
            print(f"{'query':24} {'found':>10} {'seconds':>8} {'cpu':>6} {'peak MiB':>9} requests")
            for name in queries(files, given.keys):
                arguments = (str(path), name, files, given.keys, given.latency / 1000)
                code = f"from benchmarks.lake import measure; measure(*{arguments!r})"
                subprocess.run([sys.executable, "-c", code], cwd=PROJECT, check=True)


if __name__ == "__main__":
    main()
