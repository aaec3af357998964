"""The arguments and options that several commands share."""

from dataclasses import dataclass
from typing import Annotated

import typer

from hudi_pyspark.cli.printing import Output
from hudi_pyspark.hudi_table import HudiTable
from hudi_pyspark.scan import Scan

PathArgument = Annotated[
    str, typer.Argument(metavar="PATH", help="Base path of the table: a folder or a URI.")
]
OutputOption = Annotated[
    Output, typer.Option("--output", "-o", help="Output format.", show_default=True)
]
LimitOption = Annotated[
    int | None,
    typer.Option("--limit", "-n", min=0, help="Maximum number of rows; all by default."),
]
MetaOption = Annotated[
    bool, typer.Option("--meta", help="Include the _hoodie_* columns; JSON and CSV have them.")
]
WideOption = Annotated[
    bool, typer.Option("--wide", "-w", help="Print all columns; JSON and CSV always have them.")
]
ColumnsOption = Annotated[
    str | None, typer.Option("--columns", "-c", help="Names of columns, separated by commas.")
]
FilterOption = Annotated[
    str | None,
    typer.Option("--filter", "-f", help="Condition, e.g. \"city = 'sf' and fare > 10\"."),
]
AsOfOption = Annotated[
    str | None, typer.Option("--as-of", help="The table as it was at this instant, inclusive.")
]
BeginOption = Annotated[
    str | None, typer.Option("--begin", help="Rows written after this instant, or 'earliest'.")
]
EndOption = Annotated[
    str | None, typer.Option("--end", help="Rows written up to this instant, inclusive.")
]
QueryTypeOption = Annotated[
    str | None,
    typer.Option("--query-type", help="snapshot (default), read_optimized or incremental."),
]
ReadOptions = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="KEY=VALUE", help="Any other read option; can be repeated."),
]


@dataclass(frozen=True)
class Query:
    """The read options of a command."""

    path: str
    columns: str | None = None
    filter: str | None = None
    as_of: str | None = None
    begin: str | None = None
    end: str | None = None
    query_type: str | None = None
    options: tuple[str, ...] = ()

    def scan(self, limit: int | None = None) -> Scan:
        """Return the checked scan; nothing is read yet.

        Raises:
            BadParameter: an option is malformed or given twice.
            InvalidOptionError: an option is unknown or has a bad value.
        """
        is_range = self.begin is not None or self.end is not None
        named = {
            "columns": self.columns,
            "filter": self.filter,
            "as_of": self.as_of,
            "begin": self.begin,
            "end": self.end,
            "query_type": self.query_type or ("incremental" if is_range else None),
        }
        given = dict(map(_key_and_value, self.options))
        for name, value in named.items():
            if value is None:
                continue
            if name in given:
                raise typer.BadParameter(f"{name} is given twice", param_hint="'--option'")
            given[name] = value
        return HudiTable(self.path).scan_with(given, limit=limit)


def _key_and_value(text: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not separator or not key:
        raise typer.BadParameter(f"expected KEY=VALUE, found {text!r}", param_hint="'--option'")
    return key, value
