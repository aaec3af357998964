"""A slice in one pass, or in several where its log records do not fit into memory.

Past the limit log records go to local disk, into buckets by a hash of their key (or by position in
the base file, where that is what identifies them), and then so do the base rows. All records of a
key are in one bucket, in order of arrival, so each pass is a merge like any other, of some buckets.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa

from hudi_pyspark.query.columns.arrays import as_one_array
from hudi_pyspark.query.log_records.decoder import pack, unpack
from hudi_pyspark.query.merge.key_hash import BUCKETS, key_buckets
from hudi_pyspark.query.merge.merge import newest
from hudi_pyspark.query.merge.spill_file import Buckets, SpillFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from hudi_pyspark.format.log.log_block import LogBlock
    from hudi_pyspark.query.log_records.decoder import LogDecoder, LogRecords
    from hudi_pyspark.query.merge.custom_merger import PayloadMerger
    from hudi_pyspark.query.merge.spill_file import MemoryLimits

_T = TypeVar("_T")
_Sized = TypeVar("_Sized", "LogRecords", pa.Table)


def in_passes(
    blocks: list[LogBlock],
    base: Iterable[pa.Table],
    decoder: LogDecoder,
    memory: MemoryLimits,
    outcome: Callable[[Iterable[pa.Table], LogRecords], Iterator[_T]],
    *,
    merger: PayloadMerger | None = None,
) -> Iterator[_T]:
    """Merge base rows with the log records that they may meet.

    Args:
        blocks: data and delete blocks of the slice, oldest first; taken away when their records
            are held in memory, so that nothing holds the log files any more.
        base: tables of the decoder's schema, in file order; consumed one at a time.
        decoder: of the slice's blocks.
        memory: how much of the log may be held.
        outcome: what comes of base tables and log records: called with all of them, or with a part
            of both at a time.
        merger: a user's function for payload classes that Apache Hudi does not have.

    Raises:
        SpillError: the records can neither be held nor kept on the local disk.
    """
    parts = map(decoder.decode, blocks)
    held, is_all = _up_to(parts, memory.records)
    if is_all:
        log = decoder.concatenate(held)
        held.clear()
        blocks.clear()
        yield from outcome(base, log)
        return
    with closing(SpillFile(memory.folder)) as file:
        by_position = all(part.positions is not None for part in held if len(part))
        spilled = _SpilledLog(file, decoder, memory, by_position=by_position)
        if not spilled.add(chain(_drained(held), parts)):
            # A block without usable positions, behind others that had them: all go by key then.
            file.clear()
            by_key = replace(decoder, positions_of=None)
            spilled = _SpilledLog(file, by_key, memory, by_position=False)
            spilled.add(map(by_key.decode, blocks))
        yield from spilled.merged(base, outcome, merger)


class _SpilledLog:
    """Log records of a slice on disk, identified by their keys or by their positions."""

    def __init__(
        self, file: SpillFile, decoder: LogDecoder, memory: MemoryLimits, *, by_position: bool
    ) -> None:
        self._file = file
        self._decoder = decoder
        self._memory = memory
        self._by_position = by_position
        self._buckets = Buckets(file, BUCKETS)

    def add(self, parts: Iterable[LogRecords]) -> bool:
        """Put records into their buckets; False if some lack the position that identifies them."""
        return all(map(self._add, _grouped(parts, self._memory.group)))

    def _add(self, parts: Sequence[LogRecords]) -> bool:
        log = self._decoder.concatenate(parts)
        if not self._by_position:
            self._buckets.add(pack(replace(log, positions=None)), key_buckets(log.keys))
        elif log.positions is not None:
            self._buckets.add(pack(log), log.positions % BUCKETS)
        return not self._by_position or log.positions is not None or not len(log)

    def merged(
        self,
        base: Iterable[pa.Table],
        outcome: Callable[[Iterable[pa.Table], LogRecords], Iterator[_T]],
        merger: PayloadMerger | None,
    ) -> Iterator[_T]:
        """Both sides, some buckets at a time."""
        count = self._count()
        base_rows = self._spill(base, count)
        for number in range(count):
            buckets = range(number, BUCKETS, count)
            if not (self._buckets.are_empty(buckets) and base_rows.are_empty([number])):
                # No name for the log records here: they would be held while the next are loaded.
                yield from outcome(base_rows.tables([number]), self._load(buckets, count, merger))

    def _count(self) -> int:
        """Passes, a power of two: few enough to be quick, and enough to fit each into memory."""
        sizes = self._buckets.sizes()
        count = 1
        while count < BUCKETS and sizes.reshape(-1, count).sum(0).max() > self._memory.one_pass:
            count *= 2
        return count

    def _spill(self, base: Iterable[pa.Table], count: int) -> Buckets:
        buckets = Buckets(self._file, count)
        rows_before = 0
        for group in _grouped(base, self._memory.group):
            table = pa.concat_tables(group)
            if self._by_position:
                numbers = np.arange(rows_before, rows_before + table.num_rows)
            else:
                numbers = key_buckets(as_one_array(table.column(self._decoder.key_column)))
            buckets.add(table, numbers % count)
            rows_before += table.num_rows
        return buckets

    def _load(self, buckets: Sequence[int], count: int, merger: PayloadMerger | None) -> LogRecords:
        """The records of a pass; where a few keys have very many, these come folded."""
        parts: list[LogRecords] = []
        size, limit = 0, self._memory.records
        for table in self._buckets.tables(buckets):
            parts.append(unpack(table, self._decoder))
            size += parts[-1].nbytes
            if size > limit:
                parts = [newest(self._decoder.concatenate(parts), self._decoder.rule, merger)]
                size = parts[0].nbytes
                limit = max(limit, 2 * size)
        log = self._decoder.concatenate(parts)
        if log.positions is None:
            return log
        # Of every `count` base rows the pass has one, so they stand closer together.
        return replace(log, positions=log.positions // count)


def _up_to(parts: Iterator[LogRecords], limit: int) -> tuple[list[LogRecords], bool]:
    """Parts until they are larger than a limit, and whether these are all."""
    held, size = [], 0
    for part in parts:
        held.append(part)
        size += part.nbytes
        if size > limit:
            return held, False
    return held, True


def _drained(parts: list[LogRecords]) -> Iterator[LogRecords]:
    """The parts in order, each let go of as it is given."""
    parts.reverse()
    while parts:
        yield parts.pop()


def _grouped(tables: Iterable[_Sized], size: int) -> Iterator[list[_Sized]]:
    """Tables in groups, each as large as asked for or larger, but for the last."""
    group, held = [], 0
    for table in tables:
        group.append(table)
        held += table.nbytes
        if held >= size:
            yield group
            group, held = [], 0
    if group:
        yield group
