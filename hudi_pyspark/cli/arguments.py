"""The arguments, options and exit codes that several commands share."""

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import IntEnum
from functools import wraps
from typing import Annotated, Any

import pyarrow as pa
import typer

from hudi_pyspark.cli.printing import Output, show
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
    REFUSED = 4  # the table or the query is not supported, or its result is no longer known
    SYSTEM = 5  # storage, permissions, or a package that is not installed
    INTERRUPTED = 130  # Ctrl-C


@dataclass(frozen=True, kw_only=True)
class Listing:
    """How a command prints a table of many columns, by its options."""

    wide: Annotated[
        bool, typer.Option("--wide", "-w", help="Print all columns; JSON and CSV always have them.")
    ] = False
    output: OutputOption = "table"

    def show(self, table: pa.Table, brief: Sequence[str] = ()) -> None:
        """Print a table: for people only some columns, unless all are wanted."""
        show(table, self.output, brief=() if self.wide else brief)


@dataclass(frozen=True, kw_only=True)
class Query:
    """What a command reads, by its options."""

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
        """Return the read options: those that commands have names for, and any others.

        Raises:
            BadParameter: of Typer; an option is given by its name and by ``--option``, too.
        """
        named = {"columns": columns, **asdict(self)}
        given = dict(map(key_and_value, named.pop("options") or ()))
        chosen = {name: value for name, value in named.items() if value is not None}
        twice = [name for name in chosen if name in given]
        if twice:
            raise typer.BadParameter(f"{twice[0]} is given twice", param_hint="'--option'")
        return {**given, **chosen}


# Parameters of commands that are made of options.
_MADE: Mapping[str, Callable[..., object]] = {"query": Query, "listing": Listing}
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
    """Return a command that has options in place of ``query`` and ``listing``.

    It also has the option ``--storage-option``.
    """
    parameters = dict(inspect.signature(command).parameters)
    made = [name for name in _MADE if parameters.pop(name, None) is not None]
    options = {name: inspect.signature(_MADE[name]).parameters for name in made}

    @wraps(command)
    def run(*, storage_option: list[str] | None, **arguments: Any) -> None:  # noqa: ANN401
        before = dict(os.environ)
        try:
            for text in storage_option or ():
                name, value = key_and_value(text, "--storage-option")
                os.environ.update(to_environment(name, value))
            for name, parts in options.items():
                arguments[name] = _MADE[name](**{part: arguments.pop(part) for part in parts})
            command(**arguments)
        finally:
            os.environ.clear()
            os.environ.update(before)

    for parts in options.values():
        parameters.update(parts)
    parameters["storage_option"] = _STORAGE_OPTION
    run.__signature__ = inspect.Signature(list(parameters.values()))  # type: ignore[attr-defined]
    run.__annotations__ = {name: parameter.annotation for name, parameter in parameters.items()}
    return run


def storage_at(path: str) -> ArrowStorage:
    """Return the storage of a path, with the settings of the environment.

    Raises:
        InvalidOptionError: the path has settings in it, or a setting is unknown or has no such
            value.
        StorageError: nothing reaches the path, or the storage does not answer.
    """
    return ArrowStorage.parse(path, environment=from_environment(os.environ))


def names_in(columns: str | None) -> list[str] | None:
    """Split names with commas between; None for all columns."""
    return None if columns is None else [name.strip() for name in columns.split(",")]


def key_and_value(text: str, option: str = "--option") -> tuple[str, str]:
    """Split ``KEY=VALUE``, which may have a secret, so that no message has it.

    Raises:
        BadParameter: of Typer; the text has no key, or no sign between key and value.
    """
    key, separator, value = text.partition("=")
    if not separator or not key:
        raise typer.BadParameter("expected KEY=VALUE", param_hint=f"'{option}'")
    return key, value
