"""The commands of `hudi-py`, and their exit codes."""

import io
import os
import sys
import warnings
from importlib import import_module
from typing import Any

import click
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


_MODULES = {
    "look": "describe timeline commits commit slices files services schema partitions metadata "
    "column-statistics stats properties",
    "rows": "count lookup history scan manifest diff",
    "health": "doctor demo",
    "report": "report",
    "logs": "log",
    "cache": "cache",
}
COMMANDS = {command: module for module, names in _MODULES.items() for command in names.split()}
"""The module in this folder of each command, in the order of `hudi-py --help`."""


class _Commands(click.Group):
    """Imports the module of a command; ends with an exit code and a message, without traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        # An unknown command is compared with all commands.
        for name in [cmd_name] if cmd_name in COMMANDS else COMMANDS:
            module = import_module(f"hudi_pyspark.cli.{COMMANDS[name]}")
            self.add_command(getattr(module, name.replace("-", "_")), name)
        return super().get_command(ctx, cmd_name)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401  (of Click)
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # The reader of the pipe, e.g. `| head`, has ended: discard the remaining output.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(ExitCode.OK)
        except KeyboardInterrupt:
            ctx.exit(ExitCode.INTERRUPTED)
        except (errors.HudiError, OSError, ImportError) as error:
            _print_aside("error", "bold red", str(error) or type(error).__name__)
            codes = (code for kind, code in _EXIT_CODES.items() if isinstance(error, kind))
            ctx.exit(next(codes, ExitCode.SYSTEM))


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
