"""Tables for notebooks.

Values of this package show themselves. pyarrow's tables, such as those of `HudiTable.inspect`, do
so after ``%load_ext hudi_pyspark``: IPython calls `load_ipython_extension`.
"""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import pyarrow as pa

from hudi_pyspark.columns.text import cell_texts
from hudi_pyspark.errors import printable
from hudi_pyspark.wording import counted

_MOST_ROWS = 20  # shown of pyarrow's tables
_MOST_CHARACTERS = 100  # shown of each of their values


def load_ipython_extension(ipython: Any) -> None:  # noqa: ANN401  (its class is IPython's)
    """Show pyarrow's tables as HTML in a notebook.

    Args:
        ipython: the `InteractiveShell` whose displays change.
    """
    ipython.display_formatter.formatters["text/html"].for_type(pa.Table, _arrow_html)


def unload_ipython_extension(ipython: Any) -> None:  # noqa: ANN401
    """Show pyarrow's tables as plain text again.

    Args:
        ipython: the `InteractiveShell` for which `load_ipython_extension` was called.
    """
    ipython.display_formatter.formatters["text/html"].pop(pa.Table, None)


def _arrow_html(table: pa.Table) -> str | None:
    """Format the first rows of a table as HTML, with the number of all rows.

    Returns:
        None for a type that no column of a Hudi table has: IPython then shows the plain text.
    """
    try:
        columns = [map(_shortened, cell_texts(c)) for c in table.slice(0, _MOST_ROWS).columns]
    except pa.ArrowException:
        return None
    title = counted(table.num_rows, "row")
    title += f", of which {_MOST_ROWS} are shown" if table.num_rows > _MOST_ROWS else ""
    return html_table(title, [table.column_names, *zip(*columns, strict=True)], headed=True)


def _shortened(text: str | None) -> str:
    text = "null" if text is None else text
    return text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 1]}…"


def html_table(
    title: str, rows: Iterable[Sequence[str]], colours: Sequence[str] = (), *, headed: bool = False
) -> str:
    """Format rows of texts as an HTML table, with the first cell of each row as its heading.

    Args:
        title: shown above the rows.
        rows: texts; control characters and HTML in them are escaped, and an empty row is left out.
        colours: of the first cell of each row, as CSS names them; the theme's by default.
        headed: whether the first row has the names of the columns.
    """
    lines = []
    for number, (label, *texts) in enumerate(filter(None, rows)):
        colour = f";color:{colours[number]}" if colours else ""
        heading = f'<th style="text-align:left{colour}">{_cell(label)}</th>'
        kind = "th" if headed and number == 0 else "td"
        cells = (f'<{kind} style="text-align:left">{_cell(text)}</{kind}>' for text in texts)
        lines.append(f"<tr>{heading}{''.join(cells)}</tr>")
    return f"<table><caption><b>{_cell(title)}</b></caption>{''.join(lines)}</table>"


def _cell(text: str) -> str:
    return escape(printable(text))
