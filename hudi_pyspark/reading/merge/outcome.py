"""Keep the outcome of a slice's merge: the base rows that it drops, and the remaining log records.

An outcome depends on the files of the slice and on the commits that count. It does not depend on
the columns or rows that a query asks for. So a slice is merged once, and a later query reads its
base file without keys and ordering values.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import count
from typing import ClassVar, NamedTuple, Protocol
from weakref import WeakSet, WeakValueDictionary

import numpy as np
import pyarrow as pa

from hudi_pyspark.columns.arrays import nbytes_of
from hudi_pyspark.fork_safe_lock import ForkSafeLock
from hudi_pyspark.reading.merge.whole_records import MergeDecision, Winners

_IN_MEMORY = 512 << 20  # bytes of all outcomes of a process


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the merge of a file slice decided, and the log records that remain."""

    decision: MergeDecision
    records: pa.Table  # columns of the remaining records; may lack some, or all
    record_count: int  # of the remaining records
    block_instants: tuple[str, ...]  # of all blocks that no rollback undid, ascending
    counting_instants: tuple[str, ...]  # the block instants that count

    @property
    def row_count(self) -> int:
        """Number of rows of the merged slice."""
        dropped = self.decision.dropped_base_rows
        return len(dropped) - int(dropped.sum()) + self.record_count

    def decides_like(self, other: Outcome) -> bool:
        """Return whether two merges of a slice made the same decision."""
        dropped = self.decision.dropped_base_rows
        other_dropped = other.decision.dropped_base_rows
        return self.record_count == other.record_count and np.array_equal(dropped, other_dropped)

    def lacking(self, requested: pa.Schema) -> pa.Schema:
        """Return the requested columns that the records lack, or have with another type."""
        return pa.schema(column for column in requested if not _has(self.records, column))

    def with_columns(self, more: pa.Table) -> Outcome:
        """Return the outcome with more columns of the records; these replace columns by name."""
        fields = [*more.schema]
        columns = [*more.columns]
        for column in self.records.schema:
            if column.name not in more.schema.names:
                fields.append(column)
                columns.append(self.records.column(column.name))
        records = pa.Table.from_arrays(columns, schema=pa.schema(fields))
        return replace(self, records=records)


@dataclass(frozen=True, slots=True)
class KeptOutcome:
    """What a store keeps of a merge."""

    outcome: Outcome
    versions: tuple[str, ...]  # of the slice's files, from `FileVersions.before_reading`
    winners: Winners | None = None  # None if later log files need a new merge

    def within(self, most_bytes: int) -> KeptOutcome | None:
        """Return what fits into some bytes: columns of the records go first, then the winners.

        None if the decision alone takes more.
        """
        if nbytes_of(self) <= most_bytes:
            return self
        without_columns = replace(self.outcome, records=self.outcome.records.select([]))
        for winners in (self.winners, None):
            kept = KeptOutcome(without_columns, self.versions, winners)
            if nbytes_of(kept) <= most_bytes:
                return kept
        return None


@dataclass(frozen=True, slots=True)
class BaseKeys:
    """What identifies the rows of a base file to log records, for all merges with the file."""

    row_count: int
    tables: tuple[pa.Table, ...]  # keys unless positions identify rows, and ordering values
    versions: tuple[str, ...]  # of the base file, from `FileVersions.before_reading`


class Resumed(NamedTuple):
    """The kept outcome from which a merge was resumed."""

    key: str
    growth: float  # log records that came later, per winner of the earlier merge


class OutcomeStore(Protocol):
    """A best-effort cache of merge outcomes. Entries may disappear; no method raises."""

    is_shared: ClassVar[bool]  # by reads with other credentials: only known readers may use it

    def find(
        self, key: str, names: Collection[str] | None, /, *, to_resume: bool = False
    ) -> KeptOutcome | None:
        """Return what is kept under a key, or None.

        Args:
            key: of the slice.
            names: columns to load; the outcome may have more. None loads all columns.
            to_resume: load what resumes the merge; return no outcome without it.
        """

    def put(self, key: str, kept: KeptOutcome, resumed: Resumed | None = None) -> None:
        """Keep an outcome; it replaces the outcome that the key has.

        Args:
            key: of the slice.
            kept: the outcome of its merge.
            resumed: the outcome from which the merge was resumed, which may be removed; None if
                the merge began anew.
        """

    def find_base_keys(self, key: str, /) -> BaseKeys | None:
        """Return the base keys that are kept under a key, or None."""

    def put_base_keys(self, key: str, base_keys: BaseKeys, /) -> None:
        """Keep the base keys of a base file; no outcome has their key."""


class _Entry(NamedTuple):
    last_use: int  # from `_uses`
    kept: KeptOutcome | BaseKeys


class OutcomesInMemory:
    """Outcomes in memory, for one table; the least recently used go first.

    A table has a bound, and all tables of a process together have the largest bound of one of them.
    A copy in another process begins empty.
    """

    is_shared: ClassVar[bool] = False

    def __init__(self, most_bytes: int = _IN_MEMORY) -> None:
        self.most_bytes = most_bytes
        self.nbytes = 0  # of all entries
        self._entries: OrderedDict[str, _Entry] = OrderedDict()  # oldest use first
        self._lock = ForkSafeLock()  # threads share the outcomes

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.most_bytes,)

    def bound(self, most_bytes: int) -> None:
        """Set the bytes that may be kept from the next outcome on; 0 for the default."""
        self.most_bytes = most_bytes or _IN_MEMORY

    def find(
        self, key: str, _names: Collection[str] | None, /, *, to_resume: bool = False
    ) -> KeptOutcome | None:
        kept = self._find(key)
        if not isinstance(kept, KeptOutcome) or (to_resume and kept.winners is None):
            return None
        return kept

    def put(self, key: str, kept: KeptOutcome, resumed: Resumed | None = None) -> None:
        if resumed is not None:
            self._remove(resumed.key)
        self._put(key, kept)

    def find_base_keys(self, key: str, /) -> BaseKeys | None:
        kept = self._find(key)
        return kept if isinstance(kept, BaseKeys) else None

    def put_base_keys(self, key: str, base_keys: BaseKeys, /) -> None:
        self._put(key, base_keys)

    def _find(self, key: str) -> KeptOutcome | BaseKeys | None:
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries[key] = _Entry(next(_uses), entry.kept)
            self._entries.move_to_end(key)
            return entry.kept

    def _put(self, key: str, kept: KeptOutcome | BaseKeys) -> None:
        with self._lock:
            replaced = self._entries.pop(key, None)
            self.nbytes -= nbytes_of(replaced.kept) if replaced is not None else 0
            self._entries[key] = _Entry(next(_uses), kept)
            self.nbytes += nbytes_of(kept)
        while self.nbytes > self.most_bytes:
            self.remove_oldest()
        _bound_all_tables(self)

    def _remove(self, key: str) -> None:
        with self._lock:
            entry = self._entries.pop(key, None)
            self.nbytes -= nbytes_of(entry.kept) if entry is not None else 0

    @property
    def oldest_use(self) -> int | None:
        """When the least recently used entry was used; None if there is no entry."""
        with self._lock:
            return next((entry.last_use for entry in self._entries.values()), None)

    def remove_oldest(self) -> None:
        """Remove the least recently used entry, if there is one."""
        with self._lock:
            if self._entries:
                _, oldest = self._entries.popitem(last=False)
                self.nbytes -= nbytes_of(oldest.kept)


_uses = count()  # of outcomes in memory, of all tables
_in_use: WeakSet[OutcomesInMemory] = WeakSet()  # those that have had an outcome
_stores: WeakValueDictionary[tuple[str, str], OutcomesInMemory] = WeakValueDictionary()
_stores_lock = ForkSafeLock()  # of both; nothing is called while it is held


def _bound_all_tables(changed: OutcomesInMemory) -> None:
    """Remove the least recently used outcomes of all tables until the rest is within the bound."""
    with _stores_lock:
        _in_use.add(changed)
        stores = [*_in_use]
    most_bytes = max(store.most_bytes for store in stores)
    while sum(store.nbytes for store in stores) > most_bytes:
        ages = {use: store for store in stores if (use := store.oldest_use) is not None}
        if not ages:  # other threads have removed them
            return
        ages[min(ages)].remove_oldest()


def outcomes_of_table(place: str, identity: str) -> OutcomesInMemory:
    """Return the outcomes that all objects of one table share, as long as one of them is in use.

    Args:
        place: path or URI of the table.
        identity: of the reader, as `Storage.identity`. "" shares nothing.
    """
    if not identity:
        return OutcomesInMemory()
    with _stores_lock:
        return _stores.setdefault((place, identity), OutcomesInMemory())


def _has(records: pa.Table, column: pa.Field) -> bool:
    at = records.schema.get_field_index(column.name)
    return at >= 0 and bool(records.schema.field(at).equals(column, check_metadata=True))
