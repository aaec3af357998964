"""Find the names that expressions of a plan use, and write conditions as texts of filters."""

import re
from collections.abc import Callable, Collection, Iterator
from datetime import date, datetime, timedelta, timezone
from math import isfinite
from typing import Any

from hudi_pyspark.spark.connect import names_in_sql
from hudi_pyspark.spark.hints import FieldPath

_PART = r"(?:`(?:[^`]|``)+`|[^.`]+)"
_ATTRIBUTE = re.compile(rf"{_PART}(?:\.{_PART})*")
_KNOWN_EXPRESSIONS = frozenset(
    {
        "alias", "call_function", "cast", "common_inline_user_defined_function",
        "direct_shuffle_partition_id", "lambda_function", "literal", "merge_action",
        "named_argument_expression", "sort_order", "subquery_expression",
        "unresolved_extract_value", "unresolved_function", "unresolved_named_lambda_variable",
        "update_fields", "window",
    }
)  # fmt: skip
_ATTRIBUTE_FIELDS = frozenset({"plan_id", "unparsed_identifier"})
# Messages whose texts are names of columns.
_NAMING = frozenset({"Deduplicate", "Join", "Rename", "WithColumnsRenamed", "WithWatermark"})
# An expression of these kinds that uses a column is a value, not a position.
_VALUES = frozenset(
    {
        "call_function", "cast", "common_inline_user_defined_function", "unresolved_attribute",
        "unresolved_extract_value", "unresolved_function",
    }
)  # fmt: skip
_NAME = re.compile(r"[^\W\d]\w*|`[^`]+`")
# To Spark a key of this name stands for all columns, unless a column has the name.
_ALL = ("all",)
# Texts of conditions behind their column, by function and number of literals.
_TEXTS = {
    **{(sign, 1): f" {sign} {{}}" for sign in ("==", "<=>", "<", "<=", ">", ">=")},
    ("in", 1): " IN ({})",
    ("isNotNull", 0): " IS NOT NULL",
    ("isNull", 0): " IS NULL",
    ("like", 1): " LIKE {}",
}
OPERATORS = frozenset({name.lower() for name, _ in _TEXTS} | {"and", "not", "or"})
"""The functions of conditions, in lower case.

In Spark 4.0 and 4.1 a function of the session may replace one of them.
"""
# Signs whose meaning depends on settings of Spark's parser.
_AMBIGUOUS = ("\\", '"', "''", "\n")
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
# The server turns literals into java.sql.Date and Timestamp in the time zone of its JVM. Their
# calendar and local mean time differ from Spark's before 1900, and a day that a time zone skipped
# becomes another day.
_FIRST_YEAR = 1900
_SKIPPED_DAYS = frozenset(
    {date(1993, 8, 20), date(1993, 8, 21), date(1994, 12, 31), date(1995, 1, 1), date(2011, 12, 30)}
)
_DECIMAL = re.compile(r"-?\d+(\.\d+)?")


class Names:
    """Collects the names that messages of protobuf use.

    Args:
        relations: names of relations that a text of SQL may use, in lower case.
    """

    def __init__(self, relations: Collection[str] = ()) -> None:
        self.paths: set[FieldPath] = set()  # in lower case; some may be no columns, e.g. aliases
        self.has_star = False  # whether the messages use every column of their input
        self._relations = relations

    def add(self, message: Any, *, with_relations: bool = False) -> "Names":  # noqa: ANN401
        """Add the names that a message uses.

        Args:
            message: a relation, an expression or a part of one.
            with_relations: whether the names in the message's inputs and subqueries count.

        Raises:
            UnclearError: the message may use columns that it does not name.
        """
        kind = message.DESCRIPTOR.name
        if kind == "SQL":
            self._add_text(names_in_sql.scan_statement(message.query, self._relations))
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
        """Add the names of an expression; return False if its parts have to be visited as well."""
        kind = message.WhichOneof("expr_type")
        path = attribute_path(message)
        if path is not None:
            # Lower case may match too many columns, which does no harm.
            self.paths.add(tuple(part.lower() for part in path))
        elif kind == "expression_string":
            self._add_text(names_in_sql.scan_expression(message.expression_string.expression))
        elif kind in ("unresolved_star", "unresolved_regex"):
            self.has_star = True
        elif kind not in _KNOWN_EXPRESSIONS:
            raise names_in_sql.UnclearError(f"unknown expression {kind}")
        else:
            return kind == "literal" or _counts_rows(message)
        return True

    def _add_text(self, scanned: names_in_sql.SqlNames) -> None:
        self.paths |= scanned.paths
        self.has_star |= scanned.has_star


def names_key(expression: Any) -> bool:  # noqa: ANN401
    """Return whether a key to sort or group by is surely a value of columns.

    To Spark an integer is a position in the input, and the name ``all`` stands for all columns.

    Raises:
        UnclearError: the key may use columns that it does not name.
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
            (names_in_sql.unquoted(text).lower(),) != _ALL
        )
    paths = Names().add(expression).paths if kind in _VALUES else set()
    return bool(paths) and (kind != "unresolved_attribute" or paths != {_ALL})


def parts_of(value: Any) -> Iterator[Any]:  # noqa: ANN401
    """Yield the messages and texts in a field's value, a single one, a list or a map."""
    if hasattr(value, "items"):
        values = [*value.keys(), *value.values()]
    elif hasattr(value, "append"):
        values = value
    else:
        values = [value]
    for part in values:
        if isinstance(part, str) or hasattr(part, "DESCRIPTOR"):
            yield part


def attribute_path(expression: Any) -> FieldPath | None:  # noqa: ANN401
    """Return the path of a column or of a field in it; None for any other expression.

    Raises:
        UnclearError: the name cannot be split, or stands for a hidden column.
    """
    kind = expression.WhichOneof("expr_type")
    if kind == "unresolved_attribute":
        attribute = expression.unresolved_attribute
        if any(
            value and field.name not in _ATTRIBUTE_FIELDS for field, value in attribute.ListFields()
        ):
            raise names_in_sql.UnclearError("a hidden column")
        return split_name(attribute.unparsed_identifier)
    if kind == "unresolved_extract_value":
        field = expression.unresolved_extract_value.extraction.literal
        path = attribute_path(expression.unresolved_extract_value.child)
        if path is not None and field.WhichOneof("literal_type") == "string":
            return (*path, field.string)
    return None


def split_name(text: str) -> FieldPath:
    """Split a dotted name, whose parts may be in backticks.

    Raises:
        UnclearError: the text is not a dotted name.
    """
    if not _ATTRIBUTE.fullmatch(text):
        raise names_in_sql.UnclearError(f"not a name: {text}")
    return tuple(names_in_sql.unquoted(part) for part in re.findall(_PART, text))


def _counts_rows(expression: Any) -> bool:  # noqa: ANN401
    """Return whether an expression is ``count(*)``."""
    function = expression.unresolved_function
    is_count = function.function_name.lower() == "count" and not function.is_distinct
    return is_count and [*map(is_star, function.arguments)] == [True]


def is_star(expression: Any) -> bool:  # noqa: ANN401
    """Return whether an expression is a plain ``*``, without the name of a table."""
    has_star = expression.WhichOneof("expr_type") == "unresolved_star"
    return has_star and not expression.unresolved_star.ListFields()


def condition_texts(expression: Any, *, by_function: bool) -> Iterator[str]:  # noqa: ANN401
    """Yield texts of filters that hold for every row for which a condition is true.

    Args:
        expression: the condition.
        by_function: whether the operators of expressions are Spark's own functions. If not, only a
            condition that is SQL text becomes a filter.
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
    """Yield the operands of a chain like ``a & b & c``, in order; the chain may be very deep."""
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
        return None  # only Spark knows whether the first part is an alias or a struct
    return f"`{path[0].replace('`', '``')}`"


def _literal(literal: Any) -> str:  # noqa: ANN401
    """Return a literal in the grammar of filters; "" if the grammar lacks its type."""
    kind = literal.WhichOneof("literal_type")
    make = _LITERALS.get(kind)
    return make(getattr(literal, kind)) if make else ""


def _double(value: float) -> str:
    exponent = "" if "e" in repr(value) else "e0"  # without an exponent it would be a decimal
    return f"{value!r}{exponent}" if isfinite(value) else ""


def _in_calendar(kind: str, make: Callable[[], date]) -> str:
    """Return a date or a time as a literal; "" if the server may take it for another one."""
    try:
        value = make()
    except OverflowError:
        return ""  # after the year 9999
    return f"{kind} '{value}'" if value.year >= _FIRST_YEAR and value not in _SKIPPED_DAYS else ""


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
