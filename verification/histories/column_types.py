"""Column types of random histories: how Spark declares each, and values as JSON has them."""

from __future__ import annotations

import string
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random
    from typing import TypeAlias

# None, bool, int, float, str, or lists and dicts of them: what JSON keeps without loss.
Json: TypeAlias = "Any"


def _as_it_is(value: Json) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A type of Spark, with its values in two forms: as JSON keeps them and as Spark takes them."""

    ddl: str
    draw: Callable[[Random], Json]
    to_python: Callable[[Json], Any] = _as_it_is
    wider: tuple[str, ...] = ()  # types that a later write may give the column
    literal: str = ""  # a value of the type in SQL; "" where UPDATE does not set it


def _text(random: Random) -> str:
    letters = string.ascii_lowercase + "äß 漢'%"
    return "".join(random.choice(letters) for _ in range(random.randint(0, 8)))


def _day(random: Random) -> str:
    return (date(2000, 1, 1) + timedelta(random.randint(-9999, 9999))).isoformat()


def _moment(random: Random) -> str:
    seconds, millis = random.randint(0, 10**8), random.randint(0, 999)
    return (datetime(2020, 1, 1) + timedelta(seconds=seconds, milliseconds=millis)).isoformat()  # noqa: DTZ001


def _decimal(random: Random, digits: int, scale: int) -> str:
    return format(Decimal(random.randint(-(10**digits), 10**digits)).scaleb(-scale), "f")


TYPES: dict[str, ColumnType] = {
    "int": ColumnType(
        "int", lambda r: r.randint(-9, 99), wider=("long", "float", "double"), literal="7"
    ),
    "long": ColumnType(
        "bigint", lambda r: r.randint(-(10**12), 10**12), wider=("double",), literal="7L"
    ),
    "float": ColumnType(
        "float", lambda r: r.randint(-99, 99) / 4, float, ("double",), "cast(0.5 as float)"
    ),
    "double": ColumnType("double", lambda r: r.random() * 100, float, literal="0.25D"),
    "string": ColumnType("string", _text, literal="'new'"),
    "boolean": ColumnType("boolean", lambda r: r.random() < 0.5, literal="true"),
    "date": ColumnType("date", _day, date.fromisoformat, literal="DATE '2024-02-29'"),
    "timestamp": ColumnType("timestamp", _moment, datetime.fromisoformat),
    "decimal": ColumnType(
        "decimal(12,2)", lambda r: _decimal(r, 6, 2), Decimal, literal="cast(1.25 as decimal(12,2))"
    ),
    "big_decimal": ColumnType("decimal(30,6)", lambda r: _decimal(r, 20, 6), Decimal),
    "binary": ColumnType("binary", lambda r: r.randbytes(r.randint(0, 5)).hex(), bytes.fromhex),
    # Without null elements: Apache Hudi's writer refuses them in its older layout of lists.
    "ints": ColumnType("array<int>", lambda r: [r.randint(0, 9) for _ in range(r.randint(0, 3))]),
    "map": ColumnType(
        "map<string,bigint>",
        lambda r: {f"k{i}": r.randint(0, 99) for i in range(r.randint(0, 3))},
    ),
    "struct": ColumnType(
        "struct<a:int,b:string>",
        lambda r: {"a": r.randint(0, 9), "b": r.choice(["x", None, "y"])},
    ),
    "structs": ColumnType(
        "array<struct<a:bigint,s:string>>",
        lambda r: [{"a": r.randint(0, 9), "s": "z"} for _ in range(r.randint(0, 2))],
    ),
}
