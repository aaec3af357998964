"""Words for people: sizes, counts, durations and suggestions."""

import difflib
from collections.abc import Iterable, Mapping


def byte_text(count: float) -> str:
    """Format a number of bytes by powers of 1000, e.g. ``12.3 MB``."""
    if count < 1000:
        return f"{count} B"
    for unit in ("kB", "MB", "GB", "TB"):
        count /= 1000
        if count < 999.95:
            return f"{count:.1f} {unit}"
    return f"{count / 1000:.1f} PB"


def counted(count: int, noun: str) -> str:
    """Format a number with its noun, e.g. ``1 file`` or ``1,200 files``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def duration_text(seconds: float) -> str:
    """Format a duration in its largest unit, e.g. ``2 days``; ``in 2 days`` if it is negative."""
    if seconds < 0:  # the clock of the writer is ahead
        return f"in {duration_text(-seconds)}"
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            return counted(int(seconds / length), unit)
    return counted(int(seconds), "second")


def did_you_mean(name: str, names: Iterable[str], *, cutoff: float = 0.6) -> str:
    """Return the end of a message about an unknown name: the name most like it.

    Args:
        name: as the user wrote it.
        names: all names that exist.
        cutoff: how alike two names must be, from 0 to 1.

    Returns:
        For example ``; did you mean region?``, or "" if no name is alike.
    """
    near = nearest(name, {known: known for known in names}, cutoff=cutoff)
    return f"; did you mean {near}?" if near else ""


def nearest(name: str, names: Mapping[str, str], *, cutoff: float = 0.6) -> str:
    """Return the value of the key that is most like a name; "" if no key is alike."""
    near = difflib.get_close_matches(name, names, n=1, cutoff=cutoff)
    return names[near[0]] if near else ""
