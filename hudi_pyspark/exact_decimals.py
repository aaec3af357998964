"""The one place that computes with `decimal.Decimal`: exactly, whatever the caller's context.

Arithmetic on decimals rounds to the digits of `decimal.getcontext()`: 28 by default, any number if
the process that imports this package says so. Bounds of 29 digits would then rule out rows that
match. So no other module makes decimals or computes with them. Values that are made here may be
compared and given to Arrow, which depends on no context.
"""

from decimal import (
    MAX_EMAX,
    MAX_PREC,
    MIN_EMIN,
    ROUND_HALF_EVEN,
    ROUND_HALF_UP,
    Context,
    Decimal,
    DecimalException,
    Inexact,
)
from decimal import InvalidOperation as NotADecimalError


def _context(digits: int, rounding: str, *traps: type[DecimalException]) -> Context:
    """Return a context that raises an error of ``traps`` or of an invalid operation."""
    # Each field is given: others would be those of `decimal.DefaultContext`, which anybody may set.
    return Context(
        prec=digits,
        rounding=rounding,
        Emin=MIN_EMIN,
        Emax=MAX_EMAX,
        capitals=1,
        clamp=0,
        flags=[],
        traps=[NotADecimalError, *traps],
    )


_EXACT = _context(MAX_PREC, ROUND_HALF_EVEN, Inexact)  # nothing is rounded silently
_ROUNDING = _context(100, ROUND_HALF_UP)
_NO_NUMBER = _EXACT.create_decimal("NaN")


def scaled_decimal(unscaled: int, scale: int = 0) -> Decimal:
    """Return a number by its digits and how many of them stand after the point.

    Args:
        unscaled: the digits, with the sign.
        scale: may be negative: 5 of scale -2 is 500.
    """
    return _EXACT.scaleb(_EXACT.create_decimal(unscaled), -scale)


def parse_decimal(text: str) -> Decimal:
    """Parse a number, such as ``-1.50`` or ``1e3``.

    Raises:
        ValueError: the text is not a number, or its exponent has more than 18 digits.
    """
    try:
        value = _EXACT.create_decimal(text)
    except (NotADecimalError, Inexact):
        value = _NO_NUMBER
    if not value.is_finite():
        shown = f"{text[:100]!r}{'' if len(text) <= 100 else ' …'}"
        raise ValueError(f"{shown} is not a decimal number")
    return value


def largest_decimal(precision: int, scale: int) -> Decimal:
    """Return the largest number with so many digits, ``scale`` of them after the point."""
    return scaled_decimal(10**precision - 1, scale)


def round_half_up(value: Decimal, scale: int) -> Decimal:
    """Round a number to so many digits after the point, halves away from zero.

    Args:
        value: of at most 100 digits before the point.
        scale: of the result, 0 or more.
    """
    return value.quantize(scaled_decimal(1, scale), ROUND_HALF_UP, _ROUNDING)


def is_whole(value: Decimal) -> bool:
    """Return whether a finite number has no digits after the point, zeros apart."""
    return value == value.to_integral_value(ROUND_HALF_EVEN, _EXACT)
