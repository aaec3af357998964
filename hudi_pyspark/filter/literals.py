"""Literals of filters, and the type in which a column is compared with them.

Both sides are converted to a type that loses nothing of either: an int column and the literal 1.5
are compared as decimals, an int column and 1e0 as doubles. Text beside a date or a timestamp is
parsed. Everything else is refused rather than converted.
"""

import re
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import reduce
from math import isnan
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.columns.arrays import cast_to
from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.exact_decimals import is_whole, scaled_decimal
from hudi_pyspark.filter.predicate import Comparison, IsIn, Operator, literal_text

LiteralValue: TypeAlias = bool | int | float | Decimal | str | bytes | date | datetime | pa.Scalar
_Fits: TypeAlias = Callable[[pa.DataType], bool]
_Convert: TypeAlias = Callable[[pa.DataType, LiteralValue], pa.Scalar]
_Rule: TypeAlias = tuple[_Fits, _Convert, tuple[type, ...]]

_MAX_DECIMAL_DIGITS = 38
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TIME = re.compile(
    r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})?)?", re.ASCII
)
_DAYS_OF_CYCLE = 146_097  # the calendar repeats after 400 years
_MICROS_OF_DAY = 86_400_000_000


def compare(column: pa.Field, operator: Operator, literal: LiteralValue) -> Comparison:
    """Compare a column with a literal, in a type that loses nothing of either.

    Text that is compared with a date or a timestamp is parsed (ISO 8601).

    Args:
        column: its name is dotted for a field of a struct.
        operator: the column is on its left.
        literal: never None or NaN.

    Raises:
        InvalidOptionError: the two cannot be compared; the message names the column and its type.
    """
    return Comparison(column.name, operator, _to_scalar(column, literal))


def is_in(column: pa.Field, literals: Sequence[LiteralValue]) -> IsIn:
    """Look for a column's values among literals, converted as in `compare`.

    Raises:
        InvalidOptionError: there is no literal, or one cannot be compared with the column.
    """
    if not literals:
        raise InvalidOptionError(f"column {column.name!r}: the list of values is empty")
    scalars = [_to_scalar(column, literal) for literal in literals]
    common = reduce(_common_type, (scalar.type for scalar in scalars))
    values = pa.concat_arrays([cast_to(pa.repeat(scalar, 1), common) for scalar in scalars])
    if pa.types.is_floating(common):
        values = pc.add(values, pa.scalar(0, common))  # -0.0 equals 0.0
    return IsIn(column.name, values.unique())


def check_same_type(column: pa.Field, literal: LiteralValue) -> None:
    """Refuse a comparison for which Spark would convert the literal or the column.

    An integer may be compared with any number except a 32-bit float: the type that Spark chooses
    then has room for both.

    Raises:
        InvalidOptionError: the two have different types.
    """
    literal_types = next((types for fits, _, types in _RULES if fits(column.type)), ())
    if type(literal) not in literal_types:
        raise InvalidOptionError(
            f"column {column.name!r} has type {column.type}, the literal has type "
            f"{type(literal).__name__}: Spark would convert one of them"
        )


def parse_date(text: str) -> pa.Scalar:
    """Parse a date such as 2024-01-31, of any year.

    Raises:
        ValueError: the text has another form, even one that Spark accepts outside its ANSI mode.
    """
    plain, cycles = _within_python_years(text)
    if not _DATE.fullmatch(plain):
        raise ValueError("expected a date such as '2024-01-31'")
    days = (date.fromisoformat(plain) - date(1970, 1, 1)).days
    return pa.scalar(days + cycles * _DAYS_OF_CYCLE, pa.int32()).cast(pa.date32())


def parse_time(text: str) -> pa.Scalar:
    """Parse a timestamp such as 2024-01-31 12:00:00.123456+01:00, of any year.

    The result counts microseconds, in UTC if the text names an offset, else without a zone.

    Raises:
        ValueError: the text has another form.
    """
    plain, cycles = _within_python_years(text)
    if not _TIME.fullmatch(plain):
        raise ValueError("expected a time such as '2024-01-31 12:00:00'")
    zoned = plain.removesuffix("Z") + ("+00:00" if plain[-1:] == "Z" else "")
    value = datetime.fromisoformat(zoned)
    kind = pa.timestamp("us", "UTC" if value.tzinfo is not None else None)
    micros = pa.scalar(value, kind).value + cycles * _DAYS_OF_CYCLE * _MICROS_OF_DAY
    return pa.scalar(micros, pa.int64()).cast(kind)


def _within_python_years(text: str) -> tuple[str, int]:
    """Shift a year into Python's range; also return by how many cycles of 400 years."""
    match = re.fullmatch(r"([+-]?\d{4,6})(-.*)", text, re.ASCII | re.DOTALL)
    if match is None or date.min.year < int(match[1]) < date.max.year:
        return text, 0
    cycles, year = divmod(int(match[1]) - 2000, 400)
    return f"{2000 + year}{match[2]}", cycles


def _common_type(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """Return the type in which two literals of one list are compared with the column."""
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


def _digits(data_type: pa.DataType) -> tuple[int, int]:
    """Return how many digits the numbers of a type have before and after the point."""
    if pa.types.is_decimal(data_type):
        return data_type.precision - data_type.scale, data_type.scale
    return 19, 0


def _to_scalar(column: pa.Field, literal: LiteralValue) -> pa.Scalar:
    """Convert a literal to the type in which the column is compared with it."""
    described = f"column {column.name!r} of type {column.type}"
    for fits, convert, _ in _RULES:
        if fits(column.type):
            try:
                return convert(column.type, literal)
            except (TypeError, ValueError, OverflowError, pa.ArrowInvalid) as error:
                reason = f": {error}" if str(error) else ""
                shown = literal_text(literal) if isinstance(literal, pa.Scalar) else _shown(literal)
                raise InvalidOptionError(
                    f"{described} cannot be compared with {shown}{reason}"
                ) from None
    raise InvalidOptionError(f"{described} can only be compared with IS NULL and IS NOT NULL")


def _shown(literal: object) -> str:
    """Show a literal of Python. It shows no int of more digits than a caller allows."""
    if isinstance(literal, int) and not isinstance(literal, bool):
        return str(scaled_decimal(literal))
    return repr(literal)


def _to_number(data_type: pa.DataType, literal: LiteralValue) -> pa.Scalar:
    if isinstance(literal, bool) or not isinstance(literal, int | float | Decimal):
        raise TypeError("expected a number")
    if _is_nan(literal):
        raise ValueError("a filter cannot compare with NaN")
    if isinstance(literal, float) or pa.types.is_floating(data_type):
        return pa.scalar(float(literal), pa.float64())
    exact = literal if isinstance(literal, Decimal) else scaled_decimal(literal)
    _, digits, exponent = exact.as_tuple()
    if not isinstance(exponent, int):
        raise TypeError("expected a finite number")
    is_long = is_whole(exact) and -(2**63) <= exact < 2**63
    if pa.types.is_integer(data_type) and is_long:
        return pa.scalar(int(exact), pa.int64())
    column_whole, column_scale = _digits(data_type)
    scale = max(-exponent, column_scale)
    precision = scale + max(len(digits) + exponent, column_whole)
    if precision > _MAX_DECIMAL_DIGITS:
        raise ValueError(f"both together need {precision} digits, more than a decimal has")
    return pa.scalar(exact, pa.decimal128(precision, scale))


def _is_nan(number: object) -> bool:
    if isinstance(number, Decimal):
        return number.is_nan()
    return isinstance(number, float) and isnan(number)


def _to_date(data_type: pa.DataType, literal: LiteralValue) -> pa.Scalar:
    literal = parse_date(literal) if isinstance(literal, str) else literal
    if isinstance(literal, date) and not isinstance(literal, datetime):
        literal = pa.scalar(literal, data_type)
    if not isinstance(literal, pa.Scalar) or not pa.types.is_date(literal.type):
        raise TypeError("expected a date such as '2024-01-31'")
    return literal.cast(data_type)


def _to_timestamp(data_type: pa.DataType, literal: LiteralValue) -> pa.Scalar:
    literal = parse_time(literal) if isinstance(literal, str) else literal
    if isinstance(literal, datetime):
        zone = "UTC" if literal.tzinfo is not None else None
        literal = pa.scalar(literal, pa.timestamp("us", zone))
    if not isinstance(literal, pa.Scalar) or not pa.types.is_timestamp(literal.type):
        raise TypeError("expected a time such as '2024-01-31 12:00:00'")
    if data_type.tz and literal.type.tz is None:
        raise TypeError("name the zone: '2024-01-31 12:00:00+00:00'")
    if not data_type.tz and literal.type.tz is not None:
        raise TypeError("the column has local times without a zone: leave out the zone")
    return literal.cast(data_type)


def _only(fits: _Fits, python: type, arrow: pa.DataType, expected: str) -> _Rule:
    """Make the rule of columns that are compared with literals of a single type."""

    def convert(_type: pa.DataType, literal: LiteralValue) -> pa.Scalar:
        if not isinstance(literal, python):
            raise TypeError(expected)
        return pa.scalar(literal, arrow)

    return fits, convert, (python,)


# Types of columns, how literals are converted for them, and the types of literals that Spark
# compares with them as they are.
_RULES: tuple[_Rule, ...] = (
    (pa.types.is_integer, _to_number, (int,)),
    (pa.types.is_float64, _to_number, (int, float, Decimal)),
    (pa.types.is_floating, _to_number, (float, Decimal)),
    (pa.types.is_decimal, _to_number, (int, Decimal)),
    (pa.types.is_date, _to_date, (date, pa.Date32Scalar)),
    (pa.types.is_timestamp, _to_timestamp, (datetime, pa.TimestampScalar)),
    _only(pa.types.is_string, str, pa.string(), "put the text in quotes"),
    _only(pa.types.is_boolean, bool, pa.bool_(), "expected true or false"),
    _only(pa.types.is_binary, bytes, pa.binary(), "expected bytes such as X'00FF'"),
)
