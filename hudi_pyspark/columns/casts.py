"""Values of a column that was dropped and added again with another type, as Spark casts them.

Apache Hudi casts the old values of base files as Spark does outside its ANSI mode. Text that is not
a value of the new type becomes null. Numbers that do not fit the new type are refused, where Spark
wraps them around or makes nulls of them, and so do log blocks of Apache Hudi.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import date
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.columns.text import java_text

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


def from_text(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Parse texts as values of a type; null for those that are none."""
    parse = next(parse for fits, parse in _PARSERS if fits(target))
    encoded = array.cast(pa.string()).dictionary_encode()
    texts = (text.strip(_SPACES) for text in encoded.dictionary.to_pylist())
    values = pa.array([parse(text, target) for text in texts], _carrier(target))
    return values.cast(target, safe=False).take(encoded.indices)


def from_number(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Convert numbers or booleans to another kind of number, or to booleans.

    Raises:
        pyarrow.ArrowInvalid: a number does not fit the type.
    """
    if pa.types.is_boolean(target):
        return pc.not_equal(pc.cast(array, pa.float64(), safe=False), 0.0)
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.int8())
        return array.cast(pa.decimal128(3, 0) if pa.types.is_decimal(target) else target).cast(
            target
        )
    if pa.types.is_integer(target):
        return pc.trunc(array).cast(target)
    # Not by Arrow, which rounds decimals to floats, and floats to decimals, in its own way.
    texts = java_text(array) if pa.types.is_floating(array.type) else array.cast(pa.string())
    converted = from_text(texts, target)
    if converted.null_count > array.null_count:
        raise pa.ArrowInvalid(f"a value does not fit {target}")
    return converted


def _carrier(target: pa.DataType) -> pa.DataType:
    """Return the type of parsed values, before they are cast to the target."""
    if pa.types.is_floating(target):
        return pa.float64()
    return pa.int32() if pa.types.is_date(target) else target


def _boolean(text: str, _: pa.DataType) -> bool | None:
    return _BOOLEANS.get(text.lower())


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
    return rounded if rounded.adjusted() < target.precision - target.scale or not rounded else None


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
    (pa.types.is_boolean, _boolean),
    (pa.types.is_integer, _whole),
    (pa.types.is_floating, _floating),
    (pa.types.is_decimal, _decimal),
    (pa.types.is_date, _date),
)
