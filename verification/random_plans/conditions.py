"""Random conditions on the table of ends, for Spark, the option ``filter``, DuckDB and polars."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

from verification.random_plans.extremes import COUNT, SCHEMA, VALUES

if TYPE_CHECKING:
    import random

    import polars as pl
    from pyspark.sql import Column

_SIGNS = ["=", "<>", "<", "<=", ">", ">=", "IN", "NOT IN", "BETWEEN", "IS NULL", "IS NOT NULL"]
_KEYS = [f"k{number:04}" for number in range(-1, COUNT + 9)]
_VALUES: dict[str, list[Any]] = {**VALUES, "k": _KEYS, "part": ["a", "b", "it's", "ü", "d=e", ""]}
_FIELDS = {"st.x": "i", "st.s": "s", "st.day": "day"}
_MOST_TERMS = 1_000
# What only Spark computes; names and literals as in the table.
_COMPUTED = [
    "get(arr, 0) = 7", "size(arr) > 1", "array_contains(arr, 0)", "get(structs, 0).n >= 0",
    "structs.t[0] = 'a'", "coalesce(i, 7) = 7", "coalesce(day, DATE '1582-10-10') < at",
    "CASE WHEN flag THEN i > 0 ELSE l > 0 END", "nullif(s, 'a') IS NULL", "length(s) > 4096",
    "CAST(dec5 AS double) < d", "i = l", "year(day) < 1900", "upper(s) = 'AB'", "i + 0L > 0",
    "st IS NULL", "exists(arr, x -> x < 0)", "if(flag, s, k) LIKE 'k%'", "-d > 0", "isnan(f)",
]  # fmt: skip
# Literals of other types than their columns: what is compared depends on ANSI, or is an error.
_CONVERTED = [
    "i = '7'", "l > '1.5'", "day = '1582-10-10'", "at < '1900-01-01'", "wall >= '9999-12-31'",
    "dec5 = 1.1e0", "f = 1.1", "f IN (0.1, 16777217)", "d = 546740.69", "day < at", "s = 1",
    "day IN ('0001-01-01', '9999-12-31')", "i IN (1, '7', 0.5)", "flag = 1", "dec18 <= 546740.69e0",
    "at = DATE '1970-01-01'", "s > DATE '2024-02-29'", "l = 9007199254740993e0", "dec38 > 1e37",
    "wall < TIMESTAMP '1883-11-18 00:00:00'", "octets = 'a'", "st.x = '7'", "s IN (1, '01')",
]  # fmt: skip


@dataclass(frozen=True)
class Term:
    """A comparison of a column with literals of its type."""

    column: str
    sign: str
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Text:
    """A condition that only Spark's SQL can say."""

    text: str


@dataclass(frozen=True)
class Joined:
    """Conditions that AND or OR join, or one after NOT."""

    operator: str
    parts: tuple[Condition, ...]


Condition: TypeAlias = Term | Text | Joined


def random_condition(dice: random.Random, *, spark: bool = True) -> Condition:
    """Return a condition of one term to a thousand."""
    most = dice.choices([3, 12, 100, _MOST_TERMS], [60, 30, 9, 1])[0]
    parts: list[Condition] = [_term(dice, spark=spark) for _ in range(dice.randint(1, most))]
    while len(parts) > 1:
        begin = dice.randrange(len(parts) - 1)
        end = begin + dice.randint(2, 6)
        joined: Condition = Joined(dice.choice(["AND", "OR"]), tuple(parts[begin:end]))
        parts[begin:end] = [Joined("NOT", (joined,)) if dice.random() < 0.15 else joined]
    return parts[0]


def converted(dice: random.Random) -> Condition:
    """Return a condition whose literals Spark converts, or refuses."""
    parts = [Text(dice.choice(_CONVERTED)), _term(dice, spark=True)]
    dice.shuffle(parts)
    return Joined(dice.choice(["AND", "OR"]), tuple(parts))


def _term(dice: random.Random, *, spark: bool) -> Condition:
    if spark and dice.random() < 0.1:
        return Text(dice.choice(_COMPUTED))
    column = dice.choice([*_VALUES, *_FIELDS])
    values = _VALUES[_FIELDS.get(column, column)]
    sign = dice.choice(_SIGNS)
    if isinstance(values[0], str) and dice.random() < 0.2:
        sign = "LIKE"
    if spark and dice.random() < 0.06:
        sign = "<=>"
    if isinstance(values[0], bool):
        sign = dice.choice(["=", "<>", "IS NULL", "IS NOT NULL"])
    count = {"BETWEEN": 2, "IS NULL": 0, "IS NOT NULL": 0}.get(sign, 1)
    if sign.endswith("IN"):
        count = dice.choices([3, 40, 1_000], [90, 9, 1])[0]
    found = [_near(dice, dice.choice(values), column) for _ in range(count)]
    if sign == "LIKE":
        text = found[0][:3].replace("\\", "")
        found = [dice.choice([f"{text}%", f"%{text}", f"%{text}%", text, f"{text}_"])]
    return Term(column, sign, tuple(found))


def _near(dice: random.Random, value: Any, column: str) -> Any:  # noqa: PLR0911  (by type)
    """Return a value, or often one beside it that its type has, too."""
    if dice.random() < 0.6 or isinstance(value, bool):
        return value
    step = dice.choice([-1, 1])
    if isinstance(value, int):
        limit = 63 if column == "l" else 31
        return min(max(value + step, -(2**limit)), 2**limit - 1)
    if isinstance(value, float):
        # A neighbour of a float of 32 bits has more digits than the column's type.
        return value if column == "f" else math.nextafter(value, step * math.inf)
    if isinstance(value, Decimal):
        least = Decimal(1).scaleb(int(value.as_tuple().exponent))
        return value + step * least if abs(value) < 9 else value
    if isinstance(value, datetime | date):
        try:
            return value + step * dice.choice([timedelta(days=1), timedelta(microseconds=1)])
        except OverflowError:
            return value
    if isinstance(value, str):
        return dice.choice([value[:-1], value + "a", value.upper()])
    return value + b"\x00"


def has_special_numbers(condition: Condition) -> bool:
    """Return whether a literal is NaN or infinite, which only functions can say in SQL."""
    if isinstance(condition, Joined):
        return any(map(has_special_numbers, condition.parts))
    values = condition.values if isinstance(condition, Term) else ()
    return any(isinstance(value, float) and not math.isfinite(value) for value in values)


def to_sql(condition: Condition, dialect: str = "spark") -> str:
    """Return the condition in SQL of Spark, of the option ``filter``, or of DuckDB."""
    match condition:
        case Text(text):
            return f"({text})"
        case Joined("NOT", (part,)):
            return f"NOT ({to_sql(part, dialect)})"
        case Joined(operator, parts):
            return f" {operator} ".join(f"({to_sql(part, dialect)})" for part in parts)
        case Term(column, sign, values):
            texts = [_literal(value, column, dialect) for value in values]
            if sign.endswith("IN"):
                return f"{column} {sign} ({', '.join(texts)})"
            if sign == "BETWEEN":
                return f"{column} BETWEEN {texts[0]} AND {texts[1]}"
            return " ".join([column, sign, *texts])
    raise AssertionError(condition)


def _literal(value: Any, column: str, dialect: str) -> str:  # noqa: C901, PLR0911  (by type)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        is_short = column == "f" and dialect != "filter"
        if is_short or not math.isfinite(value):
            return f"CAST('{value}' AS {'FLOAT' if column == 'f' else 'DOUBLE'})"
        return repr(value) if "e" in repr(value) else f"{value!r}e0"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Decimal):
        text = f"{value:f}"
        data_type = SCHEMA.field(column).type
        whole = f"DECIMAL({data_type.precision}, {data_type.scale})"
        return f"CAST('{text}' AS {whole})" if dialect == "duckdb" else text
    if isinstance(value, datetime):
        zone = "+00:00" if value.tzinfo else ""
        kind = "TIMESTAMP" if value.tzinfo else "TIMESTAMP_NTZ"
        if dialect == "duckdb":
            kind = "TIMESTAMPTZ" if value.tzinfo else "TIMESTAMP"
        return f"{kind} '{value.replace(tzinfo=None).isoformat(' ')}{zone}'"
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, bytes):
        if dialect == "duckdb":
            return "'" + "".join(f"\\x{byte:02X}" for byte in value) + "'::BLOB"
        return f"X'{value.hex()}'"
    doubled = value.replace("'", "''")
    spark = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{doubled if dialect == 'duckdb' else spark}'"


def to_column(condition: Condition) -> Column:
    """Return the condition as a column of Spark, with literals of Python."""
    from pyspark.sql import functions as sf

    match condition:
        case Text(text):
            return sf.expr(text)
        case Joined("NOT", (part,)):
            return ~to_column(part)
        case Joined(operator, parts):
            whole = to_column(parts[0])
            for part in parts[1:]:
                whole = whole & to_column(part) if operator == "AND" else whole | to_column(part)
            return whole
        case Term(column, sign, values):
            made = [sf.lit(v) if isinstance(v, bytes) else v for v in values]  # for Connect
            return _spark_term(sf.col(column), sign, tuple(made))
    raise AssertionError(condition)


def _spark_term(  # noqa: PLR0911  (by sign)
    column: Column, sign: str, values: tuple[Any, ...]
) -> Column:
    match sign:
        case "IS NULL":
            return column.isNull()
        case "IS NOT NULL":
            return column.isNotNull()
        case "IN":
            return column.isin(*values)
        case "NOT IN":
            return ~column.isin(*values)
        case "BETWEEN":
            return column.between(*values)
        case "LIKE":
            return column.like(values[0])
        case "<=>":
            return column.eqNullSafe(values[0])
        case _:
            compared: Column = _compared(column, sign, values)
            return compared


def _compared(column: Any, sign: str, values: tuple[Any, ...]) -> Any:
    (value,) = values
    ways = {
        "=": "__eq__", "<>": "__ne__", "<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__",
    }  # fmt: skip
    return getattr(column, ways[sign])(value)


def to_polars(condition: Condition) -> pl.Expr:  # noqa: PLR0911  (by sign)
    """Return the condition as an expression of polars."""
    import polars as pl

    match condition:
        case Joined("NOT", (part,)):
            return ~to_polars(part)
        case Joined(operator, parts):
            whole = to_polars(parts[0])
            for part in parts[1:]:
                whole = whole & to_polars(part) if operator == "AND" else whole | to_polars(part)
            return whole
        case Term(column, sign, values):
            head, _, field = column.partition(".")
            expression = pl.col(head).struct.field(field) if field else pl.col(head)
            if sign.endswith("IN"):
                found = expression.is_in(list(values))
                return ~found if sign == "NOT IN" else found
            if sign == "BETWEEN":
                low, high = map(pl.lit, values)  # a text alone names a column
                return expression.is_between(low, high)
            if sign == "LIKE":
                return expression.str.starts_with(values[0].strip("%_"))
            if sign == "IS NULL":
                return expression.is_null()
            if sign == "IS NOT NULL":
                return expression.is_not_null()
            compared: pl.Expr = _compared(expression, sign, values)
            return compared
    raise AssertionError(condition)
