"""Translate conditions of other engines to predicates.

`pruning` says what a scan may leave out for an engine that evaluates the condition itself. It must
not lose a row for which the condition is true, so a part that is not understood leaves out nothing.
`predicate_of` is for conditions that nobody evaluates again, so it refuses what is not exact.
"""

import ctypes
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hudi_pyspark.columns.arrays import any_of
from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.filter.literals import LiteralValue, compare, is_in
from hudi_pyspark.filter.predicate import (
    And,
    Comparison,
    IsIn,
    IsNull,
    Like,
    Operator,
    Or,
    Predicate,
    conjunction,
    negate,
)
from hudi_pyspark.format.column_names import resolve_field
from hudi_pyspark.messages import logger

# Operators by the names of pyarrow's functions.
_SIGNS = {operator.compute.__name__: operator for operator in Operator}
# Types of a column and of a literal that engines compare as predicates do.
_COMPARED_ALIKE = (
    (pa.types.is_string, any_of(pa.types.is_large_string, pa.types.is_string_view)),
    (pa.types.is_binary, any_of(pa.types.is_large_binary, pa.types.is_binary_view)),
    (any_of(pa.types.is_integer, pa.types.is_floating), pa.types.is_float64),
    (pa.types.is_floating, pa.types.is_floating),
)
_T = TypeVar("_T")
_MAX_VALUES = 10_000  # of a list; pruning by more is not worth its time
_log = logger(__name__)


@dataclass(frozen=True, slots=True)
class Field:
    """A column, or a field of a struct: the names that lead to it."""

    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Literal:
    """A value, or a list of values."""

    value: pa.Scalar


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function: its name in pyarrow, arguments and options."""

    name: str
    arguments: Sequence["Expression"]
    options: Mapping[str, object] = field(default_factory=dict)


Expression = Field | Literal | Call


def _fields_of(expression: Expression) -> Iterator[Field]:
    """Yield all fields of an expression, from left to right."""
    waiting = [expression]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Field):
            yield part
        elif isinstance(part, Call):
            waiting += reversed(part.arguments)


def predicate_of(condition: object, schema: pa.Schema) -> Predicate:
    """Return the predicate that is true for exactly the same rows as a condition of pyarrow.

    Args:
        condition: an expression of pyarrow, or tuples in disjunctive normal form, as
            `pyarrow.parquet.read_table` takes them.
        schema: of the rows. Names of columns match in any case.

    Raises:
        InvalidOptionError: the condition is something else, or a part of it has no exact
            counterpart.
    """
    if not isinstance(condition, pc.Expression):
        try:
            is_one = isinstance(condition, tuple) and isinstance(condition[0], str)
            condition = pq.filters_to_expression([condition] if is_one else condition)
        except OverflowError:
            raise InvalidOptionError(
                "filter has a whole number of more than 64 bits, which pyarrow does not have",
                advice=(
                    "Give it as a decimal.Decimal, or write the filter as text, as in a WHERE "
                    "clause"
                ),
            ) from None
        except (TypeError, ValueError, LookupError, pa.ArrowException):
            raise InvalidOptionError(
                f"filter is {_shown(condition)}; give text as in a WHERE clause, an expression of "
                "pyarrow.compute, or tuples such as [('region', '=', 'emea')]"
            ) from None

    def translate(part: Expression, when: bool) -> Predicate:  # noqa: FBT001  (of _translate)
        predicate = _exact_predicate(part, schema)
        if predicate is None:
            columns = (resolve_field(".".join(f.path), schema) for f in _fields_of(part))
            about = " and ".join(f"{c.name} ({c.type})" for c in columns) or "no column"
            raise InvalidOptionError(
                f"filter {str(condition)[:200]}: the part about {about} cannot be done exactly",
                advice=(
                    "Compare a column with a literal of its type (== != < <= > >= isin is_null "
                    "is_valid starts_with, joined by & | ~), or write the filter as text"
                ),
            )
        return predicate if when else negate(predicate)

    whole = _translate(parse_expression(condition) or Literal(pa.NA), translate)
    assert whole is not None  # each part has a predicate
    return whole


def _shown(condition: object) -> str:
    try:
        return f"{condition!r:.200}"
    except ValueError:  # Python shows no int of more digits than a caller allows
        return f"a {type(condition).__name__} with a number of very many digits"


def _exact_predicate(condition: Expression, schema: pa.Schema) -> Predicate | None:
    """Return the predicate with pyarrow's answer for every row; None if there is none."""
    column = _only_column(condition, schema)
    skips_nulls = isinstance(condition, Call) and condition.options.get("null_matching_behavior")
    if column is None or skips_nulls:
        return None
    predicate = _of_column(column, condition, when=True)
    if isinstance(predicate, IsIn):  # of a null it is false, not null
        return And((predicate, IsNull(column.name, is_negated=True)))
    is_greater = isinstance(predicate, Comparison) and predicate.operator.value.startswith(">")
    if predicate is not None and is_greater and pa.types.is_floating(column.type):
        # It is false for NaN.
        return And((predicate, compare(column, Operator.LESS_OR_EQUAL, math.inf)))
    return predicate


def if_understood(meaning: Callable[[], _T]) -> _T | None:
    """Call a function about a condition; None if it fails, since the engine evaluates it anyway."""
    try:
        return meaning()
    except Exception as error:  # noqa: BLE001  (a condition may be anything, or too deep)
        _log.info("a condition does not reach the scan: %.300s", error)
        return None


def pruning(expression: Expression, schema: pa.Schema) -> Predicate | None:
    """Return a predicate that is true for all rows that meet a condition; None if none is known.

    Args:
        expression: the condition, with its meaning in pyarrow or polars.
        schema: of the rows.
    """

    def translate(part: Expression, when: bool) -> Predicate | None:  # noqa: FBT001  (of _translate)
        column = _only_column(part, schema)
        return _of_column(column, part, when=when) if column is not None else None

    return _translate(expression, lambda part, when: if_understood(lambda: translate(part, when)))


def _translate(
    expression: Expression, translate: Callable[[Expression, bool], Predicate | None]
) -> Predicate | None:
    """Translate a condition part by part, without recursion: it may be thousands deep.

    Args:
        expression: the condition.
        translate: returns the predicate for a part without AND, OR and NOT, given the part and
            whether the predicate is to hold when the part is true, or when it is false. None if
            nothing is known of the rows.
    """
    # Calls come before their arguments, so from the end the arguments are translated first.
    order: list[tuple[Expression, bool]] = []
    waiting = [(expression, True)]
    while waiting:
        part, when = waiting.pop()
        match part:
            case Call("invert", [inner]):
                waiting.append((inner, not when))
                continue
            case Call("and" | "and_kleene" | "or" | "or_kleene", arguments):
                waiting += [(argument, when) for argument in arguments]
        order.append((part, when))
    predicates: list[Predicate | None] = []
    for part, when in reversed(order):
        match part:
            case Call("and" | "and_kleene" | "or" | "or_kleene" as name, arguments):
                first = len(predicates) - len(arguments)
                understood = [each for each in predicates[first:] if each is not None]
                del predicates[first:]
                if name.startswith("and") is when:
                    predicates.append(conjunction(understood))
                elif len(understood) == len(arguments):
                    predicates.append(Or(tuple(understood)))
                else:
                    predicates.append(None)
            case _:
                predicates.append(translate(part, when))
    return predicates.pop()


def _of_column(column: pa.Field, condition: Expression, *, when: bool) -> Predicate | None:
    """Return what holds of a column if a condition is true, or false; None if nothing is known."""
    predicate: Predicate | None = None
    match condition:
        case Field():
            predicate = _comparison(column, Operator.EQUAL, pa.scalar(when), when=True)
        case Call(sign, [Field(), Literal(value)]) if sign in _SIGNS:
            predicate = _comparison(column, _SIGNS[sign], value, when=when)
        case Call(sign, [Literal(value), Field()]) if sign in _SIGNS:
            predicate = _comparison(column, _SIGNS[sign].flipped, value, when=when)
        case Call("is_null", [Field()], {"nan_is_null": False}):
            predicate = IsNull(column.name, is_negated=not when)
        case Call("is_valid", [Field()]):
            predicate = IsNull(column.name, is_negated=when)
        case Call("is_in", [Field()], {"value_set": pa.Array() as values}):
            predicate = _membership(column, values, when=when)
        case Call("starts_with", [Field()], {"pattern": str() as prefix, "ignore_case": False}):
            pattern = re.sub(r"([\\%_])", r"\\\1", prefix) + "%"
            is_text = pa.types.is_string(column.type)
            predicate = Like(column.name, pattern, not when) if is_text else None
    return predicate


def _comparison(
    column: pa.Field, sign: Operator, value: pa.Scalar, *, when: bool
) -> Predicate | None:
    """Return the comparison with a literal, or the comparison that holds when it is false."""
    literals = _literals(pa.repeat(value, 1), column.type) if value.is_valid else None
    # NaN > 1 is false for pyarrow, and true for Spark, polars and the predicates here.
    is_unsure = not when and pa.types.is_floating(column.type) and sign.value.startswith(">")
    if literals is None or is_unsure:
        return None
    return compare(column, sign if when else sign.negated, literals[0])


def _membership(column: pa.Field, values: pa.Array, *, when: bool) -> Predicate | None:
    # A list of floating-point numbers may distinguish 0.0 and -0.0. Among whole numbers, pyarrow
    # looks for a number of the list as a whole one, and a predicate compares as floating-point.
    is_unsure = len(values) > _MAX_VALUES or any(
        pa.types.is_floating(data_type) for data_type in (column.type, values.type)
    )
    literals = None if is_unsure else _literals(values.drop_null(), column.type)
    if not literals:
        return None
    membership = is_in(column, literals)
    # Engines differ in whether a null is in a list, so rows with nulls are never left out.
    if when:
        return Or((membership, IsNull(column.name))) if values.null_count else membership
    return Or((negate(membership), IsNull(column.name)))


def _only_column(condition: Expression, schema: pa.Schema) -> pa.Field | None:
    """Return the column of a condition, with its dotted name; None unless it has exactly one."""
    paths = [field.path for field in _fields_of(condition)]
    if len(paths) != 1:
        return None
    column = resolve_field(".".join(paths[0]), schema)
    is_nested = len(paths[0]) > 1
    # A name may itself contain a dot.
    has_dot = column.name in schema.names or any("." in part for part in paths[0])
    return None if is_nested and has_dot else column


def _literals(values: pa.Array, kind: pa.DataType) -> list[LiteralValue] | None:
    """Return values as literals; None if engines may compare them differently from predicates."""
    is_exact = pa.types.is_integer(kind) or pa.types.is_decimal(kind)
    other = values.type
    if pa.types.is_decimal(other):
        fits = is_exact and other.scale <= (kind.scale if pa.types.is_decimal(kind) else 0)
    elif pa.types.is_integer(other):
        fits = is_exact or pa.types.is_floating(kind)
    elif pa.types.is_timestamp(other):
        fits = pa.types.is_timestamp(kind) and (other.tz is None) is (kind.tz is None)
    else:
        fits = other == kind or any(
            is_column(kind) and is_literal(other) for is_column, is_literal in _COMPARED_ALIKE
        )
    if not fits:
        return None
    try:
        if pa.types.is_timestamp(kind):
            values = values.cast(kind)  # fails where it would lose a part of a second
        elif pa.types.is_floating(kind) and not values.cast(kind).cast(other).equals(values):
            return None
        # Python has no years beyond 9999.
        is_time = pa.types.is_timestamp(kind) or pa.types.is_date(kind)
        literals: list[Any] = list(values) if is_time else values.to_pylist()
    except (ValueError, OverflowError):
        return None
    return literals


def parse_expression(expression: pc.Expression) -> Expression | None:
    """Parse an expression of pyarrow; None if pyarrow cannot pickle it.

    To pickle an expression, pyarrow writes an IPC file. Its metadata has the tree from left to
    right; the columns of its only row have literals and options. None also if the file is not as
    expected: then nothing is pruned, and the engine evaluates the condition.
    """

    def parsed() -> Expression:
        _, (ipc_file, *_) = expression.__reduce__()
        file = pa.ipc.open_file(ipc_file)
        columns = [column[0] for column in file.get_batch(0).columns]
        return _parse(_metadata(file.schema), columns)

    return if_understood(parsed)


def columns_of(parsed: Expression | None, schema: pa.Schema) -> set[str]:
    """Return the columns of a schema that a parsed expression needs; all columns if it is None."""
    if parsed is None:
        return set(schema.names)
    return {field.path[0] for field in _fields_of(parsed)}


def _parse(pairs: Iterator[tuple[str, str]], columns: list[pa.Scalar]) -> Expression:
    """Parse the metadata, in which the arguments of a call are between its name and its end."""
    open_calls: list[list[Expression]] = [[]]
    names: list[str] = []
    options: dict[str, object] = {}
    for key, value in pairs:
        match key:
            case "call":
                names.append(value)
                open_calls.append([])
            case "literal":
                open_calls[-1].append(Literal(columns[int(value)]))
            case "field_ref":
                open_calls[-1].append(Field((value,)))
            case "nested_field_ref":
                path = [next(pairs)[1] for _ in range(int(value))]
                open_calls[-1].append(Field(tuple(path)))
            case "options":  # after the arguments
                options = {
                    name: option.values if isinstance(option, pa.ListScalar) else option.as_py()
                    for name, option in columns[int(value)].items()
                }
            case "end":
                arguments = open_calls.pop()
                open_calls[-1].append(Call(names.pop(), arguments, options))
                options = {}
            case _:
                raise ValueError(key)
    (root,) = open_calls[0]
    return root


def _metadata(schema: pa.Schema) -> Iterator[tuple[str, str]]:
    """Yield keys and values in order; `pa.Schema.metadata` has only one value per key."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype = ctypes.c_void_p
    pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
    capsule = schema.__arrow_c_schema__()
    # struct ArrowSchema begins with pointers to format, name and metadata.
    position = (ctypes.c_void_p * 3).from_address(pointer(capsule, b"arrow_schema"))[2]
    if position is None:
        return

    def take(size: int) -> bytes:
        nonlocal position
        position += size
        return ctypes.string_at(position - size, size)

    def read_int() -> int:
        return int.from_bytes(take(4), sys.byteorder, signed=True)

    for _ in range(read_int()):
        key = take(read_int()).decode()
        yield key, take(read_int()).decode()
