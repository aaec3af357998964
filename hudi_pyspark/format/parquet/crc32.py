"""CRC-32 of a part of some bytes, from the CRC-32 of the whole."""

from __future__ import annotations

import zlib
from functools import lru_cache

_POLYNOMIAL = 0xEDB88320  # of gzip, its bits reversed
_ONE = 1 << 31  # the polynomial 1, in the same order of bits


def crc32_without_prefix(whole: int, prefix: bytes, rest_size: int) -> int:
    """Return the CRC-32 of the bytes that follow a prefix.

    The CRC of two parts is that of the first, multiplied by x to the power of the second's bits
    modulo the polynomial, plus that of the second.

    Args:
        whole: CRC-32 of the prefix and the rest.
        prefix: the first bytes.
        rest_size: bytes after the prefix.
    """
    return whole ^ _product(_power(8 * rest_size), zlib.crc32(prefix))


def _product(first: int, second: int) -> int:
    """Multiply two polynomials over the field of two elements, modulo the polynomial."""
    result = 0
    while first:
        if first & _ONE:
            result ^= second
        first = first << 1 & 0xFFFFFFFF
        second = second >> 1 ^ (_POLYNOMIAL if second & 1 else 0)
    return result


@lru_cache(maxsize=256)  # pages have the same few sizes again and again
def _power(bits: int) -> int:
    """Raise x to the power of a number of bits, modulo the polynomial."""
    result, square = _ONE, _ONE >> 1
    while bits:
        if bits & 1:
            result = _product(square, result)
        square = _product(square, square)
        bits >>= 1
    return result
