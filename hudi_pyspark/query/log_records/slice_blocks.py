"""Reader of the log files of a slice: frames their blocks, and checks that none is missing."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hudi_pyspark.errors import MissingFileError
from hudi_pyspark.format.log.log_block import frame_blocks
from hudi_pyspark.query.log_records.live_blocks import scan_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hudi_pyspark.format.log.log_block import LogBlock
    from hudi_pyspark.query.log_records.damage import OnDamage
    from hudi_pyspark.query.log_records.live_blocks import BlockFilter, LogScan
    from hudi_pyspark.storage import Storage
    from hudi_pyspark.table.file_group import LogFile
    from hudi_pyspark.table.log_file import LogFiles

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SliceBlocks:
    """Reader of the live blocks of a slice."""

    log_files: Sequence[LogFile]  # of the slice, in the order in which they apply
    block_filter: BlockFilter
    on_damage: OnDamage
    most_bytes_in_memory: int  # larger files are read piece by piece

    def read(self, storage: Storage, files: LogFiles) -> list[LogBlock]:
        """Return all log blocks that the query sees, undecoded, in the order in which they apply.

        Args:
            storage: of the table.
            files: opens the log files; needed until the blocks are decoded.

        Raises:
            CorruptLogBlockError: a file is damaged, and `on_damage` says to fail.
            MissingFileError: a log file, or the blocks that a completed commit wrote, are gone.
        """
        scan = scan_blocks(self._frame(storage, files), self.block_filter)
        self._check_damage(scan, storage)
        self._check_presence(scan, storage)
        return list(scan.blocks)

    def _frame(self, storage: Storage, files: LogFiles) -> Iterator[LogBlock]:
        listed = [file for file in self.log_files if file.is_listed]
        is_small = sum(file.size for file in listed) <= self.most_bytes_in_memory
        for file in listed:
            data = files.load(file.path) if is_small else files.open(file.path)
            if len(data) < file.committed_size:
                problem = (
                    f"the file has {len(data)} bytes, but its commit says {file.committed_size}"
                )
                self.on_damage.report(problem, storage.describe(file.path), len(data))
            yield from frame_blocks(data, path=file.path)

    def _check_damage(self, scan: LogScan, storage: Storage) -> None:
        """Report corrupt blocks: torn by a write that never committed, or damaged since it did."""
        committed = {f.path: f.committed_size for f in self.log_files}
        for block in scan.corrupt_blocks:
            if block.offset < committed[block.path]:
                problem = "a corrupt block within what completed commits wrote"
                self.on_damage.report(problem, storage.describe(block.path), block.offset)
        if scan.corrupt_blocks:
            places = ", ".join(f"{b.path} at byte {b.offset}" for b in scan.corrupt_blocks)
            _log.warning("skipped %d corrupt log blocks: %s", len(scan.corrupt_blocks), places)

    def _check_presence(self, scan: LogScan, storage: Storage) -> None:
        """Refuse a slice without the blocks of a file that is named by a commit, but not listed.

        Where a file system can append, the blocks are in the file that they were appended to.
        """
        for file in self.log_files:
            is_seen = not file.is_listed and file.committed_by <= self.block_filter.until
            if is_seen and file.committed_by not in scan.instants:
                raise MissingFileError.since_commit(storage.describe(file.path), file.committed_by)
