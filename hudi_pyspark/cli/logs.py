"""Commands that look into one log file, also into one that is damaged."""

import os
from typing import Annotated

import pyarrow as pa
import pyarrow.compute as pc
import typer

from hudi_pyspark.cli.arguments import OutputOption, WideOption
from hudi_pyspark.cli.exits import ExitCode
from hudi_pyspark.cli.printing import Output, show
from hudi_pyspark.errors import TableNotFoundError
from hudi_pyspark.hudi_table import HudiTable
from hudi_pyspark.storage import ArrowStorage
from hudi_pyspark.storage_options import from_environment
from hudi_pyspark.table.config import PROPERTIES_FILE
from hudi_pyspark.table.schema import META_COLUMNS

_BLOCKS = ("block", "offset", "bytes", "type", "instant_time", "is_committed", "records")
_RECORDS = ("block", "instant_time", "kind", "key")
_MERGED_RECORDS = ("kind", "key")
FileArgument = Annotated[
    str, typer.Argument(metavar="FILE", help="A log file below a table's base path.")
]


def blocks(
    file: FileArgument, *, wide: WideOption = False, output: OutputOption = Output.TABLE
) -> None:
    """List the blocks of a log file, and where and how it is broken."""
    table, path = _find(file)
    found = table.inspect.log_blocks(path)
    show(found, output, brief=() if wide else _with_problem(_BLOCKS, found))
    _end(found)


def records(
    file: FileArgument,
    *,
    merge: Annotated[
        bool,
        typer.Option("--merge", help="What the log files of its slice say of each record key."),
    ] = False,
    wide: WideOption = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Print the records of a log file, as far as it can be read."""
    table, path = _find(file)
    found = table.inspect.log_records(path, merge=merge)
    if output is Output.TABLE and not wide:
        marks = _MERGED_RECORDS if merge else _RECORDS
        show(_flat(found, _with_problem(marks, found)), output, null="null")
    else:
        show(found, output)
    _end(found)


def _with_problem(columns: tuple[str, ...], found: pa.Table) -> tuple[str, ...]:
    """Problems have a column only where there are some."""
    is_damaged = found.column("problem").null_count < found.num_rows
    return (*columns, "problem") if is_damaged else columns


def _flat(found: pa.Table, marks: tuple[str, ...]) -> pa.Table:
    """Marks of the records, and between them the columns of the table instead of a struct."""
    record = found.column("record").combine_chunks()
    names = [field.name for field in record.type if field.name not in META_COLUMNS]
    # A column of the table may be called like a mark; a table can have both.
    columns = {
        **{name: found.column(name) for name in marks if name != "problem"},
        **{f"{name} " if name in marks else name: pc.struct_field(record, name) for name in names},
        **{name: found.column(name) for name in marks if name == "problem"},
    }
    return pa.table(columns)


def _end(found: pa.Table) -> None:
    """Damage is told by the exit code as well."""
    if found.column("problem").null_count < found.num_rows:
        raise typer.Exit(ExitCode.PROBLEM)


def _find(file: str) -> tuple[HudiTable, str]:
    """The nearest table above a file, and the file's path below that table's base path."""
    full = file if "://" in file else os.path.abspath(file)  # noqa: PTH100  (a URI is no Path)
    folder, _, name = full.rpartition("/")
    below = name
    while folder and not folder.endswith("/"):
        if _has_table(folder):
            return HudiTable(folder), below
        folder, _, name = folder.rpartition("/")
        below = f"{name}/{below}"
    raise TableNotFoundError(
        f"{file} lies in no Hudi table: no folder above it holds {PROPERTIES_FILE}, which tells "
        "how to read it"
    )


def _has_table(folder: str) -> bool:
    try:
        storage = ArrowStorage.parse(folder, environment=from_environment(os.environ))
        storage.open_input(PROPERTIES_FILE).close()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True
