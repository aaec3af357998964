"""A small slice whose files are in memory, and what is read of it."""

import io
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_pyspark.filter.sql_text import parse_filter
from hudi_pyspark.options.read_options import ReadOptions
from hudi_pyspark.reading.merge.outcome import OutcomeStore
from hudi_pyspark.reading.read_slice import read_slice
from hudi_pyspark.table.file_group import BaseFile, FileSlice, LogFile
from hudi_pyspark.table.timeline import CommittedTimes
from hudi_pyspark.tasks import ScanTask
from tests.memory_storage import MemoryStorage
from tests.reading.log_records.log_files import (
    KEY,
    avro_record,
    data_block,
    delete_block,
    nullable,
    rule_of,
    wrapped,
)
from tests.reading.planned_tasks import plan_slices

TABLE = pa.schema([(KEY, pa.string()), ("ts", pa.int64()), ("v", pa.string()), ("p", pa.string())])
BASE_PATH = "sf/f1-0_0-1-0_001.parquet"
LOG_PATHS = ("sf/.f1-0_002.log.1_0-1-0", "sf/.f1-0_003.log.1_0-1-0")
AVRO = avro_record(ts=nullable("long"), v=nullable("string"), p=nullable("string"))
BASE_ROWS = [{KEY: key, "ts": 10, "v": f"base {key}", "p": "sf"} for key in "abc"]


class RecordingStorage(MemoryStorage):
    """Remembers what was read, and which files are still open."""

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(files)
        self.read: list[str] = []
        self.opened: list[Any] = []

    def read_bytes(self, path: str) -> bytes:
        self.read.append(path)
        return super().read_bytes(path)

    def open_input(self, path: str) -> Any:
        self.opened.append(io.BytesIO(self.files[path]))
        return self.opened[-1]


class RemoteFiles(RecordingStorage):
    """Files without an inode; their names and times say that they are the same."""

    is_local = False


def base_content(rows=BASE_ROWS, schema=TABLE) -> bytes:
    octets = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), octets)
    return octets.getvalue()


def upsert(key: str, ts: int, instant: str, *, v: str = "log") -> bytes:
    return data_block(AVRO, [{KEY: key, "ts": ts, "v": v, "p": "sf"}], instant=instant)


UPSERT = upsert("a", 11, "002")
DELETE = delete_block([("b", wrapped("Long", 12))], instant="003")
FILES = {BASE_PATH: base_content(), LOG_PATHS[0]: UPSERT, LOG_PATHS[1]: DELETE}


def log_file(path: str, instant: str, **changes: Any) -> LogFile:
    size = len(FILES[path])
    log = LogFile(path, "f1-0", instant, 1, "0-1-0", size, size, committed_by=instant)
    return replace(log, **{"modified_ms": 1, **changes})


LOGS = (log_file(LOG_PATHS[0], "002"), log_file(LOG_PATHS[1], "003"))
BASE = BaseFile(BASE_PATH, "f1-0", "001", 1, modified_ms=1)


def task(
    *,
    logs: tuple[LogFile, ...] = LOGS,
    base: BaseFile | None = BASE,
    columns: tuple[str, ...] = (KEY, "v"),
    version: int = 6,
    until: str = "003",
    partition: str = "sf",
    options_class: type[ReadOptions] = ReadOptions,
    **options: Any,
) -> ScanTask:
    (planned,) = plan_slices(
        [FileSlice(partition, "f1-0", "001", base, logs)],
        TABLE,
        columns,
        until,
        rule=rule_of(),
        committed=CommittedTimes(frozenset({"001", "002", "003", "004"}), "001"),
        properties={
            "hoodie.table.version": str(version),
            "hoodie.table.partition.fields": "p",
        },
        options=options,
        options_class=options_class,
    )
    return planned


def rows(
    planned: ScanTask,
    files: dict[str, bytes] | MemoryStorage = FILES,
    store: OutcomeStore | None = None,
) -> list[tuple[Any, ...]]:
    """Read a task, and sort its rows."""
    storage = files if isinstance(files, MemoryStorage) else MemoryStorage(files)
    tables = list(read_slice(planned, storage, store))
    assert all(table.schema == planned.shared.planned_columns.result for table in tables)
    return sorted(tuple(row.values()) for table in tables for row in table.to_pylist())


MERGED = [("a", "log"), ("c", "base c")]


def read_files(storage):
    """The files that were read since the last call."""
    opened = len(storage.opened)
    storage.opened.clear()
    logs = [path for path in storage.read if path in LOG_PATHS]
    storage.read.clear()
    return opened, logs


def keyed(*keys, **options):
    scan_task = task(**options)
    predicate = parse_filter(f"{KEY} IN ({', '.join(map(repr, keys))})", TABLE)
    shared = replace(scan_task.shared, predicate=predicate, record_keys=keys)
    return replace(scan_task, shared=shared)
