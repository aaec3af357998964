"""The log files of a slice: their bytes, their blocks, which blocks count, and damage."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

import pyarrow as pa

from hudi_pyspark import thresholds
from hudi_pyspark.errors import CorruptLogBlockError, MissingFileError
from hudi_pyspark.format.bytes_source import BytesSource, StoredBytes
from hudi_pyspark.format.log.log_block import RECORD_BLOCKS, LogBlock, LogBlockType
from hudi_pyspark.format.log.log_file import frame_log_file
from hudi_pyspark.messages import logger
from hudi_pyspark.storage.protocol import Storage
from hudi_pyspark.storage.remote_file import read_files
from hudi_pyspark.table.file_group import LogFile
from hudi_pyspark.table.on_damage import OnDamage
from hudi_pyspark.wording import counted

if TYPE_CHECKING:
    from hudi_pyspark.table.timeline import CommittedTimes

_NATIVE_IN_MEMORY = 1 << 20  # bytes: larger native logs are read by columns
_log = logger(__name__)


@dataclass(frozen=True, slots=True)
class BlockFilter:
    """Filter of the blocks that the query may see."""

    until: str  # instant, inclusive; blocks of later instants are skipped
    committed: CommittedTimes | None  # None if uncommitted log files were dropped as a whole

    def counts(self, time: str) -> bool:
        """Decide whether the query sees the commit of an instant."""
        return time <= self.until and (self.committed is None or time in self.committed)


@dataclass(frozen=True, slots=True)
class LogScan:
    """Blocks of the log files of one slice, resolved."""

    blocks: tuple[LogBlock, ...]  # data and delete blocks, oldest first
    instants: frozenset[str]  # that wrote them, or that a log compaction folded into them
    corrupt_blocks: tuple[LogBlock, ...]  # skipped, as Apache Hudi does
    seen: frozenset[str]  # of blocks that no rollback undid, whether they count or not
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

    - A rollback block undoes all blocks of its target instant that come before it, also in
      earlier log files. Blocks of that instant that come later count: the instant may be used
      again.
    - A block of an instant that is not committed, or outside the query's range, does not count:
      ``block_filter`` says which. It may have to ask the archive about an instant that the timeline
      lacks, so it is not asked about what was rolled back.
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
            compacted.update(block.compacted_block_times)
            by_instant.setdefault(time, []).append(block)
    seen = frozenset(by_instant)
    by_instant = {time: found for time, found in by_instant.items() if block_filter.counts(time)}
    order = _without_compacted(by_instant)
    counted = [block for group in by_instant.values() for block in group]
    folded = {time for block in counted for time in block.compacted_block_times}
    return LogScan(
        blocks=tuple(block for time in order for block in by_instant[time]),
        instants=frozenset(by_instant) | folded,
        corrupt_blocks=tuple(corrupt),
        seen=seen,
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


@dataclass(frozen=True, slots=True)
class SliceBlocks:
    """Reader of the live blocks of a slice."""

    log_files: Sequence[LogFile]  # of the slice, in the order in which they apply
    on_damage: OnDamage
    most_bytes_in_memory: int  # larger files are read piece by piece
    base_instant: str = ""  # of the base file below; "" if the slice has none

    def read(self, files: LogFiles, block_filter: BlockFilter) -> LogScan:
        """Return the log blocks that the query sees, undecoded, in the order of their merge.

        Raises:
            MissingFileError: a log file is gone, or the base file that log files name.
            CorruptLogBlockError: a block of a commit is damaged, unless ``on_damage`` says
                otherwise. Blocks that a failed write left are only logged.
        """
        blocks = list(self.framed(files))
        self._check_base_instants(blocks, files.storage, block_filter)
        scan = scan_blocks(blocks, block_filter)
        self._log_failed_writes(scan.corrupt_blocks)
        # If a file system can append, the blocks of a file that a commit names and no listing
        # has are in the file that they were appended to.
        for file in self.log_files:
            is_seen = not file.is_listed and file.committed_by <= block_filter.until
            if is_seen and file.committed_by not in scan.instants:
                path = files.storage.describe(file.path)
                raise MissingFileError.since_commit(path, file.committed_by)
        return scan

    def _log_failed_writes(self, corrupt_blocks: Iterable[LogBlock]) -> None:
        """Log which corrupt blocks are skipped; ``on_damage`` decided about those of commits."""
        committed_sizes = {file.path: file.committed_size for file in self.log_files}
        torn = [block for block in corrupt_blocks if block.offset >= committed_sizes[block.path]]
        if torn:
            places = ", ".join(f"{block.path} at byte {block.offset}" for block in torn)
            blocks = counted(len(torn), "corrupt log block")
            _log.warning("skipped %s of failed writes: %s", blocks, places)

    def _check_base_instants(
        self, blocks: Iterable[LogBlock], storage: Storage, block_filter: BlockFilter
    ) -> None:
        """Refuse log files that name a later base instant than that of the base file below them.

        Up to table version 7 a log file names the base instant of its slice, and its blocks are
        later. Files from before a downgrade name their own commit, and have a block of it. A
        compaction that is only planned has no base file yet.
        """
        if not self.base_instant or block_filter.committed is None:
            return
        later = {
            f.path: f.instant_time for f in self.log_files if f.instant_time > self.base_instant
        }
        written_by: dict[str, set[str]] = {}
        for block in blocks:
            if block.path in later:
                written_by.setdefault(block.path, set()).update(_instants_of(block))
        for path, instants in written_by.items():
            time = later[path]
            if time < min(instants) and time in block_filter.committed:
                raise MissingFileError.since_log_file(storage.describe(path), time)

    def framed(self, files: LogFiles) -> Iterator[LogBlock]:
        """Yield all blocks of the listed files, and report what committed files have lost.

        Raises:
            MissingFileError: a log file is gone.
            CorruptLogBlockError: a committed file is cut off or damaged, or lacks the block of a
                commit that names it, and ``on_damage`` is ``fail``.
        """
        listed_files = [file for file in self.log_files if file.is_listed]
        is_small = sum(file.size for file in listed_files) <= self.most_bytes_in_memory
        # Of a native log only some columns may be needed.
        whole = [
            f for f in listed_files if is_small and (not f.is_native or f.size <= _NATIVE_IN_MEMORY)
        ]
        loaded = files.load([file.path for file in whole])
        for file in listed_files:
            data = loaded[file.path] if file.path in loaded else files.open(file.path)
            committed_size = file.committed_size
            place = files.storage.describe(file.path)
            is_cut_off = len(data) < committed_size
            if is_cut_off:
                problem = f"the file has {len(data)} bytes, but its commit says {committed_size}"
                self.on_damage.report(problem, place, len(data))
            commits = {file.committed_by, file.first_committed_by} if file.is_written else set()
            is_damaged = is_cut_off
            for block in self._framed(file, data, place):
                # Blocks beyond the committed size were torn by a write that never committed.
                is_committed = block.offset < committed_size
                is_corrupt = block.block_type is LogBlockType.CORRUPT_BLOCK
                # The block at the end of a file that was cut off is the damage reported above.
                is_reported = is_cut_off and block.offset + block.size == len(data)
                if is_committed and is_corrupt and not is_reported:
                    problem = "a corrupt block within what completed commits wrote"
                    self.on_damage.report(problem, place, block.offset)
                is_damaged |= is_committed and is_corrupt
                commits.discard(block.instant_time or "")
                yield block
            # The file may have the content of another one, and the block be lost.
            if commits and not is_damaged:
                self.on_damage.report(f"no block is of commit {min(commits)}", place, 0)

    def _framed(self, file: LogFile, data: BytesSource, place: str) -> Iterator[LogBlock]:
        problems: list[tuple[str, int]] = []  # of texts in the next block's header, with offsets
        try:
            for block in frame_log_file(
                data, path=file.path, report=lambda *problem: problems.append(problem)
            ):
                for problem, offset in problems:
                    self.on_damage.report(problem, place, offset)
                problems.clear()
                yield block
        except CorruptLogBlockError as error:
            if not file.is_native:
                raise
            # A native log is one block. Failed commits may leave half of one, but are not read.
            self.on_damage.report(error.found, place, error.offset)


def _instants_of(block: LogBlock) -> set[str]:
    """Return the instants that a block names, and "" for a corrupt block, which may be of any."""
    return {block.instant_time or "", block.target_instant_time or block.instant_time or ""}


class LogFiles:
    """The log files of a slice: at most one is open at a time, and one piece of it in memory.

    Args:
        storage: of the table.
        piece_size: bytes that a request reads at least; None for what reads of all blocks need.
    """

    def __init__(self, storage: Storage, piece_size: int | None = None) -> None:
        self.storage = storage
        self._piece_size = thresholds.LOG_PIECE if piece_size is None else piece_size
        self._path = ""
        self._file: pa.NativeFile | IO[bytes] | None = None
        self._piece = memoryview(b"")
        self._start = 0  # of the piece in its file

    def load(self, paths: Sequence[str]) -> dict[str, BytesSource]:
        """Read whole files into memory, by path; in parallel if each read is a request.

        Raises:
            MissingFileError: one of them is gone; it names the first.
        """
        loaded: dict[str, BytesSource] = {}
        try:
            for path, content in zip(paths, read_files(self.storage, paths), strict=True):
                loaded[path] = memoryview(content)
        except FileNotFoundError as error:
            lost = self.storage.describe(paths[len(loaded)])
            raise MissingFileError.since_planning(lost) from error
        return loaded

    def open(self, path: str) -> BytesSource:
        """Open a file that is read piece by piece, best from the start to the end."""
        return _StoredFile(self, path, self._opened(path).seek(0, os.SEEK_END))

    def read(self, path: str, start: int, stop: int) -> memoryview:
        """Read some bytes of a file; a request as long as a piece is not kept for the next one."""
        in_piece = self._start <= start and stop <= self._start + len(self._piece)
        if path != self._path or not in_piece:
            file = self._opened(path)
            file.seek(start)
            octets = memoryview(file.read(max(stop - start, self._piece_size)))
            if stop - start >= self._piece_size:
                return octets
            self._piece = octets
            self._start = start
        return self._piece[start - self._start : stop - self._start]

    def open_input(self, path: str) -> pa.NativeFile | IO[bytes]:
        """Open a file for random access; the caller closes it.

        Raises:
            MissingFileError: it is gone since the read was planned.
        """
        try:
            return self.storage.open_input(path)
        except FileNotFoundError as error:
            raise MissingFileError.since_planning(self.storage.describe(path)) from error

    def _opened(self, path: str) -> pa.NativeFile | IO[bytes]:
        if self._file is None or path != self._path:
            self.close()
            self._file = self.open_input(path)
            self._path = path
        return self._file

    def close(self) -> None:
        """Close the open file; a later read opens it again."""
        if self._file is not None:
            self._file.close()
        self._file = None
        self._path = ""
        self._piece = memoryview(b"")
        self._start = 0


@dataclass(frozen=True, slots=True)
class _StoredFile(StoredBytes):
    """A log file whose bytes are read when needed."""

    files: LogFiles
    path: str
    size: int  # bytes when it was opened

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, span: slice, /) -> memoryview:
        start, stop, _ = span.indices(self.size)
        return self.files.read(self.path, start, max(start, stop))

    def open(self) -> pa.NativeFile | IO[bytes]:
        return self.files.open_input(self.path)
