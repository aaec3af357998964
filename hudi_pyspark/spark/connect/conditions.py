"""Conditions of a plan as texts of filters."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, timezone
from math import isfinite
from typing import TYPE_CHECKING, Any

from hudi_pyspark.spark.connect.names import attribute_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# By function and number of literals.
_TEXTS = {
    **{(sign, 1): f" {sign} {{}}" for sign in ("==", "<=>", "<", "<=", ">", ">=")},
    ("in", 1): " IN ({})",
    ("isNotNull", 0): " IS NOT NULL",
    ("isNull", 0): " IS NULL",
    ("like", 1): " LIKE {}",
}
# What Spark's parser reads in different ways, by its settings.
_AMBIGUOUS = ("\\", '"', "''", "\n")
_DECIMAL = re.compile(r"-?\d+(\.\d+)?")


def condition_texts(expression: Any) -> Iterator[str]:  # noqa: ANN401  (protobuf)
    """Yield texts of filters that all rows pass for which an expression is true.

    Args:
        expression: of a plan; what has no text as a filter is left out.
    """
    function = expression.unresolved_function
    if expression.WhichOneof("expr_type") == "expression_string":
        text = expression.expression_string.expression
        if not any(sign in text for sign in _AMBIGUOUS):
            yield text
    elif function.function_name == "and":
        for part in function.arguments:
            yield from condition_texts(part)
    else:
        text = _text(expression)
        if text is not None and "\n" not in text:
            yield text


def _text(expression: Any) -> str | None:  # noqa: ANN401
    if expression.WhichOneof("expr_type") == "unresolved_attribute":
        return _column(expression)  # a boolean
    name = expression.unresolved_function.function_name
    arguments = list(expression.unresolved_function.arguments)
    if name in ("and", "or", "not"):
        parts = [_text(part) for part in arguments]
        bracketed = [f"({part})" for part in parts if part is not None]
        joined = (
            f" {name.upper()} ".join(bracketed) if name != "not" else "NOT " + "".join(bracketed)
        )
        return joined if len(bracketed) == len(arguments) else None
    column = _column(arguments[0]) if arguments else None
    literals = [_literal(argument.literal) for argument in arguments[1:]]
    make = _TEXTS.get((name, 1 if name == "in" else len(literals)))
    if column is None or make is None or not all(literals):
        return None
    return column + make.format(", ".join(map(str, literals)))


def _column(expression: Any) -> str | None:  # noqa: ANN401
    path = attribute_path(expression)
    if path is None or len(path) != 1:
        return None  # of a struct, or with an alias before it: only Spark knows
    return f"`{path[0].replace('`', '``')}`"


def _literal(literal: Any) -> str:  # noqa: ANN401
    """Return a literal in the grammar of filters; "" for a type that they do not have."""
    kind = literal.WhichOneof("literal_type")
    make = _LITERALS.get(kind)
    return make(getattr(literal, kind)) if make else ""


def _double(value: float) -> str:
    text = repr(value)
    if not isfinite(value):
        return ""
    return text if "e" in text else f"{text}e0"  # otherwise it would be a decimal


def _string(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _date(days: int) -> str:
    return f"DATE '{date(1970, 1, 1) + timedelta(days)}'"


def _timestamp(microseconds: int) -> str:
    start = datetime(1970, 1, 1, tzinfo=timezone.utc)
    return f"TIMESTAMP '{start + timedelta(microseconds=microseconds)}'"


_LITERALS: dict[str, Callable[[Any], str]] = {
    "boolean": lambda value: str(value).lower(),
    "byte": str,
    "date": _date,
    "decimal": lambda value: str(value.value) if _DECIMAL.fullmatch(value.value) else "",
    "double": _double,
    "integer": str,
    "long": str,
    "short": str,
    "string": _string,
    "timestamp": _timestamp,
}
