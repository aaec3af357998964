"""Fields of decoded records: JSON, or Avro with a schema of its own, may have any type anywhere."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable


def text(value: object) -> str:
    """Return a text; "" for None.

    Raises:
        TypeError: any other value.
    """
    if value is not None and not isinstance(value, str):
        raise TypeError(f"expected text, found {type(value).__name__}")
    return value or ""


def texts(values: object) -> tuple[str, ...]:
    """Return the texts of a list; () for None.

    Raises:
        TypeError: any other value.
    """
    found = [] if values is None else values
    if not isinstance(found, list):
        raise TypeError(f"expected a list, found {type(found).__name__}")
    check_texts(found)
    return tuple(found)


def number(value: object) -> int:
    """Return a whole number; 0 for None.

    Raises:
        TypeError: any other value.
    """
    if value is not None and not isinstance(value, int):
        raise TypeError(f"expected a number, found {type(value).__name__}")
    return value or 0


# A commit has very many fields, so that these two let C look at the types.
def check_texts(values: Iterable[Any]) -> None:
    """Raise a TypeError unless all values are texts."""
    "".join(values)


def check_numbers(values: Iterable[Any]) -> None:
    """Raise a TypeError unless all values are numbers."""
    math.fsum(values)
