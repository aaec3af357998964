"""Floating-point numbers as Java prints them (``Double.toString``, ``Float.toString``)."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa

# Java switches to computerised scientific notation outside [10^-3, 10^7).
_PLAIN_FROM, _PLAIN_TO = 1e-3, 1e7


def java_double_text(array: pa.Array) -> pa.Array:
    """Convert a float64 array to the text of ``Double.toString``, for columns that became text."""
    texts = [None if v is None else _java_text(v, _double_digits(v)) for v in array.to_pylist()]
    return pa.array(texts, pa.string())


def java_float_text(array: pa.Array) -> pa.Array:
    """Convert a float32 array to the text of ``Float.toString``."""
    texts = [None if v is None else _java_text(v, _float_digits(v)) for v in array.to_pylist()]
    return pa.array(texts, pa.string())


def _double_digits(value: float) -> str:
    # Java prints two digits at least, and of two digits the nearest: 4.9E-324, Python's 5e-324.
    nearest = f"{value:.1e}"
    return nearest if float(nearest) == value else repr(value)


def _float_digits(value: float) -> str:
    nearest = f"{value:.1e}"
    is_exact = float(np.float32(nearest)) == value
    return nearest if is_exact else np.format_float_scientific(np.float32(value))


def _java_text(value: float, shortest: str) -> str:
    """Format the shortest decimal digits that identify a value as Java does."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0.0" if math.copysign(1, value) < 0 else "0.0"
    sign = "-" if value < 0 else ""
    digits, exponent = _digits(shortest.lstrip("-"))
    if _PLAIN_FROM <= abs(value) < _PLAIN_TO:
        return sign + _plain(digits, exponent)
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def _digits(text: str) -> tuple[str, int]:
    """Split off significant digits, without zeros at the ends, and the first digit's exponent."""
    mantissa, _, exponent_text = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    exponent = int(exponent_text or 0) + len(whole) - 1
    digits = whole + fraction
    leading = len(digits) - len(digits.lstrip("0"))
    return digits.strip("0"), exponent - leading


def _plain(digits: str, exponent: int) -> str:
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    return f"{whole}.{digits[exponent + 1 :] or '0'}"
