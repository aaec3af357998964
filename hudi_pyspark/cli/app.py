"""The commands of `hudi-py`, and their exit codes."""

import io
import os
import sys
import warnings
from collections.abc import Callable
from typing import Annotated, Any

import typer
from rich.text import Text
from typer.core import TyperGroup

from hudi_pyspark import __version__, errors
from hudi_pyspark.cli import cache, health, logs, look, rows
from hudi_pyspark.cli.arguments import ExitCode, with_shared_options
from hudi_pyspark.cli.printing import say_aside
from hudi_pyspark.cli.report import report
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


app = typer.Typer(
    cls=_Commands,
    help="Inspect and read Apache Hudi tables, without Java.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
log_app = typer.Typer(
    help="Show the contents of one log file, even a damaged one.", no_args_is_help=True
)
COMMANDS: dict[str, Callable[..., None]] = {
    "describe": look.describe,
    "timeline": look.timeline,
    "commits": look.commits,
    "commit": look.commit,
    "slices": look.slices,
    "files": look.files,
    "history": rows.history,
    "services": look.services,
    "schema": look.schema,
    "partitions": look.partitions,
    "metadata": look.metadata,
    "column-statistics": look.column_statistics,
    "stats": look.stats,
    "properties": look.properties,
    "count": rows.count,
    "lookup": rows.lookup,
    "scan": rows.scan,
    "manifest": rows.manifest,
    "diff": rows.diff,
    "doctor": health.doctor,
    "report": report,
    "demo": health.demo,
}
for _name, _function in COMMANDS.items():
    app.command(_name)(with_shared_options(_function) if _name != "demo" else _function)
log_app.command("blocks")(with_shared_options(logs.blocks))
log_app.command("records")(with_shared_options(logs.records))
app.add_typer(log_app, name="log")
cache_app = typer.Typer(help="Show or remove what merges decided.", no_args_is_help=True)
cache_app.command("show")(cache.show)
cache_app.command("clear")(cache.clear)
app.add_typer(cache_app, name="cache")


def run() -> None:
    """Run the command line of this process; never returns."""
    if (sys.stdout.encoding or "").lower().replace("-", "") != "utf8":
        assert isinstance(sys.stdout, io.TextIOWrapper)  # as in every new process
        sys.stdout.reconfigure(errors="backslashreplace")
    app(prog_name="hudi-py")


def _print_version(is_requested: bool) -> None:  # noqa: FBT001  (Typer calls it so)
    if is_requested:
        typer.echo(f"hudi-py {__version__}")
        raise typer.Exit


@app.callback()
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
