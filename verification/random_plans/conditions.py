"""Conditions as values, and how the dialects of SQL and Python say them."""

from __future__ import annotations

import datetime
import decimal
import math
import random
import re
import zoneinfo
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import pyarrow as pa

from verification.common.data import load_data
from verification.random_plans.columns import Column

SIGNS = ("=", "<>", "<", "<=", ">", ">=")
_FORMS = load_data(__file__, "grammar.toml")["dialects"]
_DIALECTS = {**_FORMS, **dict.fromkeys(("spark", "filter", "duckdb"), _FORMS["sql"])}
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
    """A comparison of a column with literals, of which it has the values."""

    column: Column
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


def say(condition: Condition, dialect: str = "spark") -> str:
    """Return a condition as a dialect says it.

    Args:
        condition: of all engines; only ``spark`` and ``columns`` say a `Text`.
        dialect: SQL of ``spark``, of the option ``filter`` or of ``duckdb``; Python over Spark's
            ``columns`` or over those of ``polars``.
    """
    forms = _DIALECTS[dialect]
    match condition:
        case Text(text):
            return str(forms["text"].format(text))
        case Joined("NOT", (part,)):
            return str(forms["NOT"].format(say(part, dialect)))
        case Joined(operator, parts):
            between = forms[operator]
            return f"({between.join(say(part, dialect) for part in parts)})"
        case Term(compared, sign, values):
            of_sql = partial(literal, data_type=compared.type, dialect=dialect)
            say_column, say_literal = _PYTHON.get(dialect, (str, of_sql))
            literals = list(map(say_literal, values))
            column = say_column(compared.ref)
            form = forms["signs"].get(sign, forms["sign"])
            return str(form.format(*literals, column=column, sign=sign, all=", ".join(literals)))
    raise AssertionError(condition)


def literal(  # noqa: C901, PLR0911  (by type)
    value: Any, data_type: pa.DataType | None = None, dialect: str = "spark"
) -> str:
    """Return a literal in SQL, by the type of the column that it is compared with; see `say`."""
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


def _of_columns(value: Any) -> str:
    # Spark Connect has no literals of bytes otherwise.
    return f"F.lit({value!r})" if isinstance(value, bytes) else repr(value)


# How Python says a column, or an expression, and a literal.
_PYTHON = {"columns": (api, _of_columns), "polars": (_of_polars, repr)}
