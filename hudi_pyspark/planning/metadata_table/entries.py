"""A file slice of the metadata table to the entries of its base file and of its log blocks."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.errors import CorruptLogBlockError, CorruptTableError, MissingFileError
from hudi_pyspark.format.avro.schema import parse_schema
from hudi_pyspark.format.bytes_source import FileSource
from hudi_pyspark.format.hfile.block import HFileError
from hudi_pyspark.format.hfile.reader import SCHEMA_INFO, HFileReader, read_hfile
from hudi_pyspark.format.log.data_block import decode_deletes, decode_hfile_records
from hudi_pyspark.format.log.log_block import LogBlockType
from hudi_pyspark.format.log.log_file import frame_log_file
from hudi_pyspark.storage.remote_file import fetch_end, read_files
from hudi_pyspark.table.live_blocks import BlockFilter, scan_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from hudi_pyspark.format.hfile.entries import HFile
    from hudi_pyspark.format.log.log_block import LogBlock
    from hudi_pyspark.storage import Storage
    from hudi_pyspark.table.file_group import FileSlice
    from hudi_pyspark.table.timeline import CommittedTimes


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """Entries of one base file, or of one log block, in the order of their keys."""

    keys: pa.StringArray
    hfile: HFile | None  # with the same keys; None where a log block deletes them

    @classmethod
    def of(cls, hfile: HFile) -> Entries:
        """Return the entries of an HFile."""
        return cls(hfile.keys.cast(pa.string()), hfile)

    def decode(self, columns: Sequence[str]) -> pa.Table:
        """Decode the values: ``key``, ``type`` and some other fields of the record."""
        assert self.hfile is not None, "deleted keys have no values"
        schema = parse_schema(str(self.hfile.file_info[SCHEMA_INFO], "utf-8"))
        return decode_hfile_records(self.hfile, schema, ["key", "type", *columns])

    def where(self, mask: pa.BooleanArray) -> Entries:
        """Return some of the entries."""
        if pc.all(mask).as_py():
            return self
        hfile = None if self.hfile is None else self.hfile.filter(mask)
        return Entries(self.keys.filter(mask), hfile)


@dataclass(frozen=True, eq=False)
class MetadataSlice:
    """One file slice of the metadata table: its log files are read once, its base file by key."""

    storage: Storage
    file_slice: FileSlice
    # Returns the valid instants, given those that the log blocks name.
    valid_among: Callable[[Collection[str]], CommittedTimes]

    def all(self) -> Iterator[Entries]:
        """Yield all entries, those that apply first coming first; the base file in parts."""
        if self._base is not None:
            with self._base_errors():
                yield from map(Entries.of, self._base.entries())
        yield from self._logged

    def find(self, keys: Sequence[str] | pa.StringArray) -> list[Entries]:
        """Return the entries with some keys, those that apply first coming first."""
        wanted = pa.array(keys, pa.string()) if isinstance(keys, list) else keys
        found = [e.where(pc.is_in(e.keys, value_set=wanted)) for e in self._logged]
        if self._base is not None:
            with self._base_errors():
                found.insert(0, Entries.of(self._base.find(wanted)))
        return [entries for entries in found if len(entries.keys)]

    @cached_property
    def _base(self) -> HFileReader | None:
        file = self.file_slice.base_file
        if file is None:
            return None
        with self._base_errors():
            opened = self.storage.open_input(file.path)
            fetch_end(opened)
            return HFileReader.open(FileSource(opened), path=file.path)

    @contextmanager
    def _base_errors(self) -> Iterator[None]:
        """Raise what is wrong with the base file by its name."""
        base = self.file_slice.base_file
        path = self.storage.describe(base.path if base is not None else "")
        try:
            yield
        except HFileError as error:
            raise CorruptTableError(f"{path}: not readable as HFile: {error}") from error
        except FileNotFoundError as error:
            raise MissingFileError(f"{path} is gone since the metadata table was listed") from error

    @cached_property
    def _logged(self) -> list[Entries]:
        """The entries of the log blocks that count, oldest first."""
        paths = [log.path for log in self.file_slice.log_files if log.is_listed]
        blocks = [
            block
            for path, content in zip(paths, read_files(self.storage, paths), strict=True)
            for block in frame_log_file(content, path=path)
        ]
        valid = self.valid_among({block.instant_time or "" for block in blocks})
        scan = scan_blocks(blocks, BlockFilter(max(valid.times, default=""), valid))
        return [_entries_of(block) for block in scan.blocks]


def _entries_of(block: LogBlock) -> Entries:
    if block.block_type is LogBlockType.DELETE_BLOCK:
        return Entries(decode_deletes(block).record_keys, None)
    try:
        return Entries.of(read_hfile(block.content, path=block.path))
    except HFileError as error:
        offset = block.content_offset + error.offset
        raise CorruptLogBlockError(error.problem, block.path, offset) from error
