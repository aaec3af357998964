"""Commands that show the contents of one log file, which may be damaged."""

import os
from contextlib import suppress

import click
import pyarrow as pa
import pyarrow.compute as pc
from click.exceptions import Exit

from hudi_pyspark import HudiTable
from hudi_pyspark.cli import arguments
from hudi_pyspark.cli.printing import show
from hudi_pyspark.errors import TableNotFoundError
from hudi_pyspark.table.config import PROPERTIES_FILE
from hudi_pyspark.table.meta_columns import META_COLUMNS

_BLOCKS = ("block", "offset", "bytes", "type", "instant_time", "is_committed", "records")
_RECORDS = ("block", "instant_time", "kind", "key")
_MERGED_RECORDS = ("kind", "key")
_file_argument = click.argument("file", type=arguments.PLACE)


@click.group()
def log() -> None:
    """Show the contents of one log file, even a damaged one."""


@log.command(cls=arguments.StorageCommand)
@_file_argument
@arguments.listing_options
def blocks(file: str, *, listing: arguments.Listing) -> None:
    """List the blocks of a log file, and where and how it is damaged.

    FILE is below the base path of a table.
    """
    table, path = _find(file)
    blocks = table.inspect.log_blocks(path)
    listing.show(blocks, _with_problem(_BLOCKS, blocks))
    if _is_damaged(blocks):
        raise Exit(arguments.ExitCode.PROBLEM)


@log.command(cls=arguments.StorageCommand)
@_file_argument
@click.option("--merge", is_flag=True, help="Merge the log files of the slice, one record per key.")
@arguments.listing_options
def records(file: str, *, merge: bool, listing: arguments.Listing) -> None:
    """Print the records of a log file, as far as damage allows.

    FILE is below the base path of a table.
    """
    table, path = _find(file)
    records = table.inspect.log_records(path, merge=merge)
    if listing.output == "table" and not listing.wide:
        leading = _MERGED_RECORDS if merge else _RECORDS
        show(_flat(records, _with_problem(leading, records)), "table", null="null")
    else:
        show(records, listing.output)
    if _is_damaged(records):
        raise Exit(arguments.ExitCode.PROBLEM)


def _is_damaged(table: pa.Table) -> bool:
    """Return whether a row of blocks or records has a problem."""
    return bool(table.column("problem").null_count < table.num_rows)


def _with_problem(columns: tuple[str, ...], table: pa.Table) -> tuple[str, ...]:
    return (*columns, "problem") if _is_damaged(table) else columns


def _flat(records: pa.Table, leading: tuple[str, ...]) -> pa.Table:
    """Replace the struct of each record by its columns, which follow the leading columns."""
    record = records.column("record").combine_chunks()
    names = [field.name for field in record.type if field.name not in META_COLUMNS]
    # A column with the name of a leading column gets a blank at its end, to tell them apart.
    of_table = {f"{n} " if n in leading else n: pc.struct_field(record, n) for n in names}
    columns = {name: records.column(name) for name in leading}
    last = {"problem": columns.pop("problem")} if "problem" in columns else {}
    return pa.table({**columns, **of_table, **last})


def _find(file: str) -> tuple[HudiTable, str]:
    """Return the nearest table above a file, and the file's path relative to its base path."""
    full = file if "://" in file else os.path.abspath(file)  # noqa: PTH100  (a URI is not a Path)
    folder, _, name = full.rpartition("/")
    below = name
    while folder and not folder.endswith("/"):
        with suppress(FileNotFoundError, NotADirectoryError):
            arguments.storage_at(folder).open_input(PROPERTIES_FILE).close()
            return arguments.open_table(folder), below
        folder, _, name = folder.rpartition("/")
        below = f"{name}/{below}"
    raise TableNotFoundError(
        f"{file} is not part of a Hudi table: no folder above it contains {PROPERTIES_FILE}"
    )
