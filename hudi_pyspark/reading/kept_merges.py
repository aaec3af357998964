"""Keep the outcomes of merges, by keys of all that they depend on."""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

import pyarrow as pa

from hudi_pyspark import thresholds
from hudi_pyspark.columns.arrays import repeat
from hudi_pyspark.format.base_file_formats import PARQUET
from hudi_pyspark.reading.file_states import UNKNOWN, FileVersions, states_of_files
from hudi_pyspark.reading.merge.outcome import MergeOutcome, OutcomeStore
from hudi_pyspark.reading.merge.outcome_files import OutcomesOnDisk
from hudi_pyspark.storage.protocol import Storage
from hudi_pyspark.table.file_group import FileSlice
from hudi_pyspark.table.merge_mode import MergeCache
from hudi_pyspark.table.on_damage import OnDamage
from hudi_pyspark.tasks import ReadTask, ScanTask

_MOST_EARLIER = 100  # outcomes of fewer log files to look for


@dataclass(frozen=True, slots=True)
class KeptMerge:
    """The kept outcomes of a slice's merge: of all log files, and of the first of them."""

    task: ScanTask
    store: OutcomeStore
    keys: tuple[str, ...]  # of the base file alone, with the first log file, with the first two, …
    file_versions: FileVersions  # of the files of the whole slice

    @classmethod
    def of(cls, task: ReadTask, storage: Storage, store: OutcomeStore | None) -> "KeptMerge | None":
        """Return the kept outcomes of a task's slice; None if nothing is merged or kept.

        Outcomes are kept in ``store``, unless the task's option keeps them on disk.
        """
        if not isinstance(task, ScanTask) or not task.file_slice.log_files:
            return None
        if task.settings.merge_cache is MergeCache.DISK:
            store = OutcomesOnDisk.of(task.settings, os.environ)
        # Queries that see the commit of a file that no listing has report it as missing.
        if (
            not has_plain_base(task)
            or not task.shared.outcome_key_basis
            or task.file_slice.lacks_files
        ):
            return None
        if store is None or (store.is_shared and not storage.identity):
            return None
        files = task.file_slice.files
        try:
            states = states_of_files(files, storage)
        except OSError:  # reading the file says what is wrong
            return None
        keys = outcome_keys(task, storage, states)
        return cls(task, store, keys, FileVersions(files, states, storage))

    @property
    def key(self) -> str:
        """Key of the outcome of the whole slice."""
        return self.keys[-1]

    @property
    def is_sound(self) -> bool:
        """Whether damage fails the query; skipped damage has to be reported at each read."""
        return self.task.settings.on_damage is OnDamage.FAIL

    def earlier(self) -> Iterator["KeptMerge"]:
        """Yield the merges of the slice with fewer of its log files, with most files first."""
        file_slice = self.task.file_slice
        for count in range(len(file_slice.log_files) - 1, 0, -1)[:_MOST_EARLIER]:
            earlier_slice = replace(file_slice, log_files=file_slice.log_files[:count])
            yield replace(
                self,
                task=replace(self.task, file_slice=earlier_slice),
                keys=self.keys[: count + 1],
            )

    def versions(self) -> tuple[str, ...]:
        """Return the versions of the slice's files, as they were before `find` was called first."""
        return self.file_versions.before_reading(len(self.task.file_slice.files))

    def find(
        self,
        names: Collection[str] | None = None,
        *,
        check_files: bool = True,
        to_carry_on: bool = False,
    ) -> MergeOutcome | None:
        """Return the kept outcome, if it was merged from the blocks that count for the query.

        Args:
            names: columns to load; the outcome may lack some. None loads all columns.
            check_files: whether to ask the storage for replaced files if their states prove
                nothing; see `file_states`.
            to_carry_on: return an outcome only if later log files can carry the merge on.
        """
        if check_files:
            self.versions()  # asked before a merge reads the files: they may be replaced meanwhile
        outcome = self.store.find(self.key, names, to_carry_on=to_carry_on)
        if outcome is None:
            return None
        if check_files and not self.file_versions.are_still(outcome.versions):
            return None
        counting = self.task.shared.block_filter.counting(outcome.block_instants)
        return outcome if outcome.counting_instants == counting else None

    def put(self, outcome: MergeOutcome, earlier_key: str = "") -> None:
        """Keep an outcome, and the columns that the kept outcome of the slice has.

        It is not kept if nothing would tell that a file was replaced, or if damage may have been
        skipped, which has to be reported at each read. ``earlier_key`` is that of the outcome from
        which the merge was resumed.
        """
        outcome = replace(outcome, versions=self.versions())
        if UNKNOWN in outcome.versions or not self.is_sound:
            return
        cached_outcome = self.find(to_carry_on=True) or self.find()
        if cached_outcome is not None and cached_outcome.decides_like(outcome):
            winners = cached_outcome.winners or outcome.winners
            outcome = replace(cached_outcome.with_columns(outcome.records), winners=winners)
        bounded_outcome = outcome.within(thresholds.OUTCOME_BYTES)
        if bounded_outcome is not None:
            self.store.put(self.key, bounded_outcome, earlier_key)

    def stored_base_rows(
        self, base_rows: Iterable[pa.Table], row_count: int, *, by_position: bool
    ) -> Iterable[pa.Table]:
        """Return what identifies the rows of the base file to log records, from the store.

        To read the rows from there takes a tenth of the time of decoding keys in a Parquet file. A
        store on disk keeps them once, for all outcomes of the base file; in memory they stay with
        the newest outcome.

        Args:
            base_rows: the rows as the file has them; only read if the store lacks them.
            row_count: of the file.
            by_position: whether positions identify the rows, or keys.

        Returns:
            A tuple to be kept with the outcome, or an iterator that asks a store on disk.
        """
        if not self.store.is_shared:
            return tuple(base_rows)
        return self._shared_base_rows(base_rows, row_count, by_position=by_position)

    def _shared_base_rows(
        self, base_rows: Iterable[pa.Table], row_count: int, *, by_position: bool
    ) -> Iterator[pa.Table]:
        key = f"{self.keys[0]}-{'positions' if by_position else 'keys'}"
        versions = self.file_versions.before_reading(_count_base_files(self.task.file_slice))
        outcome = self.store.find(key, [])
        is_same = outcome is not None and self.file_versions.are_still(outcome.versions)
        if outcome is None or not is_same or outcome.row_count != row_count:
            outcome = MergeOutcome.of_base_file(row_count, pa.schema([]))
            outcome = replace(outcome, base_rows=tuple(base_rows), versions=versions)
            if outcome.nbytes <= thresholds.OUTCOME_BYTES and UNKNOWN not in versions:
                self.store.put(key, outcome)
        yield from outcome.base_rows


def outcome_keys(
    task: ScanTask, storage: Storage, states: Sequence[tuple[int, ...]]
) -> tuple[str, ...]:
    """Return digests of everything that the outcome of a slice's merge depends on.

    That is the basis that the plan has (versions, merge rule, schema, options), the table and who
    reads it, the files of the slice with their states, and the values of partition columns. Which
    blocks count is not part of a key: the outcome itself has their instants.

    Args:
        task: of the slice.
        storage: of the table.
        states: of the slice's files, from `states_of_files`.

    Returns:
        The key of the base file without log files, with the first log file, with the first two, and
        so on. The last key is that of the whole slice.
    """
    file_slice = task.file_slice
    begin = _count_base_files(file_slice)
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


def has_plain_base(task: ScanTask) -> bool:
    """Return whether a slice has no base file, or a Parquet file of its own rows."""
    base = task.file_slice.base_file
    return base is None or (base.path.endswith(PARQUET) and not base.bootstrap_source)


def _count_base_files(file_slice: FileSlice) -> int:
    """Count the files of a slice that stand before its log files."""
    return len(file_slice.files) - len(file_slice.log_files)


def count_merged(
    tasks: Iterable[ReadTask], storage: Storage, store: OutcomeStore | None = None
) -> tuple[int, int]:
    """Count the slices whose outcome seems to be kept already, and all whose outcome may be."""
    merges = [merge for task in tasks if (merge := KeptMerge.of(task, storage, store))]
    merged = [merge for merge in merges if merge.find([], check_files=False) is not None]
    return len(merged), len(merges)


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
        _count_merged_logs(merge.keys, merge.store)
        if merge and isinstance(merge.store, OutcomesOnDisk)
        else None
        for merge in merges
    ]


def _count_merged_logs(keys: Sequence[str], store: OutcomesOnDisk) -> int:
    counts = range(len(keys) - 1, 0, -1)[:_MOST_EARLIER]
    return next((count for count in counts if store.has_file(keys[count])), 0)
