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

from hudi_pyspark.format.log.log_block import HeaderKey, LogBlockType
from hudi_pyspark.table.meta_columns import META_COLUMNS
from tests.format.log.log_writer import avro_content, avro_records, write_block
from tests.reading.log_records.log_files import delete_block
from tests.written_table import WrittenTable
from verification.bucket_tables.hashing import POSITIVE, hashed_values, list_hash, ring_hash

Values = dict[str, str | int | None]
Group = tuple[str, str]  # partition and file id


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


def letters(rng: random.Random, alphabet: str, least: int = 1, most: int = 8) -> str:
    return "".join(rng.choices(alphabet, k=rng.randint(least, most)))


def clock(seconds: int) -> str:
    return str(datetime(2024, 1, 1) + timedelta(seconds=seconds))  # noqa: DTZ001  (a text of it)


WORDS = "abcdefghijklmnopqrstuvwxyz0123456789-_./"
TWO = {"a": "string", "b": "long"}
TEXTS = {"a": "string", "b": "string"}
KINDS: dict[str, Keys] = {
    "numbers": Keys({"id": "long"}, ["id"], lambda r: {"id": r.randint(-(10**6), 10**12)}),
    "counted": Keys({"id": "string"}, ["id"], lambda r: {"id": f"key-{r.randrange(10**6):06}"}),
    "words": Keys({"id": "string"}, ["id"], lambda r: {"id": letters(r, WORDS, 4, 40)}),
    "uuids": Keys(
        {"id": "string"}, ["id"], lambda r: {"id": str(uuid.UUID(int=r.getrandbits(128)))}
    ),
    "beyond": Keys(
        {"id": "string"}, ["id"], lambda r: {"id": letters(r, "é中😀\uffff\U0001d4b3a", 5, 9)}
    ),
    "clock": Keys({"id": "string"}, ["id"], lambda r: {"id": clock(r.randrange(10**9))}),
    "commas": Keys(
        {"id": "string"}, ["id"], lambda r: {"id": letters(r, "ab,c1", 6, 12).strip(",") or "a"}
    ),
    "named": Keys(
        {"id": "string"}, ["id"], lambda r: {"id": letters(r, WORDS, 4, 9)}, "COMPLEX", named=True
    ),
    "pairs": Keys(
        TWO,
        ["a", "b"],
        lambda r: {"a": letters(r, WORDS, 0, 6), "b": r.randint(0, 10**6)},
        "COMPLEX",
    ),
    "part of pairs": Keys(
        TWO, ["a"], lambda r: {"a": letters(r, WORDS, 2, 6), "b": r.randint(0, 9)}, "COMPLEX"
    ),
    "number of pairs": Keys(
        TWO, ["b"], lambda r: {"a": letters(r, WORDS, 2, 6), "b": r.randint(0, 10**6)}, "COMPLEX"
    ),
    "nulls": Keys(
        TEXTS,
        ["a", "b"],
        lambda r: {"a": r.choice([None, "", letters(r, WORDS)]), "b": letters(r, WORDS, 3, 8)},
        "COMPLEX",
    ),
    "separators": Keys(
        TEXTS,
        ["a", "b"],
        lambda r: {
            "a": letters(r, r.choice(["ab:1", "ab,1"]), 4, 8).strip(",") or "a",
            "b": letters(r, WORDS, 3, 8),
        },
        "COMPLEX",
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
        fields = [{"name": n, "type": ["null", "string"]} for n in META_COLUMNS if self.has_meta]
        fields += [{"name": n, "type": ["null", t]} for n, t in self.keys.fields.items()]
        fields += [{"name": "ts", "type": "long"}, {"name": "part", "type": "string"}]
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
        stats = []
        for group, of_group in groups.items():
            is_base = as_base or (group not in self.bases and self.rng.random() < 0.3)
            self.rows[group] |= of_group
            written = list((self.rows[group] if is_base else of_group).values())
            put = self.put_base if is_base else self.put_log
            stats.append((group, put(group, time, written)))
        self.commit(time, stats, "deltacommit", "UPSERT")

    def row(self, time: str, partition: str, key: str, values: Values) -> dict[str, Any]:
        meta = dict(zip(META_COLUMNS, [time, f"{time}_0_0", key, partition, "f"], strict=True))
        ts = int(time) - 20240101000000000
        return {**(meta if self.has_meta else {}), **values, "ts": ts, "part": partition}

    def delete(self, group: Group, keys: Sequence[str]) -> None:
        time = self.next_instant()
        block = delete_block([(key, None) for key in keys], instant=time)
        for key in keys:
            del self.rows[group][key]
        self.commit(
            time, [(group, self.put_log_bytes(group, time, block))], "deltacommit", "DELETE"
        )

    def compact(self, groups: Iterable[Group]) -> None:
        time = self.next_instant()
        stats = [(g, self.put_base(g, time, list(self.rows[g].values()))) for g in groups]
        self.commit(time, stats, "commit", "COMPACT")

    def replace(
        self,
        groups: Sequence[Group],
        place: Callable[[str, Values], str],
        operation: str = "CLUSTER",
    ) -> None:
        """Rewrite the rows of groups into new groups, whose ids `place` says."""
        time = self.next_instant()
        moved: dict[Group, dict[str, dict[str, Any]]] = defaultdict(dict)
        for group in groups:
            for key, row in self.rows.pop(group).items():
                values = {name: row[name] for name in self.keys.fields}
                moved[(group[0], place(group[0], values))][key] = row
        for group in groups:
            self.bases.pop(group, None)
            self.logs.pop(group, None)
        stats = []
        for group, rows in moved.items():
            self.rows[group] = rows
            stats.append((group, self.put_base(group, time, list(rows.values()))))
        self.commit(time, stats, "replacecommit", operation, groups)

    def put_base(self, group: Group, time: str, rows: list[dict[str, Any]]) -> str:
        partition, file_id = group
        types = {"string": pa.string(), "long": pa.int64()}
        schema = pa.schema(
            [
                (f["name"], types[f["type"] if isinstance(f["type"], str) else f["type"][1]])
                for f in self.table.schema["fields"]
            ]
        )
        path = f"{partition}/{file_id}_0-0-0_{time}.parquet"
        self.table.put_parquet(path, pa.Table.from_pylist(rows, schema))
        self.bases[group], self.logs[group] = time, 0
        return path

    def put_log(self, group: Group, time: str, rows: list[dict[str, Any]]) -> str:
        header: dict[HeaderKey | int, str] = {
            HeaderKey.INSTANT_TIME: time,
            HeaderKey.SCHEMA: json.dumps(self.table.schema),
        }
        content = avro_content(avro_records(self.table.schema, rows))
        block = write_block(LogBlockType.AVRO_DATA_BLOCK, header, content)
        return self.put_log_bytes(group, time, block)

    def put_log_bytes(self, group: Group, time: str, block: bytes) -> str:
        partition, file_id = group
        base = self.bases.setdefault(group, time)
        self.logs[group] += 1
        path = f"{partition}/.{file_id}_{base}.log.{self.logs[group]}_0-0-0"
        self.table.put(path, block)
        return path

    def commit(
        self,
        time: str,
        stats: Iterable[tuple[Group, str]],
        action: str,
        operation: str,
        replaced: Iterable[Group] = (),
    ) -> None:
        files = [(file_id, path) for (_, file_id), path in stats]
        ids: dict[str, list[str]] = defaultdict(list)
        for partition, file_id in replaced:
            ids[partition].append(file_id)
        taken = ids if action == "replacecommit" else None
        self.table.commit(time, action, files, operation=operation, replaced=taken)

    def next_instant(self) -> str:
        self.instant += 1
        return str(self.instant)
