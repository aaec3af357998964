"""Log file → LogBlocks, whether its blocks are inline or the file is a native log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_pyspark.errors import CorruptLogBlockError, UnsupportedTableError
from hudi_pyspark.format.file_name import LogFileName, is_native_log_name
from hudi_pyspark.format.log.log_block import (
    SalvagedBlock,
    corrupt_block,
    frame_blocks,
    salvage_blocks,
)
from hudi_pyspark.format.log.native_log import frame_native_log

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hudi_pyspark.format.log.log_block import BytesSource, LogBlock


def frame_log_file(data: bytes | BytesSource, *, path: str) -> Iterator[LogBlock]:
    """Cut a log file into its blocks; see `frame_blocks` and `frame_native_log`."""
    name = path.rpartition("/")[2]
    if is_native_log_name(name):
        yield frame_native_log(data, LogFileName.parse(name), path=path)
    else:
        yield from frame_blocks(data, path=path)


def salvage_log_file(data: bytes | BytesSource, *, path: str) -> Iterator[SalvagedBlock]:
    """Cut a log file into blocks as far as possible; see `salvage_blocks`."""
    if not is_native_log_name(path.rpartition("/")[2]):
        yield from salvage_blocks(data, path=path)
        return
    try:
        yield from (SalvagedBlock(block, "") for block in frame_log_file(data, path=path))
    except CorruptLogBlockError as error:
        yield SalvagedBlock(corrupt_block(data, path=path), error.problem)
    except UnsupportedTableError as error:
        yield SalvagedBlock(corrupt_block(data, path=path), error.reason())
