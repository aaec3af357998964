"""Keep the outcomes of merges, by keys of all that they depend on."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import NamedTuple

import pyarrow as pa

from hudi_pyspark import thresholds
from hudi_pyspark.columns.arrays import nbytes_of, repeat
from hudi_pyspark.reading.file_states import UNKNOWN, FileVersions
from hudi_pyspark.reading.merge.outcome import (
    BaseKeys,
    KeptOutcome,
    Outcome,
    OutcomeStore,
    Resumed,
)
from hudi_pyspark.reading.merge.outcome_files import OutcomesOnDisk
from hudi_pyspark.reading.merge.whole_records import Winners
from hudi_pyspark.storage.protocol import Storage
from hudi_pyspark.table.log_files import BlockFilter
from hudi_pyspark.table.merge_mode import MergeCache
from hudi_pyspark.table.on_damage import OnDamage
from hudi_pyspark.table.timeline import collection_paused
from hudi_pyspark.tasks import ReadTask, ScanTask

_MOST_EARLIER = 100  # outcomes of fewer log files to look for


class EarlierMerge(NamedTuple):
    """A kept merge of the first log files of a slice, which can be resumed."""

    log_count: int
    key: str
    outcome: Outcome
    winners: Winners


@dataclass(frozen=True, slots=True)
class KeptMerge:
    """The place of a slice's merge in a store: its outcome, and what later merges need.

    A store is a cache around `merged_slices.merge_slice`: all that it has may be merged anew.
    """

    # Of all that an outcome depends on: without log files, with the first one, with two, …
    digests: tuple[str, ...]
    file_versions: FileVersions  # of the files of the whole slice
    store: OutcomeStore
    block_filter: BlockFilter  # which blocks count for the query
    # Whether damage fails the query. Damage that is skipped has to be reported at each read, so
    # no outcome is kept or resumed.
    is_sound: bool

    @classmethod
    def of(cls, task: ReadTask, storage: Storage, store: OutcomeStore | None) -> KeptMerge | None:
        """Return the place of a task's slice in a store; None if nothing is merged or kept.

        Outcomes are kept in ``store``, unless the task's option keeps them on disk.
        """
        if not isinstance(task, ScanTask) or not task.file_slice.log_files:
            return None
        if task.settings.merge_cache is MergeCache.DISK:
            store = OutcomesOnDisk.of(task.settings, os.environ)
        # Queries that see the commit of a file that no listing has report it as missing.
        if (
            not task.file_slice.has_plain_base
            or not task.shared.outcome_key_basis
            or task.file_slice.lacks_files
        ):
            return None
        if store is None or (store.is_shared and not storage.identity):
            return None
        try:
            file_versions = FileVersions(task.file_slice.files, storage)
        except OSError:  # reading the file says what is wrong
            return None
        digests = _digests(task, storage, file_versions.states)
        is_sound = task.settings.on_damage is OnDamage.FAIL
        return cls(digests, file_versions, store, task.shared.block_filter, is_sound)

    @property
    def log_count(self) -> int:
        """Number of the slice's log files."""
        return len(self.digests) - 1

    def _versions(self, log_count: int) -> tuple[str, ...]:
        """Return the versions of the base file and the first log files before they are read."""
        later_files = self.log_count - log_count
        return self.file_versions.before_reading(len(self.file_versions.states) - later_files)

    def find(
        self,
        names: Collection[str] | None = None,
        *,
        log_count: int | None = None,
        check_files: bool = True,
        to_resume: bool = False,
    ) -> KeptOutcome | None:
        """Return the kept outcome, if it was merged from the blocks that count for the query.

        Args:
            names: columns to load; the outcome may lack some. None loads all columns.
            log_count: of the slice with so many of its log files; None for all of them.
            check_files: whether to ask the storage for replaced files if their states prove
                nothing; see `file_states`.
            to_resume: return an outcome only if its merge can be resumed.
        """
        count = self.log_count if log_count is None else log_count
        if check_files:
            self._versions(count)  # asked before a merge reads the files
        kept = self.store.find(self.digests[count], names, to_resume=to_resume)
        if kept is None:
            return None
        if check_files and not self.file_versions.are_still(kept.versions):
            return None
        counting = tuple(filter(self.block_filter.counts, kept.outcome.block_instants))
        return kept if kept.outcome.counting_instants == counting else None

    def find_earlier(self) -> EarlierMerge | None:
        """Return the kept merge of most of the slice's log files, from which to resume."""
        if not self.is_sound:
            return None
        for count in range(self.log_count - 1, 0, -1)[:_MOST_EARLIER]:
            kept = self.find(log_count=count, to_resume=True)
            if kept is not None and kept.winners is not None and len(kept.winners.log):
                return EarlierMerge(count, self.digests[count], kept.outcome, kept.winners)
        return None

    def put(
        self, outcome: Outcome, winners: Winners | None = None, resumed: Resumed | None = None
    ) -> None:
        """Keep an outcome, and the columns that the kept outcome of the slice has.

        Nothing is kept if nothing would tell that a file was replaced. Other arguments are as for
        `OutcomeStore.put`.
        """
        if not self.is_sound:
            return
        versions = self._versions(self.log_count)
        if UNKNOWN in versions:
            return
        kept = KeptOutcome(outcome, versions, winners)
        known = self.find(to_resume=True) or self.find()
        if known is not None and known.outcome.decides_like(outcome):
            both = known.outcome.with_columns(outcome.records)
            kept = KeptOutcome(both, versions, known.winners or winners)
        bounded = kept.within(thresholds.OUTCOME_BYTES)
        if bounded is not None:
            self.store.put(self.digests[-1], bounded, resumed)

    def find_base_keys(self, row_count: int, *, by_position: bool) -> tuple[pa.Table, ...] | None:
        """Return what identifies the rows of the base file to log records, if it is kept.

        Args:
            row_count: of the base file.
            by_position: whether positions identify the rows, or keys.
        """
        self._versions(0)  # asked before a merge reads the file
        base_keys = self.store.find_base_keys(self._base_key(by_position=by_position))
        if base_keys is None or base_keys.row_count != row_count:
            return None
        is_same = self.file_versions.are_still(base_keys.versions)
        return base_keys.tables if is_same else None

    def put_base_keys(
        self, row_count: int, tables: tuple[pa.Table, ...], *, by_position: bool
    ) -> None:
        """Keep what identifies the rows of the base file; arguments as for `find_base_keys`."""
        base_keys = BaseKeys(row_count, tables, self._versions(0))
        if nbytes_of(base_keys) <= thresholds.OUTCOME_BYTES and UNKNOWN not in base_keys.versions:
            self.store.put_base_keys(self._base_key(by_position=by_position), base_keys)

    def _base_key(self, *, by_position: bool) -> str:
        return f"{self.digests[0]}-{'positions' if by_position else 'keys'}"


def _digests(
    task: ScanTask, storage: Storage, states: Sequence[tuple[int, ...]]
) -> tuple[str, ...]:
    """Return digests of everything that the outcome of a slice's merge depends on.

    That is the basis that the plan has (versions, merge rule, schema, options), the table and who
    reads it, the files of the slice with their states, and the values of partition columns. Which
    blocks count is not part of a key: the outcome itself has their instants.

    Args:
        task: of the slice.
        storage: of the table.
        states: of the slice's files, from `FileVersions`.

    Returns:
        The key of the base file without log files, with the first log file, with the first two, and
        so on. The last key is that of the whole slice.
    """
    file_slice = task.file_slice
    begin = len(file_slice.files) - len(file_slice.log_files)
    constants = task.partition.constants
    values = pa.record_batch([repeat(v, 1) for v in constants.values()], names=[*constants])
    parts = (
        task.shared.outcome_key_basis,
        storage.describe(""),
        storage.identity,
        replace(file_slice, log_files=()),
        states[:begin],
        [(column.name, column.source) for column in task.partition.values],
        values.schema.names,
        values.serialize().to_pybytes(),
    )
    digest = sha256(repr(parts).encode())
    keys = []
    for part in zip((None, *file_slice.log_files), (None, *states[begin:]), strict=True):
        digest.update(repr(part).encode())
        keys.append(digest.hexdigest())
    return tuple(keys)


def count_merged(
    tasks: Iterable[ReadTask], storage: Storage, store: OutcomeStore | None = None
) -> tuple[int, int]:
    """Count the slices whose outcome seems to be kept already, and all whose outcome may be."""
    merges = [merge for task in tasks if (merge := KeptMerge.of(task, storage, store))]
    merged = [merge for merge in merges if merge.find([], check_files=False) is not None]
    return len(merged), len(merges)


@collection_paused()
def merged_on_disk(tasks: Sequence[ReadTask], storage: Storage) -> list[int | None]:
    """Count the log files of each task whose merge seems to lie on a disk of this machine.

    They are the first log files of a slice: a merge is carried on with later ones. No file is
    opened.

    Returns:
        For each task, a number; None if there is no merge, or its outcome is not kept on a disk.
        [] for more than 1,000 tasks, of which nothing is looked for.
    """
    if len(tasks) > thresholds.SEARCHED_TASKS:
        return []
    merges = [KeptMerge.of(task, storage, None) for task in tasks]
    return [
        _count_merged_logs(merge.digests, merge.store)
        if merge and isinstance(merge.store, OutcomesOnDisk)
        else None
        for merge in merges
    ]


def _count_merged_logs(keys: Sequence[str], store: OutcomesOnDisk) -> int:
    counts = range(len(keys) - 1, 0, -1)[:_MOST_EARLIER]
    return next((count for count in counts if store.has_file(keys[count])), 0)
