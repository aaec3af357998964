"""Parts of a text that it can do without.

They stand between the signs `OPEN` and `CLOSE`: `render` removes the signs, and `shorter` yields
the text without one of the parts.
"""

from __future__ import annotations

from collections.abc import Iterator

OPEN, CLOSE = "⟦", "⟧"


def render(text: str) -> str:
    """Return a text without the signs of its parts."""
    return text.replace(OPEN, "").replace(CLOSE, "")


def shorter(text: str) -> Iterator[str]:
    """Yield the text without each of its parts, the longest first."""
    parts = []
    begins = []
    for place, sign in enumerate(text):
        if sign == OPEN:
            begins.append(place)
        elif sign == CLOSE:
            parts.append((begins.pop(), place + 1))
    for begin, end in sorted(parts, key=lambda part: part[0] - part[1]):
        yield text[:begin] + text[end:]


def maybe(text: str) -> str:
    """Mark a part that a query can do without."""
    return f"{OPEN}{text}{CLOSE}" if text else ""
