"""Print Arrow tables and the progress of long work.

On a terminal, a table is fitted to its width: in columns, with headers of several lines, or in one
block per row. For a pipe it is aligned text, JSON or CSV.
"""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import pyarrow as pa
import pyarrow.csv as pa_csv
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hudi_pyspark.columns.arrays import any_of, is_number
from hudi_pyspark.columns.text import cell_texts, json_text, plain_text
from hudi_pyspark.errors import printable
from hudi_pyspark.wording import byte_text

_INSTANT = re.compile(r"\d{14}(\d{3})?$")
_GAP = 2  # cells between two columns
_NARROWEST_TEXT = 12  # cells; wider texts may be broken into lines, but not numbers and instants


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of a printed table, with one text per row."""

    name: str  # the header, of one or several lines
    cells: tuple[str, ...]
    is_number: bool  # aligned to the right

    @property
    def width(self) -> int:
        """The cells of a terminal that the longest text takes."""
        return max(map(cell_len, (*self.name.split("\n"), *self.cells)))

    @property
    def is_text(self) -> bool:
        """Whether the texts may be broken into lines."""
        return not (self.is_number or all(map(_INSTANT.match, self.cells)))


_WORDS_BY_STYLE = {
    "green": "ok completed insert",
    "cyan": "note",
    "yellow": "warning requested inflight update",
    "red": "delete",
    "bold red": "problem broken",
}
_STYLES = {word: style for style, words in _WORDS_BY_STYLE.items() for word in words.split()}
NOTHING = "-"

Output = Literal["table", "json", "csv"]


def show(
    table: pa.Table, output: Output, *, brief: Sequence[str] = (), null: str = NOTHING
) -> None:
    """Print a table.

    Args:
        table: of any columns.
        output: the format.
        brief: names of the columns that are printed as ``table``; all if there are none.
        null: text for null in a ``table``.
    """
    if output == "json":
        lines = json_lines(table)  # one JSON array, a row a line
        emit("[\n" + ",\n".join(lines) + "\n]\n" if lines else "[]\n")
    elif output == "csv":
        emit_csv(table)
    else:
        _print_cells(table.select(list(brief)) if brief else table, null)
    sys.stdout.flush()


def show_pairs(pairs: Mapping[str, object], output: Output) -> None:
    """Print names and values: as two columns, one JSON object, or one CSV row."""
    if output == "json":
        emit(json.dumps(pairs, indent=2, ensure_ascii=False) + "\n")
    elif output == "csv":
        row = {name: _pair_text(value) for name, value in pairs.items()}
        show(pa.Table.from_pylist([row]), output)
    else:
        texts = [
            (name, _number_text(name, v) if type(v) is int else printable(_pair_text(v)))
            for name, v in pairs.items()
        ]
        console = _console()
        if console.is_terminal:
            console.print(_pairs(texts))
        else:
            _print_plain(texts, [False, False])


def _pair_text(value: object) -> str:
    """Format a value for people: yes and no, three digits of a float, commas in a list."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or NOTHING
    if isinstance(value, float):
        return f"{value:.3g}"
    return NOTHING if value is None else str(value)


def _number_text(name: str, number: int) -> str:
    """Format a whole number for people; with a unit if it is called ``bytes`` or ``…_bytes``."""
    return byte_text(number) if name == "bytes" or name.endswith("_bytes") else str(number)


def json_lines(table: pa.Table) -> list[str]:
    """Return one JSON object per row, with nulls."""
    if not table.num_columns:
        return ["{}"] * table.num_rows
    parts = (batch.to_struct_array() for batch in table.to_batches())
    return [str(line) for part in parts for line in json_text(part).to_pylist()]


_is_written_as_in_json = any_of(pa.types.is_nested, pa.types.is_binary, pa.types.is_temporal)


def csv_of(table: pa.Table, *, has_header: bool = True) -> bytes:
    """Return rows as CSV: null is an empty field, an empty string is quoted.

    Nested values, bytes, dates and timestamps are written as in JSON.
    """
    columns = [
        pa.chunked_array(map(plain_text, column.chunks), pa.string())
        if _is_written_as_in_json(kind)
        else column
        for column, kind in zip(table.columns, table.schema.types, strict=True)
    ]
    buffer = pa.BufferOutputStream()
    options = pa_csv.WriteOptions(include_header=has_header)
    texts = pa.table(columns, names=table.column_names)
    # pyarrow 19 writes the header once more after a batch without rows.
    batches = [batch for batch in texts.to_batches() if batch.num_rows]
    pa_csv.write_csv(pa.Table.from_batches(batches, texts.schema), buffer, options)
    return bytes(buffer.getvalue().to_pybytes())


def emit(text: str, *, is_exact: bool = False) -> None:
    """Write text to standard output as UTF-8, whatever the terminal's encoding.

    Control characters except line breaks are escaped as in JSON, unless ``is_exact`` is set.
    """
    sys.stdout.flush()
    sys.stdout.buffer.write((text if is_exact else printable(text, keep_lines=True)).encode())
    sys.stdout.buffer.flush()


def emit_csv(table: pa.Table, *, has_header: bool = True) -> None:
    """Write rows to standard output as CSV; control characters are escaped only on a terminal."""
    emit(csv_of(table, has_header=has_header).decode(), is_exact=not sys.stdout.isatty())


def say(text: Text | str) -> None:
    """Print a line for people; the caller has escaped the control characters of a `Text`."""
    _console().print(printable(text) if isinstance(text, str) else text, soft_wrap=True)


def say_aside(text: Text | str) -> None:
    """Print a line for people on standard error, apart from the result."""
    Console(stderr=True, highlight=False, markup=False).print(text, soft_wrap=True)


def styled(text: str) -> Text:
    """Colour a word, e.g. the state of an instant; other texts stay plain."""
    return Text(text, style=_STYLES.get(text, ""))


class _Console(Console):
    """A console on standard output; rich would end the command with the code for a problem."""

    def on_broken_pipe(self) -> None:
        """Raise the error again that rich has caught; the command handles it.

        Raises:
            BrokenPipeError: nobody reads standard output any more.
        """
        raise  # noqa: PLE0704


def _console() -> Console:
    return _Console(highlight=False, markup=False, emoji=False)


def _print_cells(table: pa.Table, null: str) -> None:
    columns = [
        _Column(printable(name), tuple(_cells(name, column, null)), is_number(column.type))
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    console = _console()
    if not console.is_terminal:
        rows = [tuple(column.name for column in columns), *_rows(columns)]
        _print_plain(rows, [column.is_number for column in columns])
        return
    room = console.width - _GAP * (len(columns) - 1)
    fitted = columns
    if sum(column.width for column in columns) > room:
        fitted = [replace(column, name=column.name.replace("_", "_\n")) for column in columns]
    if sum(min(c.width, _NARROWEST_TEXT) if c.is_text else c.width for c in fitted) <= room:
        console.print(_grid(fitted))
    else:
        _print_records(console, columns)


def _cells(name: str, column: pa.ChunkedArray, null: str) -> list[str]:
    if pa.types.is_integer(column.type):
        return [null if n is None else _number_text(name, n) for n in column.to_pylist()]
    return [null if text is None else printable(text) for text in cell_texts(column)]


def _rows(columns: Sequence[_Column]) -> Iterator[tuple[str, ...]]:
    return zip(*(column.cells for column in columns), strict=True)


def _print_plain(rows: Sequence[tuple[str, ...]], is_number: Sequence[bool]) -> None:
    """Print aligned text for a pipe: nothing is cut, wrapped or coloured.

    Without rich, which is 40 times slower.
    """
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = []
        for cell, width, on_the_right in zip(row, widths, is_number, strict=True):
            blanks = " " * (width - cell_len(cell))
            cells.append(f"{blanks}{cell}" if on_the_right else f"{cell}{blanks}")
        sys.stdout.buffer.write(f"{'  '.join(cells).rstrip()}\n".encode())
    sys.stdout.buffer.flush()


def _grid(columns: Sequence[_Column]) -> Table:
    grid = Table(
        box=box.SIMPLE_HEAD,  # has one cell between two columns
        padding=(0, _GAP - 1, 0, 0),
        pad_edge=False,
        show_edge=False,
        header_style="bold",
    )
    for column in columns:
        justify: Literal["left", "right"] = "right" if column.is_number else "left"
        grid.add_column(column.name, justify=justify, no_wrap=not column.is_text, overflow="fold")
    for row in _rows(columns):
        grid.add_row(*map(styled, row))
    return grid


def _print_records(console: Console, columns: Sequence[_Column]) -> None:
    """Print one block per row, because the terminal is too narrow for the columns."""
    rows = list(_rows(columns))
    for number, row in enumerate(rows, 1):
        console.rule(f"{number} of {len(rows)}", align="left", style="dim", characters="-")
        console.print(_pairs(zip((c.name for c in columns), row, strict=True)))
    if not rows:
        console.print(", ".join(column.name for column in columns), style="dim")


def _pairs(pairs: Iterable[tuple[str, str]]) -> Table:
    grid = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, text in pairs:
        grid.add_row(name, styled(text))
    return grid


def track(items: Sequence[Any], description: str) -> Iterable[Any]:
    """Yield items and show a progress bar on standard error; the `Track` of the doctor."""
    from rich.progress import track as rich_track  # noqa: PLC0415  (loads slowly)

    console = Console(stderr=True)
    return rich_track(
        items, description, console=console, transient=True, disable=not console.is_terminal
    )


def count_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield batches, and show on standard error how many rows have been read."""
    from rich import progress  # noqa: PLC0415  (loads slowly)

    console = Console(stderr=True)
    text = progress.TextColumn("Reading {task.completed:,.0f} rows")
    columns = (progress.SpinnerColumn(), text, progress.TimeElapsedColumn())
    bar = progress.Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    )
    with bar:
        task = bar.add_task("", total=None)
        for batch in batches:
            yield batch
            bar.advance(task, batch.num_rows)
