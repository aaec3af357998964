"""Tables for notebooks."""

from collections.abc import Iterable, Sequence
from html import escape

from hudi_pyspark.errors import printable


def html_table(title: str, rows: Iterable[Sequence[str]], colours: Sequence[str] = ()) -> str:
    """Format rows of texts as an HTML table, with the first cell of each row as its heading.

    Args:
        title: shown above the rows.
        rows: texts; control characters and HTML in them are escaped.
        colours: of the first cell of each row, as CSS names them; the theme's by default.
    """
    lines = []
    for number, (label, *texts) in enumerate(rows):
        colour = f";color:{colours[number]}" if colours else ""
        heading = f'<th style="text-align:left{colour}">{_cell(label)}</th>'
        cells = (f'<td style="text-align:left">{_cell(text)}</td>' for text in texts)
        lines.append(f"<tr>{heading}{''.join(cells)}</tr>")
    return f"<table><caption><b>{_cell(title)}</b></caption>{''.join(lines)}</table>"


def _cell(text: str) -> str:
    return escape(printable(text))
