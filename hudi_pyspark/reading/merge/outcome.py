"""The outcome of a slice's merge: which base rows it drops, and which records stay beside them.

It depends on the files of the slice and on the commits that count, and neither on the columns nor
on the rows that a query asks for. So a slice is merged once, and a later query reads its base file
without keys and ordering values.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cache, partial
from hashlib import sha256
from typing import ClassVar, Protocol

import numpy as np
import pyarrow as pa

from hudi_pyspark.columns.arrays import Mask, repeat
from hudi_pyspark.fork_safe_lock import ForkSafeLock
from hudi_pyspark.storage.protocol import Storage
from hudi_pyspark.storage.remote_file import versions_of
from hudi_pyspark.table.file_group import PARQUET, FileSlice, OnDamage
from hudi_pyspark.table.live_blocks import BlockFilter
from hudi_pyspark.tasks import ScanTask

MOST_BYTES = 128 << 20  # of one outcome, and of the log records that were merged
IN_MEMORY = 512 << 20  # of all outcomes of a table


@dataclass(frozen=True, slots=True)
class MergeOutcome:
    """What the merge of a file slice decided."""

    dropped: Mask  # rows of the base file, by row number
    # Rows of the data blocks that count, by ordinal, that stay as they are, in this order. None
    # where what stays was made of several records: then only a merge has further columns.
    kept: Mask | None
    records: pa.Table  # columns of the records that stay; may lack some, or all
    count: int  # of the records that stay
    seen: tuple[str, ...]  # instants of all blocks of the log files
    counted: tuple[str, ...]  # those of them that count
    versions: tuple[str, ...] = ()  # of the slice's files; () if its key has their states

    @property
    def nbytes(self) -> int:
        kept = self.kept.nbytes if self.kept is not None else 0
        return int(self.dropped.nbytes + kept + self.records.nbytes)

    @property
    def row_count(self) -> int:
        """Number of rows of the merged slice."""
        return len(self.dropped) - int(self.dropped.sum()) + self.count

    def lacking(self, wanted: pa.Schema) -> pa.Schema:
        """Return those of the wanted columns that the records lack."""
        return pa.schema(column for column in wanted if not _has(self.records, column))

    def with_columns(self, more: pa.Table) -> MergeOutcome:
        """Return the outcome with more columns of the records, or others of the same names."""
        fields, columns = [*more.schema], [*more.columns]
        for column in self.records.schema:
            if column.name not in more.schema.names:
                fields.append(column)
                columns.append(self.records.column(column.name))
        records = pa.Table.from_arrays(columns, schema=pa.schema(fields))
        return replace(self, records=records)


class OutcomeStore(Protocol):
    """Keeps the outcomes of slices by key; each may be gone at any time, and nothing fails."""

    is_shared: ClassVar[bool]  # by reads with other credentials

    def find(self, key: str, names: Collection[str] | None) -> MergeOutcome | None:
        """Return an outcome with some columns of its records, or more; with all if None."""

    def keep(self, key: str, outcome: MergeOutcome) -> None:
        """Keep an outcome, instead of the one that the key has."""


class OutcomesInMemory:
    """Outcomes that a table keeps in memory; a copy in another process begins empty."""

    is_shared: ClassVar[bool] = False

    def __init__(self, most_bytes: int = IN_MEMORY) -> None:
        self.most_bytes = most_bytes
        self._outcomes: OrderedDict[str, MergeOutcome] = OrderedDict()  # oldest use first
        self._nbytes = 0
        self._lock = ForkSafeLock()  # threads share the outcomes

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.most_bytes,)

    def find(self, key: str, names: Collection[str] | None) -> MergeOutcome | None:  # noqa: ARG002
        with self._lock:
            if key in self._outcomes:
                self._outcomes.move_to_end(key)
            return self._outcomes.get(key)

    def keep(self, key: str, outcome: MergeOutcome) -> None:
        with self._lock:
            known = self._outcomes.pop(key, None)
            self._outcomes[key] = outcome
            self._nbytes += outcome.nbytes - (known.nbytes if known is not None else 0)
            while self._nbytes > self.most_bytes:
                _, oldest = self._outcomes.popitem(last=False)
                self._nbytes -= oldest.nbytes


@dataclass(frozen=True, slots=True)
class SliceOutcome:
    """The place in a store for the outcome of one slice, as the commits that count make it."""

    store: OutcomeStore
    key: str
    block_filter: BlockFilter
    file_versions: Callable[[], tuple[str, ...]]  # asks once; see `_versions_of_files`

    @classmethod
    def of(cls, task: ScanTask, storage: Storage, store: OutcomeStore) -> SliceOutcome | None:
        """Return the place for a task's slice; None where no outcome is kept."""
        base = task.file_slice.base_file
        is_plain = base is None or (base.path.endswith(PARQUET) and not base.bootstrap_source)
        # Queries that see the commit of a file that no listing has report it as missing.
        if not is_plain or not task.shared.merge_basis or task.file_slice.lacks_files:
            return None
        if store.is_shared and not storage.identity:
            return None
        try:
            states = _states_of_files(task, storage)
        except OSError:  # reading the file says what is wrong
            return None
        values = [repeat(value, 1) for _, value in task.partition.path_values]
        names = [name for name, _ in task.partition.path_values]
        parts = (
            task.shared.merge_basis,
            storage.describe(""),
            storage.identity,
            task.file_slice,
            states,
            replace(task.partition, path_values=()),
            names,
            pa.record_batch(values, names=names).serialize().to_pybytes(),
        )
        key = sha256(repr(parts).encode()).hexdigest()
        file_versions = cache(partial(_versions_of_files, task.file_slice, storage))
        return cls(store, key, task.shared.block_filter, file_versions)

    def find(
        self, names: Collection[str] | None = None, *, check_files: bool = True
    ) -> MergeOutcome | None:
        """Return the outcome with those of some columns that it has; None for all columns.

        Without ``check_files``, files that were replaced may go unnoticed, and nothing is asked of
        the storage.
        """
        # Asked before a merge reads the files: they may be replaced meanwhile.
        versions = self.file_versions() if check_files else None
        outcome = self.store.find(self.key, names)
        if outcome is None or outcome.counted != self._counted(outcome.seen):
            return None
        return outcome if versions in (None, outcome.versions) else None

    def keep(
        self,
        dropped: Mask,
        kept: Mask | None,
        tables: list[pa.Table],
        *,
        wanted: pa.Schema,
        seen: Collection[str],
    ) -> None:
        """Keep what a merge decided, with the wanted columns of the records that stay."""
        instants = tuple(sorted(seen))
        parts = [wanted.empty_table(), *(table.select(wanted.names) for table in tables)]
        records = pa.concat_tables(parts)
        count = sum(table.num_rows for table in tables)
        counted = self._counted(instants)
        versions = self.file_versions()
        self.add(MergeOutcome(dropped, kept, records, count, instants, counted, versions))

    def add(self, outcome: MergeOutcome) -> None:
        """Keep an outcome; columns that another merge of the slice has brought stay, too."""
        known = self.find()
        if known is not None and _decide_alike(known, outcome):
            outcome = known.with_columns(outcome.records)
        if outcome.nbytes <= MOST_BYTES:
            self.store.keep(self.key, outcome)

    def _counted(self, seen: Collection[str]) -> tuple[str, ...]:
        return tuple(time for time in seen if self.block_filter.counts(time))


def may_be_kept(task: ScanTask) -> bool:
    """Decide whether the merge of a task is that of the whole slice, as it is on the storage.

    What a filter on record keys has narrowed is not, and damage is reported at each read.
    """
    return task.shared.record_keys is None and task.settings.on_damage is OnDamage.FAIL


def _states_of_files(task: ScanTask, storage: Storage) -> list[tuple[int, ...]]:
    """Return what changes when another file gets the name of one of a slice.

    Apache Hudi writes no second file of one name, but a copy that is restored may be another one.
    Of storage that is not local it is the time in the listing, 0 if a metadata table has the files:
    then `_versions_of_files` says more.
    """
    if not storage.is_local:
        return [(file.modified_ms,) for file in task.file_slice.files]
    states: list[tuple[int, ...]] = []
    for file in task.file_slice.files:
        place = storage.describe(file.path)
        if not os.access(place, os.R_OK):
            raise PermissionError(place)
        state = os.stat(place)  # noqa: PTH116  (for each read)
        # The times of a copy may be those of its original, but for the last one.
        states.append((state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns))
    return states


def _versions_of_files(file_slice: FileSlice, storage: Storage) -> tuple[str, ...]:
    """Ask a store for the versions of files of which no listing has the time of change."""
    if storage.is_local or all(file.modified_ms for file in file_slice.files):
        return ()
    try:
        return versions_of(storage, [file.path for file in file_slice.files])
    except FileNotFoundError:  # reading the file says what is wrong
        return ("",)


def _decide_alike(known: MergeOutcome, outcome: MergeOutcome) -> bool:
    return known.count == outcome.count and np.array_equal(known.dropped, outcome.dropped)


def _has(records: pa.Table, column: pa.Field) -> bool:
    at = records.schema.get_field_index(column.name)
    return at >= 0 and bool(records.schema.field(at).equals(column, check_metadata=True))
