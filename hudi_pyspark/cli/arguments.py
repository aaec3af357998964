"""The arguments, options and exit codes that commands share."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import wraps
from typing import Any, get_args

import click
import pyarrow as pa

from hudi_pyspark import HudiTable
from hudi_pyspark.cli.printing import Output, show
from hudi_pyspark.storage import ArrowStorage, open_storage
from hudi_pyspark.storage.options import check_names

Decorator = Callable[[Callable[..., None]], Callable[..., None]]

PLACE = click.Path(readable=False)
"""A path or a URI, which may not exist; shells complete it."""


def output_formats(*formats: str, description: str = "Output format.") -> Decorator:
    """Return a decorator that adds ``--output``; the first format is the default."""
    choice = click.Choice(formats)
    return click.option(
        "--output", "-o", type=choice, default=formats[0], show_default=True, help=description
    )


output_option: Decorator = output_formats(*get_args(Output))
limit_option: Decorator = click.option(
    "--limit", "-n", type=click.IntRange(min=0), help="Maximum number of rows; all by default."
)
meta_option: Decorator = click.option(
    "--meta", is_flag=True, help="Include the _hoodie_* columns; JSON and CSV have them."
)
columns_option: Decorator = click.option(
    "--columns", "-c", help="Names of columns, separated by commas."
)
as_of_option: Decorator = click.option(
    "--as-of", help="The table as it was at this instant, inclusive."
)
catalog_option: Decorator = click.option(
    "--catalog",
    metavar="KEY=VALUE",
    multiple=True,
    help="Setting of a catalog, e.g. type=glue; PATH is then a name. Can be repeated.",
)


class ExitCode(IntEnum):
    """The exit codes of `hudi-py`, which `docs/looking-inside.md` lists."""

    OK = 0
    PROBLEM = 1  # the doctor found a problem, or the table's files are damaged
    USAGE = 2  # unknown command, option, column or instant
    NO_TABLE = 3  # no table at the path
    REFUSED = 4  # the table or query is not supported, or the answer can no longer be found out
    SYSTEM = 5  # storage, permissions, or a package that is not installed
    INTERRUPTED = 130  # Ctrl-C


@dataclass(frozen=True)
class Listing:
    """How a command prints a table of many columns."""

    wide: bool
    output: Output

    def show(self, table: pa.Table, brief: Sequence[str] = ()) -> None:
        """Print a table; in a terminal only the ``brief`` columns, unless --wide is set."""
        show(table, self.output, brief=() if self.wide else brief)


@dataclass(frozen=True)
class Settings:
    """What the command line sets for every table of a command: the object of its context."""

    storage_options: Mapping[str, str]

    @classmethod
    def of_command(cls) -> "Settings":
        """Return the settings of the command that runs, a `StorageCommand`."""
        settings = click.get_current_context().find_object(cls)
        assert settings is not None
        return settings


class StorageCommand(click.Command):
    """A command with ``--storage-option``, whose values are its `Settings`."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:  # noqa: ANN401  (of Click)
        super().__init__(*arguments, **settings)
        option = click.Option(
            ["--storage-option"],
            metavar="KEY=VALUE",
            multiple=True,
            callback=lambda _context, _option, texts: _settings(texts, "--storage-option"),
            help="Setting of the storage; can be repeated.",
        )
        self.params.append(option)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401  (of Click)
        options = ctx.params.pop("storage_option")
        check_names(options)
        ctx.obj = Settings(options)
        return super().invoke(ctx)


def open_table(path: str, *, catalog: Sequence[str] = ()) -> HudiTable:
    """Open a table by its path, or by its name in a catalog.

    Raises:
        BadParameter: of Click; a setting of the catalog has another form than ``KEY=VALUE``.
        HudiError: as from `HudiTable` and `HudiTable.from_catalog`.
    """
    settings = _settings(catalog, "--catalog")
    storage_options = Settings.of_command().storage_options
    if settings:
        return HudiTable.from_catalog(path, settings, storage_options=storage_options)
    return HudiTable(path, storage_options=storage_options)


def _settings(texts: Sequence[str], option: str) -> dict[str, str]:
    """Split texts ``KEY=VALUE``, the values of a command line ``option``.

    Raises:
        BadParameter: of Click; a text has no key, or no equals sign. The message does not contain
            the text, which may be a secret.
    """
    pairs = [text.partition("=") for text in texts]
    if any(not key or not separator for key, separator, _ in pairs):
        raise click.BadParameter("expected KEY=VALUE", param_hint=f"'{option}'")
    return {key: value for key, _, value in pairs}


def table_command(function: Callable[..., None]) -> click.Command:
    """Turn a function of a ``table`` into a command that opens it by PATH and ``--catalog``."""

    @click.argument("path", type=PLACE)
    @catalog_option
    @wraps(function)
    def run(path: str, catalog: Sequence[str], **arguments: Any) -> None:  # noqa: ANN401
        function(table=open_table(path, catalog=catalog), **arguments)

    epilog = "PATH is the base path of the table: a folder or a URI."
    return click.command(cls=StorageCommand, epilog=epilog)(run)


def listing_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add ``--wide`` and ``--output``, which the function receives as ``listing``."""

    @click.option(
        "--wide", "-w", is_flag=True, help="Print all columns; JSON and CSV always have them."
    )
    @output_option
    @wraps(function)
    def run(*, wide: bool, output: Output, **arguments: Any) -> None:  # noqa: ANN401
        function(listing=Listing(wide, output), **arguments)

    return run


def query_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a query to a command, which hands their values to `read_options`."""
    any_option = "Any other read option; can be repeated."
    for option in (  # the last one comes first in --help
        click.option("--option", "options", metavar="KEY=VALUE", multiple=True, help=any_option),
        click.option("--query-type", help="snapshot (default), read_optimized or incremental."),
        click.option("--end", help="Rows written up to this instant, inclusive."),
        click.option("--begin", help="Rows written after this instant, or 'earliest'."),
        as_of_option,
        click.option("--filter", "-f", help="Condition, e.g. \"city = 'sf' and fare > 10\"."),
    ):
        function = option(function)
    return function


def read_options(query: Mapping[str, Any], columns: str | None = None) -> dict[str, Any]:
    """Combine the query options of a command with its pairs ``--option KEY=VALUE``.

    Args:
        query: the values of the options of `query_options`; None if an option is not set.
        columns: the value of ``--columns``.

    Raises:
        BadParameter: of Click; an option is set by its own name and by ``--option``.
    """
    options = {"columns": columns, **query}
    further_options = _settings(options.pop("options"), "--option")
    options = {name: value for name, value in options.items() if value is not None}
    repeated = [name for name in options if name in further_options]
    if repeated:
        raise click.BadParameter(f"{repeated[0]} is set twice", param_hint="'--option'")
    return {**further_options, **options}


def storage_at(path: str, catalog: Sequence[str] = ()) -> ArrowStorage:
    """Return the storage of a path, or of a name in a catalog, without opening the table.

    The storage options are those of the command line and of the environment.

    Raises:
        InvalidOptionError: the path contains settings, or an option is unknown or has a wrong
            value.
        StorageError: the storage does not answer, or there are no credentials.
        CatalogError: the catalog fails, or does not have the table.
    """
    storage_options = Settings.of_command().storage_options
    if catalog:
        from hudi_pyspark.catalogs import find_in_catalog  # noqa: PLC0415  (few need it)

        return find_in_catalog(path, _settings(catalog, "--catalog"), storage_options)[1]
    return open_storage(path, storage_options)


def names_in(columns: str | None) -> list[str] | None:
    """Split a text at its commas; None, for all columns, stays None."""
    return None if columns is None else [name.strip() for name in columns.split(",")]
