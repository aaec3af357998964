"""The arguments, options and exit codes that commands share."""

import inspect
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from enum import IntEnum
from functools import wraps
from typing import Annotated, Any

import pyarrow as pa
import typer

from hudi_pyspark import HudiTable
from hudi_pyspark.cli.printing import Output, show
from hudi_pyspark.storage import ArrowStorage
from hudi_pyspark.storage_options import from_environment, to_environment

OutputOption = Annotated[
    Output, typer.Option("--output", "-o", help="Output format.", show_default=True)
]
LimitOption = Annotated[
    int | None, typer.Option("--limit", "-n", min=0, help="Maximum number of rows; all by default.")
]
MetaOption = Annotated[
    bool, typer.Option("--meta", help="Include the _hoodie_* columns; JSON and CSV have them.")
]
ColumnsOption = Annotated[
    str | None, typer.Option("--columns", "-c", help="Names of columns, separated by commas.")
]
AsOfOption = Annotated[
    str | None, typer.Option("--as-of", help="The table as it was at this instant, inclusive.")
]


class ExitCode(IntEnum):
    """The exit codes of `hudi-py`, which `docs/looking-inside.md` lists."""

    OK = 0
    PROBLEM = 1  # the doctor found a problem, or the table's files are damaged
    USAGE = 2  # unknown command, option, column or instant
    NO_TABLE = 3  # no table at the path
    REFUSED = 4  # the table or query is not supported, or the answer can no longer be found out
    SYSTEM = 5  # storage, permissions, or a package that is not installed
    INTERRUPTED = 130  # Ctrl-C


@dataclass(frozen=True, kw_only=True)
class Listing:
    """The options with which a command prints a table of many columns."""

    wide: Annotated[
        bool, typer.Option("--wide", "-w", help="Print all columns; JSON and CSV always have them.")
    ] = False
    output: OutputOption = "table"

    def show(self, table: pa.Table, brief: Sequence[str] = ()) -> None:
        """Print a table; in a terminal only the ``brief`` columns, unless --wide is set."""
        show(table, self.output, brief=() if self.wide else brief)


@dataclass(frozen=True, kw_only=True)
class Query:
    """The options with which a command reads rows."""

    filter: Annotated[
        str | None,
        typer.Option("--filter", "-f", help="Condition, e.g. \"city = 'sf' and fare > 10\"."),
    ] = None
    as_of: AsOfOption = None
    begin: Annotated[
        str | None, typer.Option("--begin", help="Rows written after this instant, or 'earliest'.")
    ] = None
    end: Annotated[
        str | None, typer.Option("--end", help="Rows written up to this instant, inclusive.")
    ] = None
    query_type: Annotated[
        str | None,
        typer.Option("--query-type", help="snapshot (default), read_optimized or incremental."),
    ] = None
    options: Annotated[
        list[str] | None,
        typer.Option(
            "--option", metavar="KEY=VALUE", help="Any other read option; can be repeated."
        ),
    ] = None

    def read_options(self, columns: str | None = None) -> dict[str, str]:
        """Return the read options: those with a command line option, and those of ``--option``.

        Raises:
            BadParameter: of Typer; an option is set both ways.
        """
        options = {"columns": columns, **asdict(self)}
        further_options = dict(map(key_and_value, options.pop("options") or ()))
        options = {name: value for name, value in options.items() if value is not None}
        repeated = [name for name in options if name in further_options]
        if repeated:
            raise typer.BadParameter(f"{repeated[0]} is set twice", param_hint="'--option'")
        return {**further_options, **options}


CatalogOption = Annotated[
    list[str] | None,
    typer.Option(
        "--catalog",
        metavar="KEY=VALUE",
        help="Setting of a catalog, e.g. type=glue; PATH is then a name. Can be repeated.",
    ),
]


def open_table(
    path: Annotated[
        str, typer.Argument(metavar="PATH", help="Base path of the table: a folder or a URI.")
    ],
    *,
    catalog: CatalogOption = None,
) -> HudiTable:
    """Open a table by its path, or by its name in a catalog.

    Raises:
        BadParameter: of Typer; a setting of the catalog has another form than ``KEY=VALUE``.
        HudiError: as from `HudiTable` and `HudiTable.from_catalog`.
    """
    settings = _settings(catalog)
    return HudiTable.from_catalog(path, settings) if settings else HudiTable(path)


def _settings(catalog: list[str] | None) -> dict[str, str]:
    return dict(key_and_value(text, "--catalog") for text in catalog or ())


# Parameters of commands, and what makes them of arguments and options of the command line.
_MAKERS: dict[str, Callable[..., Any]] = {"table": open_table, "query": Query, "listing": Listing}
_STORAGE_OPTION = inspect.Parameter(
    "storage_option",
    inspect.Parameter.KEYWORD_ONLY,
    default=None,
    annotation=Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Setting of the storage; can be repeated."),
    ],
)


def with_shared_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command for Typer, with the option ``--storage-option``.

    Parameters named ``table``, ``query`` and ``listing`` are replaced by the arguments and options
    of the command line of which they are made.
    """
    signature = inspect.signature(command).parameters
    makers = {name: maker for name, maker in _MAKERS.items() if name in signature}
    parts = {name: inspect.signature(maker).parameters for name, maker in makers.items()}
    parameters: dict[str, inspect.Parameter] = {}
    for name, parameter in signature.items():
        parameters.update(parts.get(name, {name: parameter}))
    parameters["storage_option"] = _STORAGE_OPTION

    @wraps(command)
    def run(*, storage_option: list[str] | None, **arguments: Any) -> None:  # noqa: ANN401
        environment = dict(os.environ)
        try:
            for text in storage_option or ():
                os.environ.update(to_environment(*key_and_value(text, "--storage-option")))
            for name, maker in makers.items():
                arguments[name] = maker(**{part: arguments.pop(part) for part in parts[name]})
            command(**arguments)
        finally:
            os.environ.clear()
            os.environ.update(environment)

    ordered = sorted(parameters.values(), key=lambda parameter: parameter.kind)
    run.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
    run.__annotations__ = {name: parameter.annotation for name, parameter in parameters.items()}
    return run


def storage_at(path: str, catalog: list[str] | None = None) -> ArrowStorage:
    """Return the storage of a path, or of a name in a catalog, without opening the table.

    The storage options are those of the environment.

    Raises:
        InvalidOptionError: the path contains settings, or an option is unknown or has a wrong
            value.
        StorageError: the storage does not answer, or there are no credentials.
        CatalogError: the catalog fails, or does not have the table.
    """
    if catalog:
        from hudi_pyspark.hudi_table import find_in_catalog  # noqa: PLC0415  (few need it)

        return find_in_catalog(path, _settings(catalog))[1]
    return ArrowStorage.parse(path, environment=from_environment(os.environ))


def names_in(columns: str | None) -> list[str] | None:
    """Split a text at its commas; None, for all columns, stays None."""
    return None if columns is None else [name.strip() for name in columns.split(",")]


def key_and_value(text: str, option: str = "--option") -> tuple[str, str]:
    """Split ``KEY=VALUE``, the value of a command line ``option``.

    Raises:
        BadParameter: of Typer; the text has no key, or no equals sign. The message does not contain
            the text, which may be a secret.
    """
    key, separator, value = text.partition("=")
    if not separator or not key:
        raise typer.BadParameter("expected KEY=VALUE", param_hint=f"'{option}'")
    return key, value
