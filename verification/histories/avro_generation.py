"""Random histories of tables whose schema is Avro's, with the logical types that Spark has not.

Apache Hudi's write client takes the schema, as its streamer and Java users do. Spark only reads.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING, Any

from verification.histories.generation import PARTITION_FIELDS, Maker, table_versions, truth
from verification.histories.history import Column, History, Step, StepKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from verification.histories.column_types import Json

AVRO = "avro-"  # before the release that writes
JAVA = "java-"  # likewise: with the client that needs no Spark
_DECIMAL = {"logicalType": "decimal", "precision": 12, "scale": 2}
_FIXED_BYTES = 6


@dataclass(frozen=True, slots=True)
class AvroType:
    """A type of an Avro schema, and its values as Avro's JSON has them."""

    schema: Any
    draw: Callable[[Random], Json]
    others: tuple[str, ...] = ()  # types with another unit that a later schema may say


def _logical(physical: str, name: str) -> dict[str, str]:
    return {"type": physical, "logicalType": name}


def _millis(random: Random) -> int:
    return random.randint(-(10**11), 2 * 10**12)


def _micros(random: Random) -> int:
    return random.randint(-(10**14), 2 * 10**15)


def _unscaled(random: Random, size: int | None) -> str:
    number = random.randint(-(10**9), 10**9)
    width = (number.bit_length() + 8) // 8 if size is None else size
    return number.to_bytes(width, "big", signed=True).decode("latin-1")


def _uuid(random: Random) -> str:
    return str(uuid.UUID(int=random.getrandbits(128), version=4))


AVRO_TYPES: Mapping[str, AvroType] = {
    "int": AvroType("int", lambda r: r.randint(-9, 99)),
    "long": AvroType("long", lambda r: r.randint(-(10**12), 10**12)),
    "double": AvroType("double", lambda r: r.random() * 100),
    "string": AvroType("string", lambda r: r.choice(["", "x", "ü"])),
    "boolean": AvroType("boolean", lambda r: r.random() < 0.5),
    "date": AvroType(_logical("int", "date"), lambda r: r.randint(-9999, 30000)),
    "timestamp_millis": AvroType(
        _logical("long", "timestamp-millis"), _millis, ("timestamp_micros",)
    ),
    "timestamp_micros": AvroType(
        _logical("long", "timestamp-micros"), _micros, ("timestamp_millis",)
    ),
    "local_millis": AvroType(
        _logical("long", "local-timestamp-millis"), _millis, ("local_micros", "long")
    ),
    "local_micros": AvroType(
        _logical("long", "local-timestamp-micros"), _micros, ("local_millis", "long")
    ),
    "time_millis": AvroType(_logical("int", "time-millis"), lambda r: r.randint(0, 86_399_999)),
    "time_micros": AvroType(
        _logical("long", "time-micros"), lambda r: r.randint(0, 86_399_999_999)
    ),
    "uuid": AvroType(_logical("string", "uuid"), _uuid),
    "fixed_decimal": AvroType(
        {"type": "fixed", "name": "six_bytes", "size": _FIXED_BYTES, **_DECIMAL},
        lambda r: _unscaled(r, _FIXED_BYTES),
    ),
    "bytes_decimal": AvroType({"type": "bytes", **_DECIMAL}, lambda r: _unscaled(r, None)),
}
# Spark reads no Parquet file with a column of these, so few tables have one.
_UNREADABLE = ("time_millis", "time_micros")
_KINDS: Mapping[str, float] = {
    "upsert": 7, "late_upsert": 3, "insert": 1, "bulk_insert": 0.4, "delete": 2, "change_unit": 2,
    "add_column": 0.8, "clean": 0.3, "cluster": 0.4, "without_metadata_table": 0.3,
    "with_metadata_table": 0.3,
}  # fmt: skip
_KINDS_OF_LOGS: Mapping[str, float] = {"compact": 1.5, "upsert_and_compact": 0.8}


def avro_history(seed: int, number: int, hudi: str) -> History:
    """Make one history for the write client: the same arguments give the same one."""
    maker = _AvroMaker(Random(f"{seed} {number} {hudi}"), hudi[len(AVRO) :])
    return maker.avro_history(f"h{seed}_{number}", hudi)


@dataclass
class _AvroMaker(Maker):
    """The columns have types of Avro."""

    has_record_index: bool = False
    readable: list[str] = field(
        default_factory=lambda: [name for name in AVRO_TYPES if name not in _UNREADABLE]
    )

    @property
    def types(self) -> Mapping[str, Any]:
        return AVRO_TYPES

    def avro_history(self, name: str, hudi: str) -> History:
        r = self.random
        self.version = max(table_versions(self.hudi))
        self.key_type, self.has_two_keys = "string", False
        self.ordering = self.pick(long=3, none=2, timestamp_millis=1, timestamp_micros=0.5)
        self.marks_deletes = r.random() < 0.4
        self.partitioning = self.pick(none=1, text=2)
        self.keys = r.choice([6, 20])
        kinds = r.sample(self.readable, r.randint(3, 6))
        if {*kinds} & {"local_millis", "local_micros"} and r.random() < 0.8:
            # Without milliseconds Apache Hudi does not repair local timestamps of older releases.
            kinds = list(dict.fromkeys([*kinds, "timestamp_millis"]))
        if r.random() < 0.1:
            kinds.append(r.choice(_UNREADABLE))
        self.columns = {f"c{i}_{kind}": kind for i, kind in enumerate(kinds)}
        options = self.avro_options()
        first = self.write(StepKind(self.pick(bulk_insert=1, insert=2, upsert=2)), self.keys)
        steps = [first, *(self.avro_step() for _ in range(r.randint(2, 7)))]
        return History(name, hudi, options, tuple(replace(s, hudi=self.hudi) for s in steps))

    def avro_options(self) -> dict[str, str]:
        r = self.random
        self.is_mor = r.random() < 0.8
        self.ordering_fields = [] if self.ordering == "none" else ["ts"]
        self.partition_values = ("a", "bc")
        found = {
            "hoodie.datasource.write.table.type": "MERGE_ON_READ"
            if self.is_mor
            else "COPY_ON_WRITE",
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.partitionpath.field": ",".join(
                PARTITION_FIELDS[self.partitioning]
            ),
            "hoodie.datasource.write.precombine.field": ",".join(self.ordering_fields),
            "hoodie.datasource.write.hive_style_partitioning": truth(r.random() < 0.4),
            "hoodie.index.type": "SIMPLE",
            "hoodie.metadata.enable": truth(r.random() < 0.6),
            "hoodie.embed.timeline.server": "false",
            "hoodie.parquet.small.file.limit": r.choice(["0", "104857600"]),
            **{f"hoodie.{of}.shuffle.parallelism": "2" for of in ("upsert", "insert", "delete")},
            "hoodie.bulkinsert.shuffle.parallelism": "2",
            "hoodie.write.table.version": str(self.version),
            "hoodie.write.auto.upgrade": "false",
            "hoodie.write.record.positions": truth(r.random() < 0.6),
            "hoodie.clean.automatic": "false",
        }
        if self.is_mor and r.random() < 0.4:
            found["hoodie.logfile.data.block.format"] = "parquet"
        return found | self.skipping_options()

    def avro_step(self) -> Step:
        self.made += 1
        name = self.pick(**_KINDS, **(_KINDS_OF_LOGS if self.is_mor else {}))
        special = getattr(self, name, None)
        if special is not None:
            return special()  # type: ignore[no-any-return]
        kind = StepKind(name)
        if kind in (StepKind.COMPACT, StepKind.CLEAN, StepKind.CLUSTER):
            return Step(kind, options=self.version_options())
        return self.write(kind, self.some())

    def change_unit(self) -> Step:
        names = [name for name, kind in self.columns.items() if AVRO_TYPES[kind].others]
        if names:
            name = self.random.choice(names)
            self.columns[name] = self.random.choice(AVRO_TYPES[self.columns[name]].others)
        return self.write(StepKind.UPSERT, self.some())

    def add_column(self) -> Step:
        kind = self.random.choice(self.readable)
        self.columns[f"a{len(self.columns)}_{kind}"] = kind
        return self.write(StepKind.UPSERT, self.some())

    def all_columns(self) -> tuple[Column, ...]:
        pairs = [("id", "string"), ("ts", "long"), ("seq", "int"), *self.columns.items()]
        return tuple(Column(name, kind) for name, kind in [*pairs, ("p", "string")])
