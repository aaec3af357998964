"""Expressions of a plan: the names that they use, and conditions as texts of filters."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from datetime import date, datetime, timedelta, timezone
from math import isfinite
from typing import Any

from hudi_pyspark.spark.connect.names_in_sql import (
    SqlNames,
    UnclearError,
    scan_expression,
    scan_statement,
    unquoted,
)
from hudi_pyspark.spark.hints import Path

_PART = r"(?:`(?:[^`]|``)+`|[^.`]+)"
_ATTRIBUTE = re.compile(rf"{_PART}(?:\.{_PART})*")
_KNOWN = frozenset(
    {
        "alias", "call_function", "cast", "common_inline_user_defined_function",
        "direct_shuffle_partition_id", "lambda_function", "literal", "merge_action",
        "named_argument_expression", "sort_order", "subquery_expression",
        "unresolved_extract_value", "unresolved_function", "unresolved_named_lambda_variable",
        "update_fields", "window",
    }
)  # fmt: skip
_OF_ATTRIBUTES = frozenset({"plan_id", "unparsed_identifier"})
# Relations whose texts are names of columns.
_NAMING = frozenset({"Deduplicate", "Join", "Rename", "WithColumnsRenamed", "WithWatermark"})

# Keys of these kinds are no positions, if they use a column.
_KEYS = frozenset(
    {
        "call_function", "cast", "common_inline_user_defined_function", "unresolved_attribute",
        "unresolved_extract_value", "unresolved_function",
    }
)  # fmt: skip
_NAME = re.compile(r"[^\W\d]\w*|`[^`]+`")
# Spark takes a key of this name for all columns, where no column has it.
_ALL = ("all",)

# By function and number of literals.
_TEXTS = {
    **{(sign, 1): f" {sign} {{}}" for sign in ("==", "<=>", "<", "<=", ">", ">=")},
    ("in", 1): " IN ({})",
    ("isNotNull", 0): " IS NOT NULL",
    ("isNull", 0): " IS NULL",
    ("like", 1): " LIKE {}",
}
# Functions of conditions. In Spark 4.0 and 4.1 those of a session may take their place.
OPERATORS = frozenset({name.lower() for name, _ in _TEXTS} | {"and", "not", "or"})
# What Spark's parser reads in different ways, by its settings.
_AMBIGUOUS = ("\\", '"', "''", "\n")
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
# The server makes java.sql.Date and Timestamp of literals, in the zone of its JVM. Before 1900 they
# differ from Spark's by calendar and local mean time; a day that a zone left out becomes another.
_FIRST_YEAR = 1900
_DAYS_LEFT_OUT = frozenset(
    {date(1993, 8, 20), date(1993, 8, 21), date(1994, 12, 31), date(1995, 1, 1), date(2011, 12, 30)}
)
_DECIMAL = re.compile(r"-?\d+(\.\d+)?")


class Names:
    """Names that messages of protobuf use; those of relations that SQL is ``given`` are known."""

    def __init__(self, given: Collection[str] = ()) -> None:
        self.paths: set[Path] = set()  # of columns and fields, with aliases and the like
        self.has_star = False  # whether they also use every column of their input
        self._given = given

    def add(self, message: Any, *, with_relations: bool = False) -> Names:  # noqa: ANN401
        """Collect the names of a message; UnclearError if it may use others that it has not.

        Those of relations inside it are among them only ``with_relations``.
        """
        kind = message.DESCRIPTOR.name
        if kind == "SQL":
            self._add_text(scan_statement(message.query, self._given))
        if kind == "Expression" and self._add_expression(message):
            return self
        for field, value in message.ListFields():
            for part in parts_of(value) if field.name != "common" else ():
                if isinstance(part, str):
                    self.paths |= {(part.lower(),)} if kind in _NAMING else set()
                elif part.DESCRIPTOR.name != "Relation" or with_relations:
                    self.add(part, with_relations=with_relations)
        return self

    def _add_expression(self, message: Any) -> bool:  # noqa: ANN401
        """Collect the names of an expression; return False if they are those of its parts."""
        kind = message.WhichOneof("expr_type")
        path = attribute_path(message)
        if path is not None:
            # Too many columns are right, so the case does not matter.
            self.paths.add(tuple(part.lower() for part in path))
        elif kind == "expression_string":
            self._add_text(scan_expression(message.expression_string.expression))
        elif kind in ("unresolved_star", "unresolved_regex"):
            self.has_star = True
        elif kind not in _KNOWN:
            raise UnclearError(f"unknown expression {kind}")
        else:
            return kind == "literal" or _counts_rows(message)
        return True

    def _add_text(self, scanned: SqlNames) -> None:
        self.paths |= scanned.paths
        self.has_star |= scanned.has_star


def names_key(expression: Any) -> bool:  # noqa: ANN401
    """Return whether a key to sort or group by is a value of columns, and not a position.

    Spark takes an integer for a position in the input, and the name ``all`` for all columns.
    """
    if expression.DESCRIPTOR.name == "SortOrder":
        return names_key(expression.child)
    kind = expression.WhichOneof("expr_type")
    if kind == "sort_order":
        return names_key(expression.sort_order)
    if kind == "alias":
        return names_key(expression.alias.expr)
    if kind == "expression_string":
        return bool(_NAME.fullmatch(text := expression.expression_string.expression)) and (
            (unquoted(text).lower(),) != _ALL
        )
    paths = Names().add(expression).paths if kind in _KEYS else set()
    return bool(paths) and (kind != "unresolved_attribute" or paths != {_ALL})


def parts_of(value: Any) -> Iterator[Any]:  # noqa: ANN401
    """Yield the messages and texts in a field: one, several, or the keys and values of a map."""
    if hasattr(value, "items"):
        values = [*value.keys(), *value.values()]
    elif hasattr(value, "append"):
        values = value
    else:
        values = [value]
    for part in values:
        if isinstance(part, str) or hasattr(part, "DESCRIPTOR"):
            yield part


def attribute_path(expression: Any) -> Path | None:  # noqa: ANN401
    """Return the path of a column or of its field; None for any other expression."""
    kind = expression.WhichOneof("expr_type")
    if kind == "unresolved_attribute":
        attribute = expression.unresolved_attribute
        if any(
            value and field.name not in _OF_ATTRIBUTES for field, value in attribute.ListFields()
        ):
            raise UnclearError("a hidden column")
        return split_name(attribute.unparsed_identifier)
    if kind == "unresolved_extract_value":
        field = expression.unresolved_extract_value.extraction.literal
        path = attribute_path(expression.unresolved_extract_value.child)
        if path is not None and field.WhichOneof("literal_type") == "string":
            return (*path, field.string)
    return None


def split_name(text: str) -> Path:
    """Split a dotted name, whose parts may be in backticks; UnclearError for any other text."""
    if not _ATTRIBUTE.fullmatch(text):
        raise UnclearError(f"not a name: {text}")
    return tuple(unquoted(part) for part in re.findall(_PART, text))


def _counts_rows(expression: Any) -> bool:  # noqa: ANN401
    """Return whether an expression is ``count(*)``."""
    function = expression.unresolved_function
    is_count = function.function_name.lower() == "count" and not function.is_distinct
    return is_count and [*map(is_star, function.arguments)] == [True]


def is_star(expression: Any) -> bool:  # noqa: ANN401
    """Return whether an expression is all columns, those of no particular table."""
    is_one = expression.WhichOneof("expr_type") == "unresolved_star"
    return is_one and not expression.unresolved_star.ListFields()


def condition_texts(expression: Any, *, by_function: bool) -> Iterator[str]:  # noqa: ANN401
    """Yield texts of filters that all rows pass for which an expression is true, if any.

    Only ``by_function`` where the operators of expressions are Spark's own functions.
    """
    for part in _chain(expression, "and") if by_function else [expression]:
        is_text = part.WhichOneof("expr_type") == "expression_string"
        text = part.expression_string.expression if is_text else by_function and _text(part)
        if text and not any(sign in text for sign in (_AMBIGUOUS if is_text else "\n")):
            yield text


def _text(expression: Any) -> str | None:  # noqa: ANN401
    if expression.WhichOneof("expr_type") == "unresolved_attribute":
        return _column(expression)  # a boolean
    name = expression.unresolved_function.function_name
    arguments = list(expression.unresolved_function.arguments)
    if name == "not":
        inner = _text(arguments[0])
        return inner and f"NOT ({inner})"
    if name in ("and", "or"):
        parts = [_text(part) for part in _chain(expression, name)]
        return f" {name.upper()} ".join(f"({part})" for part in parts) if all(parts) else None
    column = _column(arguments[0]) if arguments else None
    literals = [_literal(argument.literal) for argument in arguments[1:]]
    make = _TEXTS.get((name, 1 if name == "in" else len(literals)))
    if column is None or make is None or not all(literals):
        return None
    return column + make.format(", ".join(map(str, literals)))


def _chain(expression: Any, name: str) -> Iterator[Any]:  # noqa: ANN401
    """Yield the parts that one operator joins, in order: Python's ``a | b | c`` is left-deep."""
    waiting = [expression]
    while waiting:
        part = waiting.pop()
        if part.unresolved_function.function_name == name:
            waiting += reversed(part.unresolved_function.arguments)
        else:
            yield part


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
    exponent = "" if "e" in repr(value) else "e0"  # without one it would be a decimal
    return f"{value!r}{exponent}" if isfinite(value) else ""


def _in_calendar(kind: str, make: Callable[[], date]) -> str:
    """Return a date or a time as a literal; "" if the server may understand another one by it."""
    try:
        value = make()
    except OverflowError:
        return ""  # beyond the year 9999
    return f"{kind} '{value}'" if value.year >= _FIRST_YEAR and value not in _DAYS_LEFT_OUT else ""


def _string(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


_LITERALS: dict[str, Callable[[Any], str]] = {
    "boolean": lambda value: str(value).lower(),
    "byte": str,
    "date": lambda days: _in_calendar("DATE", lambda: date(1970, 1, 1) + timedelta(days)),
    "decimal": lambda value: str(value.value) if _DECIMAL.fullmatch(value.value) else "",
    "double": _double,
    "integer": str,
    "long": str,
    "short": str,
    "string": _string,
    "timestamp": lambda value: _in_calendar(
        "TIMESTAMP", lambda: _EPOCH + timedelta(microseconds=value)
    ),
}
