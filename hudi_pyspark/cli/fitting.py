"""Columns of text that fit the width of a terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len, set_cell_size

GAPS = (2, 1)  # cells between two columns
_INSTANT = re.compile(r"\d{14}(\d{3})?$")
# Columns get narrower down to these widths; numbers and instants do not.
_FILE_ID, _PATH, _TEXT = 9, 20, 24


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a printed table, with one text per row."""

    name: str  # its header, of one or several lines
    cells: tuple[str, ...]
    is_number: bool = False  # aligned on the right

    @property
    def width(self) -> int:
        """Number of terminal cells that the longest line takes."""
        return max(cell_len(line) for text in (self.name, *self.cells) for line in text.split("\n"))

    @property
    def is_path(self) -> bool:
        """Whether the beginning and the end matter most."""
        return self.name.endswith("path")

    @property
    def is_text(self) -> bool:
        """Whether the texts may be broken into lines."""
        is_fixed = self.is_number or all(map(_INSTANT.match, self.cells))
        return not (is_fixed or self.is_path or self._is_file_id)

    @property
    def least(self) -> int:
        """The least width."""
        kinds = ((_PATH, self.is_path), (_FILE_ID, self._is_file_id), (_TEXT, self.is_text))
        least = next((width for width, applies in kinds if applies), self.width)
        header = max(map(cell_len, self.name.split("\n")))
        return min(self.width, max(least, header))

    @property
    def _is_file_id(self) -> bool:
        return self.name.replace("\n", "") == "file_id"


def fit(columns: Sequence[Column], width: int, gap: int) -> list[tuple[Column, int]] | None:
    """Return columns with their widths; None if they do not fit.

    First headers are broken into lines, then the widest columns get narrower.
    """
    room = width - gap * (len(columns) - 1)
    if sum(column.width for column in columns) > room:
        columns = [
            replace(column, name=column.name.replace("_", "_\n"))
            if cell_len(column.name) > max(map(cell_len, column.cells), default=0)
            else column
            for column in columns
        ]
    widths = [column.width for column in columns]
    spare = [column.width - column.least for column in columns]
    if sum(widths) - sum(spare) > room:
        return None
    for _ in range(sum(widths) - room):
        widest = spare.index(max(spare))
        widths[widest] -= 1
        spare[widest] -= 1
    # Paths are cut in their middle; other texts are cut or broken when they are printed.
    return [
        (replace(column, cells=tuple(_ends(text, width) for text in column.cells)), width)
        if column.is_path
        else (column, width)
        for column, width in zip(columns, widths, strict=True)
    ]


def _ends(text: str, width: int) -> str:
    if cell_len(text) <= width:
        return text
    first = (width - 1) // 2
    end = set_cell_size(text[::-1], width - 1 - first)[::-1]
    return f"{set_cell_size(text, first)}…{end}"
