"""Column types of random histories: how writers declare each, and values as JSON has them."""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any, TypeAlias

from verification.common.data import load_data

# None, bool, int, float, str, or lists and dicts of them: what JSON keeps without loss.
Json: TypeAlias = "Any"


_FROM_JSON: dict[str, Callable[[Any], Any]] = {
    "binary": bytes.fromhex,
    "date": date.fromisoformat,
    "decimal": Decimal,
    "double": float,
    "float": float,
    "timestamp": datetime.fromisoformat,
}


def python_value(kind: str, value: Json) -> Any:
    """Return a value of a simple type, which Spark's SQL names, as Python has it."""
    convert = _FROM_JSON.get(kind)
    return convert(value) if convert else value


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A type of columns, with its values as JSON keeps them."""

    declared: Any  # by the writer's SQL, or in an Avro schema
    draw: Callable[[Random], Json]
    others: tuple[str, ...] = ()  # that a later write may give the column
    literal: str = ""  # a value of the type in SQL; "" where UPDATE does not set it

    def to_python(self, value: Json) -> Any:
        """Return a value of a simple type as Python has it; others as they are."""
        return python_value(self.declared.partition("(")[0], value)


_VALUES = load_data(__file__, "values.toml")
_LENGTHS: list[int] = _VALUES["lengths"]
RARE = 0.15  # of the values are ends of their type


def _or(usual: Callable[[Random], Json], ends: Sequence[Json]) -> Callable[[Random], Json]:
    """A draw that gives one of the ends of a type now and then."""
    return lambda r: r.choice(ends) if r.random() < RARE else usual(r)


def long_text(random: Random, start: str = "") -> str:
    """Text of a length at which Parquet, Avro or statistics may do something else."""
    return start + random.choice("aßz") * random.choice(_LENGTHS)


def _text(random: Random) -> str:
    if random.random() < RARE / 3:
        return long_text(random)
    letters = string.ascii_lowercase + "äß 漢'%"
    return "".join(random.choice(letters) for _ in range(random.randint(0, 8)))


def _day(random: Random) -> str:
    return (date(2000, 1, 1) + timedelta(random.randint(-9999, 9999))).isoformat()


def _moment(random: Random) -> str:
    seconds = random.randint(0, 10**8)
    millis = random.randint(0, 999)
    return (datetime(2020, 1, 1) + timedelta(seconds=seconds, milliseconds=millis)).isoformat()  # noqa: DTZ001


def _bytes(random: Random) -> str:
    is_long = random.random() < RARE / 3
    return random.randbytes(random.choice(_LENGTHS) if is_long else random.randint(0, 5)).hex()


def _decimal(random: Random, digits: int, scale: int) -> str:
    return format(Decimal(random.randint(-(10**digits), 10**digits)).scaleb(-scale), "f")


def _decimal_type(digits: int, scale: int) -> ColumnType:
    """A decimal with the ends of its digits."""
    end = 10**digits - 1

    def draw(random: Random) -> Json:
        is_end = random.random() < 2 * RARE
        unscaled = random.choice((end, -end, 1, -1, 0)) if is_end else random.randint(-end, end)
        return format(Decimal(f"{unscaled}e-{scale}"), "f")  # exact, whatever the context

    return ColumnType(f"decimal({digits},{scale})", draw)


_any_day = _or(_day, _VALUES["days"])
_any_moment = _or(_moment, _VALUES["moments"])
_any_double = _or(lambda r: r.random() * 100, _VALUES["doubles"])


def _draw_ends(random: Random) -> Json:
    return {
        "d": _any_day(random),
        "t": _any_moment(random),
        "x": _any_double(random),
        "s": _text(random),
    }


TYPES: dict[str, ColumnType] = {
    "int": ColumnType(
        "int",
        _or(lambda r: r.randint(-9, 99), (-(2**31), 2**31 - 1)),
        others=("long", "float", "double", "string"),
        literal="7",
    ),
    "long": ColumnType(
        "bigint",
        _or(lambda r: r.randint(-(10**12), 10**12), (-(2**63), 2**63 - 1, 2**53 + 1)),
        others=("double", "string"),
        literal="7L",
    ),
    "float": ColumnType(
        "float",
        _or(lambda r: r.randint(-99, 99) / 4, _VALUES["floats"]),
        others=("double", "string"),
        literal="cast(0.5 as float)",
    ),
    "double": ColumnType("double", _any_double, others=("string",), literal="0.25D"),
    "string": ColumnType("string", _text, literal="'new'"),
    "boolean": ColumnType("boolean", lambda r: r.random() < 0.5, literal="true"),
    "date": ColumnType("date", _any_day, literal="DATE '2024-02-29'"),
    "timestamp": ColumnType("timestamp", _any_moment),
    "decimal": ColumnType(
        "decimal(12,2)", lambda r: _decimal(r, 6, 2), literal="cast(1.25 as decimal(12,2))"
    ),
    "big_decimal": ColumnType("decimal(30,6)", lambda r: _decimal(r, 20, 6)),
    "digit": _decimal_type(1, 0),
    "digits": _decimal_type(18, 9),
    "all_digits": _decimal_type(38, 0),
    "all_decimals": _decimal_type(38, 38),
    "binary": ColumnType("binary", _bytes),
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
    "ends": ColumnType("struct<d:date,t:timestamp,x:double,s:string>", _draw_ends),
    "days": ColumnType(
        "array<date>",
        lambda r: [_any_day(r) for _ in range(r.randint(0, 2))],
    ),
    "moments": ColumnType(
        "map<string,timestamp>",
        lambda r: {f"k{i}": _any_moment(r) for i in range(r.randint(0, 2))},
    ),
}
