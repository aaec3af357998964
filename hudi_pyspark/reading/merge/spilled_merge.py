"""Log records of a slice, loaded into memory or, past a limit, onto local disk.

On disk the records are in buckets by a hash of their key, or by their position in the base file if
positions identify them. The base rows go to buckets of the same kind. All records of a key are in
one bucket, in order of arrival, so the slice is merged some buckets at a time, and each pass is a
merge like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa

from hudi_pyspark.cached_property import cached_property
from hudi_pyspark.columns.arrays import as_one_array
from hudi_pyspark.custom_mergers import PayloadMerger
from hudi_pyspark.reading.log_records.records import LogRecords
from hudi_pyspark.reading.merge.fold import PairRule, fold_log
from hudi_pyspark.reading.merge.spill_file import (
    BUCKETS,
    Buckets,
    MemoryLimits,
    SpillFile,
    key_buckets,
)
from hudi_pyspark.table.meta_columns import RECORD_KEY_COLUMN

if TYPE_CHECKING:
    from hudi_pyspark.format.log.log_block import LogBlock
    from hudi_pyspark.reading.log_records.decoder import LogDecoder

_T = TypeVar("_T")
_Sized = TypeVar("_Sized", LogRecords, pa.Table)
_MergePass: TypeAlias = Callable[[Iterable[pa.Table], LogRecords], Iterator[_T]]


def load_log(
    blocks: Sequence[LogBlock],
    decoder: LogDecoder,
    memory: MemoryLimits,
    merger: PayloadMerger | None = None,
) -> LoadedLog:
    """Decode a slice's log records into memory, or onto local disk if they are too many.

    Args:
        blocks: of the slice, oldest first.
        decoder: of the blocks.
        memory: how much of the records may be in memory.
        merger: a user's, for payload classes that Apache Hudi does not have.

    Returns:
        The records; the caller closes them.

    Raises:
        CorruptTableError: a block cannot be decoded.
        SpillError: the disk is full.
    """
    pair_rule = PairRule(decoder.rule, decoder.column_sets, merger)
    parts = decoder.decode(blocks)
    first_parts, nbytes = next(_group(parts, memory.records), ([], 0))
    if nbytes < memory.records:
        return LogInMemory(decoder.concatenate(first_parts), pair_rule)
    by_position = all(part.positions is not None for part in first_parts if len(part))
    with ExitStack() as on_error:
        file = on_error.enter_context(closing(SpillFile(memory.folder)))
        log = LogOnDisk(file, decoder, memory, pair_rule, by_position=by_position)
        if not log.add(chain(_drain(first_parts), parts)):
            # A later block lacks usable positions, so keys identify all records.
            file.clear()
            by_key = replace(decoder, positions_of=None)
            log = LogOnDisk(file, by_key, memory, pair_rule, by_position=False)
            log.add(by_key.decode(blocks))
        on_error.pop_all()
        return log


@dataclass(frozen=True, slots=True)
class LogInMemory:
    """Log records of a slice that is merged in one pass."""

    records: LogRecords
    pair_rule: PairRule

    @property
    def by_position(self) -> bool:
        """Whether positions identify the records, or their keys."""
        return self.records.positions is not None

    def merge(self, base: Iterable[pa.Table], merge_pass: _MergePass[_T]) -> Iterator[_T]:
        """Merge base rows, in file order, with the log records in one call of ``merge_pass``."""
        return merge_pass(base, self.records)

    def close(self) -> None:
        """Do nothing: the records go when nothing refers to them."""


@dataclass(frozen=True)
class LogOnDisk:
    """Log records of a slice in a spill file, in buckets by their keys or by their positions."""

    file: SpillFile  # closed with this object
    decoder: LogDecoder  # of the records
    memory: MemoryLimits  # how much of them may be in memory
    pair_rule: PairRule
    by_position: bool  # whether positions identify the records, or their keys

    @cached_property
    def _buckets(self) -> Buckets:
        return Buckets(self.file, BUCKETS)

    def add(self, parts: Iterable[LogRecords]) -> bool:
        """Put records into their buckets; False if some lack the position that identifies them.

        Raises:
            SpillError: the disk is full.
        """
        return all(self._add(group) for group, _ in _group(parts, self.memory.group))

    def _add(self, parts: Sequence[LogRecords]) -> bool:
        # A separate function, so its records are freed before the next group is decoded.
        log = self.decoder.concatenate(parts)
        if not self.by_position:
            by_key = replace(log, positions=None)
            self._buckets.add(by_key.to_spill_table(), key_buckets(log.keys))
        elif log.positions is not None:
            self._buckets.add(log.to_spill_table(), log.positions % BUCKETS)
        return not self.by_position or log.positions is not None or not len(log)

    def merge(self, base: Iterable[pa.Table], merge_pass: _MergePass[_T]) -> Iterator[_T]:
        """Merge base rows, in file order, with the log records: one call for some buckets.

        Raises:
            SpillError: the disk is full.
        """
        count = self._count_passes()
        base_rows = self._spill(base, count)
        for number in range(count):
            buckets = range(number, BUCKETS, count)
            if not (self._buckets.are_empty(buckets) and base_rows.are_empty([number])):
                # A variable would keep these log records while the next ones are loaded.
                yield from merge_pass(base_rows.tables([number]), self._load(buckets, count))

    def close(self) -> None:
        """Remove the spill file."""
        self.file.close()

    def _count_passes(self) -> int:
        """Choose the least power of two with which each pass fits into memory."""
        sizes = self._buckets.sizes()
        count = 1
        while count < BUCKETS and sizes.reshape(-1, count).sum(0).max() > self.memory.one_pass:
            count *= 2
        return count

    def _spill(self, base: Iterable[pa.Table], count: int) -> Buckets:
        buckets = Buckets(self.file, count)
        rows_before = 0
        for group, _ in _group(base, self.memory.group):
            table = pa.concat_tables(group)
            if self.by_position:
                numbers = np.arange(rows_before, rows_before + table.num_rows)
            else:
                numbers = key_buckets(as_one_array(table.column(RECORD_KEY_COLUMN)))
            buckets.add(table, numbers % count)
            rows_before += table.num_rows
        return buckets

    def _load(self, buckets: Sequence[int], count: int) -> LogRecords:
        """Load the records of a pass, folded early if a few keys have very many records."""
        decoder = self.decoder
        parts: list[LogRecords] = []
        size = 0
        limit = self.memory.records
        for table in self._buckets.tables(buckets):
            parts.append(LogRecords.from_spill_table(table, decoder.schema, decoder.column_sets))
            size += parts[-1].nbytes
            if size > limit and not decoder.rule.folds_base_rows:
                folded = fold_log(decoder.concatenate(parts), self.pair_rule)
                parts = [folded.without_unused_rows()]
                size = parts[0].nbytes
                limit = max(limit, 2 * size)
        log = decoder.concatenate(parts)
        if log.positions is None:
            return log
        # A pass has one of `count` base rows, and numbers them from 0.
        return replace(log, positions=log.positions // count)


LoadedLog: TypeAlias = LogInMemory | LogOnDisk


def _drain(parts: list[LogRecords]) -> Iterator[LogRecords]:
    """Yield the parts in order, and remove each from the list."""
    parts.reverse()
    while parts:
        yield parts.pop()


def _group(tables: Iterable[_Sized], size: int) -> Iterator[tuple[list[_Sized], int]]:
    """Yield tables in groups of at least ``size`` bytes, of which the last may have fewer.

    Each group comes with its bytes.
    """
    group = []
    nbytes = 0
    for table in tables:
        group.append(table)
        nbytes += table.nbytes
        if nbytes >= size:
            yield group, nbytes
            group = []
            nbytes = 0
    if group:
        yield group, nbytes
