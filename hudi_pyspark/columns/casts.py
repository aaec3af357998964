"""Cast columns that were dropped and added again with another type, as Spark does.

Apache Hudi casts the old values of base files as Spark does outside its ANSI mode: text that is not
a value of the new type becomes null, as does a number that does not fit a decimal. One thing
differs: Spark wraps around numbers that do not fit an integer, this module refuses them.
"""

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import date
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.columns.text import java_text, widen_floats
from hudi_pyspark.exact_decimals import largest_decimal, parse_decimal, round_half_up

_SPACES = "".join(map(chr, [*range(0x21), 0x7F]))  # Spark strips them from both ends of a text
_BOOLEANS = {
    **dict.fromkeys(("t", "true", "y", "yes", "1"), True),
    **dict.fromkeys(("f", "false", "n", "no", "0"), False),
}
_WHOLE = re.compile(r"([+-]?)([0-9]*)(?:\.[0-9]*)?")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SPECIAL = re.compile(r"[+-]?(?:inf|infinity)|nan", re.IGNORECASE)
_HEXADECIMAL = re.compile(r"[+-]?0[xX][0-9a-fA-F]*\.?[0-9a-fA-F]*[pP][+-]?[0-9]+")
_DATE = re.compile(r"([+-]?[0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T].*)?)?)?", re.DOTALL)
_EPOCH = date(1970, 1, 1).toordinal()
_DAYS_OF_400_YEARS = 146_097
_DIGITS_OF_DOUBLE = 17  # as many identify any double
_DIGITS_OF_INT64 = 19
_MOST_DIGITS = 76  # of a decimal256


def parse_texts(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Parse texts as values of a type; every other text becomes null."""
    parse, parsed_type = next((parse, kind) for fits, parse, kind in _PARSERS if fits(target))
    encoded = array.cast(pa.string()).dictionary_encode()
    texts = (text.strip(_SPACES) for text in encoded.dictionary.to_pylist())
    values = pa.array([parse(text, target) for text in texts], parsed_type or target)
    return values.cast(target, safe=False).take(encoded.indices)


def convert_numbers(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Convert numbers or booleans to another type of number, or to booleans.

    A number that does not fit a decimal becomes null.

    Raises:
        pyarrow.ArrowInvalid: a number does not fit an integer.
    """
    if pa.types.is_boolean(target):
        return pc.not_equal(pc.cast(array, pa.float64(), safe=False), 0.0)
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.int8())
    if pa.types.is_integer(target):
        return pc.trunc(array).cast(target)
    if pa.types.is_decimal(target):
        return _float_to_decimal(array, target)
    # Through text: Arrow's direct cast of decimals to floats is often off by one bit.
    return array.cast(pa.string()).cast(pa.float64()).cast(target, safe=False)


def round_to_decimal(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Round integers and decimals to the scale of a decimal type, as Spark does.

    Halves are rounded away from zero. A number with too many digits becomes null.
    """
    array = array.cast(pa.decimal256(_MOST_DIGITS, getattr(array.type, "scale", 0)))
    if target.scale < array.type.scale:
        array = pc.round(array, target.scale, "half_towards_infinity")
        array = array.cast(pa.decimal256(_MOST_DIGITS, target.scale))
    scale = array.type.scale
    largest = largest_decimal(target.precision - target.scale + scale, scale)
    fits = pc.less_equal(pc.abs(array), pa.scalar(largest, array.type))
    return pc.if_else(fits, array, None).cast(target)


def _float_to_decimal(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Round the digits that Java prints for floats; Arrow would round other digits."""
    values = widen_floats(array) if pa.types.is_float32(array.type) else array
    sizes = np.abs(np.asarray(pc.fill_null(values, 1)))
    # Python and Java print the same digits below this size; NaN is not below it.
    is_plain = sizes < 2**53
    rounds_to_zero = sizes < 10.0 ** -(target.scale + 1)
    plain = pc.if_else(pa.array(is_plain & ~rounds_to_zero), values, 0.0)
    wide = pa.decimal256(_MOST_DIGITS, target.scale + _DIGITS_OF_DOUBLE + 1)
    converted = round_to_decimal(plain.cast(pa.string()).cast(wide), target)
    parsed = parse_texts(java_text(array.filter(pa.array(~is_plain))), target)
    return pc.replace_with_mask(converted, pa.array(~is_plain), parsed)


def _parse_whole(text: str, target: pa.DataType) -> int | None:
    match = _WHOLE.fullmatch(text)
    if match is None or text in ("", "+", "-"):
        return None
    digits = match.group(2).lstrip("0") or "0"
    if len(digits) > _DIGITS_OF_INT64:  # Python makes no int of more digits than a caller allows
        return None
    value = int(f"{match.group(1)}{digits}")
    limit = 1 << (target.bit_width - 1)
    return value if -limit <= value < limit else None


def _parse_float(text: str, _: pa.DataType) -> float | None:
    number = text[:-1] if text[-1:] in ("f", "F", "d", "D") else text
    if _HEXADECIMAL.fullmatch(number):
        return float.fromhex(number)
    if _DECIMAL.fullmatch(number) or _SPECIAL.fullmatch(number := text):
        return float(number)
    return None


def _parse_decimal(text: str, target: pa.DataType) -> Decimal | None:
    if not _DECIMAL.fullmatch(text):
        return None
    try:
        value = parse_decimal(text)
    except ValueError:  # an exponent of more digits than any number has
        return None
    if value.adjusted() > target.precision:
        return None
    rounded = round_half_up(value, target.scale)
    fits = rounded.adjusted() < target.precision - target.scale or not rounded
    return rounded if fits else None


def _parse_date(text: str, _: pa.DataType) -> int | None:
    match = _DATE.fullmatch(text)
    if match is None:
        return None
    cycles, year = divmod(int(match.group(1)), 400)
    with suppress(ValueError):
        # The calendar repeats after 400 years, and Python's begins with year 1.
        day = date(year + 400, int(match.group(2) or 1), int(match.group(3) or 1))
        return day.toordinal() - _EPOCH + (cycles - 1) * _DAYS_OF_400_YEARS
    return None


_Parse: TypeAlias = Callable[[str, pa.DataType], Any]
# By target type: the parser, and the type of parsed values; None for the target itself.
_PARSERS: tuple[tuple[Callable[[pa.DataType], bool], _Parse, pa.DataType | None], ...] = (
    (pa.types.is_boolean, lambda text, _: _BOOLEANS.get(text.lower()), None),
    (pa.types.is_integer, _parse_whole, None),
    (pa.types.is_floating, _parse_float, pa.float64()),
    (pa.types.is_decimal, _parse_decimal, None),
    (pa.types.is_date, _parse_date, pa.int32()),
)
