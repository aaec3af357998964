"""A table whose values are the ends of their types, and what Apache Hudi wrote of it.

`rows` makes the rows; `verification/generate/random_plans.py` has Apache Hudi write them.
"""

from __future__ import annotations

import math
import random
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

COUNT = 72
ARCHIVE = Path(__file__).with_name("extremes.zip")
_PARTS = ["a", "b", "d=e", "it's", "ü", "2024-01-01"]
_DAYS = [
    date.min, date(1, 1, 2), date(4, 2, 29), date(1000, 3, 1), date(1582, 10, 4),
    date(1582, 10, 10), date(1582, 10, 15), date(1883, 11, 18), date(1899, 12, 31),
    date(1900, 1, 1), date(1900, 1, 2), date(1969, 12, 31), date(1970, 1, 1), date(2024, 2, 29),
    date(9999, 12, 30), date.max,
]  # fmt: skip
_CLOCKS = [timedelta(), timedelta(microseconds=1), timedelta(hours=12, minutes=34, seconds=56.789)]
_CLOCKS += [timedelta(hours=23, minutes=59, seconds=59, microseconds=999_999)]
TEXTS = [
    "", " ", "a", "A", "ab", "aB", "abc ", "abc", "ß", "SS", "é", "e\u0301", "\U0001d4b3", "%", "_",
    "a%b", "a_b", "back\\slash", "it's", 'double"', "NULL", "2024-02-29", "1", "01", "1.0", "true",
    "\x00nul", "\uffff", "zz", "x" * 4_095, "x" * 4_096, "x" * 4_097, "y" * 20_000,
    "ab" * 9_000 + "!",
]  # fmt: skip
_INTS = [-(2**31), -(2**31) + 1, -1, 0, 1, 7, 2**24, 2**24 + 1, 2**31 - 1]
_LONGS = [-(2**63), -(2**53) - 1, -(2**53), -1, 0, 1, 2**31, 2**53, 2**53 + 1, 2**63 - 1]
_DOUBLES = [
    -math.inf, -1.7976931348623157e308, -1.0, -5e-324, -0.0, 0.0, 5e-324, 0.1, 0.30000000000000004,
    1.1, 16777217.0, 546740.69, 9007199254740993.0, 1e22, 1.7976931348623157e308, math.inf,
    math.nan,
]  # fmt: skip
_FLOATS = [-math.inf, -3.4028234663852886e38, -0.0, 0.0, 1.401298464324817e-45, 0.5, 16777216.0]
_FLOATS += [3.4028234663852886e38, math.inf, math.nan, 0.10000000149011612, 1.100000023841858]
_NINES = "9" * 38


def _decimals(precision: int, scale: int) -> list[Decimal]:
    end = Decimal(_NINES[:precision]).scaleb(-scale)
    least = Decimal(1).scaleb(-scale)
    found = [end, -end, least, -least, Decimal(0).scaleb(-scale), end.copy_sign(-1).next_plus()]
    if precision - scale > 6:
        found += [Decimal("546740.69"), Decimal(16777217)] if scale >= 2 else [Decimal(546741)]
    return [value.quantize(least) for value in found if abs(value) <= end]


SCHEMA = pa.schema(
    {
        "k": pa.string(),
        "ordering": pa.int64(),
        "part": pa.string(),
        "flag": pa.bool_(),
        "i": pa.int32(),
        "l": pa.int64(),
        "f": pa.float32(),
        "d": pa.float64(),
        "dec1": pa.decimal128(1, 0),
        "dec5": pa.decimal128(5, 2),
        "dec18": pa.decimal128(18, 3),
        "dec38": pa.decimal128(38, 0),
        "dec38s": pa.decimal128(38, 18),
        "day": pa.date32(),
        "at": pa.timestamp("us", "UTC"),
        "wall": pa.timestamp("us"),
        "s": pa.string(),
        "octets": pa.binary(),
        "st": pa.struct({"x": pa.int32(), "s": pa.string(), "day": pa.date32()}),
        "arr": pa.list_(pa.int32()),
        "structs": pa.list_(pa.struct({"n": pa.int64(), "t": pa.string()})),
        "m": pa.map_(pa.string(), pa.int32()),
    }
)
VALUES: dict[str, list[Any]] = {
    "flag": [True, False],
    "i": _INTS,
    "l": _LONGS,
    "f": _FLOATS,
    "d": _DOUBLES,
    "dec1": [Decimal(-9), Decimal(0), Decimal(1), Decimal(9)],
    "dec5": _decimals(5, 2),
    "dec18": _decimals(18, 3),
    "dec38": [Decimal(v) for v in (_NINES, "-" + _NINES, 0, 1, -1, 2**63, -(2**63) - 1, 2**53 + 1)],
    "dec38s": [
        Decimal(f"{sign}{_NINES[:20]}.{_NINES[:18]}") for sign in ("", "-")
    ] + [Decimal(f"{text}.{'0' * 17}1") for text in ("0", "-0", "546740")] + [Decimal("0.5")],
    "day": _DAYS,
    "at": [
        datetime(day.year, day.month, day.day, tzinfo=timezone.utc) + clock
        for day in _DAYS
        for clock in _CLOCKS
    ],
    "wall": [datetime(day.year, day.month, day.day) + clock for day in _DAYS for clock in _CLOCKS],  # noqa: DTZ001
    "s": TEXTS,
    "octets": [b"", b"\x00", b"\x00\xff", b"\xff" * 20, b"a", "é".encode()],
}  # fmt: skip


def rows(seed: int = 1, count: int = COUNT) -> pa.Table:
    """Return the rows; of each column all values, and some nulls."""
    dice = random.Random(seed)
    columns: dict[str, list[Any]] = {
        "k": [f"k{number:04}" for number in range(count)],
        "ordering": list(range(count)),
        "part": [_PARTS[min(number * len(_PARTS) // COUNT, 5)] for number in range(count)],
    }
    for name, unsorted in VALUES.items():
        values = _sorted(unsorted)
        # From low to high, so that statistics exclude files; NaN comes last.
        drawn = [values[number * len(values) // count] for number in range(count)]
        for _ in range(count // 12):
            one, other = dice.randrange(count), dice.randrange(count)
            drawn[one], drawn[other] = drawn[other], drawn[one]
        columns[name] = [None if dice.random() < 0.06 else value for value in drawn]
    for name in ("st", "arr", "structs", "m"):
        columns[name] = [None if dice.random() < 0.1 else _nested(dice, name) for _ in range(count)]
    return pa.table(columns, SCHEMA)


def _sorted(values: list[Any]) -> list[Any]:
    return sorted(values, key=lambda value: (value != value, value))  # noqa: PLR0124  (NaN)


def _nested(dice: random.Random, name: str) -> Any:
    def some(column: str) -> Any:
        return None if dice.random() < 0.15 else dice.choice(VALUES[column][:30])

    if name == "st":
        return {"x": some("i"), "s": some("s"), "day": some("day")}
    if name == "arr":
        return [dice.choice(_INTS) for _ in range(dice.randint(0, 4))]  # Hudi writes no null here
    if name == "structs":
        return [{"n": some("l"), "t": some("s")} for _ in range(dice.randint(0, 3))]
    return [(text, some("i")) for text in dice.sample(["", "a", "b", "A"], dice.randint(0, 3))]
