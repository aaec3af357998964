"""The commands of `hudi-py`, and their exit codes."""

import io
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from rich.text import Text
from typer.core import TyperGroup

from hudi_pyspark import __version__, errors
from hudi_pyspark.cli.arguments import ExitCode, with_shared_options
from hudi_pyspark.cli.printing import say_aside
from hudi_pyspark.errors import printable

# The first class of an error decides; any other error is one of the system.
_EXIT_CODES = {
    errors.TableNotFoundError: ExitCode.NO_TABLE,
    errors.InvalidOptionError: ExitCode.USAGE,
    errors.CorruptTableError: ExitCode.PROBLEM,
    errors.StorageError: ExitCode.SYSTEM,
    errors.CatalogError: ExitCode.SYSTEM,
    errors.HudiError: ExitCode.REFUSED,
}


class _Commands(TyperGroup):
    """Ends every command with its exit code, and with one message instead of a traceback."""

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401  (the context of the click that Typer has)
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # The reader of the pipe, e.g. `| head`, has ended: discard the remaining output.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(ExitCode.OK) from None
        except KeyboardInterrupt:
            raise typer.Exit(ExitCode.INTERRUPTED) from None
        except (errors.HudiError, OSError, ImportError) as error:
            _print_aside("error", "bold red", str(error) or type(error).__name__)
            codes = (code for kind, code in _EXIT_CODES.items() if isinstance(error, kind))
            raise typer.Exit(next(codes, ExitCode.SYSTEM)) from None


# By module of this folder: its functions, separated by commas; the last word is the name.
_COMMANDS_OF_MODULES = {
    "look": "describe,timeline,commits,commit,slices,files,services,schema,partitions,metadata,"
    "column-statistics,stats,properties",
    "rows": "count,lookup,history,scan,manifest,diff",
    "health": "doctor,demo",
    "report": "report",
    "logs": "log blocks,log records",
    "cache": "cache show,cache clear",
}
COMMANDS = {
    name: module for module, names in _COMMANDS_OF_MODULES.items() for name in names.split(",")
}
_GROUPS = {
    "log": "Show the contents of one log file, even a damaged one.",
    "cache": "Show or remove what merges decided.",
}


def app_of(arguments: Sequence[str]) -> typer.Typer:
    """Return `hudi-py` with the commands that these arguments of the command line need.

    Args:
        arguments: if the first one is not the name of a command, all commands are needed.
    """
    app = typer.Typer(
        cls=_Commands,
        help="Inspect and read Apache Hudi tables, without Java.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    groups = {name: typer.Typer(help=text, no_args_is_help=True) for name, text in _GROUPS.items()}
    # Each command takes a millisecond or two, and imports its module.
    needed = [name for name in COMMANDS if [name.split()[0]] == list(arguments[:1])] or COMMANDS
    for name in needed:
        *group, word = name.split()
        module = import_module(f"hudi_pyspark.cli.{COMMANDS[name]}")
        function = getattr(module, word.replace("-", "_"))
        command = function if word == "demo" or "cache" in group else with_shared_options(function)
        (groups[group[0]] if group else app).command(word)(command)
    for name, group_app in groups.items():
        if group_app.registered_commands:
            app.add_typer(group_app, name=name)
    return app


def run() -> None:
    """Run the command line of this process; never returns."""
    if (sys.stdout.encoding or "").lower().replace("-", "") != "utf8":
        assert isinstance(sys.stdout, io.TextIOWrapper)  # as in every new process
        sys.stdout.reconfigure(errors="backslashreplace")
    app_of(sys.argv[1:])(prog_name="hudi-py")


def _print_version(is_requested: bool) -> None:  # noqa: FBT001  (Typer calls it so)
    if is_requested:
        typer.echo(f"hudi-py {__version__}")
        raise typer.Exit


def _root(
    *,
    version: Annotated[  # noqa: ARG001  (its callback does the work)
        bool,
        typer.Option(
            "--version", "-v", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    # Without the line of code that gives the warning, which says nothing to users.
    warnings.showwarning = lambda message, *_, **__: _print_aside("warning", "yellow", str(message))


def _print_aside(word: str, style: str, message: str) -> None:
    say_aside(Text.assemble("hudi-py ", (word, style), ": ", printable(message)))
