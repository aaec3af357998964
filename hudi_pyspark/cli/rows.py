"""Commands about rows: history, count, lookup, scan, diff, and the manifest of their files."""

import os
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from shutil import copymode
from typing import Any, Literal, get_args

import click
import pyarrow as pa
import pyarrow.parquet as pq

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


@arguments.table_command
@arguments.output_option
@arguments.query_options
def count(table: HudiTable, *, output: printing.Output, **query: Any) -> None:  # noqa: ANN401
    """Print the number of rows."""
    rows = table.scan(**arguments.read_options(query)).count()
    if output == "table":
        printing.say(str(rows))
    else:
        printing.show(pa.table({"rows": [rows]}), output)


@arguments.table_command
@click.argument("keys", metavar="KEY...", nargs=-1, required=True)
@arguments.columns_option
@arguments.as_of_option
@click.option(
    "--unique-keys",
    is_flag=True,
    help="You promise that no two rows have the same key: the record index finds the files.",
)
@click.option(
    "--trust-indexes",
    metavar="NAMES",
    default="false",
    help="You promise that these indexes know all rows, e.g. record; separated by commas.",
)
@arguments.meta_option
@arguments.output_option
def lookup(
    table: HudiTable,
    keys: Sequence[str],
    *,
    columns: str | None,
    as_of: str | None,
    unique_keys: bool,
    trust_indexes: str,
    meta: bool,
    output: printing.Output,
) -> None:
    """Print the rows that have one of the record keys KEY."""
    names = arguments.names_in(columns)
    rows = table.lookup(
        keys, names, as_of=as_of, unique_keys=unique_keys, trust_indexes=trust_indexes
    )
    if not rows.num_rows:
        printing.say_aside(printable(f"no row has the record key {' or '.join(keys)}"))
    _show_rows(rows, output, hides_meta=columns is None and not meta)


@arguments.table_command
@click.argument("key")
@click.option("--file-group", is_flag=True, help="KEY names a file group.")
@arguments.listing_options
def history(table: HudiTable, key: str, *, file_group: bool, listing: arguments.Listing) -> None:
    """List what happened to a record, or to a file group, commit by commit.

    KEY is a record key or, with --file-group, the beginning of a file id.
    """
    rows = table.inspect.history(key) if file_group else table.history(key)
    if not rows.num_rows:
        printing.say_aside(printable(f"no commit that can be read has the record key {key}"))
    listing.show(rows, _HISTORY if file_group else _RECORD_HISTORY)


@arguments.table_command
@click.option(
    "--to", metavar="FILE", type=arguments.PLACE, help="File to write: .parquet, .csv or .jsonl."
)
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@arguments.limit_option
@arguments.meta_option
@click.option("--explain", is_flag=True, help="Print what would be read, and why; read nothing.")
@arguments.columns_option
@arguments.output_formats(
    *get_args(ScanOutput), description="Output format; jsonl has a row a line."
)
@arguments.query_options
def scan(
    table: HudiTable,
    *,
    to: str | None,
    force: bool,
    limit: int | None,
    meta: bool,
    explain: bool,
    columns: str | None,
    output: ScanOutput,
    **query: Any,  # noqa: ANN401  (the values of `query_options`)
) -> None:
    """Read rows and print them, or write them as Parquet, CSV or JSON lines."""
    scan = table.scan(**arguments.read_options(query, columns), limit=limit)
    if explain:
        printing.emit(f"{scan.explain()}\n")
    elif to is not None:
        suffix = Path(to).suffix.removeprefix(".")
        if suffix not in ("parquet", "csv", "jsonl"):
            problem = f"{to!r} does not end in .parquet, .csv or .jsonl"
            raise click.BadParameter(problem, param_hint="'--to'")
        if Path(to).exists() and not force:
            raise click.BadParameter(f"{to!r} exists: --force replaces it", param_hint="'--to'")
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


@arguments.table_command
@arguments.as_of_option
def manifest(table: HudiTable, *, as_of: str | None) -> None:
    """List the base files of the read-optimized state, one address a line, for other engines."""
    scan = table.scan(query_type="read_optimized", as_of=as_of)
    for path in [_whole_base_file(task) for task in scan.plan() if isinstance(task, ScanTask)]:
        printing.emit(f"{table.storage.describe(path)}\n")


@arguments.table_command
@click.argument("earlier")
@click.argument("later")
@click.option("--columns", "-c", help="Compare only these columns, separated by commas.")
@click.option(
    "--limit",
    "-n",
    type=click.IntRange(min=0),
    default=100,
    show_default=True,
    help="Maximum number of rows of a printed table.",
)
@arguments.output_option
def diff(
    table: HudiTable,
    earlier: str,
    later: str,
    *,
    columns: str | None,
    limit: int,
    output: printing.Output,
) -> None:
    """List the rows inserted, updated and deleted between the instants EARLIER and LATER."""
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
    file = task.file_slice.base_file
    schemas = task.shared.schema_on_read
    assert file is not None  # a read-optimized query has no slices without one
    if file.bootstrap_source:
        raise UnsupportedTableError(
            f"{file.path} lacks the data columns, which a bootstrap left in {file.bootstrap_source}"
        )
    if schemas is not None:
        columns = schemas.version_of(file.instant_time).root
        ids = columns.by_id()
        names = columns.by_name()
        for field in schemas.target.root.fields:
            if ids.get(field.id, names.get(field.name, field)) != field:
                raise UnsupportedTableError(
                    f"{file.path} was written before the column {field.name!r} had this name or "
                    "these fields: other engines would show nulls",
                    advice="Cluster the table with Apache Hudi, which writes the file again",
                )
    return file.path


def _show_rows(table: pa.Table, output: printing.Output, *, hides_meta: bool) -> None:
    hidden = [name for name in table.column_names if hides_meta and name in META_COLUMNS]
    printing.show(table.drop_columns(hidden), output, null="null")


def _export(scan: Scan, file_format: str) -> None:
    """Write the rows to standard output, batch by batch."""
    sink = sys.stdout.buffer
    batches = printing.count_rows(scan.to_batches())
    if file_format == "parquet":
        if sys.stdout.isatty():
            raise click.BadParameter("Parquet needs a file: --to FILE", param_hint="'--output'")
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
