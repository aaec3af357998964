"""Commands that check a table or this machine, and unpack a demo table."""

import os
import shlex
import zipfile
from collections import Counter
from dataclasses import asdict, fields
from importlib import resources
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import typer
from rich.text import Text

from hudi_pyspark.cli.arguments import CatalogOption, ExitCode, OutputOption, storage_at
from hudi_pyspark.cli.printing import say, show, styled, track
from hudi_pyspark.doctor.finding import Finding, Severity, worst
from hudi_pyspark.errors import printable
from hudi_pyspark.wording import counted

DEMO_TABLE = "orders"
_DEMO_COMMANDS = ("describe", "timeline", "slices", "scan --limit 10", "count")


def doctor(
    path: Annotated[
        str | None,
        typer.Argument(
            metavar="PATH", help="Base path of a table; without it, check this machine."
        ),
    ] = None,
    *,
    deep: Annotated[
        bool, typer.Option("--deep", help="Also decode every record and read every column.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with code 1 on warnings as well.")
    ] = False,
    environment: Annotated[
        bool | None,
        typer.Option(
            "--environment/--no-environment",
            help="Check this machine; the default without PATH.",
            show_default=False,
        ),
    ] = None,
    catalog: CatalogOption = None,
    output: OutputOption = "table",
) -> None:
    """Check a table (timeline, files, sizes, log files, metadata table) or this machine."""
    from hudi_pyspark.doctor.environment import Machine, examine_environment  # noqa: PLC0415  (few need it)
    from hudi_pyspark.doctor.examination import examine_table  # noqa: PLC0415  (few need it)

    findings: list[Finding] = []
    if path is not None:
        findings += examine_table(storage_at(path, catalog), deep=deep, track=track)
    if environment or (environment is None and path is None):
        findings += examine_environment(Machine.here(os.environ))
    severity = worst(finding.severity for finding in findings)
    if output == "table":
        _print_findings(findings)
        if path is not None and not deep:
            say("the contents of files were not checked: --deep does so")
        if path is not None and severity is Severity.PROBLEM:
            say("Before you mend it: stop its writers, copy its folder .hoodie, and delete nothing")
    else:
        rows = [asdict(finding) | {"severity": finding.severity.value} for finding in findings]
        schema = pa.schema([(field.name, pa.string()) for field in fields(Finding)])
        show(pa.Table.from_pylist(rows, schema=schema), output)
    if severity is Severity.PROBLEM or (strict and severity is Severity.WARNING):
        raise typer.Exit(ExitCode.PROBLEM)


def _print_findings(findings: list[Finding]) -> None:
    for finding in findings:
        prefix = "".join(f"{part}: " for part in (finding.check, finding.subject) if part)
        sign = styled(finding.severity.value)
        sign.pad_right(8 - len(sign))
        say(Text.assemble(sign, " ", printable(prefix), printable(finding.message)))
        if finding.advice:
            say(Text(f"{'':9}→ {printable(finding.advice)}", style="dim"))
    counts = Counter(finding.severity for finding in findings)
    problems, warnings = counts[Severity.PROBLEM], counts[Severity.WARNING]
    verdict = "no problem found" if not problems else f"{counted(problems, 'problem')} found"
    say("")
    say(f"{verdict}, {counted(warnings, 'warning')}")


def demo(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="Local folder of the new table.")],
) -> None:
    """Unpack a small table, and print some commands to try."""
    path = Path(folder, DEMO_TABLE)
    if path.exists():
        raise typer.BadParameter(f"{path} exists: choose another folder", param_hint="'FOLDER'")
    archive = resources.files("hudi_pyspark.cli") / f"{DEMO_TABLE}.zip"
    with archive.open("rb") as file, zipfile.ZipFile(file) as zipped:
        zipped.extractall(folder)
    say(f"A MERGE_ON_READ table that Apache Hudi wrote is at {path}. Commands to try:")
    for line in _DEMO_COMMANDS:
        command, *options = line.split()
        say(shlex.join(["hudi-py", command, str(path), *options]))
