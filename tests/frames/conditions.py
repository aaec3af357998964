"""Random conditions on the columns of a table, in the words of any engine."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

_SIGNS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
UTC = timezone.utc

# Every type that predicates compare, with the values that engines treat differently.
TABLE = pa.table(
    {
        "i": pa.array([1, 2, -3, None, 2**31 - 1, 0, 7, None], pa.int32()),
        "l": pa.array([1, 2**53, 2**53 + 1, None, -(2**63), 2**63 - 1, 5, 0], pa.int64()),
        "f": pa.array(
            [1.5, float("nan"), -0.0, 0.0, None, float("inf"), float("-inf"), 2e9], pa.float64()
        ),
        "g": pa.array([1.5, float("nan"), -0.0, 0.0, None, 16777216, 0.1, 3], pa.float32()),
        "s": pa.array(["a", "", None, "ab", "a%", "B", "é", "a_b\\"]),
        "b": pa.array([True, False, None, True, False, None, True, False]),
        "d": pa.array([date(2020, 1, day) if day < 8 else None for day in range(1, 9)]),
        "t": pa.array(
            [datetime(2020, 1, 1, hour, tzinfo=UTC) if hour else None for hour in range(8)],
            pa.timestamp("us", "UTC"),
        ),
        "n": pa.array(
            [datetime(2020, 1, 1, 0, 0, s, 5) if s else None for s in range(8)],  # noqa: DTZ001
            pa.timestamp("us"),
        ),
        "m": pa.array([Decimal(f"{x}.10") if x else None for x in range(8)], pa.decimal128(10, 2)),
        "y": pa.array([b"", b"\x00", b"ab", None, b"b", b"c", b"\xff", b"a"], pa.binary()),
    }
)


@dataclass(frozen=True)
class Words:
    """How an engine writes what is not an operator of Python."""

    field: Callable[[str], Any]
    is_in: Callable[[Any, list[Any]], Any]
    is_valid: Callable[[Any], Any]
    starts_with: Callable[[Any, str], Any]


PYARROW = Words(pc.field, lambda e, v: e.isin(v), lambda e: e.is_valid(), pc.starts_with)

Condition: TypeAlias = "Callable[[Words], Any]"


def random_condition(table: pa.Table, rng: Random, depth: int = 2) -> Condition:
    """A condition of the table's own values, values beside them, nulls and functions."""
    kind = rng.random()
    if depth and kind < 0.5:
        left, right = (random_condition(table, rng, depth - 1) for _ in range(2))
        if kind < 0.25:
            return lambda words: left(words) & right(words)
        return lambda words: left(words) | right(words)
    if depth and kind < 0.65:
        inner = random_condition(table, rng, depth - 1)
        return lambda words: ~inner(words)
    return _leaf(table, rng)


def _leaf(table: pa.Table, rng: Random) -> Condition:
    name = rng.choice([f.name for f in table.schema if not pa.types.is_nested(f.type)])
    kind = table.schema.field(name).type
    leaves: list[Condition] = [
        lambda words: words.field(name).is_null(),
        lambda words: words.is_valid(words.field(name)),
    ]
    some = [value for value in table.column(name).to_pylist() if value is not None]
    if some:
        sign = rng.choice(_SIGNS)
        value = _beside(rng.choice(some), rng)
        listed = [_beside(rng.choice(some), rng) for _ in range(rng.randint(1, 3))]
        leaves += [lambda words: sign(words.field(name), value)] * 4
        leaves += [lambda words: sign(value, words.field(name))]
        leaves += [lambda words: words.is_in(words.field(name), listed)]
        leaves += [lambda words: words.is_in(words.field(name), [*listed, None])]
    if pa.types.is_boolean(kind):
        leaves += [lambda words: words.field(name)] * 2
    if pa.types.is_floating(kind):
        leaves += [lambda words: words.field(name).is_nan()]
    if pa.types.is_integer(kind):
        leaves += [lambda words: words.field(name) / 3 > 0]
    if pa.types.is_string(kind) and some:
        prefix = rng.choice(some)[: rng.randint(0, 3)]
        leaves += [lambda words: words.starts_with(words.field(name), prefix)]
    return rng.choice(leaves)


def _beside(value: Any, rng: Random) -> Any:
    """The value, mostly, or one next to it."""
    steps: dict[type, Any] = {
        int: 1,
        float: 0.5,
        Decimal: Decimal("0.001"),
        datetime: timedelta(microseconds=1),
        date: timedelta(days=1),
    }
    step = steps.get(type(value))
    is_end = isinstance(value, int) and abs(value) >= 2**31 - 1
    if step is None or is_end or rng.random() < 0.6:
        return value
    return value + rng.choice([step, -step])
