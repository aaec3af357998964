"""Filters made of a golden query's own values, with what they mean row by row, in plain Python."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hudi_pyspark import HudiTable
from tests.golden.compare import differences

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path
    from random import Random

    from tests.golden.case import Query

    Row = dict[str, Any]

_SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Filter:
    """A filter's text, and whether it holds for a row; None is SQL's null."""

    text: str
    holds: Callable[[Row], bool | None]


def filtered_differences(query: Query, path: Path, filters: Iterable[Filter]) -> dict[str, Any]:
    """What filtered reads give, against Apache Hudi's rows filtered here; {} if nothing differs."""
    table = HudiTable(str(path))
    expected = query.expected_rows()
    schema = query.expected_schema()
    rows = expected.to_pylist()
    found = {}
    for each in filters:
        scan = table.scan(**query.options, filter=each.text)
        answer = scan.to_batches(threads=1).read_all()
        kept = pa.array([each.holds(row) is True for row in rows], pa.bool_())
        found[each.text] = differences(answer, expected.filter(kept), schema)
    return {text: problems for text, problems in found.items() if problems}


def filters_of(expected: pa.Table, *, per_column: int = 1) -> Iterator[Filter]:
    """Filters on every column of a scalar type, and some that join two columns."""
    leaves = []
    for index, name in enumerate(expected.schema.names):
        values = [v for v in _values(expected.column(name)) if _literal(v) is not None]
        if not values:
            continue
        found = list(_leaves(name, values, index))
        # Every kind of filter comes up for some column; all of them for each would take minutes.
        chosen = [found[(index + k * 5) % len(found)] for k in range(per_column)]
        yield from chosen
        leaves += chosen[:1]
    for left, right in zip(leaves[::3], leaves[1::3], strict=False):
        yield _both(left, right)
        yield _either(left, right)
        yield _not(_both(left, right))


def random_filter(expected: pa.Table, rng: Random, *, depth: int = 2) -> Filter:
    """A filter over the rows' own values, values beside them, and nulls."""
    kind = rng.random()
    if depth and kind < 0.45:
        left, right = (random_filter(expected, rng, depth=depth - 1) for _ in range(2))
        return _both(left, right) if kind < 0.3 else _either(left, right)
    if depth and kind < 0.55:
        return _not(random_filter(expected, rng, depth=depth - 1))
    while True:
        name = rng.choice(expected.schema.names)
        values = _values(expected.column(name))
        values = [v for v in values if _literal(v) is not None] or values  # not infinity
        if not values:
            if name in _plain_columns(expected):
                return rng.choice([_is_null(name), _is_not_null(name)])
        elif _literal(values[0]) is not None:
            return _random_leaf(name, values, rng)


def _random_leaf(name: str, values: list[Any], rng: Random) -> Filter:
    some = [rng.choice(_beside(rng.choice(values))) for _ in range(rng.randint(1, 3))]
    kind = rng.random()
    if kind < 0.1:
        return _is_null(name)
    if kind < 0.2:
        return _is_not_null(name)
    if kind < 0.4:
        return _in(name, some)
    sign = "=" if kind < 0.7 else rng.choice(list(_SIGNS))
    return _comparison(name, sign, some[0])


def _beside(value: Any) -> list[Any]:
    """The value, mostly, and a neighbour that no row may have."""
    if isinstance(value, int) and not isinstance(value, bool):
        return [value, value, value, value - 1, value + 1]
    if isinstance(value, str):
        return [value, value, value, f"{value}0"]
    if isinstance(value, date):
        day = timedelta(days=-1 if value.year == date.max.year else 1)
        return [value, value, value, value + day]
    return [value]


def _plain_columns(expected: pa.Table) -> set[str]:
    return {f.name for f in expected.schema if not pa.types.is_nested(f.type)}


def _is_null(name: str) -> Filter:
    return Filter(f"`{name}` IS NULL", lambda row: row[name] is None)


def _is_not_null(name: str) -> Filter:
    return Filter(f"`{name}` IS NOT NULL", lambda row: row[name] is not None)


def _values(column: pa.ChunkedArray) -> list[Any]:
    found = [v for v in column.to_pylist() if v is not None and not _is_nan(v)]
    try:
        return sorted(set(found))
    except TypeError:
        return []


def _leaves(name: str, values: list[Any], index: int) -> Iterator[Filter]:
    first = values[0]
    last = values[-1]
    middle = values[len(values) // 2]
    for sign in _SIGNS:
        yield _comparison(name, sign, (first, middle, last)[index % 3])
    for listed in ([middle], values[:2]):
        yield _in(name, listed)
        yield _not(_in(name, listed))
    yield _is_null(name)
    yield _is_not_null(name)
    yield _not(_comparison(name, "<", middle))


def _comparison(name: str, sign: str, value: Any) -> Filter:
    compare = _SIGNS[sign]

    def holds(row: Row) -> bool | None:
        return None if row[name] is None else compare(_ordered(row[name]), _ordered(value))

    return Filter(f"`{name}` {sign} {_literal(value)}", holds)


def _in(name: str, values: list[Any]) -> Filter:
    texts = ", ".join(str(_literal(value)) for value in values)
    return Filter(
        f"`{name}` IN ({texts})", lambda row: None if row[name] is None else row[name] in values
    )


def _not(inner: Filter) -> Filter:
    def holds(row: Row) -> bool | None:
        result = inner.holds(row)
        return None if result is None else not result

    return Filter(f"NOT ({inner.text})", holds)


def _both(left: Filter, right: Filter) -> Filter:
    def holds(row: Row) -> bool | None:
        results = [left.holds(row), right.holds(row)]
        return False if False in results else None if None in results else True

    return Filter(f"({left.text}) AND ({right.text})", holds)


def _either(left: Filter, right: Filter) -> Filter:
    def holds(row: Row) -> bool | None:
        results = [left.holds(row), right.holds(row)]
        return True if True in results else None if None in results else False

    return Filter(f"({left.text}) OR ({right.text})", holds)


def _ordered(value: Any) -> Any:
    """Spark's order: NaN after every other number."""
    return (_is_nan(value), 0 if _is_nan(value) else value) if isinstance(value, float) else value


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _literal(value: Any) -> str | None:
    """The value as a literal of a filter; None for a type that filters do not compare."""
    spell = next((spell for kind, spell in _LITERALS if isinstance(value, kind)), None)
    return spell(value) if spell is not None else None


def _double(value: float) -> str | None:
    if not math.isfinite(value):
        return None
    return repr(value) if "e" in repr(value) else f"{value!r}e0"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


# The first that fits: a bool is an int too, and a datetime a date.
_LITERALS: tuple[tuple[type, Callable[[Any], str | None]], ...] = (
    (bool, lambda value: str(value).lower()),
    (float, _double),
    (int, str),
    (Decimal, "{:f}".format),
    (str, _quoted),
    (datetime, lambda value: f"TIMESTAMP '{value.isoformat(sep=' ')}'"),
    (date, "DATE '{}'".format),
    (bytes, lambda value: f"X'{value.hex()}'"),
)
