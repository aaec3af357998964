"""Values of a column that was dropped and added again with another type, as Spark casts them.

Apache Hudi casts the old values of base files as Spark does outside its ANSI mode. Text that is not
a value of the new type becomes null, and so does a number that does not fit a decimal. Numbers that
do not fit an integer are refused, where Spark wraps them around.
"""

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import date
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.columns.text import java_text, widen_floats

_SPACES = "".join(map(chr, [*range(0x21), 0x7F]))  # that Spark takes away at both ends of a text
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
_EXACT = Context(prec=100)
_DIGITS_OF_DOUBLE = 17  # at most, of those that identify it
_MOST_DIGITS = 76  # of a decimal256


def parse_texts(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Parse texts as values of a type; null for those that are none."""
    parse = next(parse for fits, parse in _PARSERS if fits(target))
    encoded = array.cast(pa.string()).dictionary_encode()
    texts = (text.strip(_SPACES) for text in encoded.dictionary.to_pylist())
    values = pa.array([parse(text, target) for text in texts], _carrier(target))
    return values.cast(target, safe=False).take(encoded.indices)


def convert_numbers(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Convert numbers or booleans to another kind of number, or to booleans.

    Null is what does not fit a decimal.

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
    # By way of its text: Arrow's own way from decimals to floats is often off by one bit.
    return array.cast(pa.string()).cast(pa.float64()).cast(target, safe=False)


def round_to_decimal(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Convert integers and decimals to decimals, maybe of fewer digits, as Spark does.

    Halves are rounded up, away from zero. Null is what does not fit then.
    """
    array = array.cast(pa.decimal256(_MOST_DIGITS, getattr(array.type, "scale", 0)))
    if target.scale < array.type.scale:
        array = pc.round(array, target.scale, "half_towards_infinity")
        array = array.cast(pa.decimal256(_MOST_DIGITS, target.scale))
    step = Decimal(1).scaleb(-array.type.scale)
    largest = _EXACT.subtract(Decimal(10 ** (target.precision - target.scale)), step)
    fits = pc.less_equal(pc.abs(array), pa.scalar(largest, array.type))
    return pc.if_else(fits, array, None).cast(target)


def _float_to_decimal(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Round the digits that Java prints of floats, which are not those that Arrow would round."""
    values = widen_floats(array) if pa.types.is_float32(array.type) else array
    sizes = np.abs(np.asarray(pc.fill_null(values, 1)))
    # Shorter digits than these may have other ends in Java; NaN is among them.
    is_plain = sizes < 2**53
    is_zero = sizes < 10.0 ** -(target.scale + 1)  # once it is rounded
    plain = pc.if_else(pa.array(is_plain & ~is_zero), values, 0.0)
    wide = pa.decimal256(_MOST_DIGITS, target.scale + _DIGITS_OF_DOUBLE + 1)
    converted = round_to_decimal(plain.cast(pa.string()).cast(wide), target)
    others = array.filter(pa.array(~is_plain))
    parsed = parse_texts(java_text(others), target)
    return pc.replace_with_mask(converted, pa.array(~is_plain), parsed)


def _carrier(target: pa.DataType) -> pa.DataType:
    """Return the type of parsed values, before they are cast to the target."""
    if pa.types.is_floating(target):
        return pa.float64()
    return pa.int32() if pa.types.is_date(target) else target


def _whole(text: str, target: pa.DataType) -> int | None:
    match = _WHOLE.fullmatch(text)
    if match is None or text in ("", "+", "-"):
        return None
    value = int(f"{match.group(1)}{match.group(2) or 0}")
    limit = 1 << (target.bit_width - 1)
    return value if -limit <= value < limit else None


def _floating(text: str, _: pa.DataType) -> float | None:
    number = text[:-1] if text[-1:] in ("f", "F", "d", "D") else text
    if _HEXADECIMAL.fullmatch(number):
        return float.fromhex(number)
    if _DECIMAL.fullmatch(number) or _SPECIAL.fullmatch(number := text):
        return float(number)
    return None


def _decimal(text: str, target: pa.DataType) -> Decimal | None:
    if not _DECIMAL.fullmatch(text):
        return None
    value = Decimal(text)
    if value.adjusted() > target.precision:
        return None
    step = Decimal(1).scaleb(-target.scale)
    rounded = value.quantize(step, ROUND_HALF_UP, _EXACT)
    fits = rounded.adjusted() < target.precision - target.scale or not rounded
    return rounded if fits else None


def _date(text: str, _: pa.DataType) -> int | None:
    match = _DATE.fullmatch(text)
    if match is None:
        return None
    cycles, year = divmod(int(match.group(1)), 400)
    with suppress(ValueError):
        # The calendar repeats itself, and Python's begins with year 1.
        day = date(year + 400, int(match.group(2) or 1), int(match.group(3) or 1))
        return day.toordinal() - _EPOCH + (cycles - 1) * _DAYS_OF_400_YEARS
    return None


_PARSERS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[str, pa.DataType], Any]], ...] = (
    (pa.types.is_boolean, lambda text, _: _BOOLEANS.get(text.lower())),
    (pa.types.is_integer, _whole),
    (pa.types.is_floating, _floating),
    (pa.types.is_decimal, _decimal),
    (pa.types.is_date, _date),
)
