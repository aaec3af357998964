"""A merged snapshot as base files and records, for engines that read Parquet files themselves.

A merge decides which rows of a base file count (`reading.merge.outcome`). Afterwards an engine
reads the Parquet files with its own reader, leaves out rows by number, and adds the records of log
files.
"""

import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_pyspark.columns.arrays import Mask, any_of
from hudi_pyspark.columns.schema_evolution import is_as_declared
from hudi_pyspark.format.column_names import case_variants
from hudi_pyspark.format.data_files import BaseFileFormat
from hudi_pyspark.format.parquet.checked_file import has_only_value, open_parquet
from hudi_pyspark.format.parquet.legacy_calendar import LegacyCalendar
from hudi_pyspark.frames.dataset import Source
from hudi_pyspark.messages import logger
from hudi_pyspark.reading.merge.outcome import OutcomesInMemory, OutcomeStore
from hudi_pyspark.reading.read_slice import merge_outcome
from hudi_pyspark.tasks import ReadTask, ScanTask

_TIMES = (pa.timestamp("us"), pa.timestamp("us", "UTC"))
_WILDCARDS = frozenset("*?[]{}")
_log = logger(__name__)

is_exact_type: Callable[[pa.DataType], bool] = any_of(
    pa.types.is_boolean,
    pa.types.is_int32,
    pa.types.is_int64,
    pa.types.is_decimal128,
    pa.types.is_string,
    pa.types.is_binary,
    pa.types.is_date32,
    lambda data_type: data_type in _TIMES,
)
"""Decides whether engines read a type from Parquet as this reader does, and may use its bounds."""


class Snapshot(Source, Protocol):
    """A whole scan, as `Scan` is."""

    @property
    def _store(self) -> OutcomeStore | None:
        """Where outcomes of merges are kept; None if they are not kept."""

    def plan(self) -> list[ReadTask]:
        """Return the tasks of the read; raises HudiError."""


@dataclass(frozen=True)
class MergedFiles:
    """The rows of a snapshot. Each base file has the columns as the table declares them."""

    whole: list[str]  # local paths of base files of which all rows count
    parts: dict[str, Mask]  # the rows to leave out, by the local paths of other base files
    records: pa.Table  # the records of log files that count


def merged_files(
    scan: Snapshot,
    is_alike: Callable[[pa.DataType], bool],
    reads_alike: Callable[[str], bool],
    *,
    reserved: Collection[str],
) -> MergedFiles | None:
    """Merge all slices of a scan.

    A base file must lie on this machine, have all columns of the scan with their names and types,
    and have no dates in Spark's legacy calendar.

    Args:
        scan: what to read.
        is_alike: decides whether the engine reads and filters a type as this reader does.
        reads_alike: decides whether the engine reads a file, by its path, with the expected types.
            Engines differ in how they read timestamps that older writers left unmarked.
        reserved: names in lower case of columns that the engine adds to a file.

    Returns:
        None if the engine would read other values, or cannot read a file; the log says why at INFO.

    Raises:
        HudiError: the table cannot be read.
    """
    tasks = scan.plan()
    obstacle = next((why for task in tasks for why in _obstacles(task, scan, is_alike)), "")
    if any(name.lower() in reserved for name in scan.schema.names):
        obstacle = f"a column has one of the names {', '.join(reserved)}"
    store = scan._store or OutcomesInMemory()
    whole = []
    parts = {}
    records = [scan.schema.empty_table()]
    for task in tasks if not obstacle else []:
        assert isinstance(task, ScanTask)  # else there is an obstacle
        path = _base_path(task, scan)
        outcome = None
        if path and not reads_alike(path):
            obstacle = f"{path} has columns of other types to the engine"
            break
        if task.file_slice.log_files:
            outcome = merge_outcome(task, scan.storage, store)
            if outcome is None:
                obstacle = f"the merge of file group {task.file_slice.file_id} is not kept"
                break
            records.append(task.partition.show(outcome.records).select(scan.schema.names))
        if path and outcome is not None and outcome.decision.dropped_base_rows.any():
            parts[path] = outcome.decision.dropped_base_rows
        elif path:
            whole.append(path)
    if obstacle:
        _log.info("base files are read by hudi-py, since %s", obstacle)
        return None
    return MergedFiles(whole, parts, pa.concat_tables(records))


def _base_path(task: ScanTask, scan: Snapshot) -> str:
    """Return the full path of a slice's base file; "" if it has none."""
    base = task.file_slice.base_file
    return scan.storage.describe(base.path) if base is not None else ""


def _obstacles(
    task: ReadTask, scan: Snapshot, is_alike: Callable[[pa.DataType], bool]
) -> Iterator[str]:
    """Yield the reasons why an engine must not read the base file of a task."""
    if not isinstance(task, ScanTask) or task.shared.commit_range:
        yield "the query is no snapshot"
        return
    if task.shared.row_options:
        yield f"engines do not follow {', '.join(task.shared.row_options)}"
    if task.shared.predicate is not None or task.shared.schema_on_read is not None:
        yield "the scan has a filter, or the table's columns were renamed"
    for field in scan.schema:
        if not is_alike(field.type):
            yield f"column {field.name!r} of type {field.type} may be read in another way"
    path = _base_path(task, scan)
    base = task.file_slice.base_file
    if not scan.storage.is_local:
        yield "the table is not on this machine"
    is_readable = base is None or BaseFileFormat.of(base.path).is_read_by_engines
    has_source = base is not None and base.bootstrap_source
    if has_source or not is_readable:
        yield f"{path} is not a Parquet file of its own rows"
    if _WILDCARDS & {*path}:
        yield f"the name of {path} has wildcards"
    elif base is not None:
        yield from _odd_columns(task, scan, base.path)


def _odd_columns(task: ScanTask, scan: Snapshot, base: str) -> Iterator[str]:
    """Yield the reasons that only the footer of a base file gives."""
    path = scan.storage.describe(base)
    try:
        with scan.storage.open_input(base) as source:  # refuses a path outside of the table
            file_slice = task.file_slice
            size = source.seek(0, os.SEEK_END)
            if file_slice.base_file and file_slice.base_file.committed_size not in {0, size}:
                yield f"{path} has another size than its commit says"
            file = open_parquet(source, verify_checksums=False)
            if LegacyCalendar.of(file, path) is not None:
                yield f"{path} has dates in Spark's legacy calendar"
            schema = file.schema_arrow  # pyarrow converts it anew each time
            for field in scan.schema:
                if not _is_as_shown(file, schema, field, task):
                    yield f"{path} has column {field.name!r} in another form"
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:  # a read reports the error
        yield f"{path} cannot be opened: {error}"


def _is_as_shown(
    file: pq.ParquetFile, file_schema: pa.Schema, field: pa.Field, task: ScanTask
) -> bool:
    """Decide whether a file has one column of a name, with the values of the answer."""
    partition = task.partition
    is_only_one = [*case_variants([field.name], file_schema.names)] == [field.name]
    index = file_schema.get_field_index(field.name)  # -1 also for duplicates
    if not is_only_one or index < 0 or not is_as_declared(file_schema.field(index).type, field):
        return False
    if partition.is_as_stored(field.name):
        return field.name in task.stored_columns
    constant = partition.constants.get(field.name)  # in the path of the file
    return constant is not None and has_only_value(file, field, constant.cast(field.type))
