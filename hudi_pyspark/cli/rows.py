"""Commands about rows: history, count, lookup, scan, diff, and the manifest of their files."""

import os
import sys
from collections import Counter
from contextlib import redirect_stdout
from pathlib import Path
from shutil import copymode
from typing import Annotated, Literal

import pyarrow as pa
import pyarrow.parquet as pq
import typer

from hudi_pyspark import HudiTable
from hudi_pyspark.cli import arguments, printing
from hudi_pyspark.columns.text import json_text
from hudi_pyspark.errors import UnsupportedTableError, printable
from hudi_pyspark.scan import Scan
from hudi_pyspark.table.meta_columns import META_COLUMNS
from hudi_pyspark.tasks import ScanTask

ScanOutput = Literal["table", "json", "jsonl", "csv", "parquet"]
_HISTORY = ("requested_time", "action", "event", "path", "records", "bytes")
_RECORD_HISTORY = ("requested_time", "operation", "change", "changed_columns", "after", "problem")


def count(
    table: HudiTable, *, output: arguments.OutputOption = "table", query: arguments.Query
) -> None:
    """Print the number of rows."""
    rows = table.scan_with(query.read_options()).count()
    if output == "table":
        printing.say(str(rows))
    else:
        printing.show(pa.table({"rows": [rows]}), output)


def lookup(
    table: HudiTable,
    keys: Annotated[
        list[str], typer.Argument(metavar="KEY...", help="Record keys.", show_default=False)
    ],
    *,
    columns: arguments.ColumnsOption = None,
    as_of: arguments.AsOfOption = None,
    meta: arguments.MetaOption = False,
    output: arguments.OutputOption = "table",
) -> None:
    """Print the rows with some record keys."""
    rows = table.lookup(keys, arguments.names_in(columns), as_of=as_of)
    if not rows.num_rows:
        printing.say_aside(printable(f"no row has the record key {' or '.join(keys)}"))
    _show_rows(rows, output, hides_meta=columns is None and not meta)


def history(
    table: HudiTable,
    key: Annotated[str, typer.Argument(metavar="KEY", help="Record key, or a file id.")],
    *,
    file_group: Annotated[
        bool, typer.Option("--file-group", help="KEY is the beginning of a file id.")
    ] = False,
    listing: arguments.Listing,
) -> None:
    """List what happened to a record, or to a file group, commit by commit."""
    rows = table.inspect.history(key) if file_group else table.history(key)
    if not rows.num_rows:
        printing.say_aside(printable(f"no commit that can be read has the record key {key}"))
    listing.show(rows, _HISTORY if file_group else _RECORD_HISTORY)


def scan(
    table: HudiTable,
    *,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="FILE", help="File to write: .parquet, .csv or .jsonl."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    limit: arguments.LimitOption = None,
    meta: arguments.MetaOption = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Print what would be read, and why; read nothing.")
    ] = False,
    columns: arguments.ColumnsOption = None,
    output: Annotated[
        ScanOutput, typer.Option("--output", "-o", help="Output format; jsonl has a row a line.")
    ] = "table",
    query: arguments.Query,
) -> None:
    """Read rows and print them, or write them as Parquet, CSV or JSON lines."""
    scan = table.scan_with(query.read_options(columns), limit=limit)
    if explain:
        printing.emit(f"{scan.explain()}\n")
    elif to is not None:
        suffix = Path(to).suffix.removeprefix(".")
        if suffix not in ("parquet", "csv", "jsonl"):
            problem = f"{to!r} does not end in .parquet, .csv or .jsonl"
            raise typer.BadParameter(problem, param_hint="'--to'")
        if Path(to).exists() and not force:
            raise typer.BadParameter(f"{to!r} exists: --force replaces it", param_hint="'--to'")
        target = Path(to).resolve()  # a link goes on naming its file
        # A scan that fails leaves an older file as it is. What is no file, like a pipe, stays.
        is_file = target.is_file() or not target.exists()
        part = target.with_name(f".{target.name}.{os.getpid()}.part") if is_file else target
        try:
            with part.open("w", encoding="utf-8") as file, redirect_stdout(file):
                _export(scan, suffix)
            if target.exists():
                copymode(target, part)
            part.replace(target)
        finally:
            if is_file:
                part.unlink(missing_ok=True)
    elif output in ("table", "json"):
        rows = pa.Table.from_batches(printing.count_rows(scan.to_batches()), schema=scan.schema)
        _show_rows(rows, output, hides_meta=columns is None and not meta and output == "table")
    else:
        _export(scan, output)


def manifest(table: HudiTable, *, as_of: arguments.AsOfOption = None) -> None:
    """List the base files of the read-optimized state, one address a line, for other engines."""
    scan = table.scan(query_type="read_optimized", as_of=as_of)
    for path in [_whole_base_file(task) for task in scan.plan() if isinstance(task, ScanTask)]:
        printing.emit(f"{table.storage.describe(path)}\n")


def diff(
    table: HudiTable,
    earlier: Annotated[str, typer.Argument(metavar="INSTANT", help="As of this instant …")],
    later: Annotated[str, typer.Argument(metavar="INSTANT", help="… and as of this one.")],
    *,
    columns: Annotated[
        str | None,
        typer.Option("--columns", "-c", help="Compare only these columns, separated by commas."),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=0, help="Maximum number of rows of a printed table.")
    ] = 100,
    output: arguments.OutputOption = "table",
) -> None:
    """List the rows inserted, updated and deleted between two instants."""
    changes = table.diff(earlier, later, columns=arguments.names_in(columns))
    if output != "table":
        printing.show(changes, output)
        return
    counts = Counter(changes["change"].to_pylist())
    printing.say(
        f"{counts['insert']} inserted, {counts['update']} updated, {counts['delete']} deleted "
        f"(two snapshots compared by record key: as of {earlier}, and as of {later})"
    )
    if changes.num_rows:
        printing.say("")
        printing.show(_change_lines(changes.slice(0, limit)), output)
    if changes.num_rows > limit:
        printing.say(f"… and {changes.num_rows - limit} more (--limit)")


def _change_lines(changes: pa.Table) -> pa.Table:
    """Describe each change in one text: the whole row, or old and new values of an update."""
    images = (changes.column(name).combine_chunks() for name in ("before", "after"))
    before, after = (
        {field.name: json_text(image.field(field.name)).to_pylist() for field in image.type}
        for image in images
    )
    kinds, changed = (changes[name].to_pylist() for name in ("change", "changed_columns"))
    lines = []
    for row, (kind, names) in enumerate(zip(kinds, changed, strict=True)):
        texts = after if kind == "insert" else before
        cells = [f"{name}: {values[row]}" for name, values in texts.items()]
        if kind == "update":
            cells = [f"{name}: {before[name][row]} → {after[name][row]}" for name in names]
        lines.append(", ".join(cells))
    keys = changes.drop_columns(["changed_columns", "before", "after"])
    keys = keys.rename_columns([name.removeprefix("_hoodie_") for name in keys.column_names])
    return keys.append_column("columns", pa.array(lines, pa.string()))


def _whole_base_file(task: ScanTask) -> str:
    """Return the path of the base file that a task reads, if its columns are those of the table.

    Raises:
        UnsupportedTableError: the file lacks columns, as after a metadata-only bootstrap, or has
            them under other names, as before a rename by schema on read.
    """
    file, schemas = task.file_slice.base_file, task.shared.schema_on_read
    assert file is not None  # a read-optimized query has no slices without one
    if file.bootstrap_source:
        raise UnsupportedTableError(
            f"{file.path} lacks the data columns, which a bootstrap left in {file.bootstrap_source}"
        )
    if schemas is not None:
        columns = schemas.version_of(file.instant_time).root
        ids, names = columns.by_id(), columns.by_name()
        for field in schemas.target.root.fields:
            if ids.get(field.id, names.get(field.name, field)) != field:
                raise UnsupportedTableError(
                    f"{file.path} was written before the column {field.name!r} had this name or "
                    "these fields: other engines would show nulls. Cluster the table with Apache "
                    "Hudi, which writes the file again"
                )
    return file.path


def _show_rows(table: pa.Table, output: printing.Output, *, hides_meta: bool) -> None:
    hidden = [name for name in table.column_names if hides_meta and name in META_COLUMNS]
    printing.show(table.drop_columns(hidden), output, null="null")


def _export(scan: Scan, file_format: str) -> None:
    """Write the rows to standard output, batch by batch."""
    sink, batches = sys.stdout.buffer, printing.count_rows(scan.to_batches())
    if file_format == "parquet":
        if sys.stdout.isatty():
            raise typer.BadParameter("Parquet needs a file: --to FILE", param_hint="'--output'")
        with pq.ParquetWriter(sink, scan.schema) as writer:
            for batch in batches:
                writer.write_batch(batch)
    elif file_format == "csv":
        printing.emit_csv(scan.schema.empty_table())
        for batch in batches:
            printing.emit_csv(pa.Table.from_batches([batch]), has_header=False)
    else:
        for batch in batches:
            lines = printing.json_lines(pa.Table.from_batches([batch]))
            printing.emit("".join(f"{line}\n" for line in lines))
    sink.flush()
