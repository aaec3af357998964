"""Conditions of other engines, and what a scan may leave out for them before rows are read.

The engine's own evaluation decides which rows remain. So all that counts here is that no row is
lost for which a condition is true; what is not understood leaves out nothing.
"""

from __future__ import annotations

import ctypes
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hudi_pyspark.columns.arrays import any_of
from hudi_pyspark.columns.nested_fields import resolve_field
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
)
from hudi_pyspark.messages import logger

# By the names of pyarrow's functions.
_SIGNS = {operator.compute.__name__: operator for operator in Operator}
_COMPARED_ALIKE = (
    (pa.types.is_string, any_of(pa.types.is_large_string, pa.types.is_string_view)),
    (pa.types.is_binary, any_of(pa.types.is_large_binary, pa.types.is_binary_view)),
    (any_of(pa.types.is_integer, pa.types.is_floating), pa.types.is_float64),
    (pa.types.is_floating, pa.types.is_floating),
)
_T = TypeVar("_T")
_MOST_LISTED = 10_000
_log = logger(__name__)


@dataclass(frozen=True, slots=True)
class Field:
    """A column, or a field of a struct by the names that lead to it."""

    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Literal:
    """A value, or the values of a list."""

    value: pa.Scalar


@dataclass(frozen=True, slots=True)
class Call:
    """A function by its name in pyarrow, with arguments and options."""

    name: str
    arguments: Sequence[Expression]
    options: Mapping[str, object] = field(default_factory=dict)


Expression = Field | Literal | Call


def fields_of(expression: Expression) -> Iterator[Field]:
    """Yield all fields that an expression looks at."""
    waiting = [expression]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Field):
            yield part
        elif isinstance(part, Call):
            waiting += reversed(part.arguments)


def predicate_of(condition: object, schema: pa.Schema) -> Predicate:
    """Return the predicate that is true for the same rows as a condition of pyarrow.

    Args:
        condition: an expression of pyarrow, or tuples in disjunctive normal form, as
            `pyarrow.parquet.read_table` takes them.
        schema: of the rows; names of columns match in any case.

    Raises:
        InvalidOptionError: it is something else, or a part has no exact counterpart here.
    """
    if not isinstance(condition, pc.Expression):
        try:
            is_one = isinstance(condition, tuple) and isinstance(condition[0], str)
            condition = pq.filters_to_expression([condition] if is_one else condition)
        except (TypeError, ValueError, LookupError, pa.ArrowException):
            raise InvalidOptionError(
                f"filter is {condition!r:.200}; give text as in a WHERE clause, an expression of "
                "pyarrow.compute, or tuples such as [('region', '=', 'emea')]"
            ) from None

    def exactly(part: Expression, is_wanted: bool) -> Predicate:  # noqa: FBT001  (of _joined)
        predicate = _exactly(part, schema)
        if predicate is None:
            columns = (resolve_field(".".join(f.path), schema) for f in fields_of(part))
            shown = " and ".join(f"{name} ({kind})" for name, kind in columns) or "no column"
            raise InvalidOptionError(
                f"filter {str(condition)[:200]}: the part about {shown} cannot be done exactly. "
                "Compare a column with a literal of its type (== != < <= > >= isin is_null "
                "is_valid starts_with, joined by & | ~), or write the filter as text"
            )
        return predicate if is_wanted else predicate.negate()

    whole = _joined(parse_expression(condition) or Literal(pa.NA), exactly)
    assert whole is not None  # each part has a predicate
    return whole


def _exactly(condition: Expression, schema: pa.Schema) -> Predicate | None:
    """Return the predicate with pyarrow's answer for every row; None where there is none."""
    named = _only_column(condition, schema)
    skips_nulls = isinstance(condition, Call) and condition.options.get("null_matching_behavior")
    if named is None or skips_nulls:
        return None
    name, kind = named
    predicate = _of_column(name, kind, condition, when=True)
    if isinstance(predicate, IsIn):  # false where the column is null, not null
        return And((predicate, IsNull(name, is_negated=True)))
    if (
        isinstance(predicate, Comparison)
        and pa.types.is_floating(kind)
        and predicate.operator in (Operator.GREATER, Operator.GREATER_OR_EQUAL)
    ):  # of NaN it is false
        return And((predicate, compare(name, kind, Operator.LESS_OR_EQUAL, math.inf)))
    return predicate


def if_understood(meaning: Callable[[], _T]) -> _T | None:
    """Return the meaning of a condition; None where finding it fails: the engine evaluates it."""
    try:
        return meaning()
    except Exception as error:  # noqa: BLE001  (one may be of any kind, or too deep)
        _log.info("a condition does not reach the scan: %.300s", error)
        return None


def pruning(expression: Expression, schema: pa.Schema) -> Predicate | None:
    """Return what holds wherever a condition is true; None for nothing.

    The condition has the meaning that pyarrow or polars gives it, on columns of the schema.
    """
    return _joined(
        expression,
        lambda part, when: if_understood(lambda: _of_one_column(part, schema, when=when)),
    )


def _joined(
    expression: Expression, of_part: Callable[[Expression, bool], Predicate | None]
) -> Predicate | None:
    """Join what holds where the parts of a condition are true, or, as it needs, are false."""
    # Calls before their arguments; from the end, the values of the arguments are there already.
    order: list[tuple[Expression, bool]] = []
    waiting = [(expression, True)]
    while waiting:
        part, is_wanted = waiting.pop()
        match part:
            case Call("invert", [inner]):
                waiting.append((inner, not is_wanted))
                continue
            case Call("and" | "and_kleene" | "or" | "or_kleene", arguments):
                waiting += [(argument, is_wanted) for argument in arguments]
        order.append((part, is_wanted))
    predicates: list[Predicate | None] = []
    for part, is_wanted in reversed(order):
        match part:
            case Call("and" | "and_kleene" | "or" | "or_kleene" as name, arguments):
                first = len(predicates) - len(arguments)
                known = [each for each in predicates[first:] if each is not None]
                is_known = len(known) == len(arguments)
                del predicates[first:]
                if name.startswith("and") is is_wanted:
                    predicates.append(conjunction(known))
                else:
                    predicates.append(Or(tuple(known)) if is_known else None)
            case _:
                predicates.append(of_part(part, is_wanted))
    return predicates.pop()


def _of_one_column(condition: Expression, schema: pa.Schema, *, when: bool) -> Predicate | None:
    """Return what holds of the only column of a condition; see `pruning`."""
    named = _only_column(condition, schema)
    return _of_column(*named, condition, when=when) if named is not None else None


def _of_column(
    name: str, kind: pa.DataType, condition: Expression, *, when: bool
) -> Predicate | None:
    """Return what holds of a column; see `pruning`."""
    predicate: Predicate | None = None
    match condition:
        case Field():
            predicate = _compared(name, kind, Operator.EQUAL, pa.scalar(when), when=True)
        case Call(sign, [Field(), Literal(value)]) if sign in _SIGNS:
            predicate = _compared(name, kind, _SIGNS[sign], value, when=when)
        case Call(sign, [Literal(value), Field()]) if sign in _SIGNS:
            predicate = _compared(name, kind, _SIGNS[sign].flipped, value, when=when)
        case Call("is_null", [Field()], {"nan_is_null": False}):
            predicate = IsNull(name, is_negated=not when)
        case Call("is_valid", [Field()]):
            predicate = IsNull(name, is_negated=when)
        case Call("is_in", [Field()], {"value_set": pa.Array() as values}):
            predicate = _listed(name, kind, values, when=when)
        case Call("starts_with", [Field()], {"pattern": str() as prefix, "ignore_case": False}):
            pattern = re.sub(r"([\\%_])", r"\\\1", prefix) + "%"
            predicate = Like(name, pattern, not when) if pa.types.is_string(kind) else None
    return predicate


def _compared(
    name: str, kind: pa.DataType, sign: Operator, value: pa.Scalar, *, when: bool
) -> Predicate | None:
    """Return the comparison with a literal, or the one that holds where it is false."""
    literals = _literals(pa.repeat(value, 1), kind) if value.is_valid else None
    # NaN > 1 is false for pyarrow, and true for Spark, polars and the predicates here.
    is_unsure = not when and pa.types.is_floating(kind) and sign.value.startswith(">")
    if literals is None or is_unsure:
        return None
    return compare(name, kind, sign if when else sign.negated, literals[0])


def _listed(name: str, kind: pa.DataType, values: pa.Array, *, when: bool) -> Predicate | None:
    # A list of floating-point numbers may distinguish 0.0 and -0.0.
    is_unsure = len(values) > _MOST_LISTED or pa.types.is_floating(kind)
    literals = None if is_unsure else _literals(values.drop_null(), kind)
    if not literals:
        return None
    membership = is_in(name, kind, literals)
    # Whether a null is in a list, or not in it, depends on the engine: none is left out.
    if when:
        return Or((membership, IsNull(name))) if values.null_count else membership
    return Or((membership.negate(), IsNull(name)))


def _only_column(condition: Expression, schema: pa.Schema) -> tuple[str, pa.DataType] | None:
    """Return the dotted name and the type of a condition's only column; None if it has not one."""
    paths = [field.path for field in fields_of(condition)]
    if len(paths) != 1:
        return None
    name, kind = resolve_field(".".join(paths[0]), schema)
    is_nested = len(paths[0]) > 1
    # A dot may also be within a name.
    is_unclear = is_nested and (name in schema.names or any("." in part for part in paths[0]))
    return None if is_unclear else (name, kind)


def _literals(values: pa.Array, kind: pa.DataType) -> list[LiteralValue] | None:
    """Return values that engines compare with a column as exactly as predicates do; else None."""
    is_exact, other = pa.types.is_integer(kind) or pa.types.is_decimal(kind), values.type
    if pa.types.is_decimal(other):
        fits = is_exact and other.scale <= (kind.scale if pa.types.is_decimal(kind) else 0)
    elif pa.types.is_integer(other):
        fits = is_exact or pa.types.is_floating(kind)
    elif pa.types.is_timestamp(other):
        fits = pa.types.is_timestamp(kind) and (other.tz is None) is (kind.tz is None)
    else:
        fits = other == kind or any(
            same(kind) and others(other) for same, others in _COMPARED_ALIKE
        )
    if not fits:
        return None
    try:
        if pa.types.is_timestamp(kind):
            values = values.cast(kind)  # fails where it would lose a part of a second
        elif pa.types.is_floating(kind) and not values.cast(kind).cast(other).equals(values):
            return None
        # Not of Python, which has no years beyond 9999.
        is_time = pa.types.is_timestamp(kind) or pa.types.is_date(kind)
        literals: list[LiteralValue] = list(values) if is_time else values.to_pylist()
    except (ValueError, OverflowError):
        return None
    return literals


def parse_expression(expression: pc.Expression) -> Expression | None:
    """Return the parts of an expression of pyarrow; None for one that it cannot write down.

    To pickle an expression, pyarrow writes an IPC file: its metadata has the tree from left to
    right, and the columns of its only row have literals and options. Whatever is unexpected gives
    None: then nothing is pruned, and the engine evaluates the condition.
    """

    def parsed() -> Expression:
        _, (written, *_) = expression.__reduce__()
        file = pa.ipc.open_file(written)
        columns = [column[0] for column in file.get_batch(0).columns]
        return _parse(_metadata(file.schema), columns)

    return if_understood(parsed)


def columns_of(parsed: Expression | None, schema: pa.Schema) -> set[str]:
    """Return the columns of a schema that a parsed expression needs; all where it is unknown."""
    if parsed is None:
        return set(schema.names)
    return {field.path[0] for field in fields_of(parsed)}


def _parse(pairs: Iterator[tuple[str, str]], columns: list[pa.Scalar]) -> Expression:
    """Parse the metadata: calls begin with their name, and end with it after their arguments."""
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
    """Yield keys and values in their order; `pa.Schema.metadata` has but one value of each key."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    capsule = schema.__arrow_c_schema__()
    # struct ArrowSchema begins with pointers to format, name and metadata.
    position = (ctypes.c_void_p * 3).from_address(pointer(capsule, b"arrow_schema"))[2]
    if position is None:
        return

    def take(size: int) -> bytes:
        nonlocal position
        taken = ctypes.string_at(position, size)
        position += size
        return taken

    def counted() -> int:
        return int.from_bytes(take(4), sys.byteorder, signed=True)

    for _ in range(counted()):
        key = take(counted()).decode()
        yield key, take(counted()).decode()
