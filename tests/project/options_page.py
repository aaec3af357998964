"""The tables of docs/options.md, made from the options' classes.

Run as a module, it writes the page.
"""

import ast
import inspect
from itertools import pairwise
from pathlib import Path

from hudi_pyspark.options.option import Index, Option, as_text, options_of
from hudi_pyspark.options.read_options import (
    IncrementalOptions,
    ReadOptions,
    StreamOptions,
    TableOptions,
)

PAGE = Path(__file__).resolve().parents[2] / "docs" / "options.md"

KINDS = {
    "The table": TableOptions,
    "The read": ReadOptions,
    "Incremental and CDC queries": IncrementalOptions,
    "Streams": StreamOptions,
}
# The text before and after these lines is written by hand.
BEGIN = "<!-- Made by `make docs` from hudi_pyspark/options/read_options.py: change it there. -->\n"
END = "<!-- Here ends what `make docs` makes. -->\n"


def render(page: str) -> str:
    """Return the page with a new table."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    head = ["| Option | Values | Meaning |", "|---|---|---|"]
    tables = ["\n".join([f"## {title}", "", *head, *_rows(kind)]) for title, kind in KINDS.items()]
    return "\n\n".join([before + BEGIN.rstrip(), *tables, END + after])


def default_text(option: Option) -> str:
    """Return what the page says about the default of an option."""
    default = option.kind.default
    if default in ("", None, 0, frozenset(Index)) and default is not False:
        return ""
    text = as_text(default)
    return text if text.isdigit() else f"`{text}`"


def meanings(kind: type) -> dict[str, str]:
    """Return the docstrings of the fields of a class, by the field's name."""
    (defined,) = ast.parse(inspect.getsource(kind)).body
    assert isinstance(defined, ast.ClassDef)
    texts = {}
    for field, below in pairwise(defined.body):
        match field, below:
            case (
                ast.AnnAssign(target=ast.Name(name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                texts[name] = " ".join(text.split())
    return texts


def _rows(kind: type) -> list[str]:
    texts = meanings(kind)
    return [_row(option, texts[name]) for name, option in options_of(kind).items()]


def _row(option: Option, meaning: str) -> str:
    names = ", ".join(f"`{name}`" for name in (option.key, option.short_name) if name)
    values = option.kind.values
    default = default_text(option)
    if default and default in values:
        values = values.replace(default, f"**{default}**", 1)
    elif default:
        values += f"; **{default}**"
    return f"| {names} | {values} | {meaning} |"


if __name__ == "__main__":
    PAGE.write_text(render(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
