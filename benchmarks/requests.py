"""Requests, bytes and seconds of frames on an object store, where each request takes 20 ms.

    python -m benchmarks.requests [--latency MILLISECONDS] [--data FOLDER]

Files are local, behind a file system that counts requests and waits. The narrow table has a million
rows, one base file in each of 1,000 partitions, and a metadata table with a record index; the wide
one 16 base files of 300 columns. Each query opens its table first, which counts, too. Beside the
engines stands pyarrow on the bare base files that the query needs, whose names it is given.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import threading
import time
import uuid
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.fs as pafs
import pyarrow.parquet as pq
from fsspec.implementations.local import LocalFileSystem

import hudi_pyspark
from benchmarks import lake
from hudi_pyspark import HudiTable
from hudi_pyspark.metadata_table.record_types import FILES
from hudi_pyspark.metadata_table.records import RECORD_INDEX
from hudi_pyspark.table.meta_columns import META_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Callable

PARTITIONS = 1_000
ROWS = 1_000  # rows of each partition
WIDE_FILES, WIDE_ROWS, COLUMNS = 16, 10_000, 300
WIDE_PROPERTIES = (
    "hoodie.table.name=wide\nhoodie.table.version=6\nhoodie.table.type=COPY_ON_WRITE\n"
)
MIDDLE = PARTITIONS // 2
FILTER = "A" * 431_000  # as long as Apache Hudi's default


class ObjectStore(LocalFileSystem):
    """Local files, each request for which is counted and takes a while."""

    cachable = False

    def __init__(self, latency: float = 0.0) -> None:
        super().__init__()
        self._latency = latency
        self._files = LocalFileSystem()
        self._lock = threading.Lock()
        self.requests = self.bytes = 0

    def wait(self, size: int = 0) -> None:
        with self._lock:
            self.requests += 1
            self.bytes += size
        time.sleep(self._latency)

    def ls(self, path: str, detail: bool = False, **options: Any) -> list[Any]:  # noqa: FBT001, FBT002
        self.wait()
        found: list[Any] = self._files.ls(path, detail, **options)
        return found

    def info(self, path: str, **options: Any) -> dict[str, Any]:
        self.wait()
        found: dict[str, Any] = self._files.info(path, **options)
        return found

    def cat_file(self, path: str, start: int = 0, end: int | None = None, **_: Any) -> bytes:
        with Path(path).open("rb") as file:
            file.seek(start)
            content = file.read(-1 if end is None else end - start)
        self.wait(len(content))
        return content

    def _open(self, path: str, *arguments: Any, **options: Any) -> Any:
        """Open a file for pyarrow, which asks for its size first, as everywhere."""
        self.wait()
        file = super()._open(path, *arguments, **options)
        read = file.f.read

        def counted(size: int = -1) -> bytes:
            content: bytes = read(size)
            self.wait(len(content))
            return content

        file.read = counted
        return file


def write_file(path: Path, rows: pa.Table, footer: dict[str, str]) -> None:
    with pq.ParquetWriter(path, rows.schema, store_schema=False) as writer:
        writer.write_table(rows)
        writer.add_key_value_metadata(footer)


def write_narrow(folder: Path) -> Path:
    """Add partitions to a golden table, with their files, and all of their keys to its indexes."""
    table = lake.write_table(folder, 0, 0)
    schema = HudiTable(str(table)).schema
    rng = random.Random(1)
    files = {}
    places = {}
    for number in range(PARTITIONS):
        region = f"p{number:04}"
        place = lake.place(rng, region)
        file_id = uuid.UUID(int=(place["fileIdHighBits"] << 64) | place["fileIdLowBits"])
        name = f"{file_id}-0_0-1-1_{lake.ARCHIVED}.parquet"
        keys = [f"key-{number * ROWS + row:09}" for row in range(ROWS)]
        values = {
            "_hoodie_commit_time": [lake.ARCHIVED] * ROWS, "_hoodie_record_key": keys,
            "_hoodie_partition_path": [region] * ROWS, "_hoodie_file_name": [name] * ROWS,
            "id": keys, "region": [region] * ROWS, "qty": range(ROWS),
        }  # fmt: skip
        columns = [
            pa.array(values[f.name], f.type) if f.name in values else pa.nulls(ROWS, f.type)
            for f in schema
        ]
        bounds = {"hoodie_min_record_key": keys[0], "hoodie_max_record_key": keys[-1]}
        (table / region).mkdir()
        write_file(table / region / name, pa.table(columns, schema=schema), bounds)
        size = (table / region / name).stat().st_size
        files[region] = {name: {"size": size, "isDeleted": False}}
        places.update(dict.fromkeys(keys, place))
    lake.add(table, FILES, {**files, None: list(files)})
    lake.add(table, RECORD_INDEX, places)
    return table


def write_wide(folder: Path) -> Path:
    """Write a table whose one commit names its schema and its files."""
    table = folder / "wide"
    (table / ".hoodie").mkdir(parents=True)
    (table / ".hoodie" / "hoodie.properties").write_text(WIDE_PROPERTIES)
    rng = np.random.default_rng(1)
    stats = []
    for number in range(WIDE_FILES):
        path = f"{uuid.UUID(int=number)}-0_0-1-1_{lake.ARCHIVED}.parquet"
        values: dict[str, Any] = {name: [path] * WIDE_ROWS for name in META_COLUMNS}
        values |= {f"c{column}": rng.random(WIDE_ROWS) for column in range(COLUMNS)}
        write_file(table / path, pa.table(values), {"org.apache.hudi.bloomfilter": FILTER})
        size = (table / path).stat().st_size
        stats.append({"fileId": path[:38], "path": path, "fileSizeInBytes": size, "numWrites": 1})
    fields = [{"name": f"c{n}", "type": ["null", "double"]} for n in range(COLUMNS)]
    schema = json.dumps({"type": "record", "name": "wide", "fields": fields})
    commit = {"partitionToWriteStats": {"": stats}, "extraMetadata": {"schema": schema}}
    for suffix, content in [
        ("commit.requested", ""),
        ("inflight", ""),
        ("commit", json.dumps(commit)),
    ]:
        (table / ".hoodie" / f"{lake.ARCHIVED}.{suffix}").write_text(content)
    return table


KEY = f"key-{MIDDLE * ROWS + 7:09}"
# Table, columns, a column and its value as condition, limit, rows of the answer, options of the
# scan, and which base files the answer comes from.
QUERIES: dict[str, tuple[str, list[str], str, str, int | None, int, dict[str, Any], str]] = {
    "one column of 300": ("wide", ["c150"], "", "", None, WIDE_FILES * WIDE_ROWS, {}, "*.parquet"),
    "one partition of 1,000": (
        "narrow", ["id", "qty"], "region", f"p{MIDDLE:04}", None, ROWS, {},
        f"p{MIDDLE:04}/*.parquet",
    ),
    "one key of a million": (
        "narrow", ["id", "qty"], "_hoodie_record_key", KEY, None, 1, {"unique_keys": True},
        f"p{MIDDLE:04}/*.parquet",
    ),
    "one key, not by record index": (
        "narrow", ["id", "qty"], "_hoodie_record_key", KEY, None, 1, {}, "p*/*.parquet",
    ),
    "LIMIT 10": ("narrow", ["id", "qty"], "", "", 10, 10, {}, f"p{MIDDLE:04}/*.parquet"),
}  # fmt: skip


def by_dataset(rows: ds.Dataset, columns: list[str], name: str, value: str, limit: Any) -> int:
    condition = pc.field(name) == value if name else None
    scanner = rows.scanner(columns, filter=condition)
    return int((scanner.head(limit) if limit else scanner.to_table()).num_rows)


def by_duckdb(rows: ds.Dataset, columns: list[str], name: str, value: str, limit: Any) -> int:
    import duckdb

    database = duckdb.connect()
    database.register("rows", rows)
    return len(database.execute(sql_of(columns, name, value, limit)).fetchall())


def by_datafusion(rows: ds.Dataset, columns: list[str], name: str, value: str, limit: Any) -> int:
    from datafusion import SessionContext

    context = SessionContext()
    context.register_dataset("rows", rows)
    return int(context.sql(sql_of(columns, name, value, limit)).to_arrow_table().num_rows)


def by_polars(frame: Any, columns: list[str], name: str, value: str, limit: Any) -> int:
    import polars

    frame = frame.filter(polars.col(name) == value) if name else frame
    frame = frame.head(limit) if limit else frame
    return int(frame.select(columns).collect().height)


def sql_of(columns: list[str], name: str, value: str, limit: int | None) -> str:
    where = f" WHERE {name} = '{value}'" if name else ""
    return f"SELECT {', '.join(columns)} FROM rows{where}{f' LIMIT {limit}' if limit else ''}"


def measure(name: str, engine: str, folder: Path, latency: float) -> None:
    """Ask a query, and print what it took."""
    kind, columns, column, value, limit, expected, options, files = QUERIES[name]
    path = folder / ("wide" if kind == "wide" else lake.CASE)
    bare = [str(file) for file in path.glob(files)]
    store = ObjectStore(latency)
    begin = time.perf_counter()
    if engine == "pyarrow, bare files":
        system = pafs.PyFileSystem(pafs.FSSpecHandler(store))
        pre_buffered = ds.ParquetFragmentScanOptions(pre_buffer=True)
        form = ds.ParquetFileFormat(default_fragment_scan_options=pre_buffered)
        found = by_dataset(
            ds.dataset(bare, filesystem=system, format=form), columns, column, value, limit
        )
    else:
        table = HudiTable(str(path), filesystem=store)
        if engine == "polars":
            frame = hudi_pyspark.scan_polars(table, **options)
            found = by_polars(frame, columns, column, value, limit)
        else:
            found = ENGINES[engine](table.dataset(**options), columns, column, value, limit)
    seconds = time.perf_counter() - begin
    assert found == expected, (name, engine, found)
    cost = f"{store.requests:>8,} {store.bytes / 2**20:>8.2f} {seconds:>8.2f}"
    print(f"{name:26} {engine:20} {cost}", flush=True)


ENGINES: dict[str, Callable[..., int]] = {
    "Dataset": by_dataset,
    "DuckDB": by_duckdb,
    "polars": by_polars,
    "DataFusion": by_datafusion,
    "pyarrow, bare files": by_dataset,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--latency", type=float, default=20.0, help="milliseconds per request")
    parser.add_argument("--data", type=Path, help="folder that keeps the tables for other runs")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.data or Path(temporary)
        if not (folder / lake.CASE).exists():
            write_narrow(folder)
            write_wide(folder)
        print(f"{'query':26} {'engine':20} requests      MiB  seconds")
        for name in QUERIES:
            for engine in ENGINES:
                if engine != "DataFusion" or find_spec("datafusion"):
                    measure(name, engine, folder, given.latency / 1000)


if __name__ == "__main__":
    main()
