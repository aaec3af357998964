"""The command that writes a page about a table, or about the tables of a folder."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.exceptions import Exit

from hudi_pyspark import HudiTable
from hudi_pyspark.cli import arguments
from hudi_pyspark.cli.printing import emit, say_aside
from hudi_pyspark.doctor.finding import Severity, worst
from hudi_pyspark.errors import CorruptTableError, HudiError, UnsupportedTableError
from hudi_pyspark.report.index import IndexEntry, ReportIndex, find_tables
from hudi_pyspark.wording import counted

if TYPE_CHECKING:
    from hudi_pyspark.report.report import Report

Opener = Callable[[], HudiTable]


@click.command(cls=arguments.StorageCommand)
@click.argument("paths", metavar="PATH...", type=arguments.PLACE, nargs=-1, required=True)
@click.option(
    "--to",
    metavar="FILE",
    type=arguments.PLACE,
    show_default="report.html, or the folder report",
    help="File to write, .html or .json; a folder for several tables.",
)
@click.option("--force", is_flag=True, help="Replace files that are not reports.")
@arguments.catalog_option
@arguments.output_formats("page", "json", description="json prints what the page would show.")
@click.option(
    "--fail-on",
    type=click.Choice(["note", "warning", "problem"]),
    help="Exit with code 1 on findings as severe as this, or worse.",
)
def report(
    paths: tuple[str, ...],
    *,
    to: str | None,
    force: bool,
    catalog: Sequence[str],
    output: str,
    fail_on: str | None,
) -> None:
    """Write a page that shows how a table is doing, and what to do next.

    PATH is the base path of a table, or a folder with tables below it.
    """
    openers = dict(_openers(paths, catalog))
    if tuple(openers) == paths and len(paths) == 1:
        content: Report | ReportIndex = _report(paths[0], openers[paths[0]], catalog)
    else:
        entries = (_entry(place, opener, catalog) for place, opener in openers.items())
        content = ReportIndex(", ".join(paths), tuple(entries))
    target = Path(to or content.default_file)
    saved = ""
    if to is not None or output == "page":
        verb = "replaced" if target.is_file() or (target / "index.html").is_file() else "written to"
        saved = f"{verb} {content.save(target, force=force)}"
    if output == "json":
        emit(f"{content.to_json()}\n")
    if saved:
        problems = sum(finding == "problem" for finding in content.severities())
        say_aside(f"{saved}: {counted(problems, 'problem')} found")
        if not isinstance(content, ReportIndex):
            say_aside(content.content["unchecked"])
    if fail_on is not None and worst([content.severity, Severity(fail_on)]) is content.severity:
        raise Exit(arguments.ExitCode.PROBLEM)


def _openers(paths: Sequence[str], catalog: Sequence[str]) -> Iterator[tuple[str, Opener]]:
    """Yield path or name of each table, and a function that opens the table."""
    for path in paths:
        if catalog:
            yield path, partial(arguments.open_table, path, catalog=catalog)
        else:
            folders = filter(None, find_tables(arguments.storage_at(path)))
            below = [f"{path.rstrip('/')}/{folder}" for folder in folders]
            for place in below or [path]:  # if there are no tables, opening the path says why
                yield place, partial(arguments.open_table, place)


def _report(place: str, opener: Opener, catalog: Sequence[str]) -> "Report":
    """Report on a table, even on one that is too damaged to be opened."""
    from hudi_pyspark.report.report import Report  # noqa: PLC0415  (an optional extra)

    try:
        table = opener()
    except (CorruptTableError, UnsupportedTableError) as error:
        return Report.of_unopened(arguments.storage_at(place, catalog), error)
    return table.report()


def _entry(place: str, opener: Opener, catalog: Sequence[str]) -> IndexEntry:
    """Report on one table of several, or say why it cannot be read."""
    try:
        return IndexEntry(place, _report(place, opener, catalog))
    except (HudiError, OSError) as error:
        return IndexEntry(place, None, str(error))
