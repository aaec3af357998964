"""Conditions as values, and how SQL and Python say them.

SQL is that of Spark, of the option ``filter`` or of DuckDB; Python is that of Spark's columns or of
polars.
"""

from __future__ import annotations

import datetime
import decimal
import math
import random
import re
import zoneinfo
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

SIGNS = ("=", "<>", "<", "<=", ">", ">=")
# What the Python of a condition may name, beside the engine's functions.
PYTHON_NAMES = {
    "datetime": datetime,
    "Decimal": decimal.Decimal,
    "zoneinfo": zoneinfo,
    "nan": math.nan,
    "inf": math.inf,
}
# Functions that the API calls like SQL.
_CALL = re.compile(r"(coalesce|greatest|nullif|upper|length|year|size|min|max|count)\(([^()']*)\)")
_CAST = re.compile(r"CAST\(([\w.]+) AS ([a-z]+(?:\([0-9, ]+\))?)\)")
_NAME = re.compile(r"[A-Za-z_][\w.]*")


@dataclass(frozen=True)
class Term:
    """A comparison with literals.

    Attributes:
        ref: what is compared; text of SQL.
        type: of a column; None for an expression.
        sign: of the comparison.
        values: of the literals.
    """

    ref: str
    type: pa.DataType | None
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


def joined(dice: random.Random, parts: list[Condition]) -> Condition:
    """Join conditions in a random tree."""
    while len(parts) > 1:
        begin = dice.randrange(len(parts) - 1)
        end = begin + dice.randint(2, 6)
        whole: Condition = Joined(dice.choice(["AND", "OR"]), tuple(parts[begin:end]))
        if dice.random() < 0.15:
            whole = Joined("NOT", (whole,))
        parts[begin:end] = [whole]
    return parts[0]


def near(dice: random.Random, value: Any, data_type: pa.DataType | None) -> Any:  # noqa: PLR0911
    """Return a value, or often one beside it that its type has as well."""
    if dice.random() < 0.6 or isinstance(value, bool):
        return value
    step = dice.choice([-1, 1])
    if isinstance(value, int):
        limit = 63 if data_type == pa.int64() else 31
        return min(max(value + step, -(2**limit)), 2**limit - 1)
    if isinstance(value, float):
        # A neighbour of a float of 32 bits has more digits than the column's type.
        return value if data_type == pa.float32() else math.nextafter(value, step * math.inf)
    if isinstance(value, decimal.Decimal):
        least = decimal.Decimal(1).scaleb(int(value.as_tuple().exponent))
        return value + step * least if abs(value) < 9 else value
    if isinstance(value, datetime.date):
        units = [datetime.timedelta(days=1), datetime.timedelta(microseconds=1)]
        try:
            return value + step * dice.choice(units)
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
    """Return a condition in SQL: of ``spark``, of the option ``filter``, or of ``duckdb``."""
    match condition:
        case Text(text):
            return f"({text})"
        case Joined("NOT", (part,)):
            return f"NOT ({to_sql(part, dialect)})"
        case Joined(operator, parts):
            return f" {operator} ".join(f"({to_sql(part, dialect)})" for part in parts)
        case Term(ref, data_type, sign, values):
            texts = [literal(value, data_type, dialect) for value in values]
            if sign.endswith("IN"):
                return f"{ref} {sign} ({', '.join(texts)})"
            if sign == "BETWEEN":
                return f"{ref} BETWEEN {texts[0]} AND {texts[1]}"
            return " ".join([ref, sign, *texts])
    raise AssertionError(condition)


def literal(  # noqa: C901, PLR0911  (by type)
    value: Any, data_type: pa.DataType | None = None, dialect: str = "spark"
) -> str:
    """Return a literal in SQL.

    Args:
        value: of Python.
        data_type: of the column that it is compared with, if that is known.
        dialect: see `to_sql`.
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        is_short = data_type == pa.float32()
        if not math.isfinite(value) or (is_short and dialect != "filter"):
            return f"CAST('{value}' AS {'FLOAT' if is_short else 'DOUBLE'})"
        return repr(value) if "e" in repr(value) else f"{value!r}e0"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, decimal.Decimal):
        text = f"{value:f}"
        if dialect != "duckdb" or data_type is None or not pa.types.is_decimal(data_type):
            return text
        return f"CAST('{text}' AS DECIMAL({data_type.precision}, {data_type.scale}))"
    if isinstance(value, datetime.datetime):
        zone = "+00:00" if value.tzinfo else ""
        kind = "TIMESTAMP" if value.tzinfo else "TIMESTAMP_NTZ"
        if dialect == "duckdb":
            kind = "TIMESTAMPTZ" if value.tzinfo else "TIMESTAMP"
        return f"{kind} '{value.replace(tzinfo=None).isoformat(' ')}{zone}'"
    if isinstance(value, datetime.date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, bytes):
        if dialect == "duckdb":
            return "'" + "".join(f"\\x{byte:02X}" for byte in value) + "'::BLOB"
        return f"X'{value.hex()}'"
    doubled = value.replace("'", "''")
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{doubled if dialect == 'duckdb' else escaped}'"


@dataclass(frozen=True)
class Words:
    """How the columns of an engine say a comparison that Python has no operator for."""

    is_null: str
    is_not_null: str
    is_in: str
    between: str
    starts: str
    null_safe: str


SPARK = Words(
    ".isNull()", ".isNotNull()", ".isin(*{})", ".between({}, {})", ".like({})", ".eqNullSafe({})"
)
POLARS = Words(
    ".is_null()", ".is_not_null()", ".is_in({})", ".is_between(pl.lit({}), pl.lit({}))",
    ".str.starts_with({})", ".eq_missing({})",
)  # fmt: skip


def to_python(condition: Condition, words: Words = SPARK) -> str:
    """Return a condition as Python, over columns of an engine."""
    match condition:
        case Text(text):
            return f"F.expr({text!r})"
        case Joined("NOT", (part,)):
            return f"~{to_python(part, words)}"
        case Joined(operator, parts):
            sign = " & " if operator == "AND" else " | "
            return f"({sign.join(to_python(part, words) for part in parts)})"
        case Term(ref, _, sign, values):
            return f"({_compared(ref, sign, values, words)})"
    raise AssertionError(condition)


def _compared(ref: str, sign: str, values: tuple[Any, ...], words: Words) -> str:
    column = api(ref) if words is SPARK else _of_polars(ref)
    if words is POLARS and sign == "LIKE":
        values = (values[0].strip("%_"),)
    # Spark Connect has no literals of bytes otherwise.
    texts = [
        f"F.lit({v!r})" if isinstance(v, bytes) and words is SPARK else repr(v) for v in values
    ]
    named = {
        "IS NULL": words.is_null,
        "IS NOT NULL": words.is_not_null,
        "BETWEEN": words.between,
        "LIKE": words.starts,
        "<=>": words.null_safe,
    }
    if sign in named:
        return column + named[sign].format(*texts)
    if sign.endswith("IN"):
        negation = "~" if sign == "NOT IN" else ""
        return negation + column + words.is_in.format(f"[{', '.join(texts)}]")
    return f"{column} {'==' if sign == '=' else '!=' if sign == '<>' else sign} {texts[0]}"


def _of_polars(ref: str) -> str:
    head, _, field = ref.partition(".")
    return f'pl.col("{head}").struct.field("{field}")' if field else f'pl.col("{head}")'


def api(text: str) -> str:
    """Return an expression as the API of Spark's columns says it; as its text if it is no call."""
    if _NAME.fullmatch(text):
        return f"F.col({text!r})"
    cast = _CAST.fullmatch(text)
    if cast:
        return f"F.col({cast[1]!r}).cast({cast[2]!r})"
    call = _CALL.fullmatch(text)
    if call is None:
        return f"F.expr({text!r})"
    name, arguments = call.groups()
    if arguments.startswith("DISTINCT "):
        return f"F.countDistinct({api(arguments.removeprefix('DISTINCT '))})"
    if arguments == "*":
        return 'F.count("*")'
    parts = (f"F.lit({each})" if each.isdigit() else api(each) for each in arguments.split(", "))
    return f"F.{name}({', '.join(parts)})"
