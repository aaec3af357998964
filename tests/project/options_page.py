"""The table of docs/options.md, made from `OPTIONS`; writes the page when it is run as a module."""

from pathlib import Path

from hudi_pyspark.options.option import Index, Option, as_text
from hudi_pyspark.options.read_options import OPTIONS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "options.md"

# The text before and after these lines is written by hand.
BEGIN = "<!-- Made by `make docs` from hudi_pyspark/options/read_options.py: change it there. -->\n"
END = "<!-- Here ends what `make docs` makes. -->\n"


def render(page: str) -> str:
    """Return the page with a new table."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    head = ["| Option | Alias | Values | Default | Meaning |", "|---|---|---|---|---|"]
    table = "\n".join([*head, *map(_row, OPTIONS)])
    return f"{before}{BEGIN}\n{table}\n\n{END}{after}"


def default_text(option: Option) -> str:
    """Return what the page says about the default of an option."""
    if option.default in ("", None, 0, frozenset(Index)) and option.default is not False:
        return ""
    text = as_text(option.default)
    return text if text.isdigit() else f"`{text}`"


def _row(option: Option) -> str:
    cells = [f"`{name}`" if name else "" for name in (option.key, option.short_name)]
    cells += [option.kind.values, default_text(option), option.meaning]
    return "|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|"


if __name__ == "__main__":
    PAGE.write_text(render(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
