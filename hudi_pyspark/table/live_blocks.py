"""The log blocks of a slice that count, in the order of their merge."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hudi_pyspark.errors import CorruptLogBlockError
from hudi_pyspark.format.log.log_block import RECORD_BLOCKS, LogBlock, LogBlockType

if TYPE_CHECKING:
    from hudi_pyspark.table.timeline import CommittedTimes


@dataclass(frozen=True, slots=True)
class BlockFilter:
    """Filter of the blocks that the query may see."""

    until: str  # instant, inclusive; blocks of later instants are skipped
    committed: CommittedTimes | None  # None if uncommitted log files were dropped as a whole

    def counts(self, time: str) -> bool:
        """Decide whether the query sees the commit of an instant."""
        return time <= self.until and (self.committed is None or time in self.committed)

    def counting(self, instants: Iterable[str]) -> tuple[str, ...]:
        """Return the instants whose blocks count, in their order."""
        return tuple(time for time in instants if self.counts(time))


@dataclass(frozen=True, slots=True)
class LogScan:
    """Blocks of the log files of one slice, resolved."""

    blocks: tuple[LogBlock, ...]  # data and delete blocks, oldest first
    instants: frozenset[str]  # that wrote them, or that a log compaction folded into them
    corrupt_blocks: tuple[LogBlock, ...]  # skipped, as Apache Hudi does
    seen: frozenset[str]  # instants of all data and delete blocks, whether they count or not
    compacted: frozenset[str]  # instants that log compactions name, whether they count or not
    rolled_back: frozenset[str]  # instants that rollback blocks name

    def follows(self, instants: Collection[str], counting_instants: Collection[str]) -> bool:
        """Decide whether these blocks apply after earlier blocks, all of which stay as they are.

        Args:
            instants: of the earlier blocks, and instants that log compactions among them name.
            counting_instants: instants of the earlier blocks that count.
        """
        is_later = self.seen.isdisjoint(instants) and not self.compacted
        return is_later and self.rolled_back.isdisjoint(counting_instants)


def scan_blocks(blocks: Iterable[LogBlock], block_filter: BlockFilter) -> LogScan:
    """Choose the blocks of a file slice that count, in the order in which they apply.

    Three rules leave blocks out, in this order:

    - A block of an instant that is not committed, or outside the query's range, does not count:
      ``block_filter`` says which.
    - A rollback block undoes all blocks of its target instant that come before it, also in
      earlier log files. Blocks of that instant that come later count: the instant may be used
      again.
    - A log compaction wrote the records of several blocks into one, and names their instants. It
      replaces their blocks, and takes the place of the newest of them; a later log compaction may
      have folded it again.

    So nothing is decoded before all log files of the slice are framed. Blocks of one instant stay
    together, at the place of its first block. Source: Hudi's BaseHoodieLogRecordReader.

    Args:
        blocks: of all log files of the slice, in apply order of the files, then in file order.
        block_filter: which instants count.

    Raises:
        CorruptLogBlockError: a block names no instant, or has a type that a slice cannot have.
            Corrupt blocks are returned apart: whether they matter is for the caller to decide.
    """
    by_instant: dict[str, list[LogBlock]] = {}  # in order of first appearance
    corrupt: list[LogBlock] = []
    seen: set[str] = set()
    compacted: set[str] = set()
    rolled_back: set[str] = set()
    for block in blocks:
        if block.block_type is LogBlockType.CORRUPT_BLOCK:
            corrupt.append(block)
        elif block.block_type is LogBlockType.COMMAND_BLOCK:
            # A rollback undoes earlier blocks only: its target instant may be used again later.
            by_instant.pop(block.target_instant_time or "", None)
            rolled_back.add(block.target_instant_time or "")
        elif block.block_type not in RECORD_BLOCKS:
            raise block.corrupt(f"a {block.block_type.name} cannot be in a log file of a slice")
        else:
            time = block.instant_time
            if time is None:
                raise CorruptLogBlockError("the block names no instant", block.path, block.offset)
            seen.add(time)
            compacted.update(block.compacted_block_times)
            if block_filter.counts(time):
                by_instant.setdefault(time, []).append(block)
    order = _without_compacted(by_instant)
    counted = [block for group in by_instant.values() for block in group]
    folded = {time for block in counted for time in block.compacted_block_times}
    return LogScan(
        blocks=tuple(block for time in order for block in by_instant[time]),
        instants=frozenset(by_instant) | folded,
        corrupt_blocks=tuple(corrupt),
        seen=frozenset(seen),
        compacted=frozenset(compacted),
        rolled_back=frozenset(rolled_back),
    )


def _without_compacted(by_instant: dict[str, list[LogBlock]]) -> list[str]:
    """Return the instants to apply, oldest first.

    A log compaction replaces the blocks that it was made from and takes the place of the newest of
    them; it may itself have been folded into a later one.
    """
    final: dict[str, str] = {}  # instant to the log compaction that holds its records now
    order: list[str] = []
    for time in reversed(by_instant):
        folded = by_instant[time][0].compacted_block_times
        if folded:
            for old in folded:
                final[old] = final.get(time, time)
            continue
        winner = final.get(time, time)
        if winner not in order:
            order.append(winner)
    return order[::-1]
