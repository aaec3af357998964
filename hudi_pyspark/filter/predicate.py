"""Predicates on the columns of a row, which compare values as Spark compares them.

Each can `negate` itself, and `evaluate` itself on rows: to true, false or null for each of them, as
SQL has it.
"""

from __future__ import annotations

import difflib
import enum
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from functools import reduce
from typing import Any, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.columns.arrays import Mask, any_of, field_array
from hudi_pyspark.columns.nested_fields import named_fields
from hudi_pyspark.columns.text import scalar_text
from hudi_pyspark.errors import InvalidOptionError

Literal: TypeAlias = bool | int | float | Decimal | str | bytes | date | datetime | pa.Scalar
_Convert: TypeAlias = Callable[[pa.DataType, Literal], pa.Scalar]

_Value = TypeVar("_Value")
_MAX_DECIMAL_DIGITS = 38
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TIME = re.compile(
    r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})?)?", re.ASCII
)
_DAYS_OF_CYCLE = 146_097  # after 400 years the calendar repeats
_MICROS_OF_DAY = 86_400_000_000


class Operator(enum.Enum):
    """How a column is compared with a literal."""

    EQUAL = "="
    NOT_EQUAL = "!="
    LESS = "<"
    LESS_OR_EQUAL = "<="
    GREATER = ">"
    GREATER_OR_EQUAL = ">="

    @property
    def negated(self) -> Operator:
        """The operator that is true where this one is false."""
        return Operator(_OPERATORS[self][0])

    @property
    def flipped(self) -> Operator:
        """The operator that says the same with the literal on the left."""
        return Operator(_OPERATORS[self][1])

    @property
    def compute(self) -> Callable[[pa.Array, pa.Scalar], pa.Array]:
        return _OPERATORS[self][2]


# What is true where the operator is false, what says the same from the right, and Arrow's function.
_OPERATORS: dict[Operator, tuple[str, str, Callable[[pa.Array, pa.Scalar], pa.Array]]] = {
    Operator.EQUAL: ("!=", "=", pc.equal),
    Operator.NOT_EQUAL: ("=", "!=", pc.not_equal),
    Operator.LESS: (">=", ">", pc.less),
    Operator.LESS_OR_EQUAL: (">", ">=", pc.less_equal),
    Operator.GREATER: ("<=", "<", pc.greater),
    Operator.GREATER_OR_EQUAL: ("<", "<=", pc.greater_equal),
}
_WILDCARDS = {"%": ".*", "_": "."}
# Spark orders NaN after every other number and treats it as equal to itself.
_TRUE_OF_NAN = frozenset({Operator.NOT_EQUAL, Operator.GREATER, Operator.GREATER_OR_EQUAL})


@dataclass(frozen=True, slots=True)
class Comparison:
    """``column operator literal``; null where the column is null."""

    column: str  # dotted for a field of a struct
    operator: Operator
    value: pa.Scalar  # of the type that both sides are compared in; never null or NaN

    def negate(self) -> Comparison:
        return replace(self, operator=self.operator.negated)

    def evaluate(self, rows: pa.Table) -> pa.Array:
        values = cast_to(field_array(rows, self.column), self.value.type)
        result = self.operator.compute(values, self.value)
        if pa.types.is_floating(values.type) and self.operator in _TRUE_OF_NAN:
            result = pc.or_kleene(result, pc.is_nan(values))
        return result

    def __reduce__(self) -> tuple[object, ...]:
        # pyarrow pickles a scalar as a value of Python, which has no years beyond 9999.
        return _unpickled, (self.column, self.operator, pa.repeat(self.value, 1))

    def __str__(self) -> str:
        return f"{self.column} {self.operator.value} {_text(self.value)}"


def _unpickled(column: str, operator: Operator, values: pa.Array) -> Comparison:
    return Comparison(column, operator, values[0])


@dataclass(frozen=True, slots=True)
class IsIn:
    """``column [NOT] IN (literals)``; null where the column is null."""

    column: str
    values: pa.Array  # of the type that both sides are compared in; without nulls and NaN
    is_negated: bool = False

    def negate(self) -> IsIn:
        return replace(self, is_negated=not self.is_negated)

    def evaluate(self, rows: pa.Table) -> pa.Array:
        values = cast_to(field_array(rows, self.column), self.values.type)
        if pa.types.is_floating(values.type):
            values = pc.add(values, pa.scalar(0, values.type))  # -0.0 to 0.0, which hashes alike
        matches = pc.is_in(values, value_set=self.values)
        if self.is_negated:
            matches = pc.invert(matches)
        return pc.if_else(pc.is_valid(values), matches, pa.scalar(None, pa.bool_()))

    def __str__(self) -> str:
        shown = ", ".join(_text(value) for value in self.values[:5])
        more = f", … {len(self.values) - 5} more" if len(self.values) > 5 else ""
        return f"{self.column} {'NOT ' * self.is_negated}IN ({shown}{more})"


@dataclass(frozen=True, slots=True)
class IsNull:
    """``column IS [NOT] NULL``; never null."""

    column: str
    is_negated: bool = False

    def negate(self) -> IsNull:
        return replace(self, is_negated=not self.is_negated)

    def evaluate(self, rows: pa.Table) -> pa.Array:
        values = field_array(rows, self.column)
        return pc.is_valid(values) if self.is_negated else pc.is_null(values)

    def __str__(self) -> str:
        return f"{self.column} IS {'NOT ' * self.is_negated}NULL"


@dataclass(frozen=True, slots=True)
class Like:
    """``column [NOT] LIKE pattern``: ``%`` is any text, ``_`` any character, backslash escapes."""

    column: str
    pattern: str
    is_negated: bool = False

    def negate(self) -> Like:
        return replace(self, is_negated=not self.is_negated)

    @property
    def prefix(self) -> str:
        """The text with which every match starts."""
        return re.split(r"[%_\\]", self.pattern, maxsplit=1)[0]

    def evaluate(self, rows: pa.Table) -> pa.Array:
        matches = pc.match_substring_regex(field_array(rows, self.column), _regex(self.pattern))
        return pc.invert(matches) if self.is_negated else matches

    def __str__(self) -> str:
        return f"{self.column} {'NOT ' * self.is_negated}LIKE '{self.pattern}'"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Joined:
    """What And and Or have in common: no method recurses, since conditions may be very deep."""

    parts: tuple[Predicate, ...]

    def negate(self) -> Predicate:
        swapped: dict[type[Joined], type[Joined]] = {And: Or, Or: And}
        steps = _steps(self)
        return _built(*(swapped[s] if isinstance(s, type) else s.negate() for s in steps))

    def evaluate(self, rows: pa.Table) -> pa.Array:
        return fold(self, lambda leaf: leaf.evaluate(rows), pc.and_kleene, pc.or_kleene)

    def __reduce__(self) -> tuple[object, ...]:
        return _built, tuple(_steps(self))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Joined) and _steps(self) == _steps(other)

    def __hash__(self) -> int:
        return hash(tuple(_steps(self)))

    def __str__(self) -> str:
        pieces, waiting = [], _spelled(self)[::-1]
        while waiting:
            part = waiting.pop()
            if isinstance(part, Joined):
                waiting += [")", *_spelled(part)[::-1], "("]
            else:
                pieces.append(str(part))
        return "".join(pieces)


class And(Joined):
    """Predicate that is true if all parts are."""

    __slots__ = ()


class Or(Joined):
    """Predicate that is true if at least one part is."""

    __slots__ = ()


# Each negates itself, and evaluates itself on rows: CorruptTableError if they lack the column.
Leaf: TypeAlias = Comparison | IsIn | IsNull | Like
Predicate: TypeAlias = Leaf | Joined
_Step: TypeAlias = Leaf | type[Joined]


def fold(
    predicate: Predicate,
    of_leaf: Callable[[Leaf], _Value],
    join_and: Callable[[_Value, _Value], _Value],
    join_or: Callable[[_Value, _Value], _Value],
) -> _Value:
    """Compute a value of a predicate from those of its leaves, two at a time."""
    values: list[_Value] = []
    for step in _steps(predicate, deepest_first=True):
        if isinstance(step, type):
            right, left = values.pop(), values.pop()
            values.append((join_and if step is And else join_or)(left, right))
        else:
            values.append(of_leaf(step))
    return values.pop()


def _steps(predicate: Predicate, *, deepest_first: bool = False) -> list[_Step]:
    """Return the leaves, and after each two values that are joined how this is done.

    Where the deepest parts come first, few values wait to be joined.
    """
    steps: list[_Step] = []
    waiting: list[Predicate | type[Joined]] = [predicate]
    while waiting:
        step = waiting.pop()
        if not isinstance(step, Joined):
            steps.append(step)
            continue
        parts = step.parts
        if deepest_first:
            parts = tuple(sorted(parts, key=lambda part: not isinstance(part, Joined)))
        waiting.append(parts[0])
        for part in parts[1:]:
            waiting += (part, type(step))
    return steps[::-1]


def _built(*steps: _Step) -> Predicate:
    """Return the predicate of `_steps`.

    What is joined is a list here, of And or Or and the parts, so that a long one grows in place.
    """
    values: list[Leaf | list[Any]] = []
    for step in steps:
        if not isinstance(step, type):
            values.append(step)
            continue
        right, left = _closed(values.pop()), values.pop()
        if not isinstance(left, list) or left[0] is not step:
            left = [step, _closed(left)]
        left.append(right)
        values.append(left)
    return _closed(values.pop())


def _closed(value: Leaf | list[Any]) -> Predicate:
    if not isinstance(value, list):
        return value
    joined: Predicate = value[0](tuple(value[1:]))
    return joined


def _spelled(joined: Joined) -> list[Predicate | str]:
    """Return the parts with the operator between them."""
    operator = " AND " if isinstance(joined, And) else " OR "
    spelled: list[Predicate | str] = [joined.parts[0]]
    for part in joined.parts[1:]:
        spelled += (operator, part)
    return spelled


def holds(predicate: Predicate, rows: pa.Table) -> Mask:
    """Return a mask of the rows for which the predicate is true, not null, as in a WHERE clause."""
    return np.asarray(pc.fill_null(predicate.evaluate(rows), fill_value=False))


def matching(predicate: Predicate | None, rows: pa.Table) -> pa.Table:
    """Return the rows for which the predicate is true; all of them without one."""
    if predicate is None or not rows.num_rows:
        return rows
    mask = holds(predicate, rows)
    return rows if mask.all() else rows.filter(pa.array(mask))


def conjuncts(predicate: Predicate | None) -> tuple[Predicate, ...]:
    """Split a predicate into parts that must all be true, none of them an And; () for None."""
    if predicate is None:
        return ()
    parts, waiting = [], [predicate]
    while waiting:
        part = waiting.pop()
        if isinstance(part, And):
            waiting += part.parts[::-1]
        else:
            parts.append(part)
    return tuple(parts)


def conjunction(parts: Sequence[Predicate]) -> Predicate | None:
    """Join predicates that must all be true into one; None for none."""
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def columns_of(predicate: Predicate) -> set[str]:
    """Return the dotted names of the columns that a predicate compares."""
    return {step.column for step in _steps(predicate) if not isinstance(step, type)}


def top_level_columns(predicate: Predicate | None, schema: pa.Schema) -> list[str]:
    """Return the names of the schema's columns that a predicate needs."""
    names = columns_of(predicate) if predicate is not None else set()
    return sorted({name if name in schema.names else name.partition(".")[0] for name in names})


def check_same_type(column: str, data_type: pa.DataType, literal: Literal) -> None:
    """Refuse a literal that Spark converts, or its column, before it compares them.

    An integer may be compared with any number but a float of 32 bits: the type that Spark takes
    then has room for both.

    Raises:
        InvalidOptionError: the two have different types.
    """
    if not any(fits(data_type) and is_one(literal) for fits, is_one in _SAME_TYPE):
        raise InvalidOptionError(
            f"column {column!r} of type {data_type} and {type(literal).__name__} have no one type"
        )


def compare(column: str, data_type: pa.DataType, sign: Operator, literal: Literal) -> Comparison:
    """Compare a column with a literal, in a type that loses nothing of either.

    Text that is compared with a date or a time is parsed (ISO 8601).

    Raises:
        InvalidOptionError: the two cannot be compared; the message names the column and its type.
    """
    return Comparison(column, sign, _scalar(column, data_type, literal))


def is_in(column: str, data_type: pa.DataType, literals: Sequence[Literal]) -> IsIn:
    """Look for a column's values among literals; see `compare`.

    Raises:
        InvalidOptionError: there is no literal, or one cannot be compared with the column.
    """
    if not literals:
        raise InvalidOptionError(f"column {column!r}: the list of values is empty")
    scalars = [_scalar(column, data_type, literal) for literal in literals]
    common = reduce(_common, (scalar.type for scalar in scalars))
    values = pa.concat_arrays([cast_to(pa.repeat(scalar, 1), common) for scalar in scalars])
    if pa.types.is_floating(common):
        values = pc.add(values, pa.scalar(0, common))  # -0.0 equals 0.0
    return IsIn(column, values.unique())


def _scalar(column: str, data_type: pa.DataType, literal: Literal) -> pa.Scalar:
    """Return the literal in the type in which it is compared with values of a column."""
    for fits, convert in _LITERALS:
        if fits(data_type):
            try:
                return convert(data_type, literal)
            except (TypeError, ValueError, OverflowError, pa.ArrowInvalid) as error:
                reason = f": {error}" if str(error) else ""
                shown = _text(literal) if isinstance(literal, pa.Scalar) else repr(literal)
                raise InvalidOptionError(
                    f"column {column!r} of type {data_type} cannot be compared with {shown}{reason}"
                ) from None
    raise InvalidOptionError(
        f"column {column!r} of type {data_type} can only be compared with IS NULL and IS NOT NULL"
    )


def _number(data_type: pa.DataType, literal: Literal) -> pa.Scalar:
    if isinstance(literal, bool) or not isinstance(literal, int | float | Decimal):
        raise TypeError("expected a number")
    if literal != literal:  # noqa: PLR0124  (NaN)
        raise ValueError("a filter cannot compare with NaN")
    if isinstance(literal, float) or pa.types.is_floating(data_type):
        return pa.scalar(float(literal), pa.float64())
    exact = Decimal(literal)
    is_long = exact == exact.to_integral_value() and -(2**63) <= exact < 2**63
    if pa.types.is_integer(data_type) and is_long:
        return pa.scalar(int(exact), pa.int64())
    return pa.scalar(exact, _decimal_type(exact, data_type))


def _decimal_type(literal: Decimal, data_type: pa.DataType) -> pa.DataType:
    """Return the decimal type that holds the literal and all values of a column."""
    _, digits, exponent = literal.as_tuple()
    if not isinstance(exponent, int):
        raise TypeError("expected a finite number")
    column_whole, column_scale = _digits(data_type)
    scale = max(-exponent, column_scale)
    precision = scale + max(len(digits) + exponent, column_whole)
    if precision > _MAX_DECIMAL_DIGITS:
        raise ValueError(f"both together need {precision} digits, more than a decimal has")
    return pa.decimal128(precision, scale)


def _digits(data_type: pa.DataType) -> tuple[int, int]:
    """Return the digits of a number before and after its point."""
    if pa.types.is_decimal(data_type):
        return data_type.precision - data_type.scale, data_type.scale
    return 19, 0


def _instance_of(python: type, data_type: pa.DataType, expected: str) -> _Convert:
    """Return the conversion of literals of a Python type, which refuses others."""

    def convert(_type: pa.DataType, literal: Literal) -> pa.Scalar:
        if not isinstance(literal, python):
            raise TypeError(expected)
        return pa.scalar(literal, data_type)

    return convert


def _date(data_type: pa.DataType, literal: Literal) -> pa.Scalar:
    literal = parse_date(literal) if isinstance(literal, str) else literal
    if isinstance(literal, date) and not isinstance(literal, datetime):
        literal = pa.scalar(literal, data_type)
    if not isinstance(literal, pa.Scalar) or not pa.types.is_date(literal.type):
        raise TypeError("expected a date such as '2024-01-31'")
    return literal.cast(data_type)


def parse_date(text: str) -> pa.Scalar:
    """Parse a date like 2024-01-31, of any year.

    Raises:
        ValueError: the text has another form, even one that Spark takes outside its ANSI mode.
    """
    plain, cycles = _within_python(text)
    if not _DATE.fullmatch(plain):
        raise ValueError("expected a date such as '2024-01-31'")
    days = (date.fromisoformat(plain) - date(1970, 1, 1)).days
    return pa.scalar(days + cycles * _DAYS_OF_CYCLE, pa.int32()).cast(pa.date32())


def parse_time(text: str) -> pa.Scalar:
    """Parse a time like 2024-01-31 12:00:00.123456+01:00, of any year.

    The result is in microseconds, in UTC if the text names an offset, else without zone.

    Raises:
        ValueError: the text has another form.
    """
    plain, cycles = _within_python(text)
    if not _TIME.fullmatch(plain):
        raise ValueError("expected a time such as '2024-01-31 12:00:00'")
    zoned = plain.removesuffix("Z") + ("+00:00" if plain[-1:] == "Z" else "")
    value = datetime.fromisoformat(zoned)
    kind = pa.timestamp("us", "UTC" if value.tzinfo is not None else None)
    micros = pa.scalar(value, kind).value + cycles * _DAYS_OF_CYCLE * _MICROS_OF_DAY
    return pa.scalar(micros, pa.int64()).cast(kind)


def _within_python(text: str) -> tuple[str, int]:
    """Return a text with a year that Python has, and how many times 400 years were taken off."""
    match = re.fullmatch(r"([+-]?\d{4,6})(-.*)", text, re.ASCII | re.DOTALL)
    if match is None or date.min.year < int(match[1]) < date.max.year:
        return text, 0
    cycles, year = divmod(int(match[1]) - 2000, 400)
    return f"{2000 + year}{match[2]}", cycles


def _timestamp(data_type: pa.DataType, literal: Literal) -> pa.Scalar:
    if isinstance(literal, str):
        literal = parse_time(literal)
    if isinstance(literal, datetime):
        zone = "UTC" if literal.tzinfo is not None else None
        literal = pa.scalar(literal, pa.timestamp("us", zone))
    if not isinstance(literal, pa.Scalar) or not pa.types.is_timestamp(literal.type):
        raise TypeError("expected a time such as '2024-01-31 12:00:00'")
    if data_type.tz and literal.type.tz is None:
        raise TypeError("name the zone: '2024-01-31 12:00:00+00:00'")
    if not data_type.tz and literal.type.tz is not None:
        raise TypeError("the column holds wall-clock times: leave out the zone")
    return literal.cast(data_type)


def _is_whole(literal: Literal) -> bool:
    return isinstance(literal, int) and not isinstance(literal, bool)


def _one_of(*python: type) -> Callable[[Literal], bool]:
    return lambda literal: type(literal) in python


# Types of columns, and which literals have the same type in the eyes of Spark.
_SAME_TYPE: tuple[tuple[Callable[[pa.DataType], bool], Callable[[Literal], bool]], ...] = (
    (any_of(pa.types.is_integer, pa.types.is_float64, pa.types.is_decimal), _is_whole),
    (pa.types.is_decimal, _one_of(Decimal)),
    (pa.types.is_floating, _one_of(float, Decimal)),
    (pa.types.is_string, _one_of(str)),
    (pa.types.is_boolean, _one_of(bool)),
    (pa.types.is_date, _one_of(date, pa.Date32Scalar)),
    (pa.types.is_timestamp, _one_of(datetime, pa.TimestampScalar)),
    (pa.types.is_binary, _one_of(bytes)),
)
_LITERALS: tuple[tuple[Callable[[pa.DataType], bool], _Convert], ...] = (
    (any_of(pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal), _number),
    (pa.types.is_string, _instance_of(str, pa.string(), "put the text in quotes")),
    (pa.types.is_boolean, _instance_of(bool, pa.bool_(), "expected true or false")),
    (pa.types.is_date, _date),
    (pa.types.is_timestamp, _timestamp),
    (pa.types.is_binary, _instance_of(bytes, pa.binary(), "expected bytes such as X'00FF'")),
)


def _common(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """Return the type in which two literals for one column are compared with it."""
    if left == right:
        return left
    if pa.types.is_floating(left) or pa.types.is_floating(right):
        return pa.float64()
    whole, scale = map(max, _digits(left), _digits(right))
    if scale + whole > _MAX_DECIMAL_DIGITS:
        raise InvalidOptionError(
            f"a list of values needs {scale + whole} digits, more than a decimal has: divide it "
            "into lists of values of about the same size"
        )
    return pa.decimal128(scale + whole, scale)


def cast_to(values: pa.Array, data_type: pa.DataType) -> pa.Array:
    """Convert values to the type of a comparison, which holds all of them."""
    if values.type == data_type:
        return values
    if pa.types.is_integer(values.type) and pa.types.is_decimal(data_type):
        values = pc.cast(values, pa.decimal128(19, 0))
    if pa.types.is_decimal(values.type) and pa.types.is_floating(data_type):
        values = pc.cast(values, pa.string())  # Arrow's own way is often off by one bit
    return pc.cast(values, data_type, safe=not pa.types.is_floating(data_type))


def _regex(pattern: str) -> str:
    """Convert the pattern for RE2: Arrow's own LIKE mistakes escapes at the ends of a pattern."""
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    pieces = [_WILDCARDS.get(part) or _quoted(part[-1]) for part in parts]
    return rf"\A(?s:{''.join(pieces)})\z"


def _quoted(character: str) -> str:
    is_plain = character.isalnum() or not character.isascii()
    return character if is_plain else rf"\x{{{ord(character):x}}}"


def _text(value: pa.Scalar) -> str:
    is_quoted = any_of(pa.types.is_string, pa.types.is_date, pa.types.is_timestamp)(value.type)
    return f"'{scalar_text(value)}'" if is_quoted else scalar_text(value)


def spelled_column(written: str, names: Sequence[str]) -> str:
    """Return a column as it is spelled among some: exactly, or else in any case, as in Spark.

    Raises:
        InvalidOptionError: there is none, with the nearest one, or several differ in case alone.
    """
    if written in names:
        return written
    alike = [name for name in names if name.lower() == written.lower()]
    if len(alike) == 1:
        return alike[0]
    if alike:
        raise InvalidOptionError(
            f"the column {written!r} may be {' or '.join(map(repr, alike))}: write it in their case"
        )
    by_lower_case = {name.lower(): name for name in names}
    near = difflib.get_close_matches(written.lower(), by_lower_case, n=1)
    hint = f" (did you mean {by_lower_case[near[0]]!r}?)" if near else ""
    raise InvalidOptionError(
        f"the table has no column {written!r}{hint}; it has {', '.join(names)}"
    )


def spelled_field(written: str, schema: pa.Schema) -> tuple[str, pa.DataType]:
    """Return a column, or a nested field by its dotted name, as a schema spells it, and its type.

    Raises:
        InvalidOptionError: the schema has no such field, or several that differ in case alone.
    """
    known = {name.lower() for name in schema.names}
    head, *rest = [written] if written.lower() in known else written.split(".")
    name = spelled_column(head, schema.names)
    kind = schema.field(name).type
    for part in rest:
        fields = {f"{name}.{field.name}": field for field in named_fields(kind)}
        name = spelled_column(f"{name}.{part}", list(fields) or schema.names)
        kind = fields[name].type
    return name, kind
