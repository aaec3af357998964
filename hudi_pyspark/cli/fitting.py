"""Columns of text made to fit the width of a terminal."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from rich.cells import cell_len

if TYPE_CHECKING:
    from collections.abc import Sequence

_GAPS = (2, 1)  # cells between two columns
# A long word may be broken after these.
_PARTS = re.compile(r"[^\s/_.,:=-]*[\s/_.,:=-]?")
_INSTANT = re.compile(r"\d{14}(\d{3})?$")
_ELLIPSIS = "…"


class Kind(Enum):
    """How the texts of a column get shorter; the value is the least width."""

    FIXED = 0  # numbers and short words: not at all
    FILE_ID = 9  # the beginning stays
    PATH = 20  # the beginning and the end stay
    TEXT = 24  # broken into lines


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a printed table.

    Attributes:
        name: of the column; its header may have several lines.
        cells: one text per row, of one or several lines.
        is_number: the texts are aligned on the right.
    """

    name: str
    cells: tuple[str, ...]
    is_number: bool = False

    @property
    def header(self) -> str:
        """The name in one line."""
        return self.name.replace("\n", "")

    @property
    def width(self) -> int:
        """Number of terminal cells that the longest line takes."""
        return max(cell_len(line) for text in (self.name, *self.cells) for line in lines_of(text))

    @property
    def kind(self) -> Kind:
        """How the texts get shorter."""
        if self.is_number or all(_INSTANT.match(text) for text in self.cells):
            return Kind.FIXED
        if self.header == "file_id":
            return Kind.FILE_ID
        return Kind.PATH if self.header.endswith("path") else Kind.TEXT


def fit(columns: Sequence[Column], width: int) -> tuple[int, list[Column]] | None:
    """Fit columns into a width, with as few changes as possible.

    Long headers are broken into lines first, then texts get shorter, and last the digits go that
    all instants of a column begin with.
    """
    broken = [_with_broken_header(column) for column in columns]
    for candidate in (list(columns), broken):
        for gap in _GAPS:
            if _excess(candidate, gap, width) <= 0:
                return gap, candidate
    for candidate in (broken, [_with_short_instants(column) for column in broken]):
        for gap in _GAPS:
            shrunk = _shrink(candidate, _excess(candidate, gap, width))
            if shrunk is not None:
                return gap, shrunk
    return None


def wrap(text: str, width: int) -> str:
    """Break a text into lines of at most a width, between words or after signs like ``/``."""
    words = re.findall(r"\S+\s?", text)
    lines = [""]
    for part in [
        part
        for word in words
        for part in ([word] if cell_len(word.rstrip()) <= width else _PARTS.findall(word))
    ]:
        rest = part
        if cell_len(lines[-1] + rest.rstrip()) > width and lines[-1]:
            lines.append("")
        while cell_len(rest.rstrip()) > width:  # a word that is longer than a line
            cut = _prefix(rest, width)
            lines[-1], rest = cut, rest[len(cut) :]
            lines.append("")
        lines[-1] += rest
    return "\n".join(line.rstrip() for line in lines)


def lines_of(text: str) -> list[str]:
    """Return the lines of a text, at least one."""
    return text.split("\n")


def _excess(columns: Sequence[Column], gap: int, width: int) -> int:
    widths = [column.width for column in columns]
    return sum(widths) + gap * (len(columns) - 1) - width


def _shrink(columns: Sequence[Column], excess: int) -> list[Column] | None:
    """Make texts shorter until a number of cells is saved, first where most can be; or None."""
    widths = [column.width for column in columns]
    spare = [_spare(column) for column in columns]
    if sum(spare) < excess:
        return None
    for _ in range(excess):
        widest = max(range(len(columns)), key=lambda place: spare[place])
        widths[widest] -= 1
        spare[widest] -= 1
    return [_shorter(column, width) for column, width in zip(columns, widths, strict=True)]


def _spare(column: Column) -> int:
    if column.kind is Kind.FIXED:
        return 0
    header = max(map(cell_len, lines_of(column.name)))
    least: int = max(column.kind.value, header)
    return max(0, column.width - least)


def _shorter(column: Column, width: int) -> Column:
    if column.width <= width:
        return column
    shorten = {Kind.FILE_ID: _begin, Kind.PATH: _ends}.get(column.kind, wrap)
    return replace(column, cells=tuple(shorten(text, width) for text in column.cells))


def _begin(text: str, width: int) -> str:
    return text if cell_len(text) <= width else _prefix(text, width - 1) + _ELLIPSIS


def _ends(text: str, width: int) -> str:
    if cell_len(text) <= width:
        return text
    first = (width - 1) // 2
    return _prefix(text, first) + _ELLIPSIS + _prefix(text[::-1], width - 1 - first)[::-1]


def _prefix(text: str, width: int) -> str:
    """Return as many characters as fit, at least one."""
    kept = text[:width]
    while len(kept) > 1 and cell_len(kept) > width:
        kept = kept[:-1]
    return kept


def _with_broken_header(column: Column) -> Column:
    parts = [part for part in _PARTS.findall(column.name) if part]
    cells = max((cell_len(line) for text in column.cells for line in lines_of(text)), default=0)
    return replace(column, name=wrap(column.name, max(cells, *map(cell_len, parts))))


def _with_short_instants(column: Column) -> Column:
    """Replace what all instants have in common by an ellipsis, down to six digits."""
    if len(column.cells) < 2 or not all(_INSTANT.match(text) for text in column.cells):
        return column
    lowest, greatest = min(column.cells), max(column.cells)
    same = [one == other for one, other in zip(lowest, greatest, strict=False)]
    common = min([*same, False].index(False), len(lowest) - 6, len(greatest) - 6)
    if common < 2:
        return column
    return _with_broken_header(
        replace(column, cells=tuple(_ELLIPSIS + text[common:] for text in column.cells))
    )
