"""The arguments and options that several commands share."""

from typing import Annotated

import typer

from hudi_pyspark.cli.printing import Output

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
