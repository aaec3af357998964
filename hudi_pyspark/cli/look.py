"""Commands that show the definition, history and files of a table."""

import math
import shutil
from dataclasses import asdict
from typing import Literal, get_args

import click
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark import HudiTable
from hudi_pyspark.cli import arguments
from hudi_pyspark.cli.printing import Output, say, say_aside, show, show_pairs
from hudi_pyspark.columns.type_text import type_text
from hudi_pyspark.format.timeline.instant import moment_of
from hudi_pyspark.options.instant_text import local_now, wall_clock
from hudi_pyspark.table.meta_columns import META_COLUMNS
from hudi_pyspark.table.timeline import instant_path
from hudi_pyspark.wording import counted, duration_text

# The columns that are printed by default; --wide prints all of them.
_TIMELINE = ("requested_time", "completion_time", "action", "state", "archived")
_COMMITS = ("age", "operation", "files", "inserts", "updates", "deletes", "duration")
_WIDE = 100  # characters of a terminal that has room for all of these
_COLUMN_STATISTICS = ("path", "column", "min", "max", "values", "nulls")
_COMMIT = ("path", "kind", "records", "inserts", "updates", "deletes", "bytes")
_SLICES = ("partition_path", "file_id", "base_instant_time", "base_bytes", "log_count", "log_bytes")
_RATIO = "log_to_base_ratio"
_FILES = ("path", "kind", "bytes", "committed_by", "in_latest_slice")
_PARTITIONS = ("partition_path", "slices", "base_files", "log_files", "bytes", "last_commit")
_SERVICES = ("compactions", "clustering", "cleans", "rollbacks", "savepoints")
_ARCHIVED_SERVICES = ("cleans", "rollbacks")
SliceOrder = Literal["log-ratio", "log-bytes", "base-bytes"]
_SCHEMA_HISTORY = ("requested_time", "operation", "added", "dropped", "changed", "columns")


@arguments.table_command
@arguments.output_option
def describe(table: HudiTable, output: Output) -> None:
    """Describe a table: type, version, keys, partitions, last commit, columns."""
    description = table.description
    pending = len(table._view.timeline.pending)
    columns = [f"{field.name} {type_text(field.type)}" for field in table.schema]
    if output != "table":
        show_pairs({**asdict(description), "pending": pending, "columns": columns}, output)
        return
    pairs = {
        "name": description.name,
        **dict(description.rows()),
        "pending": counted(pending, "instant") if pending else "nothing",
        "columns": columns,
    }
    show_pairs(pairs, output)


@arguments.table_command
@click.option("--archived/--no-archived", default=True, help="Include archived instants.")
@arguments.listing_options
def timeline(table: HudiTable, *, archived: bool, listing: arguments.Listing) -> None:
    """List the instants of a table, oldest first."""
    instants = table.inspect.timeline(archived=archived)
    if listing.output == "table":
        instants = _with_empty_commits(table, instants)
    listing.show(instants, _TIMELINE)


def _with_empty_commits(table: HudiTable, instants: pa.Table) -> pa.Table:
    """Mark the completed commits whose files are empty; one listing has the sizes of all."""
    view = table._view
    folder = view.config.timeline_folder
    files = view.storage.list_directory(folder)
    empty = {f"{folder}/{file.name}" for file in files if not file.is_directory and not file.size}
    commits = empty.intersection(
        instant_path(commit, view.config) for commit in view.history.commits
    )
    is_empty = pc.is_in(instants["path"], pa.array(sorted(commits), pa.string()))
    states = pc.if_else(is_empty, "completed, empty", instants["state"])
    return instants.set_column(instants.schema.get_field_index("state"), "state", states)


@arguments.table_command
@click.option("--archived", is_flag=True, help="Include archived instants.")
@click.option("--newest-first", is_flag=True, help="Begin with the last commit.")
@arguments.listing_options
def commits(
    table: HudiTable, *, archived: bool, newest_first: bool, listing: arguments.Listing
) -> None:
    """List the completed commits, with age, duration and numbers of files and records."""
    commits = table.inspect.commits(archived=archived)
    if newest_first:
        commits = commits.sort_by([("requested_time", "descending")])
    if listing.output != "table":
        listing.show(commits)
        return
    # --as-of compares requested times, --begin completion times. Before table version 8, commits
    # only have requested times.
    has_completion_times = table._view.config.has_completion_times
    time = "completion_time" if has_completion_times else "requested_time"
    now = wall_clock(local_now(), table._view.config)
    moments = map(moment_of, commits.column(time).to_pylist())
    ages = [None if m is None else duration_text((now - m).total_seconds()) for m in moments]
    durations = [
        None if milliseconds is None else f"{milliseconds / 1000:.3g} s"
        for milliseconds in commits.column("milliseconds").to_pylist()
    ]
    rows = commits.add_column(2, "age", pa.array(ages, pa.string()))
    position = rows.column_names.index("milliseconds")
    rows = rows.set_column(position, "duration", pa.array(durations, pa.string()))
    extra = [", ".join(f"{k}={v}" for k, v in e) or None for e in rows[-1].to_pylist()]
    rows = rows.set_column(position + 1, "extra_metadata", pa.array(extra, pa.string()))
    brief: tuple[str, ...] = _COMMITS[:-1]
    if has_completion_times:
        brief = ("completion_time", *_COMMITS)
    if shutil.get_terminal_size((_WIDE, 1)).columns < _WIDE:
        brief = tuple(name for name in brief if name not in ("age", "files", "duration"))
    listing.show(rows, ("requested_time", *brief))


@arguments.table_command
@click.argument("instant")
@arguments.listing_options
def commit(table: HudiTable, instant: str, listing: arguments.Listing) -> None:
    """List the files that one commit wrote.

    INSTANT is the requested or completion time of the commit.
    """
    listing.show(table.inspect.commit_files(instant), _COMMIT)


@arguments.table_command
@arguments.as_of_option
@click.option("--older", is_flag=True, help="Include superseded slices that still have files.")
@click.option(
    "--sort",
    type=click.Choice(get_args(SliceOrder)),
    help="Begin with the greatest; by partition by default.",
)
@arguments.limit_option
@arguments.listing_options
def slices(
    table: HudiTable,
    *,
    as_of: str | None,
    older: bool,
    sort: SliceOrder | None,
    limit: int | None,
    listing: arguments.Listing,
) -> None:
    """List the file slices of the table."""
    slices = table.inspect.file_slices(as_of, older=older)
    brief: tuple[str, ...] = (*_SLICES, "is_latest") if older else _SLICES
    if sort is not None:
        column = _RATIO if sort == "log-ratio" else sort.replace("-", "_")
        brief = (*brief, *({column} - {*brief}))
        # A slice without a base file has no ratio; it counts as all log.
        values = slices.column(column).fill_null(math.inf if column == _RATIO else 0)
        slices = slices.take(pc.array_sort_indices(values, order="descending"))
    if listing.output == "table":
        position = slices.column_names.index(_RATIO)
        slices = slices.set_column(position, _RATIO, pc.round(slices.column(_RATIO), 2))
    listing.show(slices.slice(0, limit), brief)


@arguments.table_command
@arguments.limit_option
@arguments.listing_options
def files(table: HudiTable, *, limit: int | None, listing: arguments.Listing) -> None:
    """List every data file on the storage, older ones included."""
    listing.show(table.inspect.files().slice(0, limit), _FILES)


@arguments.table_command
@click.argument("action")
@click.option("--archived", is_flag=True, help="Include archived cleans or rollbacks.")
@arguments.output_option
def services(table: HudiTable, action: str, *, archived: bool, output: Output) -> None:
    """List compactions, clusterings, cleans, rollbacks or savepoints.

    ACTION is one of these words, in the plural or the singular.
    """
    plurals = {name.removesuffix("s"): name for name in _SERVICES}
    service = plurals.get(action.removesuffix("s"))
    if service is None:
        raise click.BadParameter(f"{action!r} is not one of {', '.join(_SERVICES)}")
    if archived and service not in _ARCHIVED_SERVICES:
        problem = f"archived {service} are not listed, only {' and '.join(_ARCHIVED_SERVICES)}"
        raise click.BadParameter(problem, param_hint="'--archived'")
    named = {"archived": True} if archived else {}
    show(getattr(table.inspect, service)(**named), output)


@arguments.table_command
@click.option(
    "--history", "changes", is_flag=True, help="List the changes of the columns, commit by commit."
)
@arguments.as_of_option
@arguments.listing_options
def schema(
    table: HudiTable, *, changes: bool, as_of: str | None, listing: arguments.Listing
) -> None:
    """List the columns, or their changes."""
    if changes:
        listing.show(table.inspect.schema_history(), _SCHEMA_HISTORY)
        return
    columns = table.schema if as_of is None else table.scan(as_of=as_of).schema
    rows = [
        {"column": field.name, "type": type_text(field.type), "nullable": field.nullable}
        for field in columns
    ]
    listing.show(pa.Table.from_pylist(rows))


@arguments.table_command
@arguments.listing_options
def partitions(table: HudiTable, listing: arguments.Listing) -> None:
    """List the partitions, with the number and size of their files."""
    listing.show(table.inspect.partitions(), _PARTITIONS)


@arguments.table_command
@click.argument("partition", required=False)
@arguments.limit_option
@arguments.output_option
def metadata(table: HudiTable, partition: str | None, *, limit: int | None, output: Output) -> None:
    """Print the records of the metadata table; hudi-py doctor checks them.

    PARTITION is a partition of the metadata table, e.g. files; all by default.
    """
    if not table._view.config.metadata_partitions and partition is None:
        say_aside("the table has no registered metadata table, so reads list folders")
        if output == "table":
            return
    records = table.inspect.metadata_records(partition)
    if output == "table":
        grouped = records.group_by(["metadata_partition", "type"]).aggregate([("key", "count")])
        show(grouped.rename_columns(["metadata_partition", "type", "records"]), output)
        say("")
    show(records.slice(0, limit), output)


@arguments.table_command
@arguments.limit_option
@arguments.meta_option
@arguments.listing_options
def column_statistics(
    table: HudiTable, *, limit: int | None, meta: bool, listing: arguments.Listing
) -> None:
    """Print the known minimum, maximum and nulls of each column and file."""
    statistics = table.inspect.column_statistics()
    if listing.output == "table" and not meta:
        is_meta = pc.is_in(statistics.column("column"), pa.array(META_COLUMNS))
        statistics = statistics.filter(pc.invert(is_meta))
    listing.show(statistics.slice(0, limit), _COLUMN_STATISTICS)


@arguments.table_command
@arguments.output_option
def stats(table: HudiTable, output: Output) -> None:
    """Print sizes and ratios: log to base, small files, write amplification."""
    statistics = table.inspect.statistics()
    if output == "table":
        show_pairs(statistics.to_pylist()[0], output)
    else:
        show(statistics, output)


@arguments.table_command
@arguments.output_option
def properties(table: HudiTable, output: Output) -> None:
    """Print hoodie.properties."""
    show(table.inspect.properties(), output)
