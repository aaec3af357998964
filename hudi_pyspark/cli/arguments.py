"""The arguments, options and exit codes that several commands share."""

import inspect
import os
from collections.abc import Callable, Mapping
from enum import IntEnum
from functools import wraps
from typing import Annotated

import typer

from hudi_pyspark.cli.printing import Output
from hudi_pyspark.storage import ArrowStorage
from hudi_pyspark.storage_options import from_environment, to_environment

PathArgument = Annotated[
    str, typer.Argument(metavar="PATH", help="Base path of the table: a folder or a URI.")
]
OutputOption = Annotated[
    Output, typer.Option("--output", "-o", help="Output format.", show_default=True)
]
LimitOption = Annotated[
    int | None, typer.Option("--limit", "-n", min=0, help="Maximum number of rows; all by default.")
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
AsOfOption = Annotated[
    str | None, typer.Option("--as-of", help="The table as it was at this instant, inclusive.")
]
_QUERY_OPTIONS: Mapping[str, object] = {
    "filter": Annotated[
        str | None,
        typer.Option("--filter", "-f", help="Condition, e.g. \"city = 'sf' and fare > 10\"."),
    ],
    "as_of": AsOfOption,
    "begin": Annotated[
        str | None, typer.Option("--begin", help="Rows written after this instant, or 'earliest'.")
    ],
    "end": Annotated[
        str | None, typer.Option("--end", help="Rows written up to this instant, inclusive.")
    ],
    "query_type": Annotated[
        str | None,
        typer.Option("--query-type", help="snapshot (default), read_optimized or incremental."),
    ],
    "options": Annotated[
        list[str] | None,
        typer.Option(
            "--option", metavar="KEY=VALUE", help="Any other read option; can be repeated."
        ),
    ],
}

_StorageOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--storage-option", metavar="KEY=VALUE", help="Setting of the storage; can be repeated."
    ),
]


class ExitCode(IntEnum):
    """The exit codes of `hudi-py`, which `docs/looking-inside.md` lists."""

    OK = 0
    PROBLEM = 1  # the doctor found a problem, or the table's files are damaged
    USAGE = 2  # unknown command, option, column or instant
    NO_TABLE = 3  # no table at the path
    REFUSED = 4  # the table or the query is not supported, or its result is no longer known
    SYSTEM = 5  # storage, permissions, or a package that is not installed
    INTERRUPTED = 130  # Ctrl-C


def with_storage_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that also has the option ``--storage-option``."""

    @wraps(command)
    def run(*, storage_option: list[str] | None = None, **arguments: object) -> None:
        before = dict(os.environ)
        try:
            for text in storage_option or ():
                name, value = key_and_value(text, "--storage-option")
                os.environ.update(to_environment(name, value))
            command(**arguments)
        finally:
            os.environ.clear()
            os.environ.update(before)

    return _with_parameters(run, command, {"storage_option": _StorageOptions})


def with_query(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that also has the options of a query, and gets them as ``query``."""

    @wraps(command)
    def run(**arguments: object) -> None:
        query = {name: arguments.pop(name, None) for name in _QUERY_OPTIONS}
        command(query=query, **arguments)

    return _with_parameters(run, command, _QUERY_OPTIONS)


def _with_parameters(
    run: Callable[..., None], command: Callable[..., None], added: Mapping[str, object]
) -> Callable[..., None]:
    """Give a function the parameters of a command but ``query``, and others, which may be None."""
    parameters = [p for name, p in inspect.signature(command).parameters.items() if name != "query"]
    parameters += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in added.items()
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def storage_at(path: str) -> ArrowStorage:
    """Return the storage of a path, with the settings of the environment."""
    return ArrowStorage.parse(path, environment=from_environment(os.environ))


def names_in(columns: str | None) -> list[str] | None:
    """Split names with commas between; None for all columns."""
    return None if columns is None else [name.strip() for name in columns.split(",")]


def key_and_value(text: str, option: str = "--option") -> tuple[str, str]:
    """Split ``KEY=VALUE``, which may have a secret, so that no message has it."""
    key, separator, value = text.partition("=")
    if not separator or not key:
        raise typer.BadParameter("expected KEY=VALUE", param_hint=f"'{option}'")
    return key, value
