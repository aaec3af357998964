"""Commands that check a table or this machine, and unpack a demo table."""

import os
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path

import click
import pyarrow as pa
from click.exceptions import Exit
from rich.text import Text

from hudi_pyspark.cli import arguments
from hudi_pyspark.cli.printing import Output, say, show, styled, track
from hudi_pyspark.demo import DEMO_TABLES, unpack_demo
from hudi_pyspark.doctor.finding import SIGN_WIDTH, Finding, Severity, worst
from hudi_pyspark.errors import printable
from hudi_pyspark.wording import counted

_DEMO_COMMANDS = ("describe", "timeline", "slices", "scan --limit 10", "count")


@click.command(cls=arguments.StorageCommand)
@click.argument("path", type=arguments.PLACE, required=False)
@click.option("--deep", is_flag=True, help="Also decode every record and read every column.")
@click.option("--strict", is_flag=True, help="Exit with code 1 on warnings as well.")
@click.option(
    "--environment/--no-environment",
    default=None,
    help="Check this machine; the default without PATH.",
)
@arguments.catalog_option
@arguments.output_option
def doctor(
    path: str | None,
    *,
    deep: bool,
    strict: bool,
    environment: bool | None,
    catalog: Sequence[str],
    output: Output,
) -> None:
    """Check a table (timeline, files, sizes, log files, metadata table) or this machine.

    PATH is the base path of a table; without PATH, this machine is checked.
    """
    from hudi_pyspark.doctor.environment import Machine, examine_environment  # noqa: PLC0415  (few need it)
    from hudi_pyspark.doctor.examination import examine_table  # noqa: PLC0415  (few need it)

    findings: list[Finding] = []
    if path is not None:
        findings += examine_table(arguments.storage_at(path, catalog), deep=deep, track=track)
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
        raise Exit(arguments.ExitCode.PROBLEM)


def _print_findings(findings: list[Finding]) -> None:
    for finding in findings:
        sign = styled(finding.severity.value)
        sign.pad_right(SIGN_WIDTH - len(sign))
        say(Text.assemble(sign, " ", printable(finding.headline)))
        if finding.advice:
            say(Text(f"{'':{SIGN_WIDTH}} → {printable(finding.advice)}", style="dim"))
    counts = Counter(finding.severity for finding in findings)
    problems = counts[Severity.PROBLEM]
    warnings = counts[Severity.WARNING]
    verdict = "no problem found" if not problems else f"{counted(problems, 'problem')} found"
    say("")
    say(f"{verdict}, {counted(warnings, 'warning')}")


@click.command
@click.argument("folder", type=arguments.PLACE)
def demo(folder: str) -> None:
    """Unpack two small tables into FOLDER, and print some commands to try."""
    paths = [Path(folder, name) for name in DEMO_TABLES]
    for path in paths:
        if path.exists():
            raise click.BadParameter(f"{path} exists: choose another folder", param_hint="'FOLDER'")
    unpack_demo(folder)
    say(f"Apache Hudi wrote {' and '.join(map(str, paths))}. Commands to try:")
    for line in _DEMO_COMMANDS:
        command, *options = line.split()
        say(shlex.join(["hudi-py", command, str(paths[0]), *options]))
