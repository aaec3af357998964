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

from hudi_pyspark.fork_safe_lock import ForkSafeLock
from hudi_pyspark.reading.merge.winners import MergeDecision, Winners

IN_MEMORY = 512 << 20  # bytes of all outcomes of a process


@dataclass(frozen=True, slots=True)
class MergeOutcome:
    """What the merge of a file slice decided, and the log records that remain."""

    decision: MergeDecision
    records: pa.Table  # columns of the remaining records; may lack some, or all
    record_count: int  # of the remaining records
    block_instants: tuple[str, ...]  # of all blocks of the log files, ascending
    counting_instants: tuple[str, ...]  # the block instants that count
    versions: tuple[str, ...] = ()  # of the slice's files, from `FileVersions.before_reading`
    compacted_instants: tuple[str, ...] = ()  # that log compactions among the blocks name
    winners: Winners | None = None  # from which the merge is carried on; None to merge anew
    base_rows: tuple[pa.Table, ...] = ()  # in which new keys are looked up; () to read the file

    @classmethod
    def of_base_file(cls, row_count: int, columns: pa.Schema) -> MergeOutcome:
        """Return the outcome of a slice without log files, which keeps each row.

        Its records have no rows, and the given columns.
        """
        decision = MergeDecision(np.zeros(row_count, np.bool_), np.empty(0, np.bool_))
        return cls(decision, pa.Table.from_batches([], columns), 0, (), ())

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        dropped, kept = self.decision
        parts = [dropped, kept, self.records, self.winners, *self.base_rows]
        return int(sum(part.nbytes for part in parts if part is not None))

    def within(self, most_bytes: int) -> MergeOutcome | None:
        """Return the outcome without what it can do without, if it takes more bytes than allowed.

        Base rows go first, then columns of the records, then winners. None if the decision alone
        takes more.
        """
        if self.nbytes <= most_bytes:
            return self
        outcome = self
        for less in ({"base_rows": ()}, {"records": self.records.select([])}, {"winners": None}):
            outcome = replace(outcome, **less)
            if outcome.nbytes <= most_bytes:
                return outcome
        return None

    @property
    def row_count(self) -> int:
        """Number of rows of the merged slice."""
        dropped = self.decision.dropped_base_rows
        return len(dropped) - int(dropped.sum()) + self.record_count

    def decides_like(self, other: MergeOutcome) -> bool:
        """Say whether two merges of a slice made the same decision."""
        dropped = self.decision.dropped_base_rows
        other_dropped = other.decision.dropped_base_rows
        return self.record_count == other.record_count and np.array_equal(dropped, other_dropped)

    def lacking(self, requested: pa.Schema) -> pa.Schema:
        """Return the requested columns that the records lack, or have with another type."""
        return pa.schema(column for column in requested if not _has(self.records, column))

    def with_columns(self, more: pa.Table) -> MergeOutcome:
        """Return the outcome with more columns of the records; these replace columns by name."""
        fields = [*more.schema]
        columns = [*more.columns]
        for column in self.records.schema:
            if column.name not in more.schema.names:
                fields.append(column)
                columns.append(self.records.column(column.name))
        records = pa.Table.from_arrays(columns, schema=pa.schema(fields))
        return replace(self, records=records)


class OutcomeStore(Protocol):
    """A best-effort cache of merge outcomes. Entries may disappear; no method raises."""

    is_shared: ClassVar[bool]  # by reads with other credentials

    def find(
        self, key: str, names: Collection[str] | None, /, *, to_carry_on: bool = False
    ) -> MergeOutcome | None:
        """Return the outcome of a key, or None.

        Args:
            key: of the slice.
            names: columns to load; the outcome may have more. None loads all columns.
            to_carry_on: load the winners; return no outcome without them.
        """

    def put(self, key: str, outcome: MergeOutcome, earlier_key: str = "") -> None:
        """Keep an outcome; it replaces the outcome that the key has.

        Args:
            key: of the slice.
            outcome: of its merge.
            earlier_key: of the outcome from which the merge was carried on, "" if there is none.
        """


class _Kept(NamedTuple):
    last_use: int  # from `_uses`
    outcome: MergeOutcome


class OutcomesInMemory:
    """Outcomes in memory, for one table; the least recently used go first.

    A table has a bound, and all tables of a process together have the largest bound of one of them.
    A copy in another process begins empty.
    """

    is_shared: ClassVar[bool] = False

    def __init__(self, most_bytes: int = IN_MEMORY) -> None:
        self.most_bytes = most_bytes
        self.nbytes = 0  # of all outcomes
        self._outcomes: OrderedDict[str, _Kept] = OrderedDict()  # oldest use first
        self._lock = ForkSafeLock()  # threads share the outcomes

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.most_bytes,)

    def find(
        self, key: str, _names: Collection[str] | None, /, *, to_carry_on: bool = False
    ) -> MergeOutcome | None:
        with self._lock:
            kept = self._outcomes.get(key)
            if kept is None or (to_carry_on and kept.outcome.winners is None):
                return None
            self._outcomes[key] = _Kept(next(_uses), kept.outcome)
            self._outcomes.move_to_end(key)
            return kept.outcome

    def put(self, key: str, outcome: MergeOutcome, earlier_key: str = "") -> None:
        with self._lock:
            for replaced_key in (key, earlier_key):
                replaced = self._outcomes.pop(replaced_key, None)
                self.nbytes -= replaced.outcome.nbytes if replaced is not None else 0
            self._outcomes[key] = _Kept(next(_uses), outcome)
            self.nbytes += outcome.nbytes
        while self.nbytes > self.most_bytes:
            self.remove_oldest()
        _bound_all_tables(self)

    @property
    def oldest_use(self) -> int | None:
        """When the least recently used outcome was used; None if there is no outcome."""
        with self._lock:
            return next((kept.last_use for kept in self._outcomes.values()), None)

    def remove_oldest(self) -> None:
        """Remove the least recently used outcome, if there is one."""
        with self._lock:
            if self._outcomes:
                _, oldest = self._outcomes.popitem(last=False)
                self.nbytes -= oldest.outcome.nbytes


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
