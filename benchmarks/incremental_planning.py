"""The time to plan an incremental read of the last commit of a table with a long history.

``python benchmarks/incremental_planning.py [COMMITS]`` writes tables of 1,000 commits and 10,000
data files into a temporary folder, plans a read of the last commit, and counts the files read.

For a MERGE_ON_READ table the plan also needs the slices of the commit's log files, in case these
have partial updates. So it reads the metadata of the commits since their base files, here 90.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import IO, TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_pyspark.options.read_options import ReadOptions
from hudi_pyspark.scan import choose_scan
from hudi_pyspark.storage import ArrowStorage
from hudi_pyspark.table.meta_columns import META_COLUMNS
from hudi_pyspark.table.view import open_table

if TYPE_CHECKING:
    from hudi_pyspark.storage import FileInfo

COMMITS = 1_000
FILES_PER_COMMIT = 10
PARTITIONS = 10
LIMIT = 2.0  # seconds
LOG_FILE = Path(__file__).parents[1] / "tests/golden/logs/v6_mor_nonpart_event_time.log"
AVRO_SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "r",
        "fields": [
            {"name": "id", "type": ["null", "long"]},
            {"name": "day", "type": ["null", "string"]},
        ],
    }
)
PROPERTIES = """hoodie.table.name=long_lived
hoodie.table.version=9
hoodie.timeline.layout.version=2
hoodie.table.type={table_type}
hoodie.table.partition.fields=day
hoodie.table.recordkey.fields=id
"""


class CountingStorage:
    """A storage that counts its calls."""

    def __init__(self, inner: ArrowStorage) -> None:
        self.inner = inner
        self.counts: Counter[str] = Counter()

    def list_directory(self, directory: str) -> list[FileInfo]:
        kind = "timeline" if directory.startswith(".hoodie") else "data"
        self.counts[f"{kind} folders listed"] += 1
        return self.inner.list_directory(directory)

    def list_file_names(self, directory: str) -> list[str]:
        return [entry.name for entry in self.list_directory(directory) if not entry.is_directory]

    def read_bytes(self, path: str) -> bytes:
        kind = "timeline" if path.startswith(".hoodie") else "data"
        self.counts[f"{kind} files read"] += 1
        return self.inner.read_bytes(path)

    def open_input(self, path: str) -> pa.NativeFile | IO[bytes]:
        self.counts["data files opened for their footer"] += 1
        return self.inner.open_input(path)

    def describe(self, path: str) -> str:
        return self.inner.describe(path)

    def at(self, location: str, *, is_given: bool = False) -> ArrowStorage:
        return self.inner.at(location, is_given=is_given)


def write_table(base: Path, table_type: str, commits: int) -> None:
    """Write a table whose commits add files; MERGE_ON_READ: nine log files per base file."""
    timeline = base / ".hoodie" / "timeline"
    timeline.mkdir(parents=True)
    (base / ".hoodie" / "hoodie.properties").write_text(PROPERTIES.format(table_type=table_type))
    content = base_file()
    log_content = LOG_FILE.read_bytes()
    for number in range(commits):
        requested, completed = instant(number, 0), instant(number, 500)
        action = "commit" if table_type == "COPY_ON_WRITE" else "deltacommit"
        partition = f"day={number % PARTITIONS:03}"
        names = data_files(number, requested, table_type)
        folder = base / partition
        if not folder.exists():
            folder.mkdir()
            (folder / ".hoodie_partition_metadata").write_bytes(b"commitTime=0")
        for name in names:
            (folder / name).write_bytes(log_content if name.startswith(".") else content)
        stats = [
            {"path": f"{partition}/{name}", "fileId": file_id, "fileSizeInBytes": len(content)}
            for name, file_id in names.items()
        ]
        body = {
            "partitionToWriteStats": {partition: stats},
            "extraMetadata": {"schema": AVRO_SCHEMA},
            "operationType": "UPSERT",
        }
        (timeline / f"{requested}.{action}.requested").write_bytes(b"")
        (timeline / f"{requested}.{action}.inflight").write_bytes(b"{}")
        (timeline / f"{requested}_{completed}.{action}").write_text(json.dumps(body))


def data_files(number: int, requested: str, table_type: str) -> dict[str, str]:
    """Map the names of the files that one commit writes to their file ids."""
    lap, place = divmod(number, PARTITIONS)
    names = {}
    for group in range(FILES_PER_COMMIT):
        file_id = f"{place:08}-0000-0000-0000-{group:012}-0"
        if table_type == "MERGE_ON_READ" and lap % 10:
            names[f".{file_id}_{requested}.log.1_0-1-0"] = file_id
        else:
            names[f"{file_id}_0-1-0_{requested}.parquet"] = file_id
    return names


def base_file() -> bytes:
    """Return the small Parquet file that is used for all base files."""
    columns: dict[str, pa.Array] = {name: pa.array(["x"]) for name in META_COLUMNS}
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({**columns, "id": pa.array([1]), "day": pa.array(["x"])}), sink)
    return sink.getvalue().to_pybytes()


def instant(number: int, millis: int) -> str:
    hours, seconds = divmod(number, 3600)
    return f"20250101{hours:02}{seconds // 60:02}{seconds % 60:02}{millis:03}"


def measure(base: Path, begin: str) -> tuple[float, int, Counter[str]]:
    """Open the table and plan; return the seconds, the number of tasks, and the storage calls."""
    storage = CountingStorage(ArrowStorage.parse(str(base)))
    start = time.perf_counter()
    options = ReadOptions.parse({"query_type": "incremental", "begin": begin})
    tasks = choose_scan(open_table(storage), options, {}).plan()
    return time.perf_counter() - start, len(tasks), storage.counts


def main(commits: int = COMMITS) -> int:
    is_slow = False
    for table_type in ("COPY_ON_WRITE", "MERGE_ON_READ"):
        with tempfile.TemporaryDirectory() as folder:
            base = Path(folder) / "table"
            write_table(base, table_type, commits)
            seconds, tasks, counts = measure(base, instant(commits - 2, 500))
            _, all_tasks, all_counts = measure(base, "earliest")
        print(f"{table_type}, {commits:,} commits, {commits * FILES_PER_COMMIT:,} files")
        print(f"  last commit: {tasks} tasks planned in {seconds:.2f} s (at most {LIMIT} s)")
        for call, count in sorted(counts.items()):
            print(f"    {count:>6,} {call} (whole range: {all_counts[call]:,})")
        is_slow |= seconds > LIMIT
        assert tasks == FILES_PER_COMMIT
        assert all_tasks >= tasks
    return int(is_slow)


if __name__ == "__main__":
    sys.exit(main(*(int(text) for text in sys.argv[1:])))
