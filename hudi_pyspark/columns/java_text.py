"""Floating-point numbers as Java prints them (``Double.toString``, ``Float.toString``)."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa

# Java switches to computerised scientific notation outside [10^-3, 10^7).
_PLAIN_FROM, _PLAIN_TO = 1e-3, 1e7


def java_text(array: pa.Array) -> pa.Array:
    """Convert a float64 or float32 array to text, for columns that became text."""
    is_double = pa.types.is_float64(array.type)
    values = array.to_pylist()
    texts = [None if v is None else _java_text(v, is_double=is_double) for v in values]
    return pa.array(texts, pa.string())


def _java_text(value: float, *, is_double: bool) -> str:
    """Format the shortest decimal digits that identify a value as Java does."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0.0" if math.copysign(1, value) < 0 else "0.0"
    sign = "-" if value < 0 else ""
    # Java prints two digits at least, and of two digits the nearest: 4.9E-324, Python's 5e-324.
    nearest = f"{value:.1e}"
    if is_double:
        shortest = nearest if float(nearest) == value else repr(value)
    else:
        is_exact = float(np.float32(nearest)) == value
        shortest = nearest if is_exact else np.format_float_scientific(np.float32(value))
    # Its significant digits, without zeros at the ends, and the exponent of the first of them.
    mantissa, _, exponent_text = shortest.lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    exponent = int(exponent_text or 0) + len(digits) - len(fraction) - 1
    digits = digits.rstrip("0")
    if _PLAIN_FROM <= abs(value) < _PLAIN_TO:
        return sign + _plain(digits, exponent)
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def _plain(digits: str, exponent: int) -> str:
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    return f"{whole}.{digits[exponent + 1 :] or '0'}"
