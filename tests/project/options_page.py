"""The table of docs/options.md, made from `OPTIONS`; run as a module, it writes it."""

from pathlib import Path

from hudi_pyspark.query.options import OPTIONS, Option

PAGE = Path(__file__).resolve().parents[2] / "docs" / "options.md"

# What stands before and after these lines is written by hand.
BEGIN = "<!-- Made by `make docs` from hudi_pyspark/query/options.py: change it there. -->\n"
END = "<!-- Here ends what `make docs` makes. -->\n"


def render(page: str) -> str:
    """The page with a new table."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    head = ["| Option | Alias | Values | Default | Meaning |", "|---|---|---|---|---|"]
    table = "\n".join([*head, *map(_row, OPTIONS)])
    return f"{before}{BEGIN}\n{table}\n\n{END}{after}"


def _row(option: Option) -> str:
    names = (option.key, option.alias) if option.key else (option.alias, "")
    cells = [f"`{name}`" if name else "" for name in names]
    cells += [option.values, option.default, option.meaning]
    return "|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|"


if __name__ == "__main__":
    PAGE.write_text(render(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
