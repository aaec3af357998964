"""Random histories of one file slice, log file by log file: what writers leave and undo."""

from __future__ import annotations

import io
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_pyspark.format.log.log_block import HeaderKey
from hudi_pyspark.table.file_group import BaseFile, FileSlice, LogFile
from hudi_pyspark.table.timeline import CommittedTimes
from tests.reading.log_records.log_files import (
    COMMIT_TIME,
    EVENT_TIME,
    KEY,
    avro_record,
    data_block,
    delete_block,
    nullable,
    rollback_block,
    rule_of,
    wrapped,
)
from tests.reading.planned_tasks import plan_slices

if TYPE_CHECKING:
    from random import Random

    from hudi_pyspark.table.merge_mode import RecordMergeMode
    from hudi_pyspark.tasks import ScanTask

TABLE = pa.schema(
    [
        (KEY, pa.string()),
        ("ts", pa.int64()),
        ("v", pa.string()),
        ("w", pa.int64()),
        ("_hoodie_is_deleted", pa.bool_()),
    ]
)
BASE_PATH = "f.parquet"
FILE_ID = "f1-0"
BASE_INSTANT = "001"
COLUMNS: tuple[tuple[str, ...], ...] = ((), ("v",), ("w", "v"), (KEY, "ts"), tuple(TABLE.names))
_AVRO = avro_record(
    ts=nullable("long"),
    v=nullable("string"),
    w=nullable("long"),
    _hoodie_is_deleted=nullable("boolean"),
)
_KEYS = "abcdefghijkl"


@dataclass
class RandomSlice:
    """A slice that grows; half of the slices also see what a simple writer never does.

    These are rollbacks, instants that are used again, log compactions, partial updates, blocks of
    instants that complete later, and log files that sort before others. In a third of the slices,
    most commits append to the last log file, as on HDFS.
    """

    random: Random
    mode: RecordMergeMode = field(init=False)
    base: list[dict[str, Any]] = field(init=False)
    files: dict[str, bytes] = field(init=False)
    logs: list[LogFile] = field(default_factory=list)
    committed: set[str] = field(default_factory=lambda: {BASE_INSTANT})
    last_number: int = 1  # the last instant, as a number

    def __post_init__(self) -> None:
        r = self.random
        self.mode = r.choice([EVENT_TIME, EVENT_TIME, COMMIT_TIME])
        self.has_positions, self.is_special = r.random() < 0.4, r.random() < 0.5
        self.appends = r.random() < 0.33
        self.base = [
            {
                KEY: _KEYS[n] if r.random() < 0.9 else r.choice(_KEYS),  # some keys twice
                "ts": r.choice([None, *range(10)]),
                "v": f"b{n}",
                "w": n,
                "_hoodie_is_deleted": False,
            }
            for n in range(r.randint(0, 9))
        ]
        self.has_base = bool(self.base) and (self.has_positions or r.random() < 0.9)
        octets = io.BytesIO()
        rows = pa.Table.from_pylist(self.base, schema=TABLE)
        pq.write_table(rows, octets, row_group_size=r.choice([2, 100]))
        self.files = {BASE_PATH: octets.getvalue()}

    def grow(self) -> str:
        """Add a log file, or append to the last one; return the instant that wrote the blocks."""
        self.last_number += 1
        r = self.random
        number = self.last_number
        instant = f"{number:03}"
        octets = b""
        for _ in range(r.randint(1, 3)):
            is_used_again = self.is_special and r.random() < 0.07
            octets += self._block(f"{r.randint(2, number):03}" if is_used_again else instant)
        if not self.is_special or r.random() > 0.15:
            self.committed.add(instant)
        elif r.random() < 0.5:
            self.committed.update(f"{time:03}" for time in range(2, number + 1))
        if self.logs and self.appends and r.random() < 0.8:
            log = self.logs.pop()
            place = len(self.logs)
        else:
            path = f".{FILE_ID}_{BASE_INSTANT}.log.{number}_0-1-0"
            log = LogFile(path, FILE_ID, BASE_INSTANT, number, "0-1-0", 0, modified_ms=1)
            is_last = not self.is_special or r.random() < 0.93
            place = len(self.logs) if is_last else r.randint(0, len(self.logs))
        self.files[log.path] = self.files.get(log.path, b"") + octets
        log = replace(log, size=len(self.files[log.path]))
        if instant in self.committed:
            log = replace(log, committed_size=log.size, committed_by=instant)
        self.logs.insert(place, log)
        return instant

    def task(self, columns: tuple[str, ...], until: str, logs: list[LogFile]) -> ScanTask:
        """Plan a read of some of the log files."""
        later = {f"{time:03}" for time in range(2, 30)} - self.committed
        base = BaseFile(BASE_PATH, FILE_ID, BASE_INSTANT, 1, modified_ms=1)
        file_slice = FileSlice(
            "", FILE_ID, BASE_INSTANT, base if self.has_base else None, tuple(logs)
        )
        (task,) = plan_slices(
            [file_slice],
            TABLE,
            columns,
            until,
            rule=rule_of(self.mode),
            committed=CommittedTimes(frozenset(self.committed), BASE_INSTANT, frozenset(later)),
            properties={"hoodie.table.version": "6"},
            options={"batch_rows": self.random.choice([1, 3, 1000])},
        )
        return task

    def _block(self, instant: str) -> bytes:
        r = self.random
        kind = self.random.random()
        if self.is_special and kind < 0.06:
            return rollback_block(f"{r.randint(2, self.last_number):03}", instant=instant)
        count = r.randint(0, 5)
        places = None
        if self.has_positions:
            places = sorted(r.sample(range(len(self.base)), min(count, len(self.base))))
            keys = [self.base[place][KEY] for place in places]
        elif r.random() < 0.3:
            keys = r.choices(_KEYS, k=count)
        else:
            keys = r.sample(_KEYS, count)
        if r.random() < 0.05:
            places = None  # a writer that could not tell the positions
        places = places or None
        if kind < 0.35:
            deletes = [(key, self._ordering_of_delete()) for key in keys]
            return delete_block(deletes, instant=instant, positions=places)
        more: dict[HeaderKey | int, str] = {}
        if self.is_special and kind > 0.96:
            times = {f"{r.randint(2, self.last_number):03}" for _ in range(2)}
            more = {HeaderKey.COMPACTED_BLOCK_TIMES: ",".join(sorted(times, reverse=True))}
        elif self.is_special and kind > 0.94:
            more = {HeaderKey.IS_PARTIAL: "true"}
        rows = [
            {
                KEY: key,
                "ts": r.choice([None, *range(10)]),
                "v": f"{instant}{key}",
                "w": r.choice([None, 5]),
                "_hoodie_is_deleted": r.random() < 0.1,
            }
            for key in keys
        ]
        return data_block(_AVRO, rows, instant=instant, more=more, positions=places)

    def _ordering_of_delete(self) -> object:
        r = self.random
        form = r.random()
        if form < 0.25:
            return None
        return wrapped("Long", r.randint(0, 9)) if form < 0.85 else wrapped("Int", r.randint(0, 3))
