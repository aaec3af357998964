"""Commands that read rows: head, count, lookup, scan, diff."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Annotated

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import typer
from pyarrow.fs import FileType

from hudi_pyspark.cli.arguments import (
    AsOfOption,
    BeginOption,
    ColumnsOption,
    EndOption,
    FilterOption,
    LimitOption,
    MetaOption,
    OutputOption,
    PathArgument,
    QueryTypeOption,
    ReadOptions,
)
from hudi_pyspark.cli.printing import (
    ByteSink,
    Output,
    emit,
    json_lines,
    say,
    say_aside,
    show,
    write_csv_header,
    write_csv_rows,
)
from hudi_pyspark.cli.progress import counting
from hudi_pyspark.columns.json_text import json_text
from hudi_pyspark.hudi_table import HudiTable
from hudi_pyspark.scan import Scan
from hudi_pyspark.storage import ArrowStorage
from hudi_pyspark.storage_options import from_environment
from hudi_pyspark.table.meta_columns import META_COLUMNS

NULL = "null"
STANDARD_OUTPUT = "-"


class FileFormat(str, Enum):
    """A file format of `scan --to`."""

    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"


def head(
    path: PathArgument,
    *,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=0, help="Maximum number of rows.")
    ] = 10,
    columns: ColumnsOption = None,
    filter_text: FilterOption = None,
    as_of: AsOfOption = None,
    begin: BeginOption = None,
    end: EndOption = None,
    query_type: QueryTypeOption = None,
    options: ReadOptions = None,
    output: OutputOption = Output.TABLE,
    meta: Annotated[bool, typer.Option("--meta", help="Include the _hoodie_* columns.")] = False,
) -> None:
    """Print the first rows of a scan; the order of rows is not defined."""
    instants = {"as_of": as_of, "begin": begin, "end": end, "query_type": query_type}
    given = _options(options, columns=columns, filter=filter_text, **instants)
    table = HudiTable(path).scan_with(given, limit=limit).to_arrow()
    if columns is None and not meta:
        table = _without_meta_columns(table)
    show(table, output, null=NULL)


def count(
    path: PathArgument,
    *,
    filter_text: FilterOption = None,
    as_of: AsOfOption = None,
    begin: BeginOption = None,
    end: EndOption = None,
    query_type: QueryTypeOption = None,
    options: ReadOptions = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Print the number of rows."""
    instants = {"as_of": as_of, "begin": begin, "end": end, "query_type": query_type}
    rows = HudiTable(path).scan_with(_options(options, filter=filter_text, **instants)).count()
    if output is Output.TABLE:
        say(str(rows))
    else:
        show(pa.table({"rows": [rows]}), output)


def lookup(
    path: PathArgument,
    keys: Annotated[
        list[str], typer.Argument(metavar="KEY...", help="Record keys.", show_default=False)
    ],
    *,
    columns: ColumnsOption = None,
    meta: MetaOption = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Print the rows with some record keys, found by the record index if there is one."""
    names = None if columns is None else [name.strip() for name in columns.split(",")]
    table = HudiTable(path).lookup(keys, names)
    if columns is None and not meta:
        table = _without_meta_columns(table)
    show(table, output, null=NULL)


def scan(
    path: PathArgument,
    *,
    to: Annotated[
        FileFormat | None, typer.Option("--to", help="Write the rows in this format.")
    ] = None,
    file: Annotated[
        str,
        typer.Option("--file", help="File to write: a path, a URI, or - for standard output."),
    ] = STANDARD_OUTPUT,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an existing file.")
    ] = False,
    limit: LimitOption = None,
    meta: MetaOption = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Print what would be read, and why; read nothing.")
    ] = False,
    columns: ColumnsOption = None,
    filter_text: FilterOption = None,
    as_of: AsOfOption = None,
    begin: BeginOption = None,
    end: EndOption = None,
    query_type: QueryTypeOption = None,
    options: ReadOptions = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Read rows and print them, or write them as Parquet, CSV or JSON lines."""
    instants = {"as_of": as_of, "begin": begin, "end": end, "query_type": query_type}
    given = _options(options, columns=columns, filter=filter_text, **instants)
    checked = HudiTable(path).scan_with(given, limit=limit)
    if explain:
        emit(f"{checked.explain()}\n")
    elif to is None:
        table = _all_rows(checked)
        hides = columns is None and not meta and output is Output.TABLE
        show(_without_meta_columns(table) if hides else table, output, null=NULL)
    else:
        _export(checked, to, file, overwrite=overwrite)


def diff(
    path: PathArgument,
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
    output: OutputOption = Output.TABLE,
) -> None:
    """List the rows inserted, updated and deleted between two instants."""
    names = [name.strip() for name in columns.split(",")] if columns is not None else None
    changes = HudiTable(path).diff(earlier, later, columns=names)
    if output is not Output.TABLE:
        show(changes, output)
        return
    counts = {kind: _count_of(changes, kind) for kind in ("insert", "update", "delete")}
    say(
        f"{counts['insert']} inserted, {counts['update']} updated, {counts['delete']} deleted "
        f"(two snapshots compared by record key: as of {earlier}, and as of {later})"
    )
    if changes.num_rows:
        say("")
        show(_change_lines(changes.slice(0, limit)), output)
    if changes.num_rows > limit:
        say(f"… and {changes.num_rows - limit} more (--limit)")


def _options(options: list[str] | None, **named: str | None) -> dict[str, str]:
    """Return the read options of a command: those that it has names for, and any others."""
    is_range = named["begin"] is not None or named["end"] is not None
    named["query_type"] = named["query_type"] or ("incremental" if is_range else None)
    chosen = {name: value for name, value in named.items() if value is not None}
    given = dict(map(key_and_value, options or ()))
    twice = [name for name in chosen if name in given]
    if twice:
        raise typer.BadParameter(f"{twice[0]} is given twice", param_hint="'--option'")
    return {**given, **chosen}


def key_and_value(text: str) -> tuple[str, str]:
    """Split ``KEY=VALUE``."""
    key, separator, value = text.partition("=")
    if not separator or not key:
        raise typer.BadParameter(f"expected KEY=VALUE, found {text!r}", param_hint="'--option'")
    return key, value


def _count_of(changes: pa.Table, kind: str) -> int:
    counted: int = pc.sum(pc.equal(changes.column("change"), kind)).as_py() or 0
    return counted


def _change_lines(changes: pa.Table) -> pa.Table:
    """Return changes as text for people: whole rows, or the old and new values of updates."""
    before, after = (_member_texts(changes.column(name)) for name in ("before", "after"))
    lines = []
    for row, (change, names) in enumerate(
        zip(
            changes.column("change").to_pylist(),
            changes.column("changed_columns").to_pylist(),
            strict=True,
        )
    ):
        if change == "update":
            cells = [f"{n}: {before[n][row]} → {after[n][row]}" for n in names]
        else:
            cells = [
                f"{n}: {texts[row]}"
                for n, texts in (after if change == "insert" else before).items()
            ]
        lines.append(", ".join(cells))
    keys = [n for n in changes.column_names if n not in ("changed_columns", "before", "after")]
    named = changes.select(keys).rename_columns([name.removeprefix("_hoodie_") for name in keys])
    return named.append_column("columns", pa.array(lines, pa.string()))


def _member_texts(column: pa.ChunkedArray) -> dict[str, list[str]]:
    """Return the JSON text of each member of a struct column, by its name."""
    structs = column.combine_chunks()
    return {
        field.name: json_text(structs.field(position)).to_pylist()
        for position, field in enumerate(structs.type)
    }


def _all_rows(scan: Scan) -> pa.Table:
    return pa.Table.from_batches(_with_progress(scan), schema=scan.schema)


def _with_progress(scan: Scan) -> Iterator[pa.RecordBatch]:
    with counting("Reading", "rows") as count:
        for batch in scan.to_batches():
            yield batch
            count(batch.num_rows)


def _without_meta_columns(table: pa.Table) -> pa.Table:
    names = [name for name in table.column_names if name not in META_COLUMNS]
    return table.select(names)


def _export(scan: Scan, file_format: FileFormat, place: str, *, overwrite: bool) -> None:
    if place == STANDARD_OUTPUT and file_format is FileFormat.PARQUET and sys.stdout.isatty():
        raise typer.BadParameter("Parquet on a terminal: give --file", param_hint="'--to'")
    with _opened(place, overwrite=overwrite) as sink:
        rows = sum(_WRITERS[file_format](scan, sink))
    if place != STANDARD_OUTPUT:
        say_aside(f"{rows} rows written to {place}")


@contextmanager
def _opened(place: str, *, overwrite: bool) -> Iterator[ByteSink]:
    """Open a file or standard output for writing; remove a file that is not finished."""
    if place == STANDARD_OUTPUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = ArrowStorage.parse(place, environment=from_environment(os.environ))
    path, filesystem = target.base_path, target.filesystem
    if not overwrite and filesystem.get_file_info(path).type != FileType.NotFound:
        raise typer.BadParameter(
            f"{place} exists; give --overwrite to replace it", param_hint="'--file'"
        )
    try:
        with filesystem.open_output_stream(path) as sink:
            yield sink
    except BaseException:
        if filesystem.get_file_info(path).type == FileType.File:
            filesystem.delete_file(path)
        raise


def _write_parquet(scan: Scan, sink: ByteSink) -> Iterator[int]:
    with pq.ParquetWriter(sink, scan.schema) as writer:
        for batch in _with_progress(scan):
            writer.write_batch(batch)
            yield batch.num_rows


def _write_csv(scan: Scan, sink: ByteSink) -> Iterator[int]:
    write_csv_header(scan.schema, sink)
    for batch in _with_progress(scan):
        write_csv_rows(pa.Table.from_batches([batch]), sink)
        yield batch.num_rows


def _write_json(scan: Scan, sink: ByteSink) -> Iterator[int]:
    for batch in _with_progress(scan):
        lines = json_lines(pa.Table.from_batches([batch]))
        sink.write("".join(f"{line}\n" for line in lines).encode())
        yield batch.num_rows


_WRITERS: dict[FileFormat, Callable[[Scan, ByteSink], Iterator[int]]] = {
    FileFormat.PARQUET: _write_parquet,
    FileFormat.CSV: _write_csv,
    FileFormat.JSON: _write_json,
}
