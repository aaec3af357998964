"""The commands of `hudi-py`, and their exit codes."""

import io
import os
import sys
import warnings
from importlib import import_module
from typing import Any

import click
from click.exceptions import Exit
from rich.text import Text

from hudi_pyspark import __version__, errors
from hudi_pyspark.cli.arguments import ExitCode
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


_COMMANDS_BY_MODULE = {
    "look": "describe timeline commits commit slices files services schema partitions metadata "
    "column-statistics stats properties",
    "rows": "count lookup history scan manifest diff",
    "health": "doctor demo",
    "report": "report",
    "logs": "log",
    "cache": "cache",
}
COMMANDS = {
    command: module for module, names in _COMMANDS_BY_MODULE.items() for command in names.split()
}
"""Each command's module in this folder, in the order of `hudi-py --help`."""


class _Commands(click.Group):
    """Imports the module of a command when it is needed; ends with an exit code and one message."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        # Click suggests names of imported commands, so an unknown name imports all commands.
        for name in [cmd_name] if cmd_name in COMMANDS else [*COMMANDS]:
            module = import_module(f"hudi_pyspark.cli.{COMMANDS[name]}")
            self.add_command(getattr(module, name.replace("-", "_")), name)
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        commands = {name: self.get_command(ctx, name) for name in COMMANDS}
        with formatter.section("Commands"):
            # Click itself cuts each description at the end of its line.
            formatter.write_dl([(n, c.get_short_help_str(200)) for n, c in commands.items() if c])

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401  (of Click)
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            error.message = printable(error.message, keep_lines=True)  # type: ignore[misc]
            raise
        except BrokenPipeError:
            # The reader of the pipe, e.g. `| head`, has ended: discard the remaining output.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise Exit(ExitCode.OK) from None
        except KeyboardInterrupt:
            raise Exit(ExitCode.INTERRUPTED) from None
        except (errors.HudiError, OSError, ImportError) as error:
            _print_aside("error", "bold red", str(error) or type(error).__name__)
            codes = (code for kind, code in _EXIT_CODES.items() if isinstance(error, kind))
            raise Exit(next(codes, ExitCode.SYSTEM)) from None


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "--version", "-v", message="hudi-py %(version)s")
def hudi_py() -> None:
    """Inspect and read Apache Hudi tables, without Java."""
    # Without the line of code that gives the warning, which says nothing to users.
    warnings.showwarning = lambda message, *_, **__: _print_aside("warning", "yellow", str(message))


def run() -> None:
    """Run the command line of this process; never returns."""
    if (sys.stdout.encoding or "").lower().replace("-", "") != "utf8":
        assert isinstance(sys.stdout, io.TextIOWrapper)  # as in every new process
        sys.stdout.reconfigure(errors="backslashreplace")
    hudi_py(prog_name="hudi-py")


def _print_aside(word: str, style: str, message: str) -> None:
    say_aside(Text.assemble("hudi-py ", (word, style), ": ", printable(message)))
