"""Write tables with a bucket index as the writers of Apache Hudi leave them, with known rows.

Tables have version 6: JSON commits and log files of Avro blocks. What a writer does is decided by
its number of buckets, or by the ring of the partition, and by its release, see `hashing`.
"""

from __future__ import annotations

import json
import random
import uuid
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from hudi_pyspark.table.meta_columns import META_COLUMNS
from tests.reading.log_records.log_files import data_block, delete_block
from tests.written_table import WrittenTable
from verification.bucket_tables.hashing import POSITIVE, hashed_values, list_hash, ring_hash

Values = dict[str, str | int | None]
Group = tuple[str, str]  # partition and file id
File = tuple[str, str]  # file id and path


@dataclass(frozen=True)
class Keys:
    """Record keys of one kind."""

    fields: Mapping[str, str]  # key fields and their Avro types
    hash_fields: Sequence[str]
    draw: Callable[[random.Random], Values]
    generator: str = "SIMPLE"
    named: bool = False  # a key of a single field begins with its name

    def record_key(self, values: Values) -> str:
        if len(self.fields) == 1 and not self.named:
            return str(next(iter(values.values())))
        marks: dict[Any, str] = {None: "__null__", "": "__empty__"}
        return ",".join(f"{name}:{marks.get(value, value)}" for name, value in values.items())

    def values_in(self, row: Mapping[str, Any]) -> Values:
        """Return the values of the key fields of a row."""
        return {name: row[name] for name in self.fields}


def letters(rng: random.Random, alphabet: str, least: int = 1, most: int = 8) -> str:
    return "".join(rng.choices(alphabet, k=rng.randint(least, most)))


def clock(seconds: int) -> str:
    return str(datetime(2024, 1, 1) + timedelta(seconds=seconds))  # noqa: DTZ001  (a text of it)


def of_text(draw: Callable[[random.Random], str], **more: Any) -> Keys:
    """Return keys of a single field that is text."""
    return Keys({"id": "string"}, ["id"], lambda r: {"id": draw(r)}, **more)


def of_pairs(
    second: str, hash_fields: Sequence[str], draw: Callable[[random.Random], Values]
) -> Keys:
    """Return keys of two fields: a text, and one of an Avro type."""
    return Keys({"a": "string", "b": second}, hash_fields, draw, "COMPLEX")


WORDS = "abcdefghijklmnopqrstuvwxyz0123456789-_./"
KINDS: dict[str, Keys] = {
    "numbers": Keys({"id": "long"}, ["id"], lambda r: {"id": r.randint(-(10**6), 10**12)}),
    "counted": of_text(lambda r: f"key-{r.randrange(10**6):06}"),
    "words": of_text(lambda r: letters(r, WORDS, 4, 40)),
    "uuids": of_text(lambda r: str(uuid.UUID(int=r.getrandbits(128)))),
    "beyond": of_text(lambda r: letters(r, "é中😀\uffff\U0001d4b3a", 5, 9)),
    "clock": of_text(lambda r: clock(r.randrange(10**9))),
    "commas": of_text(lambda r: letters(r, "ab,c1", 6, 12).strip(",") or "a"),
    "named": of_text(lambda r: letters(r, WORDS, 4, 9), generator="COMPLEX", named=True),
    "pairs": of_pairs(
        "long", ["a", "b"], lambda r: {"a": letters(r, WORDS, 0, 6), "b": r.randint(0, 10**6)}
    ),
    "part of pairs": of_pairs(
        "long", ["a"], lambda r: {"a": letters(r, WORDS, 2, 6), "b": r.randint(0, 9)}
    ),
    "number of pairs": of_pairs(
        "long", ["b"], lambda r: {"a": letters(r, WORDS, 2, 6), "b": r.randint(0, 10**6)}
    ),
    "nulls": of_pairs(
        "string",
        ["a", "b"],
        lambda r: {"a": r.choice([None, "", letters(r, WORDS)]), "b": letters(r, WORDS, 3, 8)},
    ),
    "separators": of_pairs(
        "string",
        ["a", "b"],
        lambda r: {
            "a": letters(r, r.choice(["ab:1", "ab,1"]), 4, 8).strip(",") or "a",
            "b": letters(r, WORDS, 3, 8),
        },
    ),
}


@dataclass
class Writer:
    """A table in the making."""

    folder: Path
    rng: random.Random
    keys: Keys
    is_old: bool  # release 0.15 rather than 1.2
    counts: dict[str, int]  # partition to its number of buckets; of a ring, to begin with
    has_ring: bool = False
    fixed_ids: bool = False  # as with non-blocking concurrency control
    is_scattered: bool = False  # file ids begin with numbers that no hash chooses
    has_meta: bool = True
    rows: dict[Group, dict[str, dict[str, Any]]] = field(default_factory=dict)  # by record key
    bases: dict[Group, str] = field(default_factory=dict)  # base instant of the newest slice
    logs: dict[Group, int] = field(default_factory=lambda: defaultdict(int))
    rings: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    instant: int = 20240101000000000

    def __post_init__(self) -> None:
        meta = dict.fromkeys(META_COLUMNS if self.has_meta else (), "string")
        optional = {**meta, **self.keys.fields}
        required = {"ts": "long", "part": "string"}
        fields: list[dict[str, Any]] = [
            {"name": name, "type": ["null", kind]} for name, kind in optional.items()
        ]
        fields += [{"name": name, "type": kind} for name, kind in required.items()]
        properties = {
            "hoodie.table.type": "MERGE_ON_READ",
            "hoodie.timeline.layout.version": "1",
            "hoodie.table.recordkey.fields": ",".join(self.keys.fields),
            "hoodie.table.partition.fields": "part",
            "hoodie.table.precombine.field": "ts",
            "hoodie.table.keygenerator.type": self.keys.generator,
            "hoodie.populate.meta.fields": str(self.has_meta).lower(),
            "hoodie.compaction.payload.class": (
                "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload"
            ),
        }
        schema = {"type": "record", "name": "r", "fields": fields}
        self.table = WrittenTable(self.folder, schema, properties)
        self._columns = pa.schema(
            (name, pa.int64() if kind == "long" else pa.string())
            for name, kind in {**optional, **required}.items()
        )
        for partition, count in self.counts.items() if self.has_ring else ():
            step = -(-POSITIVE // count)
            values = [min(step * number, POSITIVE) for number in range(1, count + 1)]
            ids = [str(uuid.uuid3(uuid.NAMESPACE_OID, f"{partition}{v}")) for v in values]
            self.set_ring(partition, list(zip(values, ids, strict=True)), "00000000000000")

    def set_ring(self, partition: str, nodes: list[tuple[int, str]], instant: str) -> None:
        folder = f".hoodie/.bucket_index/consistent_hashing_metadata/{partition}"
        content = [{"value": v, "fileIdPrefix": prefix, "tag": "NORMAL"} for v, prefix in nodes]
        text = json.dumps({"nodes": content})
        self.table.put(f"{folder}/{instant}.hashing_meta", text.encode())
        self.rings[partition] = nodes

    def file_id(self, partition: str, values: Values) -> str:
        """Return the file group of a record, which may be new."""
        key = self.keys.record_key(values)
        texts = [None if (v := values[f]) is None else str(v) for f in self.keys.hash_fields]
        hashed = hashed_values(key, self.keys.hash_fields, texts, is_old=self.is_old)
        if self.has_ring:
            nodes = self.rings[partition]
            place = bisect_left([value for value, _ in nodes], ring_hash(hashed))
            return f"{nodes[place % len(nodes)][1]}-0"
        number = self.rng.getrandbits(31) if self.is_scattered else list_hash(hashed)
        bucket = f"{number % self.counts[partition]:08}-"
        for group_partition, file_id in self.rows:
            if group_partition == partition and file_id.startswith(bucket):
                return file_id
        rest = "0000-0000-0000-000000000000"
        if not self.fixed_ids:
            rest = str(uuid.UUID(int=self.rng.getrandbits(128), version=4))[9:]
        return f"{bucket}{rest}-0"

    def upsert(self, rows: Iterable[tuple[str, Values]], *, as_base: bool = False) -> None:
        """Write rows of partitions to log files, or to base files of new versions of the groups."""
        time = self.next_instant()
        groups: dict[Group, dict[str, dict[str, Any]]] = defaultdict(dict)
        for partition, values in rows:
            group = partition, self.file_id(partition, values)
            self.rows.setdefault(group, {})
            key = self.keys.record_key(values)
            groups[group][key] = self.row(time, partition, key, values)
        files = []
        for group, of_group in groups.items():
            is_base = as_base or (group not in self.bases and self.rng.random() < 0.3)
            self.rows[group] |= of_group
            if is_base:
                files.append(self.put_base(group, time))
            else:
                block = data_block(self.table.schema, of_group.values(), instant=time)
                files.append(self.put_log(group, time, block))
        self.table.commit(time, "deltacommit", files)

    def row(self, time: str, partition: str, key: str, values: Values) -> dict[str, Any]:
        meta = dict(zip(META_COLUMNS, [time, f"{time}_0_0", key, partition, "f"], strict=True))
        ts = int(time) - 20240101000000000
        return {**(meta if self.has_meta else {}), **values, "ts": ts, "part": partition}

    def delete(self, group: Group, keys: Sequence[str]) -> None:
        time = self.next_instant()
        block = delete_block([(key, None) for key in keys], instant=time)
        for key in keys:
            del self.rows[group][key]
        file = self.put_log(group, time, block)
        self.table.commit(time, "deltacommit", [file], operation="DELETE")

    def compact(self, groups: Iterable[Group]) -> None:
        time = self.next_instant()
        files = [self.put_base(group, time) for group in groups]
        self.table.commit(time, "commit", files, operation="COMPACT")

    def replace(
        self,
        groups: Sequence[Group],
        place: Callable[[str, Values], str],
        operation: str = "CLUSTER",
    ) -> None:
        """Rewrite the rows of groups into new groups, whose ids `place` says."""
        time = self.next_instant()
        moved: dict[Group, dict[str, dict[str, Any]]] = defaultdict(dict)
        replaced: dict[str, list[str]] = defaultdict(list)
        for group in groups:
            partition, file_id = group
            for key, row in self.rows.pop(group).items():
                moved[partition, place(partition, self.keys.values_in(row))][key] = row
            replaced[partition].append(file_id)
        for group in groups:
            self.bases.pop(group, None)
            self.logs.pop(group, None)
        self.rows |= moved
        files = [self.put_base(group, time) for group in moved]
        self.table.commit(time, "replacecommit", files, operation=operation, replaced=replaced)

    def put_base(self, group: Group, time: str) -> File:
        """Write all rows of a group."""
        partition, file_id = group
        path = f"{partition}/{file_id}_0-0-0_{time}.parquet"
        rows = list(self.rows[group].values())
        self.table.put_parquet(path, pa.Table.from_pylist(rows, self._columns))
        self.bases[group] = time
        self.logs[group] = 0
        return file_id, path

    def put_log(self, group: Group, time: str, block: bytes) -> File:
        partition, file_id = group
        base = self.bases.setdefault(group, time)
        self.logs[group] += 1
        path = f"{partition}/.{file_id}_{base}.log.{self.logs[group]}_0-0-0"
        self.table.put(path, block)
        return file_id, path

    def next_instant(self) -> str:
        self.instant += 1
        return str(self.instant)

    def groups_of(self, partition: str) -> list[Group]:
        """Return the file groups of a partition."""
        return [group for group in self.rows if group[0] == partition]

    def all_rows(self) -> list[tuple[Group, dict[str, Any]]]:
        """Return all rows with their file groups."""
        return [(group, row) for group, rows in self.rows.items() for row in rows.values()]
