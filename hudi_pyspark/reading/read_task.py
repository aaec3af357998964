"""Read tasks: the rows of file slices, or the changes of a commit and file group.

Small slices are merged together (`small_slices`), and several tasks are read at a time (`threads`).
Here is what happens if a file is damaged or gone; `read_slice` has the ways in which a slice is
read.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa

from hudi_pyspark.columns.arrays import first_rows
from hudi_pyspark.errors import (
    CorruptTableError,
    HudiError,
    MissingFileError,
    UnsupportedTableError,
)
from hudi_pyspark.reading.changes import read_changes
from hudi_pyspark.reading.merge.outcome import OutcomeStore
from hudi_pyspark.reading.read_slice import read_slice, slice_tables
from hudi_pyspark.reading.small_slices import join_tasks, merge_together
from hudi_pyspark.reading.threads import read_in_parallel
from hudi_pyspark.storage.protocol import Storage
from hudi_pyspark.storage.retries import is_worth_retrying
from hudi_pyspark.table.on_damage import READ_ON, OnDamage
from hudi_pyspark.tasks import CdcTask, ReadTask, ScanTask


def read_tasks(
    tasks: Iterable[ReadTask],
    storage: Storage,
    store: OutcomeStore | None = None,
    *,
    threads: int = 1,
    more: int = 0,
    limit: int | None = None,
) -> Iterator[pa.Table]:
    """Yield the rows of tasks, in the order of the tasks unless threads read several at a time.

    Small slices are merged together, and no outcome of their merge is kept: to find it would take
    as long.

    Args:
        tasks: what to read.
        storage: of the table.
        store: as for `read_task`.
        threads: how many tasks, or groups of small slices, are read at a time.
        more: threads added on the second request for a table; see `read_in_parallel`.
        limit: maximum number of rows, where reading stops; None for all.

    Raises:
        HudiError: as `read_task`.
    """
    groups = list(join_tasks(tasks, storage))
    read = partial(_read_group, storage=storage, store=store)
    tables = read_in_parallel(groups, read, threads, more)
    yield from tables if limit is None else first_rows(tables, limit)


def _read_group(
    group: Sequence[ReadTask], storage: Storage, store: OutcomeStore | None
) -> Iterator[pa.Table]:
    tables = merge_together(group, storage)
    if tables is not None:
        yield from tables
        return
    for task in group:
        yield from read_task(task, storage, store)


def read_task(
    task: ReadTask, storage: Storage, store: OutcomeStore | None = None
) -> Iterator[pa.Table]:
    """Yield the rows of a file slice, or the changes that a commit made to a file group.

    Args:
        task: what to read.
        storage: of the table.
        store: outcomes of earlier merges; None to merge anew, unless the task keeps them on disk.

    Raises:
        MissingFileError: a file is gone. It names a file that the partition lacks now. If there is
            none, it names the older file that a cleaner has removed since the read was planned.
        CorruptTableError: a file cannot be decoded; the classes below it name the kind of file.
        UnsupportedMergeError: the records cannot be merged by the table's rule.
    """
    try:
        with _explaining(task, storage):
            yield from _rows_of(task, storage, store)
    except MissingFileError as error:
        lost = _lost_file(task, storage)
        if lost is None:
            raise
        raise lost from error


def _rows_of(task: ReadTask, storage: Storage, store: OutcomeStore | None) -> Iterator[pa.Table]:
    """Yield a task's rows. If a file looks corrupt, read the rest once more."""
    if storage.is_local:
        yield from _read(task, storage, store)
        return
    yielded_rows = 0
    try:
        # Another read may find no damage, so this one does not skip any.
        for table in _read(_with_on_damage(task, OnDamage.FAIL), storage, store):
            yielded_rows += table.num_rows
            yield table
    except CorruptTableError as error:
        if not is_worth_retrying(error, storage):
            raise
    else:
        return
    for table in _read(task, storage, store):
        remaining = table.slice(min(yielded_rows, table.num_rows))
        yielded_rows -= table.num_rows - remaining.num_rows
        if remaining.num_rows:
            yield remaining


def _read(task: ReadTask, storage: Storage, store: OutcomeStore | None) -> Iterator[pa.Table]:
    if isinstance(task, CdcTask):
        return read_changes(task, storage, partial(slice_tables, storage=storage))
    return read_slice(task, storage, store)


@contextmanager
def _explaining(task: ReadTask, storage: Storage) -> Iterator[None]:
    """Name the table in errors about it, and advise to read on if that works."""
    try:
        yield
    except (CorruptTableError, UnsupportedTableError) as error:
        is_skippable = isinstance(error, CorruptTableError) and error.is_skippable
        if is_skippable and _can_read_on(task, storage):
            error.advice = READ_ON
        error.name_table(storage.describe(""))
        raise


def _can_read_on(task: ReadTask, storage: Storage) -> bool:
    """Try to read a task without what is damaged."""
    try:
        for _ in _read(_with_on_damage(task, OnDamage.IGNORE), storage, None):
            pass
    except (HudiError, OSError):
        return False
    return True


def _with_on_damage(task: ReadTask, on_damage: OnDamage) -> ReadTask:
    settings = replace(task.settings, on_damage=on_damage)
    if settings == task.settings:
        return task
    if isinstance(task, ScanTask):
        return task.with_plan(settings=settings)
    before = task.before and task.before.with_plan(settings=settings)
    after = task.after and task.after.with_plan(settings=settings)
    return replace(task, settings=settings, before=before, after=after)


def _lost_file(task: ReadTask, storage: Storage) -> MissingFileError | None:
    """Return the error for a file that the partition lacks now; None after a clean.

    Lists only the partition of the task, since each task of a large table may come here.
    """
    from hudi_pyspark.table.view import open_table  # noqa: PLC0415  (workers rarely need it)

    scans = [task.before, task.after] if isinstance(task, CdcTask) else [task]
    partitions = {scan.file_slice.partition_path for scan in scans if scan is not None}
    try:
        open_table(storage).slices.as_of(choice=_Partitions(frozenset(partitions)))
    except MissingFileError as error:
        return error
    except (HudiError, OSError):
        pass
    return None


@dataclass(frozen=True, slots=True)
class _Partitions:
    """Chooses partitions by their paths."""

    paths: frozenset[str]

    def choose(self, partition_paths: Sequence[str]) -> list[str]:
        return [path for path in partition_paths if path in self.paths]

    def containing(self, folders: Sequence[str]) -> list[str]:
        return [f for f in folders if any(f"{path}/".startswith(f"{f}/") for path in self.paths)]
