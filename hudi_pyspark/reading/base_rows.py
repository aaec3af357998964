"""Base file of a task to the rows that the task works on."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.columns.schema_evolution import conform, stored_columns
from hudi_pyspark.columns.timestamp_repair import repair_timestamps, repairable_columns
from hudi_pyspark.errors import CorruptTableError
from hudi_pyspark.filter.bounds import keys_array
from hudi_pyspark.reading.base_files.base_file import read_base_file, read_bootstrap_file
from hudi_pyspark.reading.base_files.row_groups import RowGroupFilter
from hudi_pyspark.reading.log_records.records import with_record_key
from hudi_pyspark.table.meta_columns import RECORD_KEY_COLUMN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hudi_pyspark.filter.predicate import Predicate
    from hudi_pyspark.storage import Storage
    from hudi_pyspark.tasks import ScanTask


def read_base_rows(
    task: ScanTask, storage: Storage, predicate: Predicate | None = None
) -> Iterator[pa.Table]:
    """Read a task's base rows in file order; a predicate leaves out row groups and pages."""
    base = task.file_slice.base_file
    if base is None:
        return
    shared = task.shared
    stored = stored_columns(shared.schema_on_read, task.stored_columns, base.instant_time)
    filterable = {name: stored[name] for name in stored if task.partition.is_as_stored(name)}
    row_groups = RowGroupFilter(
        predicate, task.working, filterable, shared.record_keys, _part_to_read(task)
    )
    keys = keys_array(shared.record_keys)
    read = partial(
        read_base_file,
        storage,
        base.path,
        row_groups=row_groups,
        # With schema on read the file may have other names for the nested fields.
        fields=task.working if shared.schema_on_read is None else pa.schema([]),
    )
    if base.bootstrap_source:
        read = partial(read_bootstrap_file, storage, base.path, base.bootstrap_source)
    columns, settings = list(stored.values()), task.settings
    repairable = repairable_columns(task.working)
    for stored_table in read(
        columns=columns, batch_rows=settings.batch_rows, verify_checksums=settings.verify_checksums
    ):
        table = stored_table
        if shared.schema_on_read is not None:
            table = shared.schema_on_read.rename(stored_table, stored, base.instant_time)
        _check_partition_columns(task, table, base.path)
        table = repair_timestamps(table, repairable)
        rows = conform(table, task.working, task.partition.constants, source=base.path)
        if task.file_slice.log_files:
            rows = with_record_key(rows, shared.key_fields)
            if keys is not None:
                rows = rows.filter(pc.is_in(rows.column(RECORD_KEY_COLUMN), value_set=keys))
        yield rows


def _check_partition_columns(task: ScanTask, table: pa.Table, path: str) -> None:
    wanted = task.stored_columns
    known = {*table.schema.names, *task.partition.constants}
    missing = [n for n in task.partition.columns if n in wanted and n not in known]
    if missing:
        raise CorruptTableError(
            f"{path}: partition column {', '.join(missing)} is not in the file, and cannot be "
            f"taken from the partition path {task.file_slice.partition_path!r}"
        )


def _part_to_read(task: ScanTask) -> tuple[int, int] | None:
    """Return the bytes of a task; the last part of a file goes on to its end, whatever its size."""
    # The size was recorded by the writer, where files come from the metadata table.
    base = task.file_slice.base_file
    if task.byte_range is None or base is None or task.byte_range[1] < base.size:
        return task.byte_range
    return task.byte_range[0], sys.maxsize
