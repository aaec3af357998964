"""Read the rows of a slice from the outcome of its merge, as if the slice had no log files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_pyspark.columns.arrays import ONLY_ROW_COUNT
from hudi_pyspark.reading.base_files.base_file import open_base_file, read_base_rows

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from hudi_pyspark.reading.base_files.page_reads import PagedFile
    from hudi_pyspark.reading.merge.outcome import MergeOutcome
    from hudi_pyspark.storage.protocol import Storage
    from hudi_pyspark.tasks import ScanTask


def open_needed_file(task: ScanTask, storage: Storage) -> AbstractContextManager[PagedFile | None]:
    """Open the base file of a merged slice; None if the slice has none, or no column is read.

    Raises:
        MissingFileError, CorruptBaseFileError: as `read_base_rows`.
    """
    reads_columns = bool(task.shared.planned_columns.requested.names)
    return open_base_file(task, storage) if reads_columns else nullcontext()


def is_of_file(outcome: MergeOutcome, file: PagedFile | None) -> bool:
    """Return whether an outcome may be that of an open base file: it has as many rows."""
    return file is None or file.row_count == len(outcome.decision.dropped_base_rows)


def outcome_rows(
    task: ScanTask, storage: Storage, outcome: MergeOutcome, file: PagedFile | None
) -> Iterator[pa.Table]:
    """Yield the base rows that remain, then the log rows that remain.

    The tables have the columns that the task requests.

    Args:
        task: of the slice.
        storage: of the table.
        outcome: of the merge of the slice.
        file: from `open_needed_file`.

    Raises:
        MissingFileError, CorruptBaseFileError: as `read_base_rows`.
    """
    requested = task.shared.planned_columns.requested
    if not requested.names:
        yield from _batches(task, pa.table([pa.nulls(outcome.row_count)], schema=ONLY_ROW_COUNT))
        return
    if file is not None:
        base_only = replace(task, file_slice=replace(task.file_slice, log_files=()))
        yield from read_base_rows(
            base_only.with_columns(requested, key_fields=()),
            storage,
            task.shared.predicate,
            file=file,
            dropped=outcome.decision.dropped_base_rows,
        )
    yield from log_rows(task, outcome)


def log_rows(task: ScanTask, outcome: MergeOutcome) -> Iterator[pa.Table]:
    """Yield the log rows that remain, with the columns that the task requests."""
    names = task.shared.planned_columns.requested.names
    only_count = pa.table([pa.nulls(outcome.record_count)], schema=ONLY_ROW_COUNT)
    yield from _batches(task, outcome.records.select(names) if names else only_count)


def _batches(task: ScanTask, rows: pa.Table) -> Iterator[pa.Table]:
    for batch in rows.to_batches(task.settings.batch_rows):
        yield pa.Table.from_batches([batch])
