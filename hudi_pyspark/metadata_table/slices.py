"""File slices of the metadata table: the entries of their files, and which slice can have a key."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial, reduce
from math import gcd

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark import thresholds
from hudi_pyspark.cached_property import cached_property
from hudi_pyspark.errors import CorruptLogBlockError, CorruptTableError, MissingFileError
from hudi_pyspark.format.avro.schema import parse_schema
from hudi_pyspark.format.bytes_source import BytesSource, FileSource
from hudi_pyspark.format.hashes import java_hash_codes
from hudi_pyspark.format.hfile import HFileError
from hudi_pyspark.format.hfile.reader import SCHEMA_INFO, HFile, HFileReader
from hudi_pyspark.format.log.data_block import decode_hfile_records
from hudi_pyspark.format.log.delete_block import decode_deletes
from hudi_pyspark.format.log.log_block import LogBlock, LogBlockType
from hudi_pyspark.metadata_table.record_types import types_of
from hudi_pyspark.storage.protocol import Storage
from hudi_pyspark.storage.remote_file import fetch_end
from hudi_pyspark.table.file_group import FileSlice
from hudi_pyspark.table.log_files import BlockFilter, LogFiles, LogScan, SliceBlocks, scan_blocks
from hudi_pyspark.table.on_damage import OnDamage
from hudi_pyspark.table.timeline import CommittedTimes

_MOST_BYTES = 1 << 62  # of log files: all are read into memory


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """Entries of one base file, or of one log block, in the order of their keys."""

    keys: pa.StringArray
    hfile: HFile | None  # with the same keys; None if a log block deletes them
    check_types: Callable[[pa.Table], None] | None  # refuses records of another partition

    def decode(self, columns: Sequence[str]) -> pa.Table:
        """Decode the values: ``key``, ``type`` and some other fields of the record.

        Raises:
            CorruptTableError: records are of another partition than their file.
            CorruptAvroError: the records do not fit their schema, or the schema is not valid.
            UnsupportedTypeError: the schema is not of a record, or a type cannot be read.
        """
        assert self.hfile is not None, "deleted keys have no values"
        assert self.check_types is not None, "records have types"
        schema = parse_schema(str(self.hfile.file_info.get(SCHEMA_INFO, b""), "utf-8"))
        records = decode_hfile_records(self.hfile, schema, ["key", "type", *columns])
        self.check_types(records)
        return records


@dataclass(slots=True, eq=False)
class _Layer:
    """A base file or a log block: an HFile that is read by key, or deleted keys.

    A file that has taken the place of another looks like one without the requested keys. So decoded
    records are checked to be of the partition. A layer without any of the keys decodes one record,
    of a block that was read anyway if there is one.
    """

    content: HFileReader | pa.StringArray
    partition: str  # of the metadata table, by the path of the file
    errors: Callable[[], AbstractContextManager[None]]  # makes errors name the file
    is_checked: bool = False

    def all(self) -> Iterator[Entries]:
        if not isinstance(self.content, HFileReader):
            yield Entries(self.content, None, None)
        else:
            with self.errors():
                for part in self.content.entries():
                    yield self._entries(part)

    def find(self, keys: pa.StringArray) -> Entries:
        if not isinstance(self.content, HFileReader):
            found = self.content.filter(pc.is_in(self.content, value_set=keys))
            return Entries(found, None, None)
        with self.errors():
            return self._found(self.content.find(keys), self.content)

    def find_prefixes(self, prefixes: Sequence[str]) -> Entries:
        if not isinstance(self.content, HFileReader):
            masks = [pc.starts_with(self.content, pattern=prefix) for prefix in prefixes]
            return Entries(self.content.filter(reduce(pc.or_, masks)), None, None)
        with self.errors():
            found = self.content.find_prefixes([p.encode() for p in prefixes])
            return self._found(found, self.content)

    def first_keys(self) -> list[str]:
        if not isinstance(self.content, HFileReader):
            return []
        with self.errors():
            found = self.content.first_keys()
            self._check_sample(self.content)
            return list(found.cast(pa.string()).to_pylist())

    def _entries(self, hfile: HFile) -> Entries:
        return Entries(hfile.keys.cast(pa.string()), hfile, self._check_types)

    def _found(self, found: HFile, reader: HFileReader) -> Entries:
        """Return found entries; if there is none, refuse a layer of another partition."""
        if not len(found.keys):
            self._check_sample(reader)
        return self._entries(found)

    def _check_sample(self, reader: HFileReader) -> None:
        if not self.is_checked:
            self._entries(reader.sample()).decode([])

    def _check_types(self, records: pa.Table) -> None:
        """Refuse records of another partition.

        Raises:
            CorruptTableError: the type of a record is none of the partition.
        """
        has_types = "type" in records.schema.names
        kinds = pc.unique(records.column("type")).to_pylist() if has_types else [None]
        with self.errors():
            for kind in kinds:
                if kind not in types_of(self.partition):
                    problem = f"expected records of {self.partition}, found one of type {kind}"
                    raise HFileError(problem, 0)
        self.is_checked = True


@dataclass(frozen=True, eq=False)
class MetadataSlice:
    """One file slice of the metadata table. Only requested entries are decoded."""

    storage: Storage
    file_slice: FileSlice
    # Returns the valid instants, given the instants that the log blocks name.
    valid_among: Callable[[Collection[str]], CommittedTimes]

    @property
    def _partition(self) -> str:
        return self.file_slice.partition_path

    def all(self) -> Iterator[Entries]:
        """Yield all entries in the order in which they apply; an HFile comes in parts."""
        for layer in self._layers:
            yield from layer.all()

    def find(self, keys: pa.StringArray) -> list[Entries]:
        """Return the entries with some keys, in the order in which they apply."""
        return [entries for layer in self._layers if len((entries := layer.find(keys)).keys)]

    def find_prefixes(self, prefixes: Sequence[str]) -> list[Entries]:
        """Return the entries whose keys begin with one of some texts, in the order they apply."""
        found = (layer.find_prefixes(prefixes) for layer in self._layers)
        return [entries for entries in found if len(entries.keys)]

    def some_keys(self) -> list[str]:
        """Return a few keys of each file that has some."""
        return [key for layer in self._layers for key in layer.first_keys()]

    @cached_property
    def _layers(self) -> list[_Layer]:
        """The base file, which is read in ranges, and the log blocks that count, oldest first."""
        base = self.file_slice.base_file
        layers = []
        if base is not None:
            errors = partial(_errors, self.storage.describe(base.path))
            with errors():
                opened = self.storage.open_input(base.path)
                if base.size <= thresholds.MOST_BYTES_AS_A_WHOLE:
                    source: BytesSource = memoryview(opened.read())
                else:
                    fetch_end(opened)
                    source = FileSource(opened)
                reader = HFileReader.open(source, path=base.path)
            layers.append(_Layer(reader, self._partition, errors))
        return layers + [_layer_of(block, self._partition) for block in self.scan.blocks]

    def written_by(self, time: str) -> Iterator[Entries]:
        """Yield the entries of log blocks of one instant, whether or not it counts."""
        for block in self._blocks:
            if block.instant_time == time:
                yield from _layer_of(block, self._partition).all()

    @cached_property
    def _blocks(self) -> list[LogBlock]:
        logs = SliceBlocks(self.file_slice.log_files, OnDamage.FAIL, _MOST_BYTES)
        return list(logs.framed(LogFiles(self.storage)))

    @cached_property
    def scan(self) -> LogScan:
        """The log blocks of the slice.

        Raises:
            CorruptTableError: a log block is damaged, or files lack blocks that commits have
                written.
        """
        valid = self.valid_among({block.instant_time or "" for block in self._blocks})
        scan = scan_blocks(self._blocks, BlockFilter(max(valid.times, default=""), valid))
        # No checksum covers the header of a block. A damaged instant would look like one that never
        # completed, and its records would be left out.
        found = scan.seen | scan.rolled_back
        for log in self.file_slice.log_files:
            if lost := {log.committed_by, log.first_committed_by} - found - {""}:
                raise CorruptLogBlockError(f"no block is of commit {min(lost)}", log.path, 0)
        return scan


def _layer_of(block: LogBlock, partition: str) -> _Layer:
    errors = partial(_errors, block.path, block)
    if block.block_type is LogBlockType.DELETE_BLOCK:
        deletes = decode_deletes(block)
        if others := deletes.other_partitions(partition):
            raise block.corrupt(f"expected deletes of {partition}, found one of {others[0]}")
        return _Layer(deletes.record_keys, partition, errors)
    with errors():
        reader = HFileReader.open(memoryview(block.content), path=block.path)
        return _Layer(reader, partition, errors)


@contextmanager
def _errors(location: str, block: LogBlock | None = None) -> Iterator[None]:
    """Turn errors about a base file, or a log block, into errors that name it."""
    try:
        yield
    except HFileError as error:
        if block is None:
            raise CorruptTableError(f"{location} {error}") from error
        offset = block.content_offset + error.offset
        raise CorruptLogBlockError(error.problem, location, offset) from error
    except FileNotFoundError as error:
        raise MissingFileError(f"{location} is gone since the metadata table was listed") from error


@dataclass(eq=False, slots=True)
class Shards:
    """File groups of an index that share its keys: the hash of a key is the number of its group.

    An index has one set of groups; a *partitioned record index* has one for each partition of the
    table. No file names the number of groups: if the last ones are lost, keys are sought in wrong
    groups and not found. So a key without an entry proves nothing, unless `are_all` says so.
    """

    slices: list[MetadataSlice] = field(default_factory=list)  # by number, without a gap

    def find(self, keys: Sequence[str]) -> Iterator[list[Entries]]:
        """Yield the entries of some keys, oldest first, for each file group that can have them."""
        all_keys = pa.array(keys, pa.string())
        numbers = self.numbers(keys)
        for number, metadata_slice in enumerate(self.slices):
            own_keys = all_keys.filter(pa.array(numbers == number))
            if len(own_keys):
                yield metadata_slice.find(own_keys)

    def numbers(self, hashed_texts: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return the numbers of the groups to which texts belong."""
        return _hashes(hashed_texts) % len(self.slices)

    def are_all(
        self, numbers: Iterable[int], hashed: Callable[[str], str] = lambda key: key
    ) -> bool:
        """Decide by the keys of some groups that no group is lost.

        With n groups, n divides the distance of each hash from the number of its group. So it
        divides the greatest common divisor of all distances. If that is the number of groups that
        are there, there never were more: more would have to divide it.

        Args:
            numbers: of the groups whose keys are looked at.
            hashed: returns the text of a key that is hashed.
        """
        return self._common_divisor(numbers, hashed) == len(self.slices)

    def check_keys(self, numbers: Iterable[int], hashed: Callable[[str], str]) -> None:
        """Refuse groups with keys of other groups: keys were hashed in another way.

        Raises:
            CorruptTableError: a key of a group belongs to another one.
        """
        for number in numbers:
            if self._common_divisor([number], hashed) % len(self.slices):
                path = self.slices[number].file_slice.partition_path
                raise CorruptTableError(f"{path} has keys of other file groups in group {number}")

    def _common_divisor(self, numbers: Iterable[int], hashed: Callable[[str], str]) -> int:
        """Return the greatest common divisor of the distances of hashes from their groups."""
        divisor = 0
        for number in numbers:
            keys = [hashed(key) for key in self.slices[number].some_keys()]
            divisor = gcd(divisor, *(_hashes(keys) - number).tolist())
        return divisor


def _hashes(texts: Sequence[str]) -> npt.NDArray[np.int64]:
    hashes: npt.NDArray[np.int64] = np.abs(java_hash_codes(texts).astype(np.int64))
    return hashes


def shards_of(slices: Iterable[MetadataSlice]) -> dict[str, Shards]:
    """Group the slices of an index, in order of file id, by their file ids without the number.

    Raises:
        MissingFileError: a number is missing before the last one.
    """
    shards: dict[str, Shards] = {}
    for metadata_slice in slices:
        name, _, number = metadata_slice.file_slice.file_id.removesuffix("-0").rpartition("-")
        groups = shards.setdefault(name, Shards()).slices
        if number != f"{len(groups):04d}":
            location = metadata_slice.storage.describe(metadata_slice.file_slice.partition_path)
            raise MissingFileError(f"{location} has no file group {name}-{len(groups):04d}-0")
        groups.append(metadata_slice)
    return shards
