"""The command that writes a page about a table, or about the tables of a folder."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hudi_pyspark import HudiTable
from hudi_pyspark.cli.arguments import ExitCode, key_and_value, storage_at
from hudi_pyspark.cli.printing import emit, say_aside
from hudi_pyspark.doctor.finding import Severity, worst
from hudi_pyspark.errors import HudiError
from hudi_pyspark.report.index import IndexEntry, ReportIndex, find_tables

if TYPE_CHECKING:
    from hudi_pyspark.report.report import Report

Opener = Callable[[], HudiTable]


def report(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH...",
            help="Base paths of tables, or folders with tables below them.",
            show_default=False,
        ),
    ],
    *,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="File to write, .html or .json; a folder for several tables.",
            show_default="report.html, or the folder report",
        ),
    ] = None,
    catalog: Annotated[
        list[str] | None,
        typer.Option(
            "--catalog",
            metavar="KEY=VALUE",
            help="Setting of a catalog, e.g. type=glue; PATH is then a name. Can be repeated.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the content as JSON instead of writing a page.")
    ] = False,
    fail_on: Annotated[
        Literal["note", "warning", "problem"] | None,
        typer.Option("--fail-on", help="Exit with code 1 on findings as severe as this, or worse."),
    ] = None,
) -> None:
    """Write a page that shows how a table is doing, and what to do next."""
    openers = dict(_openers(paths, dict(map(key_and_value, catalog or ()))))
    if list(openers) == paths and len(paths) == 1:
        content: Report | ReportIndex = openers[paths[0]]().report()
    else:
        entries = (_entry(place, opener) for place, opener in openers.items())
        content = ReportIndex(", ".join(paths), tuple(entries))
    if as_json:
        emit(f"{content.to_json()}\n")
    if output is not None or not as_json:
        say_aside(f"written to {content.save(output or content.default_file)}")
    if fail_on is not None and worst([content.severity, Severity(fail_on)]) is content.severity:
        raise typer.Exit(ExitCode.PROBLEM)


def _openers(paths: list[str], catalog: Mapping[str, str]) -> Iterator[tuple[str, Opener]]:
    """Yield path or name of each table, and a function that opens the table."""
    for path in paths:
        if catalog:
            yield path, partial(HudiTable.from_catalog, path, catalog)
        else:
            folders = filter(None, find_tables(storage_at(path)))
            below = [f"{path.rstrip('/')}/{folder}" for folder in folders]
            for place in below or [path]:  # if there are no tables, opening the path says why
                yield place, partial(HudiTable, place)


def _entry(place: str, opener: Opener) -> IndexEntry:
    """Report on one table of several, or say why it cannot be read."""
    try:
        return IndexEntry(place, opener().report())
    except (HudiError, OSError) as error:
        return IndexEntry(place, None, str(error))
