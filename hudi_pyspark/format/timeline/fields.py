"""Fields of decoded records: JSON, and Avro with any schema, may have any type anywhere."""

from __future__ import annotations


def text(value: object) -> str:
    """Return a text; "" for None, TypeError for any other value."""
    if value is not None and not isinstance(value, str):
        raise TypeError(f"expected text, found {type(value).__name__}")
    return value or ""


def texts(values: object) -> tuple[str, ...]:
    """Return the texts of a list; () for None, TypeError for any other value."""
    found = [] if values is None else values
    if not isinstance(found, list):
        raise TypeError(f"expected a list, found {type(found).__name__}")
    for value in found:
        if not isinstance(value, str):
            raise TypeError(f"expected a list of texts, found {type(value).__name__} in it")
    return tuple(found)


def number(value: object) -> int:
    """Return a whole number; 0 for None, TypeError for any other value."""
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise TypeError(f"expected a number, found {type(value).__name__}")
    return value or 0
