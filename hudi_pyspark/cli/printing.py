"""Arrow tables, printed to a terminal, a pipe, JSON or CSV."""

from __future__ import annotations

import json
import re
import sys
from enum import Enum
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa
import pyarrow.csv as pa_csv
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hudi_pyspark.description import byte_text
from hudi_pyspark.query.columns.json_text import json_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import JustifyMethod

# A terminal would obey these, and a line break would split a row.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_STYLES = {
    "completed": "green",
    "inflight": "yellow",
    "requested": "yellow",
    "ok": "green",
    "note": "cyan",
    "warning": "yellow",
    "problem": "bold red",
    "insert": "green",
    "update": "yellow",
    "delete": "red",
    "broken": "bold red",
}
NOTHING = "-"
_GAP = 3  # cells between two columns of a table
_FOLDED = 24  # width to which a column may be folded


class Output(str, Enum):
    """The format of a printed result."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


class ByteSink(Protocol):
    """A destination of text as UTF-8."""

    def write(self, data: bytes, /) -> object:
        """Write some text."""


def show(
    table: pa.Table, output: Output, *, brief: Sequence[str] = (), null: str = NOTHING
) -> None:
    """Print a table.

    Args:
        table: JSON and CSV have all of its columns.
        output: the format.
        brief: columns of a printed table; all by default.
        null: text for null in a printed table.
    """
    if output is Output.JSON:
        print_json(table)
    elif output is Output.CSV:
        write_csv_header(table.schema, sys.stdout.buffer)
        write_csv_rows(table, sys.stdout.buffer)
    else:
        _print_cells(table.select(list(brief)) if brief else table, null)
    sys.stdout.flush()


def show_pairs(pairs: Mapping[str, object], output: Output) -> None:
    """Print names with one value each: as a list, or as one JSON object or CSV row."""
    if output is Output.JSON:
        emit(json.dumps(pairs, indent=2, ensure_ascii=False) + "\n")
    elif output is Output.CSV:
        texts = {name: pair_text(value) for name, value in pairs.items()}
        show(pa.Table.from_pylist([texts]), output)
    else:
        width = max(map(cell_len, pairs))
        for name, value in pairs.items():
            padded = name + " " * (width - cell_len(name))
            line = Text.assemble((padded, "bold"), "  ", printable(pair_text(value)))
            _console().print(line, soft_wrap=True)


def pair_text(value: object) -> str:
    """Return a value as text for people."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or NOTHING
    if isinstance(value, float):
        return f"{value:.3g}"
    return NOTHING if value is None else str(value)


def number_text(name: str, number: int) -> str:
    """Return a whole number as text for people, with a unit if its name says bytes."""
    return byte_text(number) if name == "bytes" or name.endswith("_bytes") else str(number)


def print_json(table: pa.Table) -> None:
    """Print the rows as one JSON array, a row a line."""
    lines = json_lines(table)
    emit("[\n" + ",\n".join(lines) + "\n]\n" if lines else "[]\n")


def json_lines(table: pa.Table) -> list[str]:
    """Return one JSON object per row, nulls included."""
    if not table.num_columns:
        return ["{}"] * table.num_rows
    lines: list[str] = []
    for batch in table.to_batches():
        rows = pa.StructArray.from_arrays(batch.columns, fields=list(batch.schema))
        lines += json_text(rows).to_pylist()
    return lines


def write_csv_header(schema: pa.Schema, sink: ByteSink) -> None:
    """Write the line of column names."""
    sink.write(_csv(_csv_ready(schema.empty_table()), is_header=True))


def write_csv_rows(table: pa.Table, sink: ByteSink) -> None:
    """Write rows; null is an empty field, an empty string a quoted one, nested values are JSON."""
    if table.num_rows:
        sink.write(_csv(_csv_ready(table), is_header=False))


def _csv(table: pa.Table, *, is_header: bool) -> bytes:
    buffer = pa.BufferOutputStream()
    options = pa_csv.WriteOptions(include_header=is_header)
    pa_csv.write_csv(table, buffer, options)
    content: bytes = buffer.getvalue().to_pybytes()
    return content


def _csv_ready(table: pa.Table) -> pa.Table:
    """Convert the columns that a CSV file cannot have to text."""
    columns = [_csv_column(table.column(i)) for i in range(table.num_columns)]
    return pa.table(columns, names=table.column_names)


def _csv_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    if not (pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_timestamp(kind)):
        return column
    return pa.chunked_array([_texts(chunk) for chunk in column.chunks], pa.string())


def _texts(values: pa.Array) -> pa.Array:
    """Return values as text, nulls as null: JSON without the quotes of a string."""
    texts = json_text(values).to_pylist()
    bare = [
        None if not is_valid else (text[1:-1] if text.startswith('"') else text)
        for text, is_valid in zip(texts, values.is_valid().to_pylist(), strict=True)
    ]
    return pa.array(bare, pa.string())


def emit(text: str) -> None:
    """Write text to standard output as UTF-8, whatever the terminal's encoding."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode())
    sys.stdout.buffer.flush()


def say(text: Text | str) -> None:
    """Print a line for people."""
    _console().print(text, soft_wrap=True)


def say_aside(text: str) -> None:
    """Print a line for people on standard error, so that it is not part of the result."""
    Console(stderr=True, highlight=False, markup=False).print(text, soft_wrap=True)


def printable(text: str) -> str:
    """Replace the characters that a terminal obeys by escapes."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def styled(text: str) -> Text:
    """Return a word in its colour, e.g. the state of an instant."""
    return Text(text, style=_STYLES.get(text, ""))


def _console() -> Console:
    return Console(highlight=False, markup=False, emoji=False)


def _print_cells(table: pa.Table, null: str) -> None:
    names = table.column_names
    cells = [_cells(name, table.column(name), null) for name in names]
    rows = list(zip(*cells, strict=True)) if cells else []
    widths = [max(map(cell_len, [name, *c])) for name, c in zip(names, cells, strict=True)]
    right = [_is_number(field.type) for field in table.schema]
    console = _console()
    if not console.is_terminal:
        _print_plain(names, rows, widths, right)
    # If only the widest column is too wide, it is folded; else each row becomes a block of lines.
    elif _width_of(widths) <= console.width:
        console.print(_rich_table(names, rows, right, widths.index(max(widths))))
    else:
        _print_records(console, names, rows)


def _width_of(widths: Sequence[int]) -> int:
    """Return the least width of a table whose widest column may be folded."""
    folded = max(widths) - min(max(widths), _FOLDED)
    return sum(widths) - folded + _GAP * (len(widths) - 1)


def _cells(name: str, column: pa.ChunkedArray, null: str) -> list[str]:
    if pa.types.is_integer(column.type):
        return [null if n is None else number_text(name, n) for n in column.to_pylist()]
    if pa.types.is_list(column.type) and pa.types.is_string(column.type.value_type):
        joined = [None if v is None else ", ".join(map(str, v)) for v in column.to_pylist()]
        return [printable(text or null) for text in joined]
    if pa.types.is_string(column.type):
        return [null if text is None else printable(text) for text in column.to_pylist()]
    texts = [text for chunk in column.chunks for text in _texts(chunk).to_pylist()]
    return [null if text is None else text for text in texts]


def _is_number(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def _print_plain(
    names: Sequence[str],
    rows: Sequence[Sequence[str]],
    widths: Sequence[int],
    right: Sequence[bool],
) -> None:
    """Print aligned text for a pipe: nothing is cut, wrapped or coloured."""
    lines = []
    for row in (names, *rows):
        padded = [
            f"{' ' * (width - cell_len(cell))}{cell}"
            if is_right
            else f"{cell}{' ' * (width - cell_len(cell))}"
            for cell, width, is_right in zip(row, widths, right, strict=True)
        ]
        lines.append("  ".join(padded).rstrip())
    emit("\n".join(lines) + "\n")


def _rich_table(
    names: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool], foldable: int
) -> Table:
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for place, (name, is_right) in enumerate(zip(names, right, strict=True)):
        justify: JustifyMethod = "right" if is_right else "left"
        grid.add_column(name, justify=justify, no_wrap=place != foldable, overflow="fold")
    for row in rows:
        grid.add_row(*map(styled, row))
    return grid


def _print_records(console: Console, names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print one block per row, for a terminal that is too narrow for the columns."""
    width = max(map(cell_len, names))
    for number, row in enumerate(rows, 1):
        console.rule(f"{number} of {len(rows)}", align="left", style="dim", characters="-")
        grid = Table(box=None, pad_edge=False, show_header=False)
        grid.add_column(style="bold", width=width, no_wrap=True)
        grid.add_column(overflow="fold")
        for name, cell in zip(names, row, strict=True):
            grid.add_row(name, styled(cell))
        console.print(grid)
    if not rows:
        console.print(", ".join(names), style="dim", soft_wrap=True)
