"""Random histories of tables whose schema is Avro's, with the logical types that Spark has not.

Apache Hudi's write client takes the schema, as its streamer and Java users do. Spark only reads.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from verification.histories.column_types import Json
from verification.histories.generation import Maker
from verification.histories.history import Column, History, Step
from verification.histories.spark_generation import table_versions

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


@dataclass
class AvroMaker(Maker):
    """Makes a history whose columns have types of Avro."""

    def history(self, name: str, hudi: str) -> History:
        """Make a history for the write client of a release."""
        self.version = max(table_versions(self.hudi))
        made = super().history(name, hudi)
        return made.with_steps(tuple(replace(step, hudi=self.hudi) for step in made.steps))

    def draw_types(self) -> list[str]:
        found = super().draw_types()
        if {*found} & {"local_millis", "local_micros"} and self.random.random() < 0.8:
            # Without milliseconds Apache Hudi does not repair local timestamps of older releases.
            found = list(dict.fromkeys([*found, "timestamp_millis"]))
        return found

    def change_unit(self) -> Step:
        """Make a write whose schema says another unit of a column."""
        names = [name for name, kind in self.columns.items() if AVRO_TYPES[kind].others]
        if names:
            name = self.random.choice(names)
            self.columns[name] = self.random.choice(AVRO_TYPES[self.columns[name]].others)
        return self.write()

    def all_columns(self) -> tuple[Column, ...]:
        pairs = [("id", "string"), ("ts", "long"), ("seq", "int"), *self.columns.items()]
        return tuple(Column(name, kind) for name, kind in [*pairs, ("p", "string")])
